package emitters_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/emitters"
	"satchel/jetstream"
	"satchel/schemas"
)

// away returns an emitter whose server is stopped.
func away(t *testing.T, s *streams, cfg emitters.Config) (*emitters.Emitter, *nats.Conn) {
	t.Helper()
	nc := dial(t, s.url())
	if cfg.Tenant == "" {
		cfg.Tenant, cfg.Agent, cfg.Labels = "main", "planner", []string{"level:internal"}
	}
	e, err := emitters.New(nc, cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.stop(t)
	await(t, nc, nats.RECONNECTING)
	return e, nc
}

func remember(t *testing.T, e *emitters.Emitter, id string) schemas.Receipt {
	t.Helper()
	r, err := e.Remember(within(t, time.Minute), note(id, "text of "+id), &emitters.Options{EventID: id})
	if err != nil {
		t.Fatalf("remember %s: %v", id, err)
	}
	return r
}

func TestTheOutboxKeepsEventsWhileNATSIsAway(t *testing.T) {
	t.Parallel()
	s := startStreams(t)
	e, nc := away(t, s, emitters.Config{Outbox: t.TempDir()})
	for i := range 3 {
		if r := remember(t, e, fmt.Sprintf("e%d", i)); r.Level != schemas.ReceiptQueued {
			t.Errorf("receipt %+v while NATS is away", r)
		}
	}
	receipts, err := e.RememberAll(t.Context(), []schemas.MemoryItem{note("x", "x"), note("y", "y")})
	if err != nil || len(receipts) != 2 || receipts[1].Level != schemas.ReceiptQueued {
		t.Errorf("receipts %+v, %v", receipts, err)
	}
	if r, err := e.Remember(t.Context(), note("z", "z"), &emitters.Options{Wait: schemas.ReceiptIndexed}); err != nil || r.Level != schemas.ReceiptQueued {
		t.Errorf("wait for indexed while NATS is away: %+v, %v", r, err)
	}
	if _, err := e.Forget(t.Context(), []string{"x"}, ""); !errors.Is(err, emitters.ErrQueued) {
		t.Errorf("forget while NATS is away: %v", err)
	}
	if n := e.Queued(); n != 7 {
		t.Errorf("%d events wait", n)
	}
	s.start(t)
	await(t, nc, nats.CONNECTED)
	if r := remember(t, e, "last"); r.Level != schemas.ReceiptAccepted || e.Queued() != 0 {
		t.Errorf("after the reconnect: %+v, %d wait", r, e.Queued())
	}
	ids := s.stored(t)
	if len(ids) != 8 || !slices.Equal(ids[:3], []string{"e0", "e1", "e2"}) || ids[7] != "last" {
		t.Errorf("stored in another order: %v", ids)
	}
}

func TestWithoutAnOutboxTheErrorIsNamed(t *testing.T) {
	t.Parallel()
	s := startStreams(t)
	e, nc := away(t, s, emitters.Config{})
	s.start(t)
	s.stop(t)
	await(t, nc, nats.RECONNECTING)
	if _, err := e.Remember(t.Context(), note("n1", "x"), nil); !errors.Is(err, emitters.ErrNotConnected) {
		t.Errorf("remember: %v", err)
	}
	if _, err := e.Remember(t.Context(), note("n1", "x"), &emitters.Options{Wait: schemas.ReceiptLogged}); !errors.Is(err, emitters.ErrNotConnected) {
		t.Errorf("remember and wait: %v", err)
	}
	s.start(t)
}

func TestTheOutboxSurvivesItsProcess(t *testing.T) {
	t.Parallel()
	s, dir := startStreams(t), t.TempDir()
	seed, public := key()
	cfg := emitters.Config{Tenant: "main", Agent: "planner", Labels: []string{"level:internal"}, Outbox: dir, SigningSeed: seed}
	first, nc := away(t, s, cfg)
	remember(t, first, "e1")
	if _, err := emitters.New(nc, cfg); !errors.Is(err, emitters.ErrOutboxInUse) {
		t.Errorf("a second emitter on the folder: %v", err)
	}
	if err := first.Close(t.Context()); !errors.Is(err, emitters.ErrNotConnected) {
		t.Errorf("close with events that wait: %v", err)
	}
	// The machine stopped in the middle of the next line.
	file := filepath.Join(dir, "outbox.jsonl")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(whole, whole[:len(whole)/2]...), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start(t)
	await(t, nc, nats.CONNECTED)
	second, err := emitters.New(nc, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if second.Queued() != 1 {
		t.Fatalf("%d events wait after the restart", second.Queued())
	}
	if err := second.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	remember(t, second, "e2")
	if err := second.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if ids := s.stored(t); !slices.Equal(ids, []string{"e1", "e2"}) {
		t.Errorf("stored %v", ids)
	}
	if _, err := os.Stat(file); err != nil || public == "" {
		t.Error(err)
	}
}

func TestADamagedOutboxIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "outbox.jsonl"), []byte("{\"half\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := emitters.New(dial(t, nodeURL), emitters.Config{Tenant: "t", Agent: "a", Outbox: dir})
	if err == nil || !strings.Contains(err.Error(), "line 1 is damaged") || strings.Contains(err.Error(), "half") {
		t.Errorf("a damaged line: %v", err)
	}
}

func TestTheOutboxIsBounded(t *testing.T) {
	t.Parallel()
	s := startStreams(t)
	e, nc := away(t, s, emitters.Config{Outbox: t.TempDir(), OutboxLimit: 2})
	remember(t, e, "e1")
	if _, err := e.RememberAll(t.Context(), []schemas.MemoryItem{note("x", "x"), note("y", "y")}); !errors.Is(err, emitters.ErrOutboxFull) {
		t.Errorf("two more: %v", err)
	}
	remember(t, e, "e2")
	if _, err := e.Remember(t.Context(), note("z", "z"), nil); !errors.Is(err, emitters.ErrOutboxFull) {
		t.Errorf("one too many: %v", err)
	}
	if _, err := e.Remember(t.Context(), note("big", strings.Repeat("x", jetstream.MaxEventSize)), nil); !errors.Is(err, jetstream.ErrTooLarge) {
		t.Errorf("what the stream would never take: %v", err)
	}
	s.start(t)
	await(t, nc, nats.CONNECTED)
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ids := s.stored(t); !slices.Equal(ids, []string{"e1", "e2"}) || e.Queued() != 0 {
		t.Errorf("stored %v, %d wait", ids, e.Queued())
	}
}

func TestASignatureSurvivesTheOutbox(t *testing.T) {
	t.Parallel()
	seed, _ := key()
	nc := dial(t, closedURL)
	// A folder that holds what an emitter kept while this node was away.
	s, dir := startStreams(t), t.TempDir()
	cfg := emitters.Config{Tenant: "closed", Agent: "planner", Labels: []string{"level:internal"}, Outbox: dir, SigningSeed: seed, KeyID: "planner-key"}
	before, _ := away(t, s, cfg)
	item := note("kept-1", "bread & butter < 5 \u2028 €")
	item.Attributes = []byte(`{ "ratio": 1.50, "html": "<b>" }`)
	r, err := before.Remember(t.Context(), item, nil)
	if err != nil || r.Level != schemas.ReceiptQueued {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := before.Close(t.Context()); err == nil {
		t.Error("close: nothing waits")
	}
	s.start(t)
	after, err := emitters.New(nc, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx := within(t, time.Minute)
	if err := after.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := after.Receipt(ctx, r.Source, r.ID, schemas.ReceiptLogged); err != nil {
		t.Errorf("a signed event from the outbox: %v", err)
	}
}

func TestManyAtOnceUseOneOutbox(t *testing.T) {
	t.Parallel()
	s := startStreams(t)
	e, nc := away(t, s, emitters.Config{Outbox: t.TempDir()})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				id := fmt.Sprintf("e%d-%02d", i, j)
				if _, err := e.Remember(ctx, note(id, "x"), &emitters.Options{EventID: id}); err != nil {
					t.Errorf("remember %s: %v", id, err)
				}
			}
		})
	}
	s.start(t)
	wg.Wait()
	await(t, nc, nats.CONNECTED)
	if err := e.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, id := range s.stored(t) {
		seen[id] = true
	}
	if len(seen) != 160 || e.Queued() != 0 {
		t.Errorf("%d of 160 events are stored, %d wait", len(seen), e.Queued())
	}
}
