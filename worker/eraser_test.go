package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/jetstream"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/test/testenv"
	"satchel/worker"
	"satchel/worker/service"
	"satchel/worker/transport"
)

// onDisk lists the files below the world's folder that hold text.
func (w *world) onDisk(t *testing.T, text string) []string {
	t.Helper()
	return testenv.Holding(t, w.dir, text)
}

func TestForgottenContentIsNowhere(t *testing.T) {
	t.Parallel()
	w := setup(t)
	const canary = "xylophone-canary-4711"
	s := system(t, "acme")
	w.publish(t, "acme",
		recorded(t, "secret", "the password is "+canary), recorded(t, "kept", "the lake house has a red door"),
		recorded(t, "sum", "in short: "+canary, func(d map[string]any) {
			d["kind"], d["links"] = "summary", []map[string]any{{"rel": "derived_from", "to": "secret"}}
		}),
		recorded(t, "sumsum", "shorter still: "+canary, func(d map[string]any) {
			d["kind"], d["links"] = "summary", []map[string]any{{"rel": "derived_from", "to": "sum"}}
		}),
		memory(t, schemas.TypeMemorySuperseded, "sup", map[string]any{"scope": map[string]any{"tenant": "acme"}, "item": "secret", "by": "kept", "reason": "it said " + canary}),
		recorded(t, "secret", "the same id, rejected: "+canary)) // id_reuse: a copy in the DLQ
	n := len(w.entries(t, "acme", 5))
	must(t, w.worker.Projector.Await(within(t), s, int64(n)))
	w.letters(t, 1)
	out, err := w.worker.Service.Request(within(t), "acme", request(t, "reader", "internal", "what is it in short, and shorter still?", nil))
	must(t, err)
	shown := payloadOf(t, out)
	if !strings.Contains(shown.Text, canary) {
		t.Fatalf("the pack does not show the secret: %s", shown.Text)
	}
	if files := w.onDisk(t, canary); len(files) < 3 {
		t.Fatalf("the canary is in %v only: the test shows nothing", files)
	}
	w.publish(t, "acme", forgetting(t, "f", "secret"))
	receipt := w.receipt(t, "acme", "f")
	if diff := cmp.Diff([]string{"secret", "sum", "sumsum"}, slices.Sorted(slices.Values(receipt.Items))); diff != "" {
		t.Errorf("erased items: %s", diff)
	}
	if diff := cmp.Diff([]int64{1, 3, 4, 5}, receipt.Positions); diff != "" {
		t.Errorf("erased positions: %s", diff)
	}
	if diff := cmp.Diff([]int64{shown.Positions.Pack}, receipt.Packs); diff != "" {
		t.Errorf("erased packs: %s", diff)
	}
	var names []string
	for _, store := range receipt.Stores {
		names = append(names, store.Store)
		if !store.Absent {
			t.Errorf("%s still has something", store.Store)
		}
	}
	if diff := cmp.Diff([]string{"DLQ", "MEMORY", "SATCHEL_REPLIES", "log", "items", "keyword", "private keyword", "vector", "graph"}, names); diff != "" {
		t.Errorf("stores: %s", diff)
	}
	poll(t, "the canary is nowhere: the server removes a purged folder in the background", func() bool { return len(w.onDisk(t, canary)) == 0 })
	must(t, w.log.Verify(within(t), s, nil, nil))
	if _, err := w.worker.Service.Pack(within(t), "acme", encode(t, schemas.PackRequest{PackID: shown.PackID, From: &schemas.Agent{Type: "agent", ID: "reader", SecurityLevel: "internal"}})); typed(t, err).Code != schemas.CodePolicyDenied {
		t.Errorf("the pack is still given out: %v", err)
	}
	w.reopen(t)
	w.sameAfterRebuild(t, "acme")
	if files := w.onDisk(t, canary); len(files) > 0 {
		t.Errorf("after a restart and a rebuild the canary is in %v", files)
	}
}

