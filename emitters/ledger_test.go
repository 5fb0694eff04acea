package emitters_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/emitters"
	"satchel/jetstream"
	"satchel/jetstream/cloudevent"
	"satchel/jetstream/embedded"
	"satchel/schemas"
)

// positions follows the ledger to its present end.
func positions(t *testing.T, e *emitters.Emitter, opts emitters.FollowOptions) (at []int64, gaps []emitters.Gap) {
	t.Helper()
	opts.Once = true
	err := e.FollowLedger(within(t, time.Minute), opts, func(l emitters.LedgerEvent) error {
		if l.Gap != nil {
			gaps = append(gaps, *l.Gap)
			return nil
		}
		at = append(at, l.Position)
		return nil
	})
	if err != nil {
		t.Fatalf("follow %+v: %v", opts, err)
	}
	return at, gaps
}

// published waits until the ledger has the log up to position.
func published(t *testing.T, e *emitters.Emitter, position int64) {
	t.Helper()
	err := e.FollowLedger(within(t, time.Minute), emitters.FollowOptions{}, func(l emitters.LedgerEvent) error {
		if l.Position >= position {
			return emitters.ErrStop
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFollowLedger(t *testing.T) {
	t.Parallel()
	e := open(t, emitters.Config{})
	ctx := within(t, time.Minute)
	if at, _ := positions(t, e, emitters.FollowOptions{}); at != nil {
		t.Errorf("an empty ledger has %v", at)
	}
	for _, id := range []string{"n1", "n2"} {
		if _, err := e.Remember(ctx, note(id, "the bridge is closed "+id), &emitters.Options{Wait: schemas.ReceiptIndexed}); err != nil {
			t.Fatal(err)
		}
	}
	res, err := e.Ask(ctx, schemas.ContextRequest{Payload: schemas.RequestPayload{Query: schemas.Query{Text: "is the bridge closed?"}}})
	if err != nil {
		t.Fatal(err)
	}
	published(t, e, 5)
	for _, c := range []struct {
		name string
		opts emitters.FollowOptions
		want []int64
	}{
		{"all", emitters.FollowOptions{}, []int64{1, 2, 3, 4, 5}},
		{"after", emitters.FollowOptions{After: 3}, []int64{4, 5}},
		{"after the end", emitters.FollowOptions{After: 99}, nil},
		{"one kind", emitters.FollowOptions{Kinds: []schemas.LedgerKind{schemas.LedgerPack}}, []int64{res.Payload.Positions.Pack}},
		{"two kinds", emitters.FollowOptions{Kinds: []schemas.LedgerKind{schemas.LedgerMemory, schemas.LedgerPack}}, []int64{1, 2, res.Payload.Positions.Pack}},
		{"an absent kind", emitters.FollowOptions{Kinds: []schemas.LedgerKind{schemas.LedgerArtifact}}, nil},
		{"only new, none", emitters.FollowOptions{New: true}, nil},
	} {
		if at, gaps := positions(t, e, c.opts); !slices.Equal(at, c.want) || gaps != nil {
			t.Errorf("%s: positions %v, gaps %v, want %v", c.name, at, gaps, c.want)
		}
	}
	err = e.FollowLedger(ctx, emitters.FollowOptions{Kinds: []schemas.LedgerKind{"pck"}}, func(emitters.LedgerEvent) error { return nil })
	if !errors.Is(err, jetstream.ErrSubject) || !strings.Contains(err.Error(), `kind "pck"`) || !strings.Contains(err.Error(), "the kinds are memory, pack, drop, ") {
		t.Errorf("an unknown kind: %v", err)
	}
	mine := errors.New("mine")
	if err := e.FollowLedger(ctx, emitters.FollowOptions{}, func(emitters.LedgerEvent) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("the caller's error: %v", err)
	}
}

func TestFollowLedgerSeesWhatComes(t *testing.T) {
	t.Parallel()
	e := open(t, emitters.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := make(chan emitters.LedgerEvent, 10)
	done := make(chan error, 1)
	go func() {
		done <- e.FollowLedger(ctx, emitters.FollowOptions{}, func(l emitters.LedgerEvent) error { got <- l; return nil })
	}()
	r, err := e.Remember(ctx, note("n1", "x"), &emitters.Options{Wait: schemas.ReceiptLogged})
	if err != nil {
		t.Fatal(err)
	}
	l := <-got
	if l.Position != 1 || l.Kind != schemas.LedgerMemory || l.Agent != "planner" || l.Event.ID() != r.ID || l.Event.Source() != r.Source ||
		cloudevent.ExtensionText(l.Event, "satchelleaf") != r.Leaf {
		t.Errorf("entry %+v of receipt %+v", l, r)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("follow ended with %v", err)
	}
}

// operator connects as the owner of the node's folder.
func operator(t *testing.T) *nats.Conn {
	t.Helper()
	user, err := embedded.Operator(filepath.Join(nodeDir, "streams"))
	if err != nil {
		t.Fatal(err)
	}
	nc, err := jetstream.Connect(t.Context(), jetstream.ConnectConfig{URL: nodeURL, User: user}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func TestALedgerGapIsNamed(t *testing.T) {
	t.Parallel()
	e := open(t, emitters.Config{})
	ctx := within(t, time.Minute)
	items := []schemas.MemoryItem{note("n1", "a"), note("n2", "b"), note("n3", "c"), note("n4", "d"), note("n5", "e")}
	if _, err := e.RememberAll(ctx, items); err != nil {
		t.Fatal(err)
	}
	published(t, e, 5)
	// The window moves on: the tenant's entries 1 and 2, then 4, are no longer in it.
	nc := operator(t)
	js, err := jetstream.Open(ctx, nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(ctx, jetstream.LedgerStream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		m, err := stream.GetMsg(ctx, seq)
		if err != nil {
			continue // another test's, removed
		}
		tenant, _, _, err := jetstream.ParseLedger(m.Subject)
		if at := m.Header.Get(jetstream.HeaderPosition); err == nil && tenant == t.Name() && (at == "1" || at == "2" || at == "4") {
			if err := stream.DeleteMsg(ctx, seq); err != nil {
				t.Fatal(err)
			}
		}
	}
	at, gaps := positions(t, e, emitters.FollowOptions{})
	if !slices.Equal(at, []int64{3, 5}) || !slices.Equal(gaps, []emitters.Gap{{From: 1, To: 2}, {From: 4, To: 4}}) {
		t.Errorf("positions %v, gaps %v", at, gaps)
	}
	if at, gaps = positions(t, e, emitters.FollowOptions{After: 2}); !slices.Equal(at, []int64{3, 5}) || !slices.Equal(gaps, []emitters.Gap{{From: 4, To: 4}}) {
		t.Errorf("after 2: positions %v, gaps %v", at, gaps)
	}
}

func TestAForeignLedgerMessageIsPassedBy(t *testing.T) {
	t.Parallel()
	e := open(t, emitters.Config{})
	ctx := within(t, time.Minute)
	if _, err := e.RememberAll(ctx, []schemas.MemoryItem{note("n1", "a"), note("n2", "b")}); err != nil {
		t.Fatal(err)
	}
	published(t, e, 2)
	// Who shares Satchel's account can have the server reply into the stream.
	if err := operator(t).PublishRequest("$JS.API.INFO", "prov.v1."+t.Name()+".memory.evil", nil); err != nil {
		t.Fatal(err)
	}
	var foreign uint64
	err := e.FollowLedger(ctx, emitters.FollowOptions{After: 2}, func(l emitters.LedgerEvent) error {
		if l.Gap == nil || l.Gap.Foreign == 0 {
			return nil
		}
		foreign = l.Gap.Foreign
		return emitters.ErrStop
	})
	if err != nil || foreign == 0 {
		t.Fatalf("foreign message at %d, %v", foreign, err)
	}
	if _, err := e.Remember(ctx, note("n3", "c"), nil); err != nil {
		t.Fatal(err)
	}
	published(t, e, 3)
	if at, _ := positions(t, e, emitters.FollowOptions{}); !slices.Equal(at, []int64{1, 2, 3}) {
		t.Errorf("positions %v", at)
	}
}
