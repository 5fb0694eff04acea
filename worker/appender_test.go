package worker_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/test/conformance/eventlogtest"
	"satchel/worker"
	"satchel/worker/ingest"
	"satchel/worker/transport"
)

func TestRejectedEventsBecomeDeadLettersAndNeighboursLand(t *testing.T) {
	t.Parallel()
	w := setup(t)
	elsewhere := recorded(t, "wrong", "x", func(d map[string]any) { d["scope"] = map[string]any{"tenant": "globex"} })
	unlabelled := recorded(t, "bare", "x", func(d map[string]any) { delete(d, "security_label") })
	malformed := recorded(t, "broken", "x", func(d map[string]any) { d["confidence"] = "very" })
	far := recorded(t, "far", "x") // a time that the log has no room for
	far.SetTime(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
	w.publish(t, "acme", recorded(t, "a", "first"), elsewhere, unlabelled, recorded(t, "b", "second"), malformed, far, recorded(t, "c", "third"))
	reused := recorded(t, "a", "another text under the same id")
	w.publish(t, "acme", reused, recorded(t, "d", "fourth"))
	if diff := cmp.Diff([]string{"e-a", "e-b", "e-c", "e-d"}, ids(w.entries(t, "acme", 4))); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	want := []string{"e-a id_reuse /id", "e-bare unlabelled /data/security_label", "e-broken malformed /data/confidence", "e-far malformed /time", "e-wrong wrong_tenant /data/scope/tenant"}
	got := w.letters(t, len(want))
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
	poll(t, "the worker is ready", func() bool { return w.worker.Ready() == nil })
}

func TestADeadLetterHoldsTheCauseAndTheWholeEvent(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.publish(t, "acme", recorded(t, "a", "kept whole", func(d map[string]any) { delete(d, "security_label") }))
	w.letters(t, 1)
	letter, err := w.dead.Read(within(t), 1)
	must(t, err)
	if letter.Cause == "" || strings.Contains(letter.Cause, "kept whole") || !strings.Contains(string(letter.Data), "kept whole") || letter.Subject != "mem.v1.acme.evt.planner" {
		t.Errorf("letter = %+v", letter)
	}
}

func TestDuplicatesAreTakenOnce(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a, b := recorded(t, "a", "one"), recorded(t, "b", "two")
	w.publish(t, "acme", a, a, b, a)
	w.entries(t, "acme", 2)
	w.publish(t, "acme", b, a, recorded(t, "c", "three"))
	if diff := cmp.Diff([]string{"e-a", "e-b", "e-c"}, ids(w.entries(t, "acme", 3))); diff != "" {
		t.Error(diff)
	}
	if got := w.letters(t, 0); len(got) != 0 {
		t.Errorf("dead letters: %v", got)
	}
}

// crashAt stops a follower for good when it passes a point for the n-th time, as far as
// that can be had in one process.
func crashAt(w *world, point string, n int32) (crashed chan struct{}) {
	crashed = make(chan struct{})
	var left atomic.Int32
	left.Store(n)
	w.change = func(c *worker.Config) {
		c.Failpoint = func(at string) {
			if at == point && left.Add(-1) == 0 {
				close(crashed)
				runtime.Goexit()
			}
		}
	}
	return crashed
}

func await(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-within(t).Done():
		t.Fatalf("waited too long: %s", what)
	}
}