// TestWhatWasErasedComesAgain: an agent publishes the event of an erased item once more, as a second import does. It is not
// taken, and the stream does not keep it.
func TestWhatWasErasedComesAgain(t *testing.T) {
	t.Parallel()
	w := setup(t)
	const canary = "xylophone-canary-4713"
	secret := recorded(t, "secret", "the password is "+canary)
	w.publish(t, "acme", secret, recorded(t, "kept", "the lake house has a red door"), forgetting(t, "f", "secret"))
	w.receipt(t, "acme", "f")
	poll(t, "the canary is nowhere", func() bool { return len(w.onDisk(t, canary)) == 0 })
	before := len(w.entries(t, "acme", 0))
	w.publish(t, "acme", secret, secret, recorded(t, "next", "the boat is at the jetty"))
	entries := w.entries(t, "acme", before+1)
	if last := entries[len(entries)-1]; last.Subject != "next" {
		t.Errorf("the log ends with %s %s", last.Type, last.Subject)
	}
	poll(t, "the canary is nowhere again", func() bool { return len(w.onDisk(t, canary)) == 0 })
}

func TestAnErasureIsFinishedAfterACrash(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"erase.before_commit", "erase.after_commit", "erase.after_streams", "erase.before_list", "erase.before_receipt", "erase.after_receipt"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := prepare(t)
			const canary = "canary-of-a-crash"
			var once sync.Once
			crashed := make(chan struct{})
			w.change = func(c *worker.Config) {
				c.Failpoint = func(at string) {
					if at == point {
						once.Do(func() {
							w.halt()
							close(crashed)
						})
					}
				}
			}
			w.publish(t, "acme", recorded(t, "a", "the secret "+canary), recorded(t, "b", "the other secret"),
				recorded(t, "s", "a summary of "+canary, func(d map[string]any) {
					d["kind"], d["links"] = "summary", []map[string]any{{"rel": "derived_from", "to": "a"}}
				}), forgetting(t, "f", "a"))
			w.start(t)
			await(t, crashed, "the crash")
			if err := w.stop(); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			w.change = nil
			w.reopen(t)
			receipt := w.receipt(t, "acme", "f")
			if diff := cmp.Diff([]string{"a", "s"}, receipt.Items); diff != "" {
				t.Error(diff)
			}
			poll(t, "the canary is nowhere", func() bool { return len(w.onDisk(t, canary)) == 0 })
			if got := w.letters(t, 0); len(got) > 0 {
				t.Errorf("dead letters: %v", got)
			}
			must(t, w.log.Verify(within(t), system(t, "acme"), nil, nil))
			erasures, err := w.log.BySubject(within(t), system(t, "acme"), eventlog.ErasureSubject)
			must(t, err)
			if len(erasures) != 2 {
				t.Errorf("%d erasure entries, want the erasure and its receipt", len(erasures))
			}
			kept, err := w.log.KeptErasures(system(t, "acme"))
			must(t, err)
			if diff := cmp.Diff([]eventlog.KeptErasure{eventlog.KeptErasureOf(&erasures[0], []string{"a", "s"})}, kept); diff != "" {
				t.Errorf("list of erasures: %s", diff)
			}
		})
	}
}

// What is remembered under an erased id afterwards stays, also when the erasure is
// delivered again.
func TestAnItemCanBeRememberedAnew(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := system(t, "acme")
	forget := forgetting(t, "f", "a")
	w.publish(t, "acme", recorded(t, "a", "the old text"), forget)
	w.receipt(t, "acme", "f")
	anew := recorded(t, "a", "the new text")
	anew.SetID("e-a-2")
	w.publish(t, "acme", anew, forget, recorded(t, "b", "the end"))
	n := len(w.entries(t, "acme", 5))
	must(t, w.worker.Projector.Await(within(t), s, int64(n)))
	records, err := w.items.Get(within(t), s, []string{"a"})
	must(t, err)
	if len(records) != 1 || records[0].Content.Text() != "the new text" {
		t.Errorf("records = %+v", records)
	}
	must(t, w.log.Verify(within(t), s, nil, nil))
	w.sameAfterRebuild(t, "acme")
}

