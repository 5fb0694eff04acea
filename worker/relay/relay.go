// Package relay publishes the log to the ledger, and signs the heads of logs that have grown.
package relay

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/worker/follow"
	"satchel/worker/metrics"
	"satchel/worker/transport"
)

// Config is what a Relay is made of; all of it is required.
type Config struct {
	Log       *eventlog.Log
	Ledger    transport.Ledger
	Batch     int                // messages published at once, at most
	Busy      func() bool        // whether requests are answered at the moment
	Failpoint func(point string) // for fault tests
	Logger    *slog.Logger
	Share     follow.Share
	Metrics   *metrics.Metrics
}

// Relay publishes the log to the ledger, in position order. Its checkpoint is the
// ledger's own last message, so a crash repeats nothing. A tenant that has no message in
// the ledger's window any more is published from the start again after a restart.
type Relay struct {
	Config

	sent atomic.Uint64 // messages that this process published

	mu   sync.Mutex
	done map[string]int64 // published by this process, by tenant
}

// relayEvery is how long a tenant's entries are gathered for one batch at most: each costs
// the server some syncs of the disk, however few messages it has.
const relayEvery = 100 * time.Millisecond

// New returns a Relay; nothing runs before Run.
func New(cfg Config) *Relay { return &Relay{Config: cfg, done: map[string]int64{}} }

// lookEvery is how soon messages are found that others published for a tenant whose log does not grow.
const lookEvery = time.Minute

// Run publishes what logs have gained, until ctx is done.
func (r *Relay) Run(ctx context.Context, retry follow.Retry) error {
	var wait sync.WaitGroup
	defer wait.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	moved := make(chan struct{})
	wait.Go(func() { r.watchLedger(ctx, moved) })
	pace := follow.Pacing{Busy: r.Busy, Every: relayEvery, Again: moved}
	return follow.Run(ctx, r.Log, retry, r.Logger, "relay", pace, r.catchUp)
}

// watchLedger has every tenant's part of the ledger looked at when it got other messages than this process has sent, as
// foreign ones may be among them. A ledger that does not answer is for catchUp to tell.
func (r *Relay) watchLedger(ctx context.Context, moved chan<- struct{}) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var seen, counted uint64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		last, err := r.Ledger.LastSequence(ctx)
		if err != nil {
			continue
		}
		sent := r.sent.Load()
		own := last-seen == sent-counted
		seen, counted = last, sent
		if own {
			continue
		}
		select {
		case moved <- struct{}{}:
		case <-ctx.Done():
		}
	}
}

func (r *Relay) catchUp(ctx context.Context, tenant string) error {
	if !r.Share.OwnsTenant(tenant) {
		return nil
	}
	s, err := scope.System(tenant)
	if err != nil {
		return err
	}
	at, err := r.Ledger.LastPosition(ctx, tenant)
	if err != nil {
		r.noteUnread(ctx, s)
		return fmt.Errorf("read last ledger position of tenant %q: %w", tenant, err)
	}
	// The ledger is a window: others may have pushed the tenant's last message out of it.
	at = max(at, r.notePublished(tenant, 0))
	head, err := r.Log.Head(ctx, s)
	if err != nil {
		return err
	}
	if at > head.Size {
		return fmt.Errorf("ledger of tenant %q ends at position %d, the log at %d: somebody else published to it, or the log is an older copy: %w", tenant, at, head.Size, follow.ErrAhead)
	}
	r.Metrics.Ledger.Note(tenant, head.Size-at, time.Now())
	for at < head.Size {
		entries, err := r.Log.Read(ctx, s, at, r.Batch)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return nil
		}
		messages := make([]transport.LedgerMessage, 0, len(entries))
		for i := range entries {
			m, err := Message(&entries[i])
			if err != nil {
				return err
			}
			messages = append(messages, m)
		}
		r.Failpoint("relay.before_publish")
		if err := r.Ledger.Publish(ctx, tenant, messages); err != nil {
			return fmt.Errorf("publish ledger of tenant %q after position %d: %w", tenant, at, err)
		}
		r.sent.Add(uint64(len(messages)))
		r.Failpoint("relay.after_publish")
		at = r.notePublished(tenant, entries[len(entries)-1].Position)
		r.Metrics.Ledger.Note(tenant, head.Size-at, time.Now())
	}
	return nil // what was added meanwhile is gathered for the next step
}

// noteUnread notes how far the ledger is behind when it does not say so itself: by what this process published.
func (r *Relay) noteUnread(ctx context.Context, s scope.Scope) {
	if head, err := r.Log.Head(ctx, s); err == nil {
		r.Metrics.Ledger.Note(s.Tenant(), head.Size-r.notePublished(s.Tenant(), 0), time.Now())
	}
}

// notePublished notes that the tenant's log was published up to position, and returns how
// far it was.
func (r *Relay) notePublished(tenant string, position int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[tenant] = max(r.done[tenant], position)
	return r.done[tenant]
}

// Message returns an entry as the ledger shows it. Memory events travel by
// reference: what was remembered is content, and content never reaches the ledger.
func Message(e *eventlog.Entry) (transport.LedgerMessage, error) {
	kind, ok := schemas.LedgerKindOf(e.Type)
	if !ok {
		return transport.LedgerMessage{}, fmt.Errorf("position %d of tenant %q has unknown event type %q", e.Position, e.Tenant, e.Type)
	}
	ev := event.New()
	ev.SetID(e.ID)
	ev.SetSource(e.Source)
	ev.SetType(e.Type)
	ev.SetSubject(e.Subject)
	ev.SetTime(e.Time)
	if v := e.Extensions["traceparent"]; v != "" { // tracestate is free text, and stays in the log
		ev.SetExtension("traceparent", v)
	}
	ev.SetExtension("satchelposition", fmt.Sprintf("%019d", e.Position))
	ev.SetExtension("satchelleaf", hex.EncodeToString(e.Leaf[:]))
	data := e.Data
	schema := schemas.DataSchema(e.Type)
	if e.Erased || strings.HasPrefix(e.Type, "io.satchel.memory.") {
		ref, err := json.Marshal(makeReference(e))
		if err != nil {
			return transport.LedgerMessage{}, fmt.Errorf("encode reference of position %d: %w", e.Position, err)
		}
		data = ref
		schema = schemas.SchemaURI("ledger-reference")
	}
	ev.SetDataContentType(event.ApplicationJSON)
	ev.SetDataSchema(schema)
	ev.DataEncoded = data
	m := transport.LedgerMessage{Position: e.Position, Kind: string(kind), Agent: e.Agent, Event: ev}
	if kind != schemas.LedgerMemory && kind != schemas.LedgerErasure {
		m.Request = e.Subject
	}
	return m, nil
}

// makeReference is what the ledger says of a memory event.
func makeReference(e *eventlog.Entry) schemas.LedgerReference {
	ref := schemas.LedgerReference{
		Position:   e.Position,
		RecordedAt: e.RecordedAt,
		Leaf:       hex.EncodeToString(e.Leaf[:]),
		Commitment: hex.EncodeToString(e.Commitment[:]),
		Erased:     e.Erased,
	}
	if e.Erased {
		return ref
	}
	var er schemas.MemoryErased
	if e.Type == schemas.TypeMemoryErased && json.Unmarshal(e.Data, &er) == nil {
		ref.Items = er.Items
		ref.Original = er.Original
		ref.Receipt = er.Receipt
	}
	return ref
}
