package service

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// Wait is the rest of a call that waits for the log or the indexes. It may run beside whatever
// began the call.
type Wait func(ctx context.Context) (any, error)

// How many calls may wait for the log at a time, of all tenants, of one, and of one principal.
const (
	maxWaits          = 8192
	maxTenantWaits    = 4096
	maxPrincipalWaits = 1024
)

const (
	askAgain = 250 * time.Millisecond // between two looks of a call that waits at whether the log can be written
	lookAt   = 5 * time.Second        // between two looks at a log that nobody says has grown
)

// errRefused is the error of a wait for an event that was refused.
var errRefused = errors.New("the event was refused")

// eventKey names an event within a tenant's log.
type eventKey struct{ source, id string }

// found is an entry that somebody waits for, or why it can't be waited for.
type found struct {
	entry eventlog.Entry
	err   error
}

// entryWaits hands entries of the log to the calls that wait for them. However many calls of a
// tenant wait, one goroutine reads its log, and none when nobody waits. Safe for concurrent
// use.
type entryWaits struct {
	log    *eventlog.Log
	places *admission

	mu      sync.Mutex
	tenants map[string]*tenantWaits
}

func newEntryWaits(log *eventlog.Log) entryWaits {
	return entryWaits{log: log, places: newAdmission(maxPrincipalWaits, maxTenantWaits, maxWaits)}
}

// tenantWaits are the calls that wait for one tenant's log.
type tenantWaits struct {
	calls  int
	byKey  map[eventKey][]chan found
	cancel context.CancelFunc // ends the reader
}

// enterWait makes the caller wait for an event: the channel, of capacity 1, gets its entry when it
// is logged from now on. The caller MUST call leave, and MUST look for the entry in between:
// it may be there already. ok is false when too many wait, of the call's principal, the tenant or all.
func (w *entryWaits) enterWait(ctx context.Context, s scope.Scope, key eventKey) (logged <-chan found, leave func(), ok bool, err error) {
	head, err := w.log.Head(ctx, s)
	if err != nil {
		return nil, nil, false, err
	}
	done, _ := w.places.tryAcquire(s.Tenant(), "/"+payerOf(ctx)) // calls of nobody have a share, too
	if done == nil {
		return nil, nil, false, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.tenants[s.Tenant()]
	if t == nil {
		read, cancel := context.WithCancel(context.WithoutCancel(ctx))
		t = &tenantWaits{byKey: map[eventKey][]chan found{}, cancel: cancel}
		if w.tenants == nil {
			w.tenants = map[string]*tenantWaits{}
		}
		w.tenants[s.Tenant()] = t
		go w.readEntries(read, s, t, head.Size)
	}
	t.calls++
	ch := make(chan found, 1)
	t.byKey[key] = append(t.byKey[key], ch)
	return ch, func() {
		w.leaveWait(s.Tenant(), t, key, ch)
		done()
	}, true, nil
}

func (w *entryWaits) leaveWait(tenant string, t *tenantWaits, key eventKey, ch chan found) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t.calls--
	t.forgetWait(key, ch)
	if t.calls == 0 {
		t.cancel()
		if w.tenants[tenant] == t {
			delete(w.tenants, tenant)
		}
	}
}

func (t *tenantWaits) forgetWait(key eventKey, ch chan found) {
	waiting := t.byKey[key]
	for i := range waiting {
		if waiting[i] == ch {
			waiting = append(waiting[:i], waiting[i+1:]...)
			break
		}
	}
	if len(waiting) == 0 {
		delete(t.byKey, key)
		return
	}
	t.byKey[key] = waiting
}

// readEntries hands out what the tenant's log gets after a position, until nobody waits any more. An
// error ends every call that waits.
func (w *entryWaits) readEntries(ctx context.Context, s scope.Scope, t *tenantWaits, after int64) {
	const some = 512
	for {
		err := w.awaitGrowth(ctx, s, after)
		var entries []eventlog.Entry
		if err == nil {
			entries, err = w.log.Read(ctx, s, after, some)
		}
		w.mu.Lock()
		if err != nil {
			for _, waiting := range t.byKey {
				for _, ch := range waiting {
					ch <- found{err: err}
				}
			}
			clear(t.byKey)
			if w.tenants[s.Tenant()] == t { // whoever comes now begins anew
				delete(w.tenants, s.Tenant())
			}
			w.mu.Unlock()
			return
		}
		for i := range entries {
			key := eventKey{entries[i].Source, entries[i].ID}
			for _, ch := range t.byKey[key] {
				ch <- found{entry: entries[i]}
			}
			delete(t.byKey, key)
		}
		w.mu.Unlock()
		if len(entries) > 0 {
			after = entries[len(entries)-1].Position
		}
	}
}

