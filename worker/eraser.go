package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/graph"
	"satchel/policies"
	"satchel/schemas"
)

// ErasureSubject is the subject of every memory.erased entry in the log, so that
// they are found without reading it all.
const ErasureSubject = "erasure"

// receiptSuffix makes the id of the entry that holds an erasure's receipt.
const receiptSuffix = ".receipt"

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
	graph     graph.Store
	pdp       policies.PDP
	registry  *policies.Registry
	loopback  bool
	scrubbers []Scrubber
	streams   StreamScrubber
	now       func() time.Time
	logger    *slog.Logger
}

// begin appends the erasure and deletes the content. A refusal is a DLQ reason.
func (e *eraser) begin(ctx context.Context, s scope.Scope, d eventlog.Draft) (refused string, err error) {
	var req schemas.MemoryErased
	if err := json.Unmarshal(d.Data, &req); err != nil {
		return "malformed", nil
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
	plan, err := e.plan(ctx, s, req.Items)
	if err != nil {
		return "", err
	}
	if len(plan.ids) > len(req.Items) { // the summaries go as well, and the log says so
		req.Items = plan.ids
		if d.Data, err = json.Marshal(req); err != nil {
			return "", fmt.Errorf("encode erasure: %w", err)
		}
	}
	d.Subject = ErasureSubject
	done, err := e.log.AppendErasure(ctx, s, d, plan.positions, plan.packs)
	if err == nil && done.Status == eventlog.Reused {
		return "id_reuse", nil
	}
	return "", err
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

// erasure is what one memory.erased takes away.
type erasure struct {
	ids       []string
	positions []int64 // entries whose content goes
	packs     []int64 // packs whose rendered bytes go
}

// plan finds every entry about the items, the summaries derived from them, and the
// packs that showed any of them.
func (e *eraser) plan(ctx context.Context, s scope.Scope, ids []string) (erasure, error) {
	visits, err := e.graph.Walk(ctx, s, graph.Walk{From: ids, Hops: 3, Rels: []schemas.Rel{schemas.RelDerivedFrom}, FanOut: 1000,
		Filter: schemas.Where(schemas.Cond{Field: schemas.FieldKind, Op: schemas.In, Values: []string{string(schemas.KindSummary)}})})
	if err != nil {
		return erasure{}, fmt.Errorf("find derived summaries: %w", err)
	}
	p := erasure{ids: slices.Clone(ids)}
	for _, v := range visits {
		if v.Via.From == v.ID && !slices.Contains(p.ids, v.ID) {
			p.ids = append(p.ids, v.ID)
		}
	}
	for _, id := range p.ids {
		entries, err := e.log.BySubject(ctx, s, id)
		if err != nil {
			return erasure{}, fmt.Errorf("find entries of item %q: %w", id, err)
		}
		for _, entry := range entries {
			p.positions = append(p.positions, entry.Position)
		}
	}
	if p.packs, err = e.log.Referring(ctx, s, p.ids); err != nil {
		return erasure{}, fmt.Errorf("find packs: %w", err)
	}
	slices.Sort(p.positions)
	p.positions = slices.Compact(p.positions)
	return p, nil
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
	entries, err := e.log.BySubject(ctx, s, ErasureSubject)
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
		_, err := e.log.Find(ctx, s, entry.Source, entry.ID+receiptSuffix)
		if err == nil {
			continue
		}
		if !errors.Is(err, eventlog.ErrNotFound) {
			return err
		}
		if err := e.finish(ctx, s, entry, er); err != nil {
			return fmt.Errorf("finish erasure at position %d: %w", entry.Position, err)
		}
	}
	return nil
}

func (e *eraser) finish(ctx context.Context, s scope.Scope, entry *eventlog.Entry, er schemas.MemoryErased) error {
	if err := e.projector.Await(ctx, s, entry.Position); err != nil {
		return err
	}
	plan, err := e.plan(ctx, s, er.Items)
	if err != nil {
		return err
	}
	receipt := schemas.ErasureReceipt{Items: er.Items, Positions: plan.positions, Packs: plan.packs, ErasedAt: e.now().UTC()}
	copies, err := e.copies(ctx, s, plan.positions)
	if err != nil {
		return err
	}
	removed, err := e.streams.Scrub(ctx, s.Tenant(), copies)
	if err != nil {
		return fmt.Errorf("scrub streams: %w", err)
	}
	for _, stream := range slices.Sorted(maps.Keys(removed)) {
		receipt.Stores = append(receipt.Stores, schemas.StoreErasure{Store: stream, Removed: removed[stream], Absent: true})
	}
	for _, sc := range e.scrubbers {
		if err := sc.Scrub(ctx, s); err != nil {
			return fmt.Errorf("scrub %s: %w", sc.Store, err)
		}
		left := 0
		if sc.Remaining != nil {
			if left, err = sc.Remaining(ctx, s, er.Items); err != nil {
				return fmt.Errorf("check %s: %w", sc.Store, err)
			}
		}
		if left > 0 {
			return fmt.Errorf("check %s: %d of %d erased items are still there", sc.Store, left, len(er.Items))
		}
		receipt.Stores = append(receipt.Stores, schemas.StoreErasure{Store: sc.Store, Removed: len(er.Items), Absent: true})
	}
	er.Receipt, er.Reason = &receipt, ""
	data, err := json.Marshal(er)
	if err != nil {
		return fmt.Errorf("encode receipt: %w", err)
	}
	_, err = e.log.Append(ctx, eventlog.Batch{Drafts: []eventlog.Draft{{
		Tenant: s.Tenant(), Agent: systemAgent, Type: schemas.TypeMemoryErased, Source: entry.Source,
		ID: entry.ID + receiptSuffix, Subject: ErasureSubject, Time: receipt.ErasedAt, Data: data}}})
	return err
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
