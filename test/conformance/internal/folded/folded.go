// Package folded is what the conformance suites have in common whose stores fold a log.
package folded

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"satchel/pipeline/scope"
	"satchel/schemas"
	"satchel/test/must"
)

// Store folds changes of type C.
type Store[C any] interface {
	Apply(ctx context.Context, s scope.Scope, changes []C, upTo int64) error
	Checkpoint(ctx context.Context, s scope.Scope) (int64, error)
	Digest(ctx context.Context, s scope.Scope) ([32]byte, error)
	Reset(ctx context.Context, s scope.Scope) error
}

// Harness makes the stores under test.
type Harness[D any] struct {
	// Open opens the store named name, the same one for the same name: what was applied
	// before close is there after it is opened again.
	Open func(ctx context.Context, name string) (driver D, close func() error, err error)
}

// Start opens the store named name and gives it to use, again whenever reopen is called. It is
// closed with the test.
func (h Harness[D]) Start(t *testing.T, name string, use func(D)) (reopen func()) {
	t.Helper()
	var closeStore func() error
	start := func() {
		driver, c, err := h.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		use(driver)
		closeStore = c
	}
	stop := func() {
		if err := closeStore(); err != nil {
			t.Error(err)
		}
	}
	start()
	t.Cleanup(func() { stop() })
	return func() {
		stop()
		start()
	}
}

// Run runs every test beside the others, on what open returns for its name.
func Run[F any](t *testing.T, open func(t *testing.T, name string) F, tests map[string]func(*testing.T, F)) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t, name))
		})
	}
}

// Tenant returns the scope of a tenant.
func Tenant(t interface {
	Helper()
	Fatal(...any)
}, name string) scope.Scope {
	t.Helper()
	return must.Get(scope.System(name))(t)
}

// Apply applies changes up to the last of them.
func Apply[C any](t *testing.T, x Store[C], s scope.Scope, changes ...C) {
	t.Helper()
	must.Do(t, x.Apply(t.Context(), s, changes, 0))
}

// Replay applies a log and then every end of it again, which changes nothing.
func Replay[C any](t *testing.T, x Store[C], s scope.Scope, log []C) {
	t.Helper()
	Apply(t, x, s, log...)
	before := must.Get(x.Digest(t.Context(), s))(t)
	for i := range log {
		Apply(t, x, s, log[i:]...)
	}
	At(t, x, s, int64(len(log)), before)
}

// At checks a store's checkpoint and digest.
func At[C any](t *testing.T, x Store[C], s scope.Scope, checkpoint int64, digest [32]byte) {
	t.Helper()
	at := must.Get(x.Checkpoint(t.Context(), s))(t)
	if got := must.Get(x.Digest(t.Context(), s))(t); at != checkpoint || got != digest {
		t.Errorf("checkpoint %d, want %d; the digest is the same: %v", at, checkpoint, got == digest)
	}
}

// Remains checks how many of the items a driver says that it holds of a tenant. An erasure asks it.
func Remains[S any](t *testing.T, driver any, of S, want int, ids ...string) {
	t.Helper()
	d, ok := driver.(interface {
		Remaining(ctx context.Context, of S, ids []string) (int, error)
	})
	if !ok {
		t.Fatal("the driver does not count what an erasure has left")
	}
	if got, err := d.Remaining(t.Context(), of, ids); err != nil || got != want {
		t.Errorf("%d of %v remain, want %d: %v", got, ids, want, err)
	}
}

// Model applies drawn logs in drawn batches, which overlap, to the store and to the model that begin
// returns, and has check compare the two after each. A rebuild in one batch has the same digest.
func Model[C any](t *testing.T, x Store[C], logs *rapid.Generator[[]C], begin func(s scope.Scope) (apply func([]C), check func(*rapid.T))) {
	ctx, n := t.Context(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		s := Tenant(t, "model-"+string(rune('a'+n%26)))
		must.Do(t, x.Reset(ctx, s))
		log := logs.Draw(t, "log")
		apply, check := begin(s)
		for rest := log; len(rest) > 0; {
			k := rapid.IntRange(1, len(rest)).Draw(t, "batch")
			from := len(log) - len(rest)
			overlap := rapid.IntRange(0, from).Draw(t, "overlap")
			must.Do(t, x.Apply(ctx, s, log[from-overlap:from+k], 0))
			apply(log[from : from+k])
			rest = rest[k:]
			check(t)
		}
		before := must.Get(x.Digest(ctx, s))(t)
		must.Do(t, x.Reset(ctx, s))
		must.Do(t, x.Apply(ctx, s, log, 0))
		if after, err := x.Digest(ctx, s); err != nil || after != before {
			t.Fatalf("a rebuild in one batch has another digest: %v", err)
		}
		check(t)
	})
}

// Same compares what a store says with what it should.
func Same(t *testing.T, got, want any) {
	t.Helper()
	if diff := difference(got, want); diff != "" {
		t.Errorf("difference (-want +got):\n%s", diff)
	}
}

// Equal is Same in a drawn test, which it ends.
func Equal(t *rapid.T, what string, got, want any, err error) {
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if diff := difference(got, want); diff != "" {
		t.Fatalf("%s differ (-want +got):\n%s", what, diff)
	}
}

func difference(got, want any) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(schemas.Content{}))
}
