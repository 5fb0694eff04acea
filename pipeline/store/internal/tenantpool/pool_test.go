package tenantpool_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/internal/tenantpool"
)

var errClosed = errors.New("closed")

// ten is a tenant that takes ten bytes.
type ten struct {
	tenantpool.Slot
	loaded       bool
	loads, saves int
	fails        bool
}

func (t *ten) Loaded() bool { return t.loaded }

func (t *ten) Load() int64 {
	t.loaded = true
	t.loads++
	return 10
}

func (t *ten) PutAway() error {
	if t.fails {
		return errors.New("no space")
	}
	t.loaded = false
	t.saves++
	return nil
}

func scopeOf(t *testing.T, tenant string) scope.Scope {
	t.Helper()
	s, err := scope.System(tenant)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheOneUsedLongestAgoIsPutAway(t *testing.T) {
	t.Parallel()
	all := map[string]*ten{}
	var failed []string
	p := tenantpool.New(tenantpool.Config[*ten]{New: func() *ten { return &ten{} }, MemoryBytes: 20, Closed: errClosed,
		OnError: func(tenant string, _ error) { failed = append(failed, tenant) }})
	use := func(name string) *ten {
		r, err := p.Acquire(t.Context(), scopeOf(t, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = r
		p.Release(r)
		return r
	}
	use("a")
	use("b")
	use("a")
	use("c")
	if all["b"].loaded || !all["a"].loaded || !all["c"].loaded {
		t.Error("b was used longest ago, and is still there, or another is not")
	}
	all["a"].fails = true
	use("b")
	if !all["a"].loaded || all["c"].loaded || len(failed) != 1 || failed[0] != "a" {
		t.Errorf("a cannot be put away, so c has to be: failed %q", failed)
	}
	if err := p.Close(); err == nil {
		t.Error("Close is silent about a")
	}
	if _, err := p.Acquire(t.Context(), scopeOf(t, "a")); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := p.Acquire(t.Context(), scope.Scope{}); err == nil {
		t.Error("the zero scope has a tenant")
	}
}

func TestATenantIsLoadedOnceForManyAndNotPutAwayInUse(t *testing.T) {
	t.Parallel()
	p := tenantpool.New(tenantpool.Config[*ten]{New: func() *ten { return &ten{} }, MemoryBytes: 1, Closed: errClosed, OnError: func(string, error) {}})
	var calls sync.WaitGroup
	for i := range 64 {
		calls.Go(func() {
			r, err := p.Acquire(t.Context(), scopeOf(t, fmt.Sprint("t", i%4)))
			if err != nil {
				t.Error(err)
				return
			}
			defer p.Release(r)
			if !r.loaded {
				t.Error("it was put away in use")
			}
		})
	}
	calls.Wait()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
