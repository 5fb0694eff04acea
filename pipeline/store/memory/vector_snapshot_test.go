package memory

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"satchel/pipeline/infra/vecmath"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

func tenantScope(t testing.TB, name string) scope.Scope {
	t.Helper()
	s, err := scope.System(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// canary is a vector that is nowhere by chance.
func canary(dims, turn int) []float32 {
	v := make([]float32, dims)
	for i := range v {
		v[i] = float32((i*7+turn*13)%127) / 127
	}
	return v
}

func canaryDoc(id string, at int64, dims, turn int) vector.Change {
	return vector.Change{Position: at, Put: &vector.Doc{ID: id, Position: at,
		Facets: schemas.Facets{Session: "session of " + id},
		Chunks: []vector.Chunk{{Vector: canary(dims, turn)}, {Axis: "strategy", Vector: canary(dims, turn)}}}}
}

func canaryBytes(dims, turn int) []byte {
	row := make([]int8, dims)
	vecmath.Quantise(row, canary(dims, turn))
	return asBytes(row)
}

func mustOpen(t testing.TB, c VectorConfig) *Vector {
	t.Helper()
	x, err := OpenVector(c)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func onlySnapshot(t testing.TB, dir string) []byte {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, files[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func digestOf(t testing.TB, x *Vector, s scope.Scope) [32]byte {
	t.Helper()
	d, err := x.Digest(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSnapshotSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), tenantScope(t, "acme")
	c := VectorConfig{Dir: dir, Dimensions: 20, Model: "static@1"}
	x := mustOpen(t, c)
	for i := range 100 {
		at := int64(i + 1)
		if err := x.Apply(t.Context(), s, []vector.Change{canaryDoc(fmt.Sprint("item-", i%60), at, 20, i)}, at); err != nil {
			t.Fatal(err)
		}
	}
	want := digestOf(t, x, s)
	q := vector.Query{Vector: canary(20, 3), Limit: 10, Filter: schemas.MatchAll()}
	before, err := x.Search(t.Context(), s, q)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Search(t.Context(), s, q); !errors.Is(err, ErrVectorClosed) {
		t.Errorf("after close: error %v", err)
	}
	x = mustOpen(t, c)
	if got := digestOf(t, x, s); got != want {
		t.Error("the digest has changed")
	}
	after, err := x.Search(t.Context(), s, q)
	if err != nil || fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("error %v, before %v, after %v", err, before, after)
	}
	if at, err := x.Checkpoint(t.Context(), s); err != nil || at != 100 {
		t.Errorf("checkpoint %d, error %v", at, err)
	}
}

func TestSnapshotOfAnotherModelIsNotUsed(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), tenantScope(t, "acme")
	x := mustOpen(t, VectorConfig{Dir: dir, Dimensions: 16, Model: "static@1"})
	if err := x.Apply(t.Context(), s, []vector.Change{canaryDoc("a", 1, 16, 1)}, 1); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []VectorConfig{{Dimensions: 16, Model: "static@2"}, {Dimensions: 17, Model: "static@2"}} {
		c.Dir, c.OnError = dir, func(_ string, err error) { t.Errorf("reported: %v", err) }
		x := mustOpen(t, c)
		if at, err := x.Checkpoint(t.Context(), s); err != nil || at != 0 {
			t.Errorf("checkpoint %d, error %v", at, err)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		if raw := onlySnapshot(t, dir); bytes.Contains(raw, canaryBytes(16, 1)) {
			t.Error("vectors of the other model are still there")
		}
	}
}

func TestDamagedSnapshotIsReportedAndEmpty(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), tenantScope(t, "acme")
	x := mustOpen(t, VectorConfig{Dir: dir, Dimensions: 16})
	if err := x.Apply(t.Context(), s, []vector.Change{canaryDoc("a", 1, 16, 1)}, 1); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	raw, path := onlySnapshot(t, dir), x.files.Path("acme")
	for i := range raw {
		damaged := bytes.Clone(raw)
		damaged[i] ^= 1 << (i % 8)
		if i%5 == 0 {
			damaged = damaged[:i]
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		var reported error
		x := mustOpen(t, VectorConfig{Dir: dir, Dimensions: 16, SnapshotEvery: -1, OnError: func(_ string, err error) { reported = err }})
		at, err := x.Checkpoint(t.Context(), s)
		if at != 0 { // its head is in order: it is found out when it is read
			if err := x.Apply(t.Context(), s, nil, 2); !errors.Is(err, ErrVectorLost) {
				t.Fatalf("byte %d: apply = %v, want ErrLost", i, err)
			}
			if _, err := x.Search(t.Context(), s, vector.Query{Vector: make([]float32, 16), Limit: 1}); !errors.Is(err, ErrVectorLost) {
				t.Fatalf("byte %d: search = %v, want ErrLost", i, err)
			}
			at, err = x.Checkpoint(t.Context(), s)
		}
		if err != nil || at != 0 {
			t.Fatalf("byte %d: checkpoint %d, error %v", i, at, err)
		}
		if reported != nil && !errors.Is(reported, ErrDamaged) {
			t.Fatalf("byte %d: reported %v", i, reported)
		}
	}
}

func TestScrubLeavesNothing(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), tenantScope(t, "acme")
	x := mustOpen(t, VectorConfig{Dir: dir, Dimensions: 256})
	var changes []vector.Change
	for i := range 50 {
		changes = append(changes, canaryDoc(fmt.Sprint("item-", i), int64(i+1), 256, i))
	}
	if err := x.Apply(t.Context(), s, changes, 50); err != nil {
		t.Fatal(err)
	}
	if err := x.Scrub(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	gone, atOnce := canaryBytes(256, 7), canaryBytes(256, 8)
	if raw := onlySnapshot(t, dir); !bytes.Contains(raw, gone) || !bytes.Contains(raw, atOnce) {
		t.Fatal("the canaries were never there")
	}
	if err := x.Remove(t.Context(), s, []string{"item-8"}, 50); err != nil {
		t.Fatal(err)
	}
	if err := x.Scrub(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(onlySnapshot(t, dir), atOnce) {
		t.Error("what was removed at once is in the snapshot")
	}
	if err := x.Apply(t.Context(), s, []vector.Change{{Position: 51, Remove: []string{"item-7"}}}, 51); err != nil {
		t.Fatal(err)
	}
	if err := x.Scrub(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	raw := onlySnapshot(t, dir)
	for what, b := range map[string][]byte{"vector": gone, "id": []byte("\x06item-7"), "session": []byte("session of item-7")} {
		if bytes.Contains(raw, b) {
			t.Errorf("the %s is in the snapshot", what)
		}
	}
	st := stateOf(t, x, s)
	for _, a := range st.axes {
		for _, p := range a.pages {
			if bytes.Contains(asBytes(p.vectors), gone) {
				t.Error("the vector is in memory")
			}
		}
	}
	if st.Docs != 48 || st.IDs.Len() != 48 {
		t.Errorf("%d items, %d ordinals", st.Docs, st.IDs.Len())
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCompactionKeepsEverything(t *testing.T) {
	t.Parallel()
	s, x := tenantScope(t, "acme"), mustOpen(t, VectorConfig{Dimensions: 16})
	once := mustOpen(t, VectorConfig{Dimensions: 16})
	for round := range 5 {
		var changes []vector.Change
		for i := range 1000 {
			at := int64(round*1000 + i + 1)
			changes = append(changes, canaryDoc(fmt.Sprint("item-", i), at, 16, i*round))
		}
		last := changes[999].Position
		if err := x.Apply(t.Context(), s, changes, last); err != nil {
			t.Fatal(err)
		}
		if round == 4 {
			if err := once.Apply(t.Context(), s, changes, last); err != nil {
				t.Fatal(err)
			}
		}
	}
	if digestOf(t, x, s) != digestOf(t, once, s) {
		t.Error("the digest has changed")
	}
	if st := stateOf(t, x, s); st.IDs.Len() > 2*1025 {
		t.Errorf("%d ordinals for %d items", st.IDs.Len(), st.Docs)
	}
}

func TestEvictionUnderLoad(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, VectorConfig{Dir: t.TempDir(), Dimensions: 16, MemoryBytes: 8 << 10, OnError: func(tenant string, err error) {
		t.Errorf("tenant %s: %v", tenant, err)
	}})
	var group sync.WaitGroup
	for n := range 6 {
		s := tenantScope(t, fmt.Sprint("tenant-", n))
		group.Go(func() {
			for at := int64(1); at <= 15; at++ {
				if err := x.Apply(t.Context(), s, []vector.Change{canaryDoc(fmt.Sprint("item-", at), at, 16, int(at))}, at); err != nil {
					t.Error(err)
				}
				r, err := x.Search(context.Background(), s, vector.Query{Vector: canary(16, 1), Limit: 100, Filter: schemas.MatchAll()})
				if err != nil || r.N != int(at) || len(r.Hits) != int(at) {
					t.Errorf("%d items after %d, error %v", r.N, at, err)
				}
			}
		})
	}
	group.Wait()
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

// stateOf returns what the index holds of the tenant.
func stateOf(t *testing.T, x *Vector, s scope.Scope) *vectorState {
	t.Helper()
	r, err := x.acquireTenant(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer x.release(r)
	defer r.RUnlock()
	return r.RLock()
}

func FuzzVectorDecode(f *testing.F) {
	c := VectorConfig{Dimensions: 8, Model: "m"}
	s := newVectorState(8)
	for i := range 3 {
		d := canaryDoc(fmt.Sprint("item-", i), int64(i), 8, i).Put
		chunks, _ := quantiseChunks(d, s.stride, nil)
		if err := s.putVectorItem(d.ID, d.Position, d.Facets, chunks); err != nil {
			f.Fatal(err)
		}
	}
	var raw bytes.Buffer
	w := bufio.NewWriter(&raw)
	if err := errors.Join(c.encodeVectorState(w, "acme", s), w.Flush()); err != nil {
		f.Fatal(err)
	}
	f.Add(raw.Bytes())
	f.Add([]byte(vectorMagic))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := c.decodeVectorState(bytes.NewReader(raw), int64(len(raw)), "acme")
		if err != nil {
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) {
				t.Fatal(err)
			}
			return
		}
		if _, err := s.Digest(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
