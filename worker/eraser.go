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
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
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

// Scrubber removes what deleted content left behind in one store: free pages,
// write-ahead logs, snapshots, caches.
type Scrubber struct {
	Store string
	Scrub func(ctx context.Context, s scope.Scope) error
	// Remaining counts which of the erased items the store still has; nil when the
	// store is checked by another one.
	Remaining func(ctx context.Context, s scope.Scope, ids []string) (int, error)
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
	requests  *barrier
	hit       func(point string)
	now       func() time.Time
	logger    *slog.Logger
}

// begin appends the erasure and deletes the content. A refusal is a DLQ reason. An
// erasure that the log has already is not repeated: what was remembered after it stays.
func (e *eraser) begin(ctx context.Context, s scope.Scope, d eventlog.Draft) (refused string, err error) {
	var req schemas.MemoryErased
	if err := json.Unmarshal(d.Data, &req); err != nil {
		return "malformed", nil
	}
	held, err := e.log.Find(ctx, s, d.Source, d.ID)
	switch {
	case err == nil && repeats(&held, &req):
		return "", nil
	case err == nil:
		return "id_reuse", nil
	case !errors.Is(err, eventlog.ErrNotFound):
		return "", err
	}
	allowed, err := e.allowed(ctx, s, d.Agent, req.Items)
	if err != nil {
		return "", err
	}
	if !allowed {
		return "policy_denied", nil
	}
	head, err := e.log.Head(ctx, s)
	if err != nil {
		return "", err
	}
	if err := e.projector.Await(ctx, s, head.Size); err != nil {
		return "", fmt.Errorf("wait for the indexes: %w", err)
	}
	if req.Items, err = e.derived(ctx, s, req.Items); err != nil {
		return "", err
	}
	plan, err := e.plan(ctx, s, req.Items, math.MaxInt64)
	if err != nil {
		return "", err
	}
	if d.Data, err = json.Marshal(req); err != nil {
		return "", fmt.Errorf("encode erasure: %w", err)
	}
	d.Subject = ErasureSubject
	if d.Extensions = maps.Clone(d.Extensions); d.Extensions == nil {
		d.Extensions = map[string]string{}
	}
	d.Extensions[packsExtension], d.Extensions[supersedersExtension] = joinPositions(plan.packs), joinSuperseders(plan.by)
	e.hit("erase.before_commit")
	done, err := e.log.AppendErasure(ctx, s, d, plan.positions, plan.packs)
	e.hit("erase.after_commit")
	if err == nil && done.Status != eventlog.Appended && done.Status != eventlog.Duplicate {
		return "id_reuse", nil
	}
	return "", err
}

// repeats reports whether the entry is what became of the same request.
func repeats(held *eventlog.Entry, req *schemas.MemoryErased) bool {
	var er schemas.MemoryErased
	if held.Type != schemas.TypeMemoryErased || json.Unmarshal(held.Data, &er) != nil || er.Receipt != nil {
		return false
	}
	return er.Reason == req.Reason && len(er.Items) >= len(req.Items) && slices.Equal(er.Items[:len(req.Items)], req.Items)
}

func (e *eraser) allowed(ctx context.Context, s scope.Scope, agent string, ids []string) (bool, error) {
	claim := schemas.Agent{Type: "agent", ID: agent, SecurityLevel: schemas.Restricted.String(), Roles: []string{"eraser"}}
	principal, err := e.registry.Resolve(s.Tenant(), claim, e.loopback)
	if err != nil {
		return false, nil
	}
	who, err := scope.New(s.Tenant(), principal, "erasure")
	if err != nil {
		return false, nil
	}
	resources := make([]policies.Resource, len(ids))
	for i, id := range ids {
		resources[i] = policies.Resource{ID: id}
	}
	d, err := e.pdp.Decide(ctx, who, policies.Request{Action: "erase", Now: e.now(), Resources: resources})
	if err != nil {
		return false, fmt.Errorf("decide erasure: %w", err)
	}
	return !slices.ContainsFunc(d.Verdicts, func(v policies.Verdict) bool { return !v.Allow }), nil
}

func (e *eraser) run(ctx context.Context, retry retryPolicy) error {
	return follow(ctx, e.log, retry, e.logger, "finish erasures", e.finishAll)
}

