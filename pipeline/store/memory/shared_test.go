package memory

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

var errClosed, errLost = errors.New("closed"), errors.New("lost")

// names is a state that holds ids alone and says that it takes ten bytes.
type names struct{ baseState }

func newNames() *names { return &names{newBaseState(0)} }

type change struct {
	at     int64
	put    string
	remove string
}

func (n *names) Bytes() int64 { return 10 }

func (n *names) Compact() (*names, error) {
	c := newNames()
	c.Checkpoint = n.Checkpoint
	for ord := range n.IDs.Len() {
		if id := n.IDs.ID(uint32(ord)); id != "" {
			c.put(id)
		}
	}
	return c, nil
}

func (n *names) put(id string) {
	if _, isNew := n.IDs.Intern(id); isNew {
		n.Count(n.Facets.Intern(schemas.Facets{}), 1)
	}
}

func (n *names) Prepare(changes []change) func() error {
	return func() error {
		for _, c := range changes {
			if _, there := n.IDs.Delete(c.remove); there {
				n.Count(0, -1)
			}
			if c.put != "" {
				n.put(c.put)
			}
		}
		return nil
	}
}

func (n *names) Digest(context.Context) (sum [32]byte, err error) {
	sum[0] = byte(n.Docs)
	return sum, nil
}

type namesIndex = sharedIndex[*names, change]

// seen is what an index did: tenants that it loaded, and began, and what it told.
type seen struct {
	loads, begun int
	told         []error
}

func openNames(t *testing.T, dir string, memory int64, every int) (*namesIndex, func() seen) {
	t.Helper()
	var mu sync.Mutex
	var did seen
	x, err := openShared(sharedConfig[*names, change]{
		Name: "name", Dir: dir, Ext: ".names", Kind: "names", MemoryBytes: memory, SnapshotEvery: every,
		New: func() *names {
			mu.Lock()
			defer mu.Unlock()
			did.begun++
			return newNames()
		},
		Position: func(c *change) int64 { return c.at },
		Encode: func(w *bufio.Writer, tenant string, n *names) error {
			if tenant == "full" {
				return errors.New("no space")
			}
			_, err := fmt.Fprintln(w, "names", n.Checkpoint, n.Docs)
			for ord := range n.IDs.Len() {
				if id := n.IDs.ID(uint32(ord)); id != "" && err == nil {
					_, err = fmt.Fprintln(w, id)
				}
			}
			return err
		},
		Decode: func(r io.Reader, size int64, tenant string) (*names, error) {
			mu.Lock()
			did.loads++
			mu.Unlock()
			n, docs, kind := newNames(), 0, ""
			if _, err := fmt.Fscanln(r, &kind, &n.Checkpoint, &docs); err != nil {
				return nil, ErrDamaged
			}
			if kind != "names" {
				_, err := io.Copy(io.Discard, r)
				return nil, errors.Join(ErrForeign, err)
			}
			for range docs {
				id := ""
				if _, err := fmt.Fscanln(r, &id); err != nil {
					return nil, ErrDamaged
				}
				n.put(id)
			}
			return n, nil
		},
		OnError: func(_ string, err error) {
			mu.Lock()
			did.told = append(did.told, err)
			mu.Unlock()
		},
		Closed: errClosed, Lost: errLost,
	})
	if err != nil {
		t.Fatal(err)
	}
	return x, func() seen {
		mu.Lock()
		defer mu.Unlock()
		return did
	}
}

func scopeOf(t *testing.T, tenant string) scope.Scope {
	t.Helper()
	s, err := scope.System(tenant)
	must(t, err)
	return s
}

func applyShared(t *testing.T, x *namesIndex, tenant string, changes ...change) {
	t.Helper()
	must(t, x.Apply(t.Context(), scopeOf(t, tenant), changes, changes[len(changes)-1].at))
}

// holds checks how many ids a tenant has, and its checkpoint.
func holds(t *testing.T, x *namesIndex, tenant string, docs int, checkpoint int64) {
	t.Helper()
	sum, err := x.Digest(t.Context(), scopeOf(t, tenant))
	must(t, err)
	at, err := x.Checkpoint(t.Context(), scopeOf(t, tenant))
	must(t, err)
	if int(sum[0]) != docs || at != checkpoint {
		t.Errorf("tenant %q holds %d ids at %d, want %d at %d", tenant, sum[0], at, docs, checkpoint)
	}
}

