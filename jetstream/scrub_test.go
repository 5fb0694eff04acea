package jetstream_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"satchel/jetstream"
	"satchel/test/testenv"
	"satchel/worker/transport"
)

const canary = "CANARY-7d1f0c"

// awaitGone waits until no file below dir holds text: the server removes a purged
// folder in the background.
func awaitGone(t *testing.T, dir, text string) {
	t.Helper()
	awaitDisk(t, text+" gone from the disk", func() bool { return len(testenv.Holding(t, dir, text)) == 0 })
}

// awaitDisk waits until ok holds of the server's files.
func awaitDisk(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(5 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not yet %s", what)
		}
	}
}

func secret(id string) event.Event {
	e := sample(id)
	e.SetSubject(canary)
	e.DataEncoded = []byte(`{"text":"` + canary + `"}`)
	return e
}

func TestScrubErasesEveryCopy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := within(t, time.Minute)
	b.publishAll(t, "acme", "before", 20)
	b.publish(t, "acme", "a", secret("s"))
	b.publishAll(t, "acme", "after", 20)
	b.publish(t, "other", "a", sample("s")) // same key, another tenant
	i := b.inbox(t, "acme")
	all := fetch(t, i, 41)
	letters, err := jetstream.OpenDeadLetters(ctx, b.js)
	if err != nil {
		t.Fatal(err)
	}
	if err := letters.Reject(ctx, []transport.Rejected{{Message: all[20], Reason: "malformed", At: time.Unix(0, 0)}}); err != nil {
		t.Fatal(err)
	}
	ledger, err := jetstream.OpenLedger(ctx, b.nc, b.js, jetstream.LedgerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.Publish(ctx, "acme", []transport.LedgerMessage{{Position: 1, Kind: "memory", Agent: "a", Event: sample("s")}}); err != nil {
		t.Fatal(err)
	}
	if len(testenv.Holding(t, b.dir, canary)) < 2 {
		t.Fatal("the canary is not on the disk to begin with")
	}
	removed, err := jetstream.NewScrubber(b.js, nil).Scrub(ctx, "acme", []transport.Copy{{Source: "urn:agent:planner", ID: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]transport.Scrubbed{"MEMORY": {Removed: 1}, "DLQ": {Removed: 1}, "SATCHEL_REPLIES": {}}
	if diff := cmp.Diff(want, removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	awaitGone(t, b.dir, canary)
	if at, err := ledger.LastPosition(ctx, "acme"); err != nil || at != 1 {
		t.Errorf("the ledger's last position = %d, %v; it must keep its references", at, err)
	}
	if err := i.Seek(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if got := ids(fetch(t, i, 40)); got[19] != "before-19" || got[20] != "after-0" {
		t.Errorf("neighbours = %q, %q", got[19], got[20])
	}
	b.inboxHas(t, "other", "s")
}

func (b *bundle) inboxHas(t *testing.T, tenant, id string) {
	t.Helper()
	for _, m := range fetch(t, b.inbox(t, tenant), 1) {
		if m.Event.ID() != id || m.Tenant != tenant {
			t.Errorf("message of %q = %q of %q", tenant, m.Event.ID(), m.Tenant)
		}
	}
}

// checkpoints is what a log says that holds a partition up to seq, and all of the others.
func checkpoints(ctx context.Context, i *jetstream.Inbox, seq uint64) (map[string]uint64, error) {
	state, err := i.State(ctx, 0)
	all := make(map[string]uint64)
	for partition := range jetstream.Partitions {
		all[jetstream.PartitionName(partition)] = state.LastSeq
	}
	all[i.Name()] = min(seq, state.LastSeq)
	return all, err
}

func TestVacuumRemovesTrimmedBytes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := within(t, time.Minute)
	b.publish(t, "acme", "a", secret("s"))
	last := b.publishAll(t, "acme", "e", 20)
	i := b.inbox(t, "acme")
	all := fetch(t, i, 21)
	if err := i.Purge(ctx, last-1); err != nil {
		t.Fatal(err)
	}
	if len(testenv.Holding(t, b.dir, canary)) == 0 {
		t.Log("the server trims physically already")
	}
	held := last - 1
	scrubber := jetstream.NewScrubber(b.js, func(context.Context, string) (map[string]uint64, error) {
		return checkpoints(ctx, i, held)
	})
	scrubber.Patience = 20 * time.Millisecond
	copies := []transport.Copy{{Source: "urn:agent:planner", ID: "s"}}
	for range 2 {
		_, err := scrubber.Scrub(ctx, "acme", copies)
		var behind *transport.BehindError
		if !errors.Is(err, jetstream.ErrVacuumPending) || !errors.As(err, &behind) || !slices.Equal(behind.Partitions, []string{i.Name()}) {
			t.Fatalf("error = %v, want ErrVacuumPending of %s while a message waits", err, i.Name())
		}
		scrubber.Patience = time.Hour // it was waited for in vain
	}
	if state, err := i.State(ctx, last); err != nil || !state.Found || state.Hash != all[20].Hash {
		t.Fatalf("the waiting message = %+v, %v", state, err)
	}
	if state, err := i.State(ctx, last); err != nil || state.LastSeq != last {
		t.Fatalf("state = %+v, %v; want no padding before the log gets there", state, err)
	}
	held = last
	if _, err := scrubber.Scrub(ctx, "acme", copies); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, b.dir, canary)
	state, err := i.State(ctx, last)
	if err != nil || state.Found || state.LastSeq != last || state.Epoch != all[0].Epoch {
		t.Errorf("state = %+v, %v; want last sequence %d kept", state, err, last)
	}
	if next := b.publish(t, "acme", "a", sample("later")); next != last+1 {
		t.Errorf("next sequence = %d, want %d", next, last+1)
	}
}

func filepathOf(b *bundle, stream string) string {
	return filepath.Join(b.dir, "jetstream", "$G", "streams", stream)
}

// Whatever arrives while MEMORY is being vacuumed stays, and that something always waits
// does not keep what was trimmed on the disk.
func TestVacuumBesideMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := within(t, time.Minute)
	b.publish(t, "acme", "a", secret("0"))
	i := b.inbox(t, "acme")
	vacuumed, end := make(chan struct{}), make(chan int, 1)
	var publisher sync.WaitGroup
	publisher.Go(func() {
		outbox := jetstream.NewOutbox(b.nc, b.js)
		for n := 1; ; n++ {
			if _, _, err := outbox.PublishMemory(ctx, "acme", "a", sample(strconv.Itoa(n))); err != nil {
				t.Error(err)
				return
			}
			select {
			case <-vacuumed:
				end <- n + 2 // how many there will be
				if _, _, err := outbox.PublishMemory(ctx, "acme", "a", sample(strconv.Itoa(n+1))); err != nil {
					t.Error(err)
				}
				return
			default:
			}
		}
	})
	var held atomic.Uint64
	scrubber := jetstream.NewScrubber(b.js, func(context.Context, string) (map[string]uint64, error) {
		return checkpoints(ctx, i, held.Load())
	})
	go func() {
		defer close(vacuumed)
		for range 3 {
			if err := scrubber.Vacuum(ctx); err != nil {
				t.Error(err)
			}
		}
	}()
	for got, last := 0, -1; got != last; {
		batch, err := i.Fetch(ctx, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range batch {
			if m.Event.ID() != strconv.Itoa(got) {
				t.Fatalf("message %q where %d was to come", m.Event.ID(), got)
			}
			got++
		}
		held.Store(batch[len(batch)-1].Seq - 1) // the last one waits
		select {
		case last = <-end:
		default:
		}
	}
	publisher.Wait()
	awaitGone(t, b.dir, canary)
}

// A log that is far behind and gets on is waited for, whatever the patience.
func TestVacuumWaitsForALogThatGetsOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := within(t, time.Minute)
	b.publish(t, "acme", "a", secret("s"))
	b.publishAll(t, "acme", "e", 20)
	i := b.inbox(t, "acme")
	held := uint64(0)
	scrubber := jetstream.NewScrubber(b.js, func(context.Context, string) (map[string]uint64, error) {
		held++
		return checkpoints(ctx, i, held)
	})
	scrubber.Patience = time.Nanosecond
	if err := scrubber.Vacuum(ctx); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, b.dir, canary)
}

// Vacuums that are asked for while one runs share the next.
func TestVacuumsAtOnceSharePadding(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := within(t, time.Minute)
	b.publish(t, "acme", "a", secret("s"))
	i := b.inbox(t, "acme")
	publish := sync.OnceValue(func() error { // while the first looks
		_, _, err := jetstream.NewOutbox(b.nc, b.js).PublishMemory(ctx, "acme", "a", sample("late"))
		return err
	})
	const many = 8
	begun := make(chan struct{}, many)
	all := make(chan struct{})
	scrubber := jetstream.NewScrubber(b.js, func(context.Context, string) (map[string]uint64, error) {
		<-all
		all, err := checkpoints(ctx, i, math.MaxUint64)
		return all, errors.Join(err, publish())
	})
	var group sync.WaitGroup
	for range many {
		group.Go(func() {
			begun <- struct{}{}
			if err := scrubber.Vacuum(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	for range many {
		<-begun
	}
	close(all)
	group.Wait()
	state, err := i.State(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	if padding := int(state.LastSeq) - 2; padding == 0 || padding > 3*11 { // 11 messages fill a file
		t.Errorf("%d messages of padding for %d vacuums", padding, many)
	}
	awaitGone(t, b.dir, canary)
}
