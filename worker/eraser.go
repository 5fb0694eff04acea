package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
	"satchel/pipeline/write"
	"satchel/policies"
	"satchel/schemas"
)

// ErasureSubject is the subject of every memory.erased entry in the log, so that
// they are found without reading it all.
const ErasureSubject = "erasure"

// receiptSuffix makes the id of the entry that holds an erasure's receipt.
const receiptSuffix = ".receipt"

// packsExtension of an erasure's entry lists the positions of the packs that went with
// it, as they cannot be found by item afterwards.
const packsExtension = "satchelpacks"

// artifactsExtension of an erasure's entry lists the hashes of the artifacts of the items,
// as they cannot be found once the items' content is gone.
const artifactsExtension = "satchelartifacts"

// Scrubber removes what deleted content left behind in one store: free pages,
// write-ahead logs, snapshots, caches.
type Scrubber struct {
	Store string
	Scrub func(ctx context.Context, s scope.Scope) error
	// Remaining counts which of the erased items the store still has; nil when the
	// store is checked by another one.
	Remaining func(ctx context.Context, s scope.Scope, ids []string) (int, error)
	// Shared is true of a store that the workers share: the one that erases scrubs it.
	// Of the others each worker scrubs its own.
	Shared bool
}

// eraser carries out memory.erased in two steps. begin deletes content and salt from
// the log in the transaction that appends the event; the indexes follow as for any
// other entry. finish waits for them, scrubs every store and the streams, looks
// whether anything is left, and appends the receipt. A crash in between is made good
// at the next start: an erasure without a receipt is pending.
type eraser struct {
	log       *eventlog.Log
	projector *Projector
	items     items.Store
	graph     graph.Store
	pdp       policies.PDP
	registry  *policies.Registry
	loopback  bool
	scrubbers []Scrubber
	streams   StreamScrubber
	artifacts Artifacts // nil: none are kept
	requests  *barrier
	open      openErasures
	hit       func(point string)
	now       func() time.Time
	logger    *slog.Logger
	share     share
}

// begin appends the erasure and deletes the content, or says why it is refused. An
// erasure that the log has already is not repeated: what was remembered after it stays.
func (e *eraser) begin(ctx context.Context, s scope.Scope, d eventlog.Draft) (refused *write.Rejection, err error) {
	var req schemas.MemoryErased
	if err := json.Unmarshal(d.Data, &req); err != nil {
		return &write.Rejection{Reason: write.Malformed, Cause: "is not an erasure"}, nil
	}
	held, err := e.log.Find(ctx, s, d.Source, d.ID)
	switch {
	case err == nil && repeats(&held, &req):
		return nil, nil
	case err == nil:
		return reused(), nil
	case !errors.Is(err, eventlog.ErrNotFound):
		return nil, err
	}
	var searched int64
	if refused, req.Items, searched, err = e.refuses(ctx, s, &d, req.Items); refused != nil || err != nil {
		return refused, err
	}
	done, err := e.append(ctx, s, d, &req, searched)
	if err == nil && done.Status != eventlog.Appended && done.Status != eventlog.Duplicate {
		return reused(), nil
	}
	return nil, err
}

// append appends the erasure d that req says, and deletes the content. searched is how much of
// the log was searched for what goes with the items.
func (e *eraser) append(ctx context.Context, s scope.Scope, d eventlog.Draft, req *schemas.MemoryErased, searched int64) (done eventlog.Erased, err error) {
	showing, err := e.packs(ctx, s, req.Items)
	if err != nil {
		return done, err
	}
	plan, err := e.plan(ctx, s, req.Items, showing, math.MaxInt64)
	if err != nil {
		return done, err
	}
	if d.Data, err = json.Marshal(req); err != nil {
		return done, fmt.Errorf("encode erasure: %w", err)
	}
	d.Subject = ErasureSubject
	if d.Extensions = maps.Clone(d.Extensions); d.Extensions == nil {
		d.Extensions = map[string]string{}
	}
	d.Extensions[packsExtension], d.Extensions[supersedersExtension] = joinPositions(plan.packs), joinSuperseders(plan.by)
	d.Extensions[searchedExtension] = strconv.FormatInt(searched, 10)
	hashes, err := e.hashes(ctx, s, plan.positions)
	if err != nil {
		return done, err
	}
	if len(hashes) > 0 {
		d.Extensions[artifactsExtension] = strings.Join(hashes, ",")
	}
	defer e.open.begin(s.Tenant())()
	e.hit("erase.before_commit")
	done, err = e.log.AppendErasure(ctx, s, d, plan.positions, plan.packs)
	e.hit("erase.after_commit")
	return done, err
}

// reused refuses an erasure whose source and id another event has.
func reused() *write.Rejection {
	return &write.Rejection{Reason: write.IDReuse, Cause: "source and id were used before for another event"}
}

