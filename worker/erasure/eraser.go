package erasure

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
	"satchel/policies/hold"
	"satchel/schemas"
	"satchel/worker/authorship"
	"satchel/worker/follow"
	"satchel/worker/metrics"
	"satchel/worker/transport"
)

// systemAgent is the <agent> token of what Satchel itself publishes.
const systemAgent = "satchel"

// ReceiptSuffix stands behind the id of an erasure in the id of the entry that holds its receipt.
const ReceiptSuffix = ".receipt"

// artifactsExtension of an erasure's entry lists the hashes of the artifacts of the items,
// as they cannot be found once the items' content is gone.
const artifactsExtension = "satchelartifacts"

// Scrubber removes what deleted content left behind in one store: free pages,
// write-ahead logs, snapshots, caches.
type Scrubber struct {
	Store string
	Scrub func(ctx context.Context, s scope.Scope) error
	// Remaining counts which of the erased items the store still has. nil: Scrub empties the
	// store, whatever it holds.
	Remaining func(ctx context.Context, s scope.Scope, ids []string) (int, error)
	// Shared is true of a store that the workers share: the one that erases scrubs it.
	// Of the others each worker scrubs its own.
	Shared bool
}

// Indexes are what the log is indexed in: those of the projector.
type Indexes interface {
	// Await waits until every index has applied position.
	Await(ctx context.Context, s scope.Scope, position int64) error
	// Drain waits until the requests have ended that search the indexes when it is called.
	Drain(ctx context.Context) error
	// Busy reports whether requests search at the moment.
	Busy() bool
	// OnRemoteErasure has apply called with erasures that another worker carries out, behind the
	// indexes.
	OnRemoteErasure(apply func(ctx context.Context, s scope.Scope, erased []Logged) error)
}

// Config is what an Eraser is made of. Artifacts may be nil: then none are kept. Everything
// else but Registry is required.
type Config struct {
	Log       *eventlog.Log
	Indexes   Indexes
	Items     items.Store
	Graph     graph.Store
	PDP       policies.PDP
	Registry  *policies.Registry // nil: claims count on loopback only
	Loopback  bool
	Scrubbers []Scrubber
	Streams   transport.StreamScrubber
	Artifacts transport.Artifacts
	Reviewer  *authorship.Reviewer // keeps no versions of erased items
	Holds     *hold.Registry
	Failpoint func(point string)
	Clock     func() time.Time
	Logger    *slog.Logger
	Share     follow.Share
	Metrics   *metrics.Metrics
}

// Eraser carries out memory.erased in two steps. Begin deletes content and salt from
// the log in the transaction that appends the event; the indexes follow as for any
// other entry. Run finishes: it waits for them, scrubs every store and the streams, looks
// whether anything is left, and appends the receipt. A crash in between is made good
// at the next start: an erasure without a receipt is pending. Safe for concurrent use.
type Eraser struct {
	cfg    Config
	open   openErasures
	health follow.Health // apart: an erasure that is not finished is no reason not to be ready
}

// New returns an eraser; nothing is finished before Run.
func New(cfg Config) *Eraser {
	e := &Eraser{cfg: cfg}
	if cfg.Share.Shared() {
		cfg.Indexes.OnRemoteErasure(e.applyRemote)
	}
	return e
}

// Begin appends the erasure and deletes the content, or says why it is refused. An
// erasure that the log has already is not repeated: what was remembered after it stays.
func (e *Eraser) Begin(ctx context.Context, s scope.Scope, d write.Prepared) (refused *write.Rejection, err error) {
	var req schemas.MemoryErased
	if err := json.Unmarshal(d.Data, &req); err != nil {
		return &write.Rejection{Reason: write.Malformed, Cause: "is not an erasure"}, nil
	}
	held, err := e.cfg.Log.Find(ctx, s, d.Source, d.ID)
	switch {
	case err == nil && Repeats(&held, &req):
		return nil, nil
	case err == nil:
		return newReuseRejection(), nil
	case !errors.Is(err, eventlog.ErrNotFound):
		return nil, err
	}
	refused, found, err := e.Refuses(ctx, s, &d, req.Items)
	if refused != nil || err != nil {
		return refused, err
	}
	req.Items = found.Items
	done, err := e.appendErasure(ctx, s, d.Draft, &req, &found)
	if errors.Is(err, eventlog.ErrOvertaken) { // by a hold, which may concern other items
		return e.Begin(ctx, s, d)
	}
	if err == nil && done.Status != eventlog.Appended && done.Status != eventlog.Duplicate {
		return newReuseRejection(), nil
	}
	return nil, err
}