func TestResumesFromTheDatabaseAfterAnUnackedBatch(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"append.before_commit", "append.after_commit", "append.after_ack"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := prepare(t)
			crashed := crashAt(w, point, 1)
			w.publish(t, "acme", recorded(t, "a", "one"), recorded(t, "b", "two"))
			w.start(t)
			await(t, crashed, "the crash")
			must(t, w.stop())
			w.change = nil
			w.reopen(t)
			w.publish(t, "acme", recorded(t, "c", "three"))
			if diff := cmp.Diff([]string{"e-a", "e-b", "e-c"}, ids(w.entries(t, "acme", 3))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A reused id that was found in the transaction reaches the dead letters although the
// process dies between the transaction and the dead letter.
func TestAReusedIDIsNotLostToACrash(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	crashed := crashAt(w, "append.before_reject", 1)
	w.publish(t, "acme", recorded(t, "a", "one"), recorded(t, "a", "another"), recorded(t, "b", "two"))
	w.start(t)
	await(t, crashed, "the crash")
	must(t, w.stop())
	w.change = nil
	w.reopen(t)
	w.publish(t, "acme", recorded(t, "c", "three"))
	if diff := cmp.Diff([]string{"e-a", "e-b", "e-c"}, ids(w.entries(t, "acme", 3))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"e-a id_reuse /id"}, w.letters(t, 1)); diff != "" {
		t.Error(diff)
	}
}

// failingLetters refuse the first letters.
type failingLetters struct {
	transport.DeadLetters
	left atomic.Int32
}

func (f *failingLetters) Reject(ctx context.Context, r []transport.Rejected) error {
	if f.left.Add(-1) >= 0 {
		return errors.New("the DLQ is full")
	}
	return f.DeadLetters.Reject(ctx, r)
}

func TestNothingPassesAFullDLQ(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	letters := &failingLetters{}
	letters.left.Store(4)
	w.change = func(c *worker.Config) { letters.DeadLetters, c.DeadLetters = c.DeadLetters, letters }
	w.publish(t, "acme", recorded(t, "a", "one"), recorded(t, "bare", "x", func(d map[string]any) { delete(d, "security_label") }), recorded(t, "b", "two"))
	w.start(t)
	poll(t, "the worker says that it is not ready", func() bool {
		err := w.worker.Ready()
		return err != nil && strings.Contains(err.Error(), "dead letters")
	})
	if diff := cmp.Diff([]string{"e-a", "e-b"}, ids(w.entries(t, "acme", 2))); diff != "" {
		t.Error(diff)
	}
	if got := w.letters(t, 1); len(got) != 1 {
		t.Errorf("dead letters: %v", got)
	}
	poll(t, "the worker is ready again", func() bool { return w.worker.Ready() == nil })
}

// unseekable is an inbox that cannot be placed while it is told not to be.
type unseekable struct {
	transport.Inbox
	stuck *atomic.Bool
}

func (u unseekable) Seek(ctx context.Context, seq uint64) error {
	if u.stuck.Load() {
		return errors.New("the disk cannot be read")
	}
	return u.Inbox.Seek(ctx, seq)
}

func TestAWorkerThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	var stuck atomic.Bool
	stuck.Store(true)
	w.change = func(c *worker.Config) { c.Inboxes[3] = unseekable{c.Inboxes[3], &stuck} }
	w.start(t)
	poll(t, "the worker says why it does not start", func() bool {
		err := w.worker.Ready()
		return errors.Is(err, transport.ErrStarting) && strings.Contains(err.Error(), "p03: starting: the disk cannot be read")
	})
	stuck.Store(false)
	poll(t, "the worker is ready", func() bool { return w.worker.Ready() == nil })
}