func TestTheOneUsedLongestAgoIsEvicted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x, seen := openNames(t, dir, 20, 0)
	for _, tenant := range []string{"full", "b", "full", "c"} { // b has to go for c
		applyShared(t, x, tenant, change{at: 1, put: tenant})
	}
	if files, err := filepath.Glob(filepath.Join(dir, "b-*")); len(files) != 1 || err != nil {
		t.Errorf("b was used longest ago, and has no snapshot: %v", err)
	}
	holds(t, x, "b", 1, 1) // full cannot be evicted, so c has to be
	if did := seen(); did.loads != 1 || len(did.told) == 0 {
		t.Errorf("%d loads, told %v", did.loads, did.told)
	}
	holds(t, x, "c", 1, 1)
	if did := seen(); did.loads != 2 {
		t.Errorf("%d loads: c was not evicted", did.loads)
	}
	if err := x.Close(); err == nil {
		t.Error("Close is silent about what it could not write")
	}
	must(t, x.Close())
	if _, err := x.acquireTenant(t.Context(), scopeOf(t, "b")); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := x.acquireTenant(t.Context(), scope.Scope{}); err == nil {
		t.Error("the zero scope has a tenant")
	}
}

func TestATenantIsLoadedOnceForManyAndNotEvictedInUse(t *testing.T) {
	t.Parallel()
	x, _ := openNames(t, t.TempDir(), 1, 0)
	var calls sync.WaitGroup
	for i := range 64 {
		calls.Go(func() {
			r, err := x.acquireTenant(t.Context(), scopeOf(t, fmt.Sprint("t", i%4)))
			if err != nil {
				t.Error(err)
				return
			}
			defer x.release(r)
			defer r.RUnlock()
			if r.RLock() == nil {
				t.Error("it was evicted in use")
			}
		})
	}
	calls.Wait()
	must(t, x.Close())
}

func TestABatchBelowTheCheckpointChangesNothing(t *testing.T) {
	t.Parallel()
	x, _ := openNames(t, "", 0, 0)
	applyShared(t, x, "acme", change{at: 3, put: "a"}, change{at: 7, put: "b"})
	applyShared(t, x, "acme", change{at: 5, put: "c"}, change{at: 7, remove: "a"})
	holds(t, x, "acme", 2, 7)
	applyShared(t, x, "acme", change{at: 7, put: "d"}, change{at: 9, put: "e"})
	holds(t, x, "acme", 3, 9)
	must(t, x.Apply(t.Context(), scopeOf(t, "acme"), nil, 12))
	holds(t, x, "acme", 3, 12)
	must(t, x.Reset(t.Context(), scopeOf(t, "acme")))
	holds(t, x, "acme", 0, 0)
}

// TestWhatIsEmptyLeavesNothing: a tenant of which there is nothing is forgotten with its last
// user, and one that was told to go is loaded again when it is asked for.
func TestWhatIsEmptyLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x, seen := openNames(t, dir, 0, 0)
	acquire := func() *tenantIndex[*names, change] {
		t.Helper()
		r, err := x.acquireTenant(t.Context(), scopeOf(t, "a"))
		must(t, err)
		return r
	}
	evict := func() {
		t.Helper()
		must(t, x.Evict(t.Context(), scopeOf(t, "a")))
	}
	first, again := acquire(), acquire()
	if first != again {
		t.Fatal("two of one tenant")
	}
	x.release(first)
	if acquire() != again {
		t.Error("it went while it was in use")
	}
	x.release(again)
	x.release(again)
	if did := seen(); did.begun != 1 {
		t.Errorf("it began %d times", did.begun)
	}
	x.release(acquire())
	holds(t, x, "a", 0, 0) // begins for the digest alone: there is no snapshot
	if did := seen(); did.begun != 3 {
		t.Errorf("what is empty is kept: it began %d times", did.begun)
	}
	applyShared(t, x, "a", change{at: 5, put: "x"})
	holds(t, x, "a", 1, 5)
	full := acquire()
	evict()
	x.release(full)
	if x.release(acquire()); seen().loads != 0 {
		t.Error("it was evicted in use")
	}
	evict()
	if at, err := x.Checkpoint(t.Context(), scopeOf(t, "a")); at != 5 || err != nil || seen().loads != 0 {
		t.Errorf("checkpoint of the evicted: %d, %v, loaded %d times", at, err, seen().loads)
	}
	if n, err := x.Remaining(t.Context(), scopeOf(t, "a"), []string{"x", "y"}); n != 1 || err != nil || seen().loads != 1 {
		t.Errorf("remaining: %d, %v, loaded %d times", n, err, seen().loads)
	}
	must(t, x.Evict(t.Context(), scopeOf(t, "nobody")))
	must(t, x.Close())
	evict()
	if files, err := os.ReadDir(dir); len(files) != 1 || err != nil {
		t.Errorf("%d snapshots, %v", len(files), err)
	}
	x, _ = openNames(t, "", 0, 0)
	applyShared(t, x, "a", change{at: 5, put: "x"})
	evict()
	holds(t, x, "a", 1, 5) // it could not have been loaded again
}