func (e *eraser) run(ctx context.Context, retry retryPolicy) error {
	return follow(ctx, e.log, retry, e.logger, "finish erasures", pacing{busy: e.requests.busy}, e.finishAll)
}

// pending is an erasure without a receipt.
type pending struct {
	entry     *eventlog.Entry
	er        schemas.MemoryErased
	receiptID string
	plan      erasure
	kept      int // artifacts that other items have
}

// maxPending is how many erasures are finished together.
const maxPending = 256

// finishAll finishes every erasure of the tenant that has no receipt yet.
func (e *eraser) finishAll(ctx context.Context, tenant string) error {
	seen, settled := e.open.look(tenant)
	if settled && !e.share.shared() || !e.share.owns(tenant) { // another worker may have begun one
		return nil
	}
	s, err := scope.System(tenant)
	if err != nil {
		return err
	}
	list, err := e.pending(ctx, s)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(list, maxPending) {
		if err := e.finish(ctx, s, part); err != nil {
			return fmt.Errorf("finish %d erasures from position %d on: %w", len(part), part[0].entry.Position, err)
		}
	}
	e.open.settle(tenant, seen)
	return nil
}

// pending lists the tenant's erasures that have no receipt, in order.
func (e *eraser) pending(ctx context.Context, s scope.Scope) ([]pending, error) {
	entries, err := e.log.BySubject(ctx, s, ErasureSubject, schemas.TypeMemoryErased)
	if err != nil {
		return nil, err
	}
	var list []pending
	for i := range entries {
		p := pending{entry: &entries[i]}
		if err := json.Unmarshal(p.entry.Data, &p.er); err != nil {
			return nil, fmt.Errorf("decode erasure at position %d: %w", p.entry.Position, err)
		}
		if p.er.Receipt != nil {
			continue
		}
		done := false
		if p.receiptID, done, err = e.receiptID(ctx, s, p.entry); err != nil {
			return nil, err
		}
		if !done {
			list = append(list, p)
		}
	}
	return list, nil
}

// receiptID returns the id of an erasure's receipt and whether the receipt is there. An
// id that somebody has used for another event is passed over.
func (e *eraser) receiptID(ctx context.Context, s scope.Scope, entry *eventlog.Entry) (id string, done bool, err error) {
	for n := 1; ; n++ {
		if id = entry.ID + receiptSuffix; n > 1 {
			id += "-" + strconv.Itoa(n)
		}
		held, err := e.log.Find(ctx, s, entry.Source, id)
		if errors.Is(err, eventlog.ErrNotFound) {
			return id, false, nil
		}
		if err != nil {
			return "", false, err
		}
		var er schemas.MemoryErased
		if held.Type == schemas.TypeMemoryErased && json.Unmarshal(held.Data, &er) == nil && er.Receipt != nil {
			return id, true, nil
		}
	}
}

// finish removes what is left of erasures and appends their receipts.
func (e *eraser) finish(ctx context.Context, s scope.Scope, list []pending) error {
	list, err := e.settle(ctx, s, list)
	if err != nil {
		return err
	}
	var items []string
	for i := range list {
		items = append(items, list[i].er.Items...)
	}
	showing, err := e.packs(ctx, s, items)
	if err != nil {
		return err
	}
	for i := range list {
		p := &list[i]
		if p.plan, err = e.plan(ctx, s, p.er.Items, showing, p.entry.Position); err != nil {
			return err
		}
		if _, err := e.log.EraseAttachments(ctx, s, p.plan.packs); err != nil {
			return fmt.Errorf("erase packs: %w", err)
		}
	}
	removed, err := e.scrub(ctx, s, list)
	if err != nil {
		return err
	}
	drafts := make([]eventlog.Draft, len(list))
	for i := range list {
		if drafts[i], err = e.receipt(s, &list[i], removed); err != nil {
			return err
		}
	}
	e.hit("erase.before_receipt")
	_, err = e.log.Append(ctx, eventlog.Batch{Drafts: drafts})
	e.hit("erase.after_receipt")
	return err
}

// settle waits until the indexes have erasures, and the requests that searched before are over:
// one may still commit a pack that shows the items, which finish erases, or summaries of them. It
// returns the erasures with those of such summaries.
func (e *eraser) settle(ctx context.Context, s scope.Scope, list []pending) ([]pending, error) {
	for {
		if err := e.projector.Await(ctx, s, list[len(list)-1].entry.Position); err != nil {
			return nil, err
		}
		if err := e.requests.pass(ctx); err != nil {
			return nil, err
		}
		erased := make([]begun, len(list))
		for i := range list {
			erased[i] = begunBy(list[i].entry, &list[i].er)
		}
		late, err := e.eraseLate(ctx, s, erased)
		if err != nil {
			return nil, err
		}
		if late == nil {
			return list, nil
		}
		list = append(list, *late)
	}
}