func TestAnotherStreamStopsThePartitionWithANamedError(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, w *world){
		"created anew": func(t *testing.T, w *world) {
			must(t, w.js.DeleteStream(within(t), jetstream.MemoryStream))
			must(t, jetstream.EnsureStreams(within(t), w.js, jetstream.Config{}))
			w.publish(t, "acme", recorded(t, "x", "x"), recorded(t, "y", "y"), recorded(t, "z", "z"))
		},
		"anew (another epoch)": func(t *testing.T, w *world) { // elsewhere, and accepted there
			must(t, w.log.Restart(within(t), ingest.CheckpointName(jetstream.PartitionName(jetstream.PartitionOf("acme"))), "elsewhere"))
		},
		"another one": func(t *testing.T, w *world) {
			w.checkpoint(t, func(cp *eventlog.Checkpoint) { cp.Hash[5] ^= 1 })
		},
		"before the checkpoint": func(t *testing.T, w *world) {
			w.checkpoint(t, func(cp *eventlog.Checkpoint) { cp.StreamSeq += 1000 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.publish(t, "acme", recorded(t, "a", "one"), recorded(t, "b", "two"))
			w.entries(t, "acme", 2)
			must(t, w.stop())
			spoil(t, w)
			w.start(t)
			var changed *ingest.StreamChangedError
			poll(t, "the partition stops", func() bool { return errors.As(w.worker.Ready(), &changed) })
			if !strings.Contains(changed.Error(), name) || changed.Partition == "" {
				t.Errorf("error = %v", changed)
			}
			w.publish(t, other(t, w), recorded(t, "free", "elsewhere", func(d map[string]any) { d["scope"] = map[string]any{"tenant": other(t, w)} }))
			w.entries(t, other(t, w), 1) // the other partitions go on
			if n := len(w.entries(t, "acme", 0)); n != 2 {
				t.Errorf("the stopped partition has %d entries, want 2", n)
			}
			var refused *schemas.Error
			_, err := w.worker.Service.Put(within(t), "acme", encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, recorded(t, "late", "late"))}))
			if !errors.As(err, &refused) || refused.Code != schemas.CodeStorage || !strings.Contains(refused.Message, "their stream is not the one") {
				t.Errorf("put to the stopped partition: %v", err)
			}
			_, err = waited(within(t))(w.worker.Service.Receipt(within(t), "acme", encode(t, schemas.ReceiptRequest{Source: source, ID: "e-late", Level: schemas.ReceiptLogged})))
			if !errors.As(err, &refused) || refused.Code != schemas.CodeStorage {
				t.Errorf("receipt of an event of the stopped partition: %v", err)
			}

			must(t, w.stop())
			inbox, err := jetstream.OpenInbox(within(t), w.nc, w.js, jetstream.InboxConfig{Partition: jetstream.PartitionOf("acme")})
			must(t, err)
			must(t, ingest.AcceptStream(within(t), w.log, inbox))
			inbox.Close()
			w.start(t)
			w.put(t, recorded(t, "late", "late"), string(schemas.ReceiptLogged))
			poll(t, "the worker is ready", func() bool { return w.worker.Ready() == nil })
			if got, want := len(w.entries(t, "acme", 0)), map[bool]int{true: 6, false: 3}[name == "created anew"]; got != want {
				t.Errorf("after the stream was accepted: %d entries, want %d", got, want)
			}
		})
	}
}

// checkpoint changes the checkpoint of acme's partition.
func (w *world) checkpoint(t *testing.T, change func(*eventlog.Checkpoint)) {
	t.Helper()
	for partition := range jetstream.Partitions {
		fence, cp, err := w.log.TakeFence(within(t), "append/"+jetstream.PartitionName(partition))
		must(t, err)
		if cp.StreamSeq == 0 {
			continue
		}
		change(&cp)
		cp.Fence = fence
		_, err = w.log.Append(within(t), eventlog.Batch{Checkpoint: &cp})
		must(t, err)
	}
}

// other returns a tenant of another partition than acme's.
func other(t *testing.T, w *world) string {
	t.Helper()
	s := partitionOf(t, w, "acme")
	for i := range 100 {
		if tenant := fmt.Sprintf("tenant%d", i); partitionOf(t, w, tenant) != s {
			return tenant
		}
	}
	t.Fatal("every tenant is in the same partition")
	return ""
}

// partitionOf is how the stream's transform places a tenant: FNV-1a of the token.
func partitionOf(t *testing.T, w *world, tenant string) uint32 {
	t.Helper()
	h := uint32(2166136261)
	for _, c := range []byte(tenant) {
		h = (h ^ uint32(c)) * 16777619
	}
	return h % jetstream.Partitions
}