// finishAll finishes every erasure of the tenant that has no receipt yet.
func (e *eraser) finishAll(ctx context.Context, tenant string) error {
	s, err := scope.System(tenant)
	if err != nil {
		return err
	}
	entries, err := e.log.BySubject(ctx, s, ErasureSubject, schemas.TypeMemoryErased)
	if err != nil {
		return err
	}
	for i := range entries {
		entry := &entries[i]
		var er schemas.MemoryErased
		if err := json.Unmarshal(entry.Data, &er); err != nil {
			return fmt.Errorf("decode erasure at position %d: %w", entry.Position, err)
		}
		if er.Receipt != nil {
			continue
		}
		id, done, err := e.receiptID(ctx, s, entry)
		if err != nil {
			return err
		}
		if done {
			continue
		}
		if err := e.finish(ctx, s, entry, er, id); err != nil {
			return fmt.Errorf("finish erasure at position %d: %w", entry.Position, err)
		}
	}
	return nil
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

// finish removes what is left of an erasure and appends its receipt as id.
func (e *eraser) finish(ctx context.Context, s scope.Scope, entry *eventlog.Entry, er schemas.MemoryErased, id string) error {
	if err := e.projector.Await(ctx, s, entry.Position); err != nil {
		return err
	}
	// A request that searched before may still commit a pack that shows the items.
	if err := e.requests.pass(ctx); err != nil {
		return err
	}
	plan, err := e.plan(ctx, s, er.Items, entry.Position)
	if err != nil {
		return err
	}
	if _, err := e.log.EraseAttachments(ctx, s, plan.packs); err != nil {
		return fmt.Errorf("erase packs: %w", err)
	}
	packs := append(splitPositions(entry.Extensions[packsExtension]), plan.packs...)
	slices.Sort(packs)
	receipt := schemas.ErasureReceipt{Items: er.Items, Positions: plan.positions, Packs: slices.Compact(packs), ErasedAt: e.now().UTC()}
	if receipt.Stores, err = e.scrub(ctx, s, er.Items, plan); err != nil {
		return err
	}
	er.Receipt, er.Reason = &receipt, ""
	data, err := json.Marshal(er)
	if err != nil {
		return fmt.Errorf("encode receipt: %w", err)
	}
	e.hit("erase.before_receipt")
	_, err = e.log.Append(ctx, eventlog.Batch{Drafts: []eventlog.Draft{{
		Tenant: s.Tenant(), Agent: systemAgent, Type: schemas.TypeMemoryErased, Source: entry.Source,
		ID: id, Subject: ErasureSubject, Time: receipt.ErasedAt, Data: data}}})
	e.hit("erase.after_receipt")
	return err
}

// scrub removes the remains from the streams and every store, and looks whether any is left.
func (e *eraser) scrub(ctx context.Context, s scope.Scope, ids []string, plan erasure) ([]schemas.StoreErasure, error) {
	copies, err := e.copies(ctx, s, plan.positions)
	if err != nil {
		return nil, err
	}
	removed, err := e.streams.Scrub(ctx, s.Tenant(), copies)
	if err != nil {
		return nil, fmt.Errorf("scrub streams: %w", err)
	}
	e.hit("erase.after_streams")
	var stores []schemas.StoreErasure
	for _, stream := range slices.Sorted(maps.Keys(removed)) {
		stores = append(stores, schemas.StoreErasure{Store: stream, Removed: removed[stream], Absent: true})
	}
	gone := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(plan.again, id) })
	for _, sc := range e.scrubbers {
		if err := sc.Scrub(ctx, s); err != nil {
			return nil, fmt.Errorf("scrub %s: %w", sc.Store, err)
		}
		left := 0
		if sc.Remaining != nil {
			if left, err = sc.Remaining(ctx, s, gone); err != nil {
				return nil, fmt.Errorf("check %s: %w", sc.Store, err)
			}
		}
		if left > 0 {
			return nil, fmt.Errorf("check %s: %d of %d erased items are still there", sc.Store, left, len(gone))
		}
		stores = append(stores, schemas.StoreErasure{Store: sc.Store, Removed: len(ids), Absent: true})
	}
	return stores, nil
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