// TestASnapshotThatCannotBeUsed: it is an empty tenant, which answers nothing until its
// checkpoint was asked for, and is replaced then, also when nothing changes.
func TestASnapshotThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"damaged", "damaged in its head", "foreign"} {
		dir := t.TempDir()
		x, _ := openNames(t, dir, 0, 1)
		applyShared(t, x, "acme", change{at: 4, put: "a"})
		path := x.files.Path("acme")
		must(t, x.Close())
		if kind == "foreign" {
			must(t, snapshotFolder{Dir: dir, Ext: ".names", Kind: "others"}.Write("acme", 4, true, func(w *bufio.Writer) error {
				_, err := fmt.Fprintln(w, "others", 4, 0)
				return err
			}))
		} else {
			raw, err := os.ReadFile(path)
			must(t, err)
			raw[map[string]int{"damaged": len(raw) - 1}[kind]] ^= 1
			must(t, os.WriteFile(path, raw, 0o600))
		}
		s := scopeOf(t, "acme")
		x, seen := openNames(t, dir, 0, 1)
		lost := func() {
			t.Helper()
			_, digested := x.Digest(t.Context(), s)
			_, counted := x.Remaining(t.Context(), s, nil)
			_, acquired := x.acquireTenant(t.Context(), s)
			for _, err := range []error{x.Apply(t.Context(), s, nil, 5), x.Scrub(t.Context(), s), digested, counted, acquired} {
				if !errors.Is(err, errLost) {
					t.Errorf("%s: %v, want errLost", kind, err)
				}
			}
		}
		if kind == "damaged" { // it is found out when it is read
			if at, err := x.Checkpoint(t.Context(), s); at != 4 || err != nil {
				t.Errorf("%s: checkpoint %d, %v", kind, at, err)
			}
		}
		lost()
		must(t, x.Evict(t.Context(), s))
		lost()
		if did := seen(); did.loads != 2 || len(did.told) > 0 != (kind != "foreign") || len(did.told) > 0 && !errors.Is(did.told[0], ErrDamaged) {
			t.Errorf("%s: loaded %d times, told %v", kind, did.loads, did.told)
		}
		holdsNothing := func() {
			t.Helper()
			if at, err := x.Checkpoint(t.Context(), s); at != 0 || err != nil {
				t.Errorf("%s: checkpoint %d, %v", kind, at, err)
			}
			holds(t, x, "acme", 0, 0)
		}
		holdsNothing()
		must(t, x.Close())
		x, seen = openNames(t, dir, 0, 1)
		holdsNothing()
		if did := seen(); len(did.told) > 0 || did.loads == 0 {
			t.Errorf("%s: it was not replaced: %v", kind, did.told)
		}
		must(t, os.WriteFile(path, []byte("not a snapshot"), 0o600))
		must(t, x.Reset(t.Context(), s))
		holds(t, x, "acme", 0, 0)
		must(t, x.Close())
	}
}

func TestWhatIsGoneIsCompactedAway(t *testing.T) {
	t.Parallel()
	x, _ := openNames(t, "", 0, 0)
	at := int64(0)
	for i := range 3000 {
		applyShared(t, x, "acme", change{at: at + 1, put: fmt.Sprint(i)}, change{at: at + 2, remove: fmt.Sprint(i - 3)})
		at += 2
	}
	r, err := x.acquireTenant(t.Context(), scopeOf(t, "acme"))
	must(t, err)
	n := r.RLock()
	if n.Docs != 3 || n.IDs.Len() > 1100 || n.Checkpoint != at {
		t.Errorf("%d ids, %d numbers, at %d", n.Docs, n.IDs.Len(), n.Checkpoint)
	}
	r.RUnlock()
	x.release(r)
	must(t, x.Scrub(t.Context(), scopeOf(t, "acme")))
	holds(t, x, "acme", 3, at)
}

// TestScrubWaitsForTheDisk: a small snapshot is written without waiting for the disk, so Scrub writes
// it again though it is current, once.
func TestScrubWaitsForTheDisk(t *testing.T) {
	t.Parallel()
	x, _ := openNames(t, t.TempDir(), 0, 1)
	applyShared(t, x, "acme", change{at: 4, put: "a"})
	var files [3]os.FileInfo
	for i := range files {
		if i > 0 {
			must(t, x.Scrub(t.Context(), scopeOf(t, "acme")))
		}
		info, err := os.Stat(x.files.Path("acme"))
		must(t, err)
		files[i] = info
	}
	if os.SameFile(files[0], files[1]) {
		t.Error("what was not synced is left as it is")
	}
	if !os.SameFile(files[1], files[2]) {
		t.Error("what is synced is written again")
	}
}