func TestTheFenceStopsAStaleOwner(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.publish(t, "acme", recorded(t, "a", "one"))
	w.entries(t, "acme", 1)
	for partition := range jetstream.Partitions { // another owner takes over
		_, _, err := w.log.TakeFence(within(t), "append/"+jetstream.PartitionName(partition))
		must(t, err)
	}
	w.publish(t, "acme", recorded(t, "b", "two"))
	poll(t, "the stale owner stops", func() bool { return errors.Is(w.worker.Ready(), eventlog.ErrFenced) })
	if n := len(w.entries(t, "acme", 1)); n != 1 {
		t.Errorf("the stale owner wrote: %d entries", n)
	}
	must(t, w.stop())
	w.start(t)
	if diff := cmp.Diff([]string{"e-a", "e-b"}, ids(w.entries(t, "acme", 2))); diff != "" {
		t.Error(diff)
	}
}

// Trimming a partition takes nothing from another one, nor what is behind the bound.
func TestPurgeStaysInItsPartition(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	ctx := within(t)
	tenant := other(t, w)
	for i := range 5 {
		w.publish(t, "acme", recorded(t, fmt.Sprint(i), "x"))
		w.publish(t, tenant, recorded(t, fmt.Sprint(i), "x"))
	}
	inbox, err := jetstream.OpenInbox(ctx, w.nc, w.js, jetstream.InboxConfig{Partition: int(partitionOf(t, w, "acme"))})
	must(t, err)
	defer inbox.Close()
	must(t, inbox.Purge(ctx, 7)) // acme's are 1, 3, 5, 7, 9
	stream, err := w.js.Stream(ctx, jetstream.MemoryStream)
	must(t, err)
	var left []uint64
	for seq := uint64(1); seq <= 10; seq++ {
		if _, err := stream.GetMsg(ctx, seq); err == nil {
			left = append(left, seq)
		} else if !errors.Is(err, natsjs.ErrMsgNotFound) {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]uint64{2, 4, 6, 8, 9, 10}, left); diff != "" {
		t.Errorf("left in the stream (-want +got):\n%s", diff)
	}
}

// An event of the stream stands in the log before one that was published after it, also
// around an erasure.
func TestOrderAroundErasures(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	w.publish(t, "acme", recorded(t, "a", "one"), recorded(t, "b", "two"), forgetting(t, "f1", "a"), recorded(t, "c", "three"),
		recorded(t, "bare", "x", func(d map[string]any) { delete(d, "security_label") }), forgetting(t, "f2", "b"), recorded(t, "d", "four"))
	w.start(t)
	var got []string
	poll(t, "everything is in the log", func() bool {
		got = nil
		for _, e := range w.entries(t, "acme", 0) {
			if e.Agent == "planner" {
				got = append(got, e.ID)
			}
		}
		return len(got) >= 6
	})
	if diff := cmp.Diff([]string{"e-a", "e-b", "f1", "e-c", "f2", "e-d"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"e-bare unlabelled /data/security_label"}, w.letters(t, 1)); diff != "" {
		t.Error(diff)
	}
	if e, err := w.log.Find(within(t), system(t, "acme"), source, "f1"); err != nil || e.Type != schemas.TypeMemoryErased {
		t.Errorf("erasure = %v, %v", e.Type, err)
	}
}

