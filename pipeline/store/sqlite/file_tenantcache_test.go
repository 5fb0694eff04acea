package sqlite

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// counter is a value that holds how many commits it saw.
type counter struct {
	n    int
	size int
}

func (c *counter) Bytes() int { return c.size }

// store commits counts; load reads them.
type store struct {
	mu    sync.Mutex
	n     map[string]int
	loads int
}

func (s *store) load(_ context.Context, tenant string) (*counter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	if tenant == "broken" {
		return nil, errors.New("broken")
	}
	return &counter{n: s.n[tenant], size: 100}, nil
}

func (s *store) commit(tenant string) func() (func(*counter), error) {
	return func() (func(*counter), error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.n[tenant]++
		n := s.n[tenant]
		return func(c *counter) { c.n = max(c.n, n) }, nil
	}
}

func TestEvictsTheOneUsedLongestAgo(t *testing.T) {
	t.Parallel()
	st := &store{n: map[string]int{}}
	set := NewTenantCache(250, st.load)
	for _, tenant := range []string{"a", "b", "a", "c", "a"} {
		if err := set.View(t.Context(), tenant, func(*counter) {}); err != nil {
			t.Fatal(err)
		}
	}
	if st.loads != 3 || set.Bytes() != 200 {
		t.Errorf("%d loads, %d bytes", st.loads, set.Bytes())
	}
	if err := set.View(t.Context(), "b", func(*counter) {}); err != nil || st.loads != 4 {
		t.Errorf("%d loads, %v", st.loads, err)
	}
}

// TestWhatIsEmptyIsNotKept: a tenant of which there is nothing, one that was dropped and one
// that could not be loaded take no place.
func TestWhatIsEmptyIsNotKept(t *testing.T) {
	t.Parallel()
	st := &store{n: map[string]int{}}
	set := NewTenantCache(1000, func(ctx context.Context, tenant string) (*counter, error) {
		c, err := st.load(ctx, tenant)
		if c != nil && c.n == 0 {
			c.size = 0
		}
		return c, err
	})
	view := func(tenant string, want int) {
		t.Helper()
		if err := set.View(t.Context(), tenant, func(c *counter) {
			if c.n != want {
				t.Errorf("%s: %d commits, want %d", tenant, c.n, want)
			}
		}); err != nil && tenant != "broken" {
			t.Error(err)
		}
	}
	view("ghost", 0)
	view("broken", 0)
	if len(set.slots) > 0 || set.Bytes() != 0 {
		t.Errorf("%d places, %d bytes", len(set.slots), set.Bytes())
	}
	if err := set.Commit("ghost", st.commit("ghost")); err != nil || len(set.slots) > 0 {
		t.Errorf("%v, %d places", err, len(set.slots))
	}
	view("ghost", 1)
	if len(set.slots) != 1 || set.Bytes() != 100 {
		t.Errorf("%d places, %d bytes", len(set.slots), set.Bytes())
	}
	set.Drop("ghost")
	set.Drop("nobody")
	if len(set.slots) > 0 || set.Bytes() != 0 {
		t.Errorf("after Drop: %d places, %d bytes", len(set.slots), set.Bytes())
	}
	view("ghost", 1)
}

func TestErrorsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	st := &store{n: map[string]int{}}
	set := NewTenantCache(250, st.load)
	if err := set.View(t.Context(), "broken", func(*counter) { t.Error("called") }); err == nil {
		t.Error("no error")
	}
	want := errors.New("no")
	err := set.Commit("a", func() (func(*counter), error) { return func(*counter) { t.Error("updated") }, want })
	if !errors.Is(err, want) || !errors.Is(set.Replace("a", func() error { return want }), want) || set.Bytes() != 0 {
		t.Errorf("%v, %d bytes", err, set.Bytes())
	}
}

func TestViewsSeeEveryCommit(t *testing.T) {
	t.Parallel()
	st := &store{n: map[string]int{}}
	set := NewTenantCache(150, st.load)
	var wg sync.WaitGroup
	for _, tenant := range []string{"a", "b"} {
		wg.Go(func() {
			for i := range 500 {
				if err := set.Commit(tenant, st.commit(tenant)); err != nil {
					t.Error(err)
				}
				if err := set.View(t.Context(), tenant, func(c *counter) {
					if c.n != i+1 {
						t.Errorf("view holds %d commits, want %d", c.n, i+1)
					}
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := set.Replace("a", func() error { st.mu.Lock(); defer st.mu.Unlock(); st.n["a"] = 0; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := set.View(t.Context(), "a", func(c *counter) {
		if c.n != 0 {
			t.Errorf("%d after a replacement", c.n)
		}
	}); err != nil {
		t.Fatal(err)
	}
}