// appendErasure appends the erasure d that req says, and deletes the content, unless a hold was placed since
// found was.
func (e *Eraser) appendErasure(
	ctx context.Context, s scope.Scope, d eventlog.Draft, req *schemas.MemoryErased, found *Found,
) (done eventlog.ErasureOutcome, err error) {
	showing, err := e.makePackFinder(ctx, s, req.Items)
	if err != nil {
		return done, err
	}
	plan, err := e.planErasure(ctx, s, req.Items, showing, math.MaxInt64)
	if err != nil {
		return done, err
	}
	if err := e.attachReason(&d, req); err != nil {
		return done, err
	}
	if d.Data, err = json.Marshal(req); err != nil {
		return done, fmt.Errorf("encode erasure: %w", err)
	}
	d.Subject = eventlog.ErasureSubject
	d.Extensions = maps.Clone(d.Extensions)
	if d.Extensions == nil {
		d.Extensions = map[string]string{}
	}
	d.Extensions[eventlog.ErasedAttachments], d.Extensions[supersedersExtension] = eventlog.JoinPositions(plan.packs), joinSuperseders(plan.by)
	d.Extensions[searchedExtension] = strconv.FormatInt(found.Searched, 10)
	if len(found.Held.Released) > 0 {
		d.Extensions[holdsExtension] = strings.Join(found.Held.Released, ",")
	}
	hashes, err := e.listHashes(ctx, s, plan.positions)
	if err != nil {
		return done, err
	}
	if len(hashes) > 0 {
		d.Extensions[artifactsExtension] = strings.Join(hashes, ",")
	}
	defer e.open.beginErasure(s.Tenant())()
	e.cfg.Failpoint("erase.before_commit")
	done, err = e.cfg.Log.AppendErasureUnless(ctx, s, d, plan.positions, plan.packs, found.unless...)
	e.cfg.Failpoint("erase.after_commit")
	return done, err
}

// newReuseRejection refuses an erasure whose source and id another event has.
func newReuseRejection() *write.Rejection {
	return &write.Rejection{Reason: write.IDReuse, Cause: "source and id were used before for another event"}
}

// finishing names what the eraser does, of a tenant, where it fails.
const finishing = "finish erasures"

// Run finishes erasures until ctx is done.
func (e *Eraser) Run(ctx context.Context) error {
	return follow.Run(ctx, e.cfg.Log, follow.Retry{Health: &e.health}, e.cfg.Logger, finishing, follow.Pacing{Busy: e.cfg.Indexes.Busy}, e.finishAll)
}

// Delayed says that the event id, when it is an erasure's receipt, is not logged at present because
// finishing the tenant's erasures fails again and again; nil when it does not.
func (e *Eraser) Delayed(tenant, id string, since time.Time) error {
	if !strings.HasSuffix(id, ReceiptSuffix) || !e.health.Fails(follow.OfTenant(finishing, tenant), since) {
		return nil
	}
	return &schemas.Error{Code: schemas.CodeUnderWay, Erasure: id[:strings.LastIndex(id, ReceiptSuffix)],
		Message: "the erasure is begun, and finishing it fails at present, see /readyz and the log output; it is finished when it can be",
		Missing: []string{"the worker, which tries again"}}
}

// pending is an erasure without a receipt.
type pending struct {
	entry     *eventlog.Entry
	er        schemas.MemoryErased
	receiptID string
	told      bool // a receipt says which partitions it is not finished for
	plan      erasure
	kept      int // artifacts that other items have
}

// maxPending is how many erasures are finished together.
const maxPending = 256

// finishAll finishes every erasure of the tenant that has no receipt yet.
func (e *Eraser) finishAll(ctx context.Context, tenant string) error {
	seen, settled := e.open.lookUpSettled(tenant)
	mine := e.cfg.Share.OwnsTenant(tenant)
	if settled && (!e.cfg.Share.Shared() || !mine) { // another worker may have begun one
		return nil
	}
	s, err := scope.System(tenant)
	if err != nil {
		return err
	}
	list, finished, err := e.listPending(ctx, s)
	if err != nil {
		return err
	}
	if err := e.cfg.Log.KeepErasures(s, finished); err != nil { // of a log that had no list, or whose list was lost
		return err
	}
	if !mine {
		list = nil
	}
	if len(list) > 0 {
		e.cfg.Metrics.Erasures.Note(tenant, int64(len(list)), list[0].entry.RecordedAt)
	}
	for part := range slices.Chunk(list, maxPending) {
		if err := e.finishErasures(ctx, s, part); err != nil {
			return fmt.Errorf("finish %d erasures from position %d on: %w", len(part), part[0].entry.Position, err)
		}
	}
	e.cfg.Metrics.Erasures.Note(tenant, 0, time.Time{})
	e.open.markSettled(tenant, seen)
	return nil
}