// Remembering an id anew before its erasure is finished does not keep the receipt back.
func TestARaceOfForgettingAndRemembering(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	anew := recorded(t, "a", "the new text")
	anew.SetID("e-a-2")
	w.publish(t, "acme", recorded(t, "a", "the old text"), forgetting(t, "f", "a"), anew)
	w.start(t)
	receipt := w.receipt(t, "acme", "f")
	if diff := cmp.Diff([]int64{1}, receipt.Positions); diff != "" {
		t.Error(diff)
	}
	if e, err := w.log.Find(within(t), system(t, "acme"), source, "e-a-2"); err != nil || e.Erased {
		t.Errorf("the new memory: erased %v, %v", e.Erased, err)
	}
}

// Ids that agents choose must not be mistaken for what the eraser looks for.
func TestOddIDs(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := system(t, "acme")
	squatter := recorded(t, "squat", "a squatter on the receipt's id")
	squatter.SetID("f.receipt")
	w.publish(t, "acme", recorded(t, eventlog.ErasureSubject, "an item called as the eraser's subject"), recorded(t, "a", "the lake house"), squatter)
	must(t, w.worker.Projector.Await(within(t), s, int64(len(w.entries(t, "acme", 3)))))
	// a request that bears the id of the item which is then forgotten
	out, err := w.worker.Service.Request(within(t), "acme", request(t, "reader", "internal", "the lake house", func(r *schemas.ContextRequest) { r.Meta.ID = "a" }))
	must(t, err)
	w.publish(t, "acme", forgetting(t, "f", "a"), forgetting(t, "g", eventlog.ErasureSubject))
	receipt := w.receipt(t, "acme", "g")
	if diff := cmp.Diff([]int64{1}, receipt.Positions); diff != "" {
		t.Errorf("erased: %s", diff)
	}
	poll(t, "the other receipt, under another id", func() bool {
		_, err := w.log.Find(within(t), s, source, "f.receipt-2")
		return err == nil
	})
	decision, err := w.log.Entry(within(t), s, payloadOf(t, out).Positions.Decision)
	must(t, err)
	if decision.Erased {
		t.Error("the decisions of a request went with an item of the same id")
	}
	must(t, w.log.Verify(within(t), s, nil, nil))
}

func TestARefusedErasureBecomesADeadLetter(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	w.change = func(c *worker.Config) { c.Loopback = false } // nobody is an eraser then
	w.start(t)
	w.publish(t, "acme", recorded(t, "a", "kept"), forgetting(t, "f", "a"), recorded(t, "b", "after it"))
	if diff := cmp.Diff([]string{"e-a", "e-b"}, ids(w.entries(t, "acme", 2))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"f policy_denied"}, w.letters(t, 1)); diff != "" {
		t.Error(diff)
	}
}

