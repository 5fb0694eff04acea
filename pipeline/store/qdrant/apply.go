package qdrant

import (
	"context"
	"fmt"
	"slices"
	"sync"

	client "github.com/qdrant/go-client/qdrant"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/vector"
)

// Apply puts and removes items. See vector.Index.
func (x *Index) Apply(ctx context.Context, s scope.Scope, changes []vector.Change, upTo int64) error {
	tenant := s.Tenant()
	lock, _ := x.locks.LoadOrStore(tenant, &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	at, err := x.readCheckpoint(ctx, tenant)
	if err != nil {
		return err
	}
	if from, back := x.rollback.WentBack(tenant, at); back {
		return fmt.Errorf("it is at position %d, after %d: %w", at, from, ErrMoved)
	}
	if upTo <= at {
		x.rollback.Raise(tenant, at)
		return nil
	}
	if err := x.replacePoints(ctx, tenant, effectOf(tenant, changes, at), upTo); err != nil {
		return err
	}
	return x.advanceCheckpoint(ctx, tenant, at, upTo)
}

// effect is what changes come to: the points to write, and the keys of every item touched.
type effect struct {
	points []*client.PointStruct
	keys   []string
}

// effectOf folds the changes after a position.
func effectOf(tenant string, changes []vector.Change, after int64) effect {
	last := map[string]*vector.Change{} // by item: the put that counts, nil when it is removed
	var order []string
	touch := func(id string, c *vector.Change) {
		if _, ok := last[id]; !ok {
			order = append(order, id)
		}
		last[id] = c
	}
	for i := range changes {
		c := &changes[i]
		if c.Position <= after {
			continue
		}
		for _, id := range c.Remove {
			touch(id, nil)
		}
		if c.Put != nil {
			touch(c.Put.ID, c)
		}
	}
	e := effect{}
	for _, id := range order {
		e.keys = append(e.keys, keyOf(tenant, id).String())
		if c := last[id]; c != nil {
			e.points = append(e.points, makePoints(tenant, c.Position, c.Put)...)
		}
	}
	return e
}

// deleteKeys is how many items one request clears of what is left of them.
const deleteKeys = 500

// replacePoints writes points and removes what else there is of the items, up to a position:
// what a later change wrote is left alone.
func (x *Index) replacePoints(ctx context.Context, tenant string, e effect, upTo int64) error {
	older := notAfter(upTo)
	keep := make([]*client.PointId, 0, len(e.points))
	for some := range slices.Chunk(e.points, x.cfg.Batch) {
		err := x.callForWrite(ctx, func(ctx context.Context) error {
			_, err := x.client.Upsert(ctx, &client.UpsertPoints{CollectionName: x.name, Wait: client.PtrOf(true), Points: some,
				UpdateFilter: &client.Filter{Must: []*client.Condition{older}}})
			return err
		})
		if err != nil {
			return fmt.Errorf("write %d points: %w", len(some), err)
		}
		for _, p := range some {
			keep = append(keep, p.Id)
		}
	}
	for some := range slices.Chunk(e.keys, deleteKeys) {
		f := itemsOf(tenant, some)
		f.Must = append(f.Must, older)
		if len(keep) > 0 {
			f.MustNot = []*client.Condition{client.NewHasID(keep...)}
		}
		if err := x.removePoints(ctx, f); err != nil {
			return fmt.Errorf("remove what was replaced of %d items: %w", len(some), err)
		}
	}
	return nil
}

// Remove takes items out ahead of Apply. See vector.Driver.
func (x *Index) Remove(ctx context.Context, s scope.Scope, ids []string, upTo int64) error {
	for some := range slices.Chunk(keysOf(s.Tenant(), ids), deleteKeys) {
		f := itemsOf(s.Tenant(), some)
		f.Must = append(f.Must, notAfter(upTo))
		if err := x.removePoints(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// notAfter lets through what was written at a position or before.
func notAfter(position int64) *client.Condition {
	return client.NewRange(fieldAt, &client.Range{Lte: client.PtrOf(float64(position))})
}

// keysOf returns the keys of items.
func keysOf(tenant string, ids []string) []string {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = keyOf(tenant, id).String()
	}
	return keys
}

// itemsOf lets the points of items through.
func itemsOf(tenant string, keys []string) *client.Filter {
	return &client.Filter{Must: []*client.Condition{client.NewMatchKeyword(fieldTenant, tenant), client.NewMatchKeywords(fieldKey, keys...)}}
}

func (x *Index) removePoints(ctx context.Context, f *client.Filter) error {
	return x.callForWrite(ctx, func(ctx context.Context) error {
		_, err := x.client.Delete(ctx, &client.DeletePoints{CollectionName: x.name, Wait: client.PtrOf(true), Points: client.NewPointsSelectorFilter(f)})
		return err
	})
}

// readCheckpoint reads a tenant's checkpoint, 0 for none.
func (x *Index) readCheckpoint(ctx context.Context, tenant string) (at int64, err error) {
	err = x.callForRead(ctx, func(ctx context.Context) error {
		found, err := x.client.Get(ctx, &client.GetPoints{CollectionName: x.name, Ids: []*client.PointId{client.NewIDUUID(checkpointOf(tenant).String())},
			WithPayload: client.NewWithPayloadInclude(fieldCheckpoint)})
		if len(found) == 1 {
			at = found[0].GetPayload()[fieldCheckpoint].GetIntegerValue()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read vectors checkpoint: %w", err)
	}
	return at, nil
}

// advanceCheckpoint moves the checkpoint from one position to another. When it is not where this
// batch began, someone else writes the tenant: it goes back, and both are told.
func (x *Index) advanceCheckpoint(ctx context.Context, tenant string, from, to int64) error {
	if err := x.moveCheckpoint(ctx, tenant, from, to); err != nil {
		return err
	}
	at, err := x.readCheckpoint(ctx, tenant)
	if err != nil {
		return err
	}
	if at == to {
		x.rollback.Raise(tenant, to)
		return nil
	}
	if at > from {
		if err := x.setCheckpoint(ctx, tenant, from, nil); err != nil {
			return err
		}
	}
	return fmt.Errorf("it moved from %d to %d during a batch up to %d: %w", from, at, to, ErrMoved)
}

// moveCheckpoint moves the checkpoint if it is where the batch began. It makes one only for
// a batch that began at 0: one that is gone, since an older copy has taken the server's
// place, does not come back with what the copy lacks.
func (x *Index) moveCheckpoint(ctx context.Context, tenant string, from, to int64) error {
	there := client.NewRange(fieldCheckpoint, &client.Range{Gte: client.PtrOf(float64(from)), Lte: client.PtrOf(float64(from))})
	if from == 0 {
		return x.setCheckpoint(ctx, tenant, to, &client.Filter{Must: []*client.Condition{there}})
	}
	request := &client.SetPayloadPoints{CollectionName: x.name, Wait: client.PtrOf(true), Ordering: &client.WriteOrdering{Type: client.WriteOrderingType_Strong}, Payload: payload{fieldCheckpoint: makeWholeValue(to)},
		PointsSelector: client.NewPointsSelectorFilter(&client.Filter{Must: []*client.Condition{client.NewHasID(client.NewIDUUID(checkpointOf(tenant).String())), there}})}
	err := x.callForWrite(ctx, func(ctx context.Context) error {
		_, err := x.client.SetPayload(ctx, request)
		return err
	})
	if err != nil {
		return fmt.Errorf("move checkpoint: %w", err)
	}
	return nil
}

// setCheckpoint writes the checkpoint if it meets a filter, or there is none yet.
func (x *Index) setCheckpoint(ctx context.Context, tenant string, at int64, only *client.Filter) error {
	request := &client.UpsertPoints{CollectionName: x.name, Wait: client.PtrOf(true), Ordering: &client.WriteOrdering{Type: client.WriteOrderingType_Strong}, UpdateFilter: only,
		Points: []*client.PointStruct{{Id: client.NewIDUUID(checkpointOf(tenant).String()), Vectors: client.NewVectorsMap(map[string]*client.Vector{}),
			Payload: payload{fieldTenant: makeTextValue(tenant), fieldCheckpoint: makeWholeValue(at)}}}}
	err := x.callForWrite(ctx, func(ctx context.Context) error {
		_, err := x.client.Upsert(ctx, request)
		return err
	})
	if err != nil {
		return fmt.Errorf("set checkpoint: %w", err)
	}
	return nil
}

// Checkpoint returns the position up to which changes are in the index, 0 for none.
func (x *Index) Checkpoint(ctx context.Context, s scope.Scope) (int64, error) {
	at, err := x.readCheckpoint(ctx, s.Tenant())
	if err == nil {
		x.rollback.Raise(s.Tenant(), at)
	}
	return at, err
}

// Reset empties the tenant and puts its checkpoint to 0.
func (x *Index) Reset(ctx context.Context, s scope.Scope) error {
	tenant := s.Tenant()
	x.rollback.Forget(tenant)
	// The checkpoint first: a reset that is cut short is made good by applying it all again.
	if err := x.setCheckpoint(ctx, tenant, 0, nil); err != nil {
		return fmt.Errorf("reset vectors: %w", err)
	}
	all := &client.Filter{Must: []*client.Condition{client.NewMatchKeyword(fieldTenant, tenant)}}
	if err := x.removePoints(ctx, all); err != nil {
		return fmt.Errorf("reset vectors: %w", err)
	}
	return nil
}

// Remaining counts which of the items the index holds; erasure asks it.
func (x *Index) Remaining(ctx context.Context, s scope.Scope, ids []string) (int, error) {
	left := 0
	for some := range slices.Chunk(keysOf(s.Tenant(), ids), deleteKeys) {
		f := itemsOf(s.Tenant(), some)
		err := x.callForRead(ctx, func(ctx context.Context) error {
			n, err := x.client.Count(ctx, &client.CountPoints{CollectionName: x.name, Filter: f, Exact: client.PtrOf(true)})
			left += int(n)
			return err
		})
		if err != nil {
			return 0, fmt.Errorf("count what is left of %d items: %w", len(some), err)
		}
	}
	return left, nil
}