// listPending lists the tenant's erasures that have no receipt, in order, and those that have one.
func (e *Eraser) listPending(ctx context.Context, s scope.Scope) (list []pending, finished []eventlog.KeptErasure, err error) {
	entries, err := e.cfg.Log.BySubject(ctx, s, eventlog.ErasureSubject, schemas.TypeMemoryErased)
	if err != nil {
		return nil, nil, err
	}
	for i := range entries {
		p := pending{entry: &entries[i]}
		if err := json.Unmarshal(p.entry.Data, &p.er); err != nil {
			return nil, nil, fmt.Errorf("decode erasure at position %d: %w", p.entry.Position, err)
		}
		if p.er.Receipt != nil {
			continue
		}
		done, err := e.findReceipt(ctx, s, &p)
		if err != nil {
			return nil, nil, err
		}
		if !done {
			list = append(list, p)
		} else {
			finished = append(finished, eventlog.KeptErasureOf(p.entry, p.er.Items))
		}
	}
	return list, finished, nil
}

// findReceipt sets the id of an erasure's next receipt and whether it was told what is missing, and
// reports whether the last receipt is there. An id that somebody has used for another event is
// passed over.
func (e *Eraser) findReceipt(ctx context.Context, s scope.Scope, p *pending) (done bool, err error) {
	for n := 1; ; n++ {
		p.receiptID = p.entry.ID + ReceiptSuffix
		if n > 1 {
			p.receiptID += "-" + strconv.Itoa(n)
		}
		held, err := e.cfg.Log.Find(ctx, s, p.entry.Source, p.receiptID)
		if errors.Is(err, eventlog.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		var er schemas.MemoryErased
		if held.Type != schemas.TypeMemoryErased || json.Unmarshal(held.Data, &er) != nil || er.Receipt == nil {
			continue
		}
		if len(er.Receipt.Missing()) == 0 {
			return true, nil
		}
		p.told = true
	}
}

// finishErasures removes what is left of erasures and appends their receipts. Where a partition stands
// still, it appends one that names the partition, once, and returns an error until the last can be
// written.
func (e *Eraser) finishErasures(ctx context.Context, s scope.Scope, list []pending) error {
	list, err := e.waitUntilSettled(ctx, s, list)
	if err != nil {
		return err
	}
	var items []string
	for i := range list {
		items = append(items, list[i].er.Items...)
	}
	showing, err := e.makePackFinder(ctx, s, items)
	if err != nil {
		return err
	}
	for i := range list {
		p := &list[i]
		if p.plan, err = e.planErasure(ctx, s, p.er.Items, showing, p.entry.Position); err != nil {
			return err
		}
		if err := e.eraseRest(ctx, s, &p.plan); err != nil {
			return err
		}
	}
	found, behind, err := e.scrubStores(ctx, s, list)
	if err != nil {
		return err
	}
	if err := e.checkLog(ctx, s, list); err != nil {
		return err
	}
	var drafts []eventlog.Draft
	for i := range list {
		if behind != nil && list[i].told {
			continue
		}
		draft, err := e.draftReceipt(s, &list[i], found, behind)
		if err != nil {
			return err
		}
		drafts = append(drafts, draft)
	}
	kept := make([]eventlog.KeptErasure, len(list))
	for i := range list {
		kept[i] = eventlog.KeptErasureOf(list[i].entry, list[i].er.Items)
	}
	e.cfg.Failpoint("erase.before_list")
	if err := e.cfg.Log.KeepErasures(s, kept); err != nil { // the receipt must survive that the log is restored
		return err
	}
	e.cfg.Failpoint("erase.before_receipt")
	_, err = e.cfg.Log.Append(ctx, eventlog.Batch{Drafts: drafts})
	e.cfg.Failpoint("erase.after_receipt")
	switch {
	case err != nil:
		return err
	case behind != nil:
		return behind
	}
	e.cfg.Metrics.Erased(s.Tenant(), len(list))
	return nil
}

// waitUntilSettled waits until the indexes have erasures, and the requests that searched before are over:
// one may still commit a pack that shows the items, which finish erases, or summaries of them. It
// returns the erasures with those of such summaries.
func (e *Eraser) waitUntilSettled(ctx context.Context, s scope.Scope, list []pending) ([]pending, error) {
	for {
		if err := e.cfg.Indexes.Await(ctx, s, list[len(list)-1].entry.Position); err != nil {
			return nil, err
		}
		if err := e.cfg.Indexes.Drain(ctx); err != nil {
			return nil, err
		}
		erased := make([]Logged, len(list))
		for i := range list {
			erased[i] = LoggedBy(list[i].entry, &list[i].er)
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
