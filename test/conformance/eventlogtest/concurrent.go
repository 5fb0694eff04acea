package eventlogtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"satchel/pipeline/store/eventlog"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

// testConcurrent has many writers share transactions; some write the same keys.
func testConcurrent(t *testing.T, open Open) {
	counted := &counting{Driver: open(t)}
	l := newLog(t, counted, nil)
	const writers, batches = 24, 12
	var wait sync.WaitGroup
	var appended atomic.Int64
	for w := range writers {
		wait.Go(func() {
			for b := range batches {
				tenant := fmt.Sprintf("t%d", (w+b)%3)
				own, shared := fmt.Sprintf("w%d-%d", w, b), fmt.Sprintf("shared-%d", b)
				out, err := l.Append(t.Context(), eventlog.Batch{Drafts: []eventlog.Draft{draft(tenant, own, own), draft(tenant, shared, shared), draft("t0", own+"x", own)}})
				if err != nil {
					t.Error(err)
					return
				}
				for i, id := range []string{own, shared, own + "x"} {
					checkOutcome(t, l, out[i], []string{tenant, tenant, "t0"}[i], id)
					if out[i].Status == eventlog.Appended {
						appended.Add(1)
					}
				}
				if out[0].Status != eventlog.Appended || out[1].Status > eventlog.Duplicate {
					t.Errorf("outcomes %v", out)
				}
			}
		})
	}
	wait.Wait()
	total := 0
	for _, tenant := range []string{"t0", "t1", "t2"} {
		entries := readAll(t, l, tenant)
		total += len(entries)
		if err := l.Verify(t.Context(), folded.Tenant(t, tenant), nil, nil); err != nil {
			t.Error(err)
		}
	}
	if int64(total) != appended.Load() || total != writers*batches*2+batches*3 {
		t.Errorf("%d entries, %d appended outcomes", total, appended.Load())
	}
	t.Logf("%d batches in %d transactions", writers*batches, counted.updates.Load())
}

func checkOutcome(t *testing.T, l *eventlog.Log, o eventlog.Outcome, tenant, id string) {
	e, err := l.Entry(t.Context(), folded.Tenant(t, tenant), o.Position)
	if err != nil || e.ID != id || e.Leaf != o.Leaf {
		t.Errorf("outcome %v of event %q is entry %q, %v", o, id, e.ID, err)
	}
}

// counting counts transactions.
type counting struct {
	eventlog.Driver
	updates atomic.Int64
}

func (c *counting) Update(ctx context.Context, tenants []string, fn func(eventlog.Tx) error) error {
	c.updates.Add(1)
	return c.Driver.Update(ctx, tenants, fn)
}

// gated holds every transaction until it is let through, and says that it waits.
type gated struct {
	eventlog.Driver
	arrived, open chan struct{}
}

func (g *gated) Update(ctx context.Context, tenants []string, fn func(eventlog.Tx) error) error {
	g.arrived <- struct{}{}
	<-g.open
	return g.Driver.Update(ctx, tenants, fn)
}

// testCancel cancels a caller in the queue and one whose commit has begun.
func testCancel(t *testing.T, open Open) {
	g := &gated{Driver: open(t), arrived: make(chan struct{}), open: make(chan struct{})}
	l := newLog(t, g, nil)
	submit := func(ctx context.Context, id string) <-chan error {
		done := make(chan error, 1)
		go func() {
			_, err := l.Append(ctx, eventlog.Batch{Drafts: []eventlog.Draft{draft("acme", id, id)}})
			done <- err
		}()
		return done
	}
	began, cancelBegan := context.WithCancel(t.Context())
	first := submit(began, "began")
	<-g.arrived
	cancelBegan()
	queued, cancelQueued := context.WithCancel(t.Context())
	cancelQueued()
	if err := <-submit(queued, "queued"); !errors.Is(err, context.Canceled) {
		t.Errorf("queued: %v", err)
	}
	waiting, cancelWaiting := context.WithCancelCause(t.Context())
	second := submit(waiting, "waiting")
	cancelWaiting(nil)
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("waiting: %v", err)
	}
	third := submit(t.Context(), "third")
	g.open <- struct{}{}
	if err := <-first; err != nil {
		t.Errorf("a commit that had begun: %v", err)
	}
	<-g.arrived
	g.open <- struct{}{}
	if err := <-third; err != nil {
		t.Errorf("the next caller: %v", err)
	}
	for i, e := range readAll(t, l, "acme") {
		if want := []string{"began", "third"}[i]; e.ID != want {
			t.Errorf("position %d is %q, want %q", i+1, e.ID, want)
		}
	}
}