// receipt makes the entry that says what is gone. A stream's count is of all erasures
// that were finished together.
func (e *eraser) receipt(s scope.Scope, p *pending, removed map[string]int) (eventlog.Draft, error) {
	packs := append(splitPositions(p.entry.Extensions[packsExtension]), p.plan.packs...)
	slices.Sort(packs)
	receipt := schemas.ErasureReceipt{Items: p.er.Items, Positions: p.plan.positions, Packs: slices.Compact(packs), ErasedAt: e.now().UTC()}
	for _, stream := range slices.Sorted(maps.Keys(removed)) {
		receipt.Stores = append(receipt.Stores, schemas.StoreErasure{Store: stream, Removed: removed[stream], Absent: true})
		if stream == artifactsStore && p.kept > 0 {
			last := &receipt.Stores[len(receipt.Stores)-1]
			last.Absent, last.Kept = false, p.kept
		}
	}
	for _, sc := range e.scrubbers {
		receipt.Stores = append(receipt.Stores, schemas.StoreErasure{Store: sc.Store, Removed: len(p.er.Items), Absent: true})
	}
	er := p.er
	er.Receipt, er.Reason = &receipt, ""
	data, err := json.Marshal(er)
	if err != nil {
		return eventlog.Draft{}, fmt.Errorf("encode receipt: %w", err)
	}
	return eventlog.Draft{Tenant: s.Tenant(), Agent: systemAgent, Type: schemas.TypeMemoryErased, Source: p.entry.Source,
		ID: p.receiptID, Subject: ErasureSubject, Time: receipt.ErasedAt, Data: data}, nil
}

// scrub removes the remains from the streams and every store, looks whether any is
// left, and returns how many copies the streams had.
func (e *eraser) scrub(ctx context.Context, s scope.Scope, list []pending) (map[string]int, error) {
	var positions []int64
	there := map[string]bool{} // by item, whether it was remembered anew
	for i := range list {
		positions = append(positions, list[i].plan.positions...)
		for _, id := range list[i].er.Items {
			there[id] = slices.Contains(list[i].plan.again, id)
		}
	}
	copies, err := e.copies(ctx, s, positions)
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(there)) {
		copies = append(copies, Copy{Item: id})
	}
	removed, err := e.streams.Scrub(ctx, s.Tenant(), copies)
	if err != nil {
		return nil, fmt.Errorf("scrub streams: %w", err)
	}
	e.hit("erase.after_streams")
	if removed[artifactsStore], err = e.dropArtifacts(ctx, s, list); err != nil {
		return nil, err
	}
	if e.artifacts == nil {
		delete(removed, artifactsStore)
	}
	maps.DeleteFunc(there, func(_ string, anew bool) bool { return anew })
	gone := slices.Sorted(maps.Keys(there))
	for _, sc := range e.scrubbers {
		if err := sc.Scrub(ctx, s); err != nil {
			return nil, fmt.Errorf("scrub %s: %w", sc.Store, err)
		}
		if sc.Remaining == nil {
			continue
		}
		left, err := sc.Remaining(ctx, s, gone)
		if err == nil && left > 0 { // or is there anew, since it was planned
			if gone, err = e.notAnew(ctx, s, list, gone); err == nil {
				left, err = sc.Remaining(ctx, s, gone)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("check %s: %w", sc.Store, err)
		}
		if left > 0 {
			return nil, fmt.Errorf("check %s: %d of %d erased items are still there", sc.Store, left, len(gone))
		}
	}
	return removed, nil
}

// notAnew returns those of the erased items that were not remembered anew.
func (e *eraser) notAnew(ctx context.Context, s scope.Scope, list []pending, gone []string) ([]string, error) {
	erased := map[string]int64{}
	for i := range list {
		for _, id := range list[i].er.Items {
			erased[id] = max(erased[id], list[i].entry.Position)
		}
	}
	var left []string
	for _, id := range gone {
		entries, err := e.log.BySubject(ctx, s, id, schemas.TypeMemoryRecorded)
		if err != nil {
			return nil, fmt.Errorf("find entries of item %q: %w", id, err)
		}
		if len(entries) == 0 || entries[len(entries)-1].Position < erased[id] {
			left = append(left, id)
		}
	}
	return left, nil
}

// copies names the events behind the erased positions, as the streams know them.
func (e *eraser) copies(ctx context.Context, s scope.Scope, positions []int64) ([]Copy, error) {
	copies := make([]Copy, 0, len(positions))
	for _, position := range positions {
		entry, err := e.log.Entry(ctx, s, position)
		if err != nil {
			return nil, err
		}
		copies = append(copies, Copy{Source: entry.Source, ID: entry.ID})
	}
	return copies, nil
}