// awaitGrowth returns when the log is longer than after. It looks now and then: another worker's
// commit may go untold.
func (w *entryWaits) awaitGrowth(ctx context.Context, s scope.Scope, after int64) error {
	for {
		part, cancel := context.WithTimeout(ctx, lookAt)
		_, err := w.log.Await(part, s, after)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return err
		}
	}
}

// awaitEntry returns the entry of an event, and waits for it while the log can be written and
// nobody has refused the event.
func (v *Service) awaitEntry(ctx context.Context, s scope.Scope, source, id string, refused <-chan *schemas.Error) (eventlog.Entry, error) {
	if entry, err := v.cfg.Log.Find(ctx, s, source, id); !errors.Is(err, eventlog.ErrNotFound) {
		return entry, err
	}
	if err := v.cfg.Ingest.Stopped(s.Tenant()); err != nil {
		return eventlog.Entry{}, err
	}
	logged, leave, ok, err := v.waits.enterWait(ctx, s, eventKey{source, id})
	if err != nil {
		return eventlog.Entry{}, err
	}
	if !ok {
		return eventlog.Entry{}, &schemas.Error{Code: schemas.CodeOverloaded, Message: "too many calls of this principal or tenant wait at a time", RetryAfter: 1}
	}
	defer leave()
	if entry, err := v.cfg.Log.Find(ctx, s, source, id); !errors.Is(err, eventlog.ErrNotFound) {
		return entry, err
	}
	began := time.Now()
	tick := time.NewTicker(askAgain)
	defer tick.Stop()
	for {
		select {
		case f := <-logged:
			return f.entry, f.err
		case why := <-refused:
			return eventlog.Entry{}, fmt.Errorf("%w: %w", errRefused, why)
		case <-tick.C:
			if err := v.explainDelay(s.Tenant(), id, began); err != nil {
				return eventlog.Entry{}, err
			}
		case <-ctx.Done():
			return eventlog.Entry{}, ctx.Err()
		}
	}
}

// explainDelay says why the event id of a tenant is not logged at present, because that fails again
// and again; nil when it does not. The id of an erasure's receipt is one as well.
func (v *Service) explainDelay(tenant, id string, since time.Time) error {
	if err := v.cfg.Ingest.Delayed(tenant, since); err != nil {
		return err
	}
	return v.cfg.Eraser.Delayed(tenant, id, since)
}

// raiseReceipt waits until the event of an entry has reached level, and notes in the receipt how far
// it has come. An error says why it came no further.
func (v *Service) raiseReceipt(ctx context.Context, s scope.Scope, r *schemas.Receipt, entry *eventlog.Entry, level schemas.ReceiptLevel) error {
	r.Level, r.Position, r.Leaf = schemas.ReceiptLogged, entry.Position, hex.EncodeToString(entry.Leaf[:])
	if level == schemas.ReceiptIndexed || level == schemas.ReceiptProved {
		if err := v.cfg.Indexes.Await(ctx, s, entry.Position); err != nil {
			return storageError(ctx, "wait for the indexes", err)
		}
		r.Level = schemas.ReceiptIndexed
	}
	if level == schemas.ReceiptProved {
		checkpoint, proof, err := v.proveInclusion(ctx, s, entry.Position)
		if err != nil {
			return storageError(ctx, "prove the entry", err)
		}
		r.Level = schemas.ReceiptProved
		r.Checkpoint = checkpoint
		r.Inclusion = proof
	}
	return nil
}

// settlePut waits until an event that was published has reached level. Nothing that happens
// meanwhile takes the event back, so that the receipt says how far it is and why no further;
// only a refusal, or another event under its source and id, is an error.
func (v *Service) settlePut(ctx context.Context, s scope.Scope, r schemas.Receipt, d *eventlog.Draft, refused <-chan *schemas.Error, level schemas.ReceiptLevel) (any, error) {
	limited := ctx
	if end, bounded := ctx.Deadline(); bounded { // the receipt leaves before the caller does
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, beforeEnd(time.Until(end)))
		defer cancel()
	}
	entry, err := v.awaitEntry(limited, s, d.Source, d.ID, refused)
	switch {
	case errors.Is(err, errRefused):
		return nil, storageError(ctx, "wait for the log", err)
	case err != nil:
		err = storageError(limited, "wait for the log", err)
	case newTakenError(&entry, d) != nil:
		return nil, newTakenError(&entry, d)
	default:
		err = v.raiseReceipt(limited, s, &r, &entry, level)
	}
	var typed *schemas.Error
	if errors.As(err, &typed) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the event is stored and has level %s; the wait for level %s ended: %s", r.Level, level, typed.Message))
	}
	return r, nil
}

// beforeEnd is how long a call may wait that has so much time left, so that its reply comes
// before its caller has gone.
func beforeEnd(left time.Duration) time.Duration { return left - min(left/5, time.Second) }