// poisoned fails every transaction that appends an event with the id "poison".
type poisoned struct {
	gated
}

type poisonedTx struct{ eventlog.Tx }

var errPoison = errors.New("poison")

func (p *poisoned) Update(ctx context.Context, tenants []string, fn func(eventlog.Tx) error) error {
	return p.gated.Update(ctx, tenants, func(tx eventlog.Tx) error { return fn(poisonedTx{tx}) })
}

func (p poisonedTx) Append(a eventlog.Addition) error {
	for i := range a.Rows {
		if a.Rows[i].ID == "poison" {
			return errPoison
		}
	}
	return p.Tx.Append(a)
}

// testPoison has a batch that cannot be written and a fenced one share a transaction
// with good ones.
func testPoison(t *testing.T, open Open) {
	p := &poisoned{gated{Driver: open(t), arrived: make(chan struct{}, 100), open: make(chan struct{})}}
	l := newLog(t, p, nil)
	go func() {
		p.open <- struct{}{}
	}()
	if _, _, err := l.TakeFence(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	ids := []string{"a", "poison", "b", "fenced", "c"}
	results := make([]error, len(ids))
	var wait sync.WaitGroup
	for i, id := range ids {
		wait.Go(func() {
			b := eventlog.Batch{Drafts: []eventlog.Draft{draft("acme", id, id)}}
			if id == "fenced" {
				b.Checkpoint = &eventlog.Checkpoint{Name: "c", Fence: 0}
			}
			_, results[i] = l.Append(t.Context(), b)
		})
	}
	close(p.open)
	wait.Wait()
	for i, want := range []error{nil, errPoison, nil, eventlog.ErrFenced, nil} {
		if !errors.Is(results[i], want) {
			t.Errorf("batch %q: %v, want %v", ids[i], results[i], want)
		}
	}
	if n := len(readAll(t, l, "acme")); n != 3 {
		t.Errorf("%d entries, want 3", n)
	}
	if err := l.VerifyAll(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func testClosed(t *testing.T, open Open) {
	l := newLog(t, open(t), nil)
	add(t, l, draft("acme", "1", "x"))
	waited := make(chan error, 1)
	watched := l.Watch(t.Context())
	go func() { waited <- second(l.Await(t.Context(), folded.Tenant(t, "acme"), 1)) }()
	must.Do(t, l.Close())
	if _, err := l.Append(t.Context(), eventlog.Batch{Drafts: []eventlog.Draft{draft("acme", "2", "x")}}); !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("append: %v", err)
	}
	if _, err := l.Head(t.Context(), folded.Tenant(t, "acme")); !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("head: %v", err)
	}
	if err := <-waited; !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("await: %v", err)
	}
	for range watched {
	}
}

func testAwait(t *testing.T, open Open) {
	l, s := newLog(t, open(t), nil), folded.Tenant(t, "acme")
	done := make(chan int64, 1)
	go func() {
		size, err := l.Await(t.Context(), s, 2)
		if err != nil {
			t.Error(err)
		}
		done <- size
	}()
	for i := range 3 {
		add(t, l, draft("acme", fmt.Sprint(i), "x"), draft("other", fmt.Sprint(i), "x"))
	}
	if size := <-done; size != 3 {
		t.Errorf("await returned %d", size)
	}
	if size, err := l.Await(t.Context(), s, 0); err != nil || size != 3 {
		t.Errorf("await behind the head: %d, %v", size, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Await(ctx, s, 3); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled await: %v", err)
	}
}

func testWatch(t *testing.T, open Open) {
	l := newLog(t, open(t), nil)
	ctx, cancel := context.WithCancel(t.Context())
	grown := l.Watch(ctx)
	add(t, l, draft("a", "1", "x"))
	for i := range 50 { // no one takes: the writer must not wait
		add(t, l, draft("b", fmt.Sprint(i), "x"))
	}
	seen := map[string]int{}
	for len(seen) < 2 {
		seen[<-grown]++
	}
	add(t, l, draft("b", "1", "x")) // a duplicate: nothing grew
	add(t, l, draft("c", "1", "x"))
	for tenant := range grown {
		seen[tenant]++
		if tenant == "c" {
			break
		}
	}
	if seen["a"] != 1 || seen["b"] > 2 {
		t.Errorf("told %v, want growth told once", seen)
	}
	cancel()
	for range grown {
	}
}