// What is published for a tenant that cannot be is a dead letter, whatever it is, and stops
// nobody.
func TestAnEventOfNoTenantIsADeadLetter(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.publish(t, "_", forgetting(t, "f", "a"), recorded(t, "x", "of nobody"))
	w.publish(t, "acme", recorded(t, "a", "kept"))
	if diff := cmp.Diff([]string{"e-x malformed", "f malformed"}, slices.Sorted(slices.Values(w.letters(t, 2)))); diff != "" {
		t.Error(diff)
	}
	w.entries(t, "acme", 1)
	poll(t, "every partition runs", func() bool {
		err := w.worker.Ready()
		if err != nil && !errors.Is(err, transport.ErrStarting) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// heldEngine commits its pack only when it is let go.
type heldEngine struct {
	service.Engine
	w       *world
	started chan struct{}
	release chan struct{}
}

// Reply returns a pack that shows item a as it was before.
func (h *heldEngine) Reply(ctx context.Context, s scope.Scope, _ schemas.ContextRequest) (json.RawMessage, error) {
	close(h.started)
	<-h.release
	shown := []byte(`{"text":"what canary-in-flight said"}`)
	data, err := json.Marshal(map[string]any{"id": "pack-1", "as_of": 1, "result_sha256": sum(shown), "sections": []any{}})
	if err != nil {
		return nil, err
	}
	_, err = h.w.log.Append(ctx, eventlog.Batch{Drafts: []eventlog.Draft{{Tenant: s.Tenant(), Agent: "satchel", Type: schemas.TypeContextPacked,
		Source: service.PackSource, ID: "pack-1", Subject: "req", Data: data, Attachment: eventlog.Derive([]string{"a"}, shown)}}})
	return nil, err
}

// A request that has read an item before its erasure and commits its pack afterwards
// leaves nothing of it behind.
func TestAPackUnderWayIsErasedToo(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	held := &heldEngine{w: w, started: make(chan struct{}), release: make(chan struct{})}
	w.engine = held
	w.start(t)
	w.publish(t, "acme", recorded(t, "a", "what canary-in-flight said"))
	must(t, w.worker.Projector.Await(within(t), system(t, "acme"), int64(len(w.entries(t, "acme", 1)))))
	done := make(chan error, 1)
	go func() {
		_, err := w.worker.Service.Request(context.Background(), "acme", request(t, "reader", "internal", "q", nil))
		done <- err
	}()
	await(t, held.started, "the request")
	w.publish(t, "acme", forgetting(t, "f", "a"))
	w.entries(t, "acme", 2)
	must(t, w.worker.Projector.Await(within(t), system(t, "acme"), 2))
	close(held.release)
	must(t, <-done)
	receipt := w.receipt(t, "acme", "f")
	if diff := cmp.Diff([]int64{3}, receipt.Packs); diff != "" {
		t.Errorf("packs: %s", diff)
	}
	poll(t, "the canary is nowhere", func() bool { return len(w.onDisk(t, "canary-in-flight")) == 0 })
	must(t, w.log.Verify(within(t), system(t, "acme"), nil, nil))
}

func TestManyErasuresUnderLoad(t *testing.T) {
	t.Parallel()
	w := setup(t)
	const n = 20
	for i := range n {
		id := fmt.Sprintf("n%02d", i)
		w.publish(t, "acme", recorded(t, id, "canary-of-many "+id), forgetting(t, "f-"+id, id))
	}
	for i := range n {
		w.receipt(t, "acme", fmt.Sprintf("f-n%02d", i))
	}
	poll(t, "the canary is nowhere", func() bool { return len(w.onDisk(t, "canary-of-many")) == 0 })
	must(t, w.log.Verify(within(t), system(t, "acme"), nil, nil))
}

// An erasure is finished though events never cease to arrive, and the padding that
// separates them from what is erased is nobody's event.
func TestAnErasureBesideEvents(t *testing.T) {
	t.Parallel()
	w := setup(t)
	const canary = "canary-beside-events"
	w.publish(t, "acme", recorded(t, "a", "the secret "+canary))
	ctx, stop := context.WithCancel(within(t))
	var group sync.WaitGroup
	var published atomic.Int64
	for range 4 {
		group.Go(func() {
			outbox := jetstream.NewOutbox(w.nc, w.js)
			for ctx.Err() == nil {
				id := fmt.Sprintf("o-%d", published.Add(1))
				if _, _, err := outbox.PublishMemory(within(t), "other", "planner", recorded(t, id, "an event", func(d map[string]any) {
					d["scope"] = map[string]any{"tenant": "other"}
				})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	w.publish(t, "acme", forgetting(t, "f", "a"))
	w.receipt(t, "acme", "f")
	poll(t, "the canary is nowhere", func() bool { return len(w.onDisk(t, canary)) == 0 })
	_, err := w.js.Publish(within(t), "mem.v1.~.evt.padding", make([]byte, 1<<10))
	must(t, err)
	stop()
	group.Wait()
	w.publish(t, "other", recorded(t, "last", "the last event", func(d map[string]any) { d["scope"] = map[string]any{"tenant": "other"} }))
	w.entries(t, "other", int(published.Load())+1)
	if got := w.letters(t, 0); len(got) > 0 {
		t.Errorf("dead letters: %v", got)
	}
}