// A damaged log of one tenant stops its partition with a named error, and nobody else.
func TestADamagedLogStopsItsPartition(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.publish(t, "acme", recorded(t, "a", "one"))
	w.entries(t, "acme", 1)
	must(t, w.stop())
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "log.db"))
	must(t, err)
	defer db.Close()
	_, err = db.Exec("UPDATE tenants SET root = randomblob(32) WHERE name = 'acme'")
	must(t, err)
	w.start(t)
	w.publish(t, "acme", recorded(t, "b", "two"))
	var bad *eventlog.VerifyError
	poll(t, "the partition stops", func() bool { return errors.As(w.worker.Ready(), &bad) })
	if bad.Tenant != "acme" || bad.Position != 1 {
		t.Errorf("error = %v", bad)
	}
	tenant := other(t, w)
	w.publish(t, tenant, recorded(t, "free", "elsewhere", func(d map[string]any) { d["scope"] = map[string]any{"tenant": tenant} }))
	w.entries(t, tenant, 1)
	if n := len(w.entries(t, "acme", 0)); n != 1 {
		t.Errorf("%d entries in the damaged log", n)
	}
}

// A damaged index of the log is found by the running worker: it is not ready, what is put
// is refused and the partition stops.
func TestADamagedIndexStopsItsPartition(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.publish(t, "acme", recorded(t, "a", "one"), recorded(t, "b", "two"))
	w.entries(t, "acme", 2)
	must(t, w.stop())
	w.shut(t)
	eventlogtest.FlipIndexed(t, filepath.Join(w.dir, "log.db"), "entries_key", "b")
	w.open(t)
	w.start(t)
	var bad *eventlog.VerifyError
	poll(t, "the damage is found", func() bool { return errors.As(w.worker.Ready(), &bad) })
	if bad.Tenant != "acme" || bad.Position != 2 {
		t.Errorf("error = %v", bad)
	}
	if _, err := w.log.Find(within(t), system(t, "acme"), source, "b"); !errors.Is(err, eventlog.ErrCorrupt) {
		t.Errorf("find = %v", err)
	}
	var refused *schemas.Error
	for _, id := range []string{"b", "c"} {
		_, err := w.worker.Service.Put(within(t), "acme", encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, recorded(t, id, "x"))}))
		if !errors.As(err, &refused) || refused.Code != schemas.CodeStorage {
			t.Errorf("put %s = %v", id, err)
		}
	}
	tenant := other(t, w)
	w.publish(t, "acme", recorded(t, "d", "four"))
	w.publish(t, tenant, recorded(t, "free", "elsewhere", func(d map[string]any) { d["scope"] = map[string]any{"tenant": tenant} }))
	w.entries(t, tenant, 1)
	if n := len(w.entries(t, "acme", 0)); n != 2 {
		t.Errorf("%d entries in the damaged log", n)
	}
}

// What waits in a stream that is not the checkpoint's stays there whatever is erased, and a
// stream that is made anew under a running worker is noticed.
func TestWhatAStoppedPartitionHoldsStays(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{false, true} {
		t.Run(fmt.Sprintf("running=%v", running), func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.publish(t, "acme", recorded(t, "a", "one"), recorded(t, "b", "two"), recorded(t, "c", "three"))
			w.entries(t, "acme", 3)
			if !running {
				must(t, w.stop())
			}
			must(t, w.js.DeleteStream(within(t), jetstream.MemoryStream))
			must(t, jetstream.EnsureStreams(within(t), w.js, jetstream.Config{}))
			w.publish(t, "acme", recorded(t, "x", "x"), recorded(t, "y", "y"))
			if !running {
				w.start(t)
			}
			var changed *ingest.StreamChangedError
			poll(t, "the partition stops", func() bool { return errors.As(w.worker.Ready(), &changed) })
			scrubber := jetstream.NewScrubber(w.js, w.worker.Committed)
			scrubber.Patience = 20 * time.Millisecond
			if err := scrubber.Vacuum(within(t)); !errors.Is(err, jetstream.ErrVacuumPending) {
				t.Errorf("error = %v, want ErrVacuumPending", err)
			}
			stream, err := w.js.Stream(within(t), jetstream.MemoryStream)
			must(t, err)
			for seq := range uint64(2) {
				if _, err := stream.GetMsg(within(t), seq+1); err != nil {
					t.Errorf("event %d, which no log holds: %v", seq+1, err)
				}
			}
		})
	}
}
