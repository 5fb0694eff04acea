package jetstream_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"satchel/jetstream"
)

// hand is a member that runs.
type hand struct {
	*jetstream.Membership
	own  chan string
	mu   sync.Mutex
	told []string
	quit context.CancelFunc
	done chan error
}

func (b *bundle) hire(t *testing.T, id string) *hand {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	h := &hand{own: make(chan string), quit: cancel, done: make(chan error, 1)}
	var err error
	h.Membership, err = jetstream.Join(within(t, time.Minute), b.nc, jetstream.MembershipConfig{ID: id,
		Beat: 20 * time.Millisecond, Patience: 400 * time.Millisecond, Listen: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		h.done <- h.Run(ctx, h.own, func(tenant string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.told = append(h.told, tenant)
		})
	}()
	t.Cleanup(func() { h.leave(t) })
	return h
}

func (h *hand) leave(t *testing.T) {
	t.Helper()
	h.quit()
	err := <-h.done
	h.done <- nil
	if err != nil {
		t.Error(err)
	}
}

func (h *hand) count() int {
	owned, _ := h.Owned()
	n := 0
	for _, o := range owned {
		if o {
			n++
		}
	}
	return n
}

// awaitShares waits until every partition has one owner and the shares are as wanted.
func awaitShares(t *testing.T, want []int, hands ...*hand) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		var counts []int
		owners := make([]int, jetstream.Partitions)
		var changed <-chan struct{}
		for _, h := range hands {
			owned, c := h.Owned()
			for p, o := range owned {
				if o {
					owners[p]++
				}
			}
			counts, changed = append(counts, h.count()), c
		}
		slices.Sort(counts)
		if slices.Equal(counts, want) && !slices.ContainsFunc(owners, func(n int) bool { return n != 1 }) {
			return
		}
		select {
		case <-changed:
		case <-time.After(10 * time.Millisecond):
		case <-limit:
			t.Fatalf("shares %v, owners %v, want %v", counts, owners, want)
		}
	}
}

func TestMembersShareThePartitions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one := b.hire(t, "one")
	awaitShares(t, []int{16}, one)
	two := b.hire(t, "two")
	awaitShares(t, []int{8, 8}, one, two)
	before, _ := one.Owned()
	three, four := b.hire(t, "three"), b.hire(t, "four")
	awaitShares(t, []int{4, 4, 4, 4}, one, two, three, four)
	after, _ := one.Owned()
	kept := 0
	for p := range after {
		if after[p] && before[p] {
			kept++
		}
	}
	if kept < 2 {
		t.Errorf("worker one kept %d of its partitions when two others joined", kept)
	}
	begun := time.Now()
	four.leave(t) // says goodbye: nobody waits for its patience to end
	awaitShares(t, []int{5, 5, 6}, one, two, three)
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	if n := four.count(); n != 0 {
		t.Errorf("who left owns %d partitions", n)
	}
}

func TestMembersFindOutWhoIsGone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one := b.hire(t, "one")
	// A worker that says one word and is killed.
	if err := b.nc.Publish(jetstream.HeartbeatSubject, []byte(`{"id":"dead","kind":"hello"}`)); err != nil {
		t.Fatal(err)
	}
	awaitCount(t, one, func(n int) bool { return n == 8 })
	awaitCount(t, one, func(n int) bool { return n == 16 })
	for _, junk := range []string{"", "junk", `{"id":""}`, `{"kind":"beat"}`} {
		if err := b.nc.Publish(jetstream.HeartbeatSubject, []byte(junk)); err != nil {
			t.Fatal(err)
		}
	}
	if got := one.Members(); !slices.Equal(got, []string{"one"}) {
		t.Errorf("members %v", got)
	}
}

func awaitCount(t *testing.T, h *hand, good func(int) bool) {
	t.Helper()
	ctx := within(t, time.Minute)
	for {
		_, changed := h.Owned()
		if good(h.count()) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("it owns %d partitions", h.count())
		}
	}
}

func TestMembersTellOfGrowth(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.hire(t, "one"), b.hire(t, "two")
	awaitShares(t, []int{8, 8}, one, two)
	for i := range 10 {
		one.own <- fmt.Sprint("tenant-", i)
	}
	ctx := within(t, time.Minute)
	for {
		two.mu.Lock()
		n := len(two.told)
		two.mu.Unlock()
		if n >= 10 {
			break
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("told of %d tenants", n)
		}
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	if len(one.told) > 0 {
		t.Errorf("a worker was told of its own growth: %v", one.told)
	}
}
