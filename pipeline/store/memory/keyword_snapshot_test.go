package memory_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/memory"
	"satchel/schemas"
)

func system(t testing.TB, name string) scope.Scope {
	t.Helper()
	s, err := scope.System(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func applyKeyword(t testing.TB, x *memory.Keyword, s scope.Scope, changes ...keyword.Change) {
	t.Helper()
	if err := x.Apply(t.Context(), s, changes, changes[len(changes)-1].Position); err != nil {
		t.Fatal(err)
	}
}

func put(position int64, id, text string) keyword.Change {
	return keyword.Change{Position: position, Put: &keyword.Doc{ID: id, Position: position, Text: text,
		Facets: schemas.Facets{Kind: schemas.KindMemory, Session: "session-of-" + id, Labels: []string{"label-of-" + id}}}}
}

func search(t testing.TB, x *memory.Keyword, s scope.Scope, text string) keyword.Result {
	t.Helper()
	res, err := x.Search(t.Context(), s, keyword.Query{Population: schemas.MatchAll(), Text: text, Limit: 10, Filter: schemas.MatchAll()})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func digestOf(t testing.TB, x *memory.Keyword, s scope.Scope) [32]byte {
	t.Helper()
	d, err := x.Digest(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func checkpoint(t testing.TB, x *memory.Keyword, s scope.Scope) int64 {
	t.Helper()
	at, err := x.Checkpoint(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// files returns the content of every file under dir.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func closeIndex(t testing.TB, x *memory.Keyword) {
	t.Helper()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestSnapshotBringsEverythingBack(t *testing.T) {
	t.Parallel()
	dir, s, c := t.TempDir(), system(t, "acme"), newCorpus(7)
	x := openKeyword(t, memory.KeywordConfig{Dir: dir})
	applyKeyword(t, x, s, c.changes(1, 500)...)
	applyKeyword(t, x, s, keyword.Change{Position: 501, Remove: []string{c.doc(1).ID, c.doc(7).ID}}, put(502, "long", c.text(3000)))
	if err := x.Apply(t.Context(), s, nil, 600); err != nil {
		t.Fatal(err)
	}
	before, query := digestOf(t, x, s), c.terms()
	want := search(t, x, s, query)
	closeIndex(t, x)
	x = openKeyword(t, memory.KeywordConfig{Dir: dir})
	if at := checkpoint(t, x, s); at != 600 {
		t.Errorf("checkpoint %d, want 600", at)
	}
	if digestOf(t, x, s) != before {
		t.Error("the digest changed")
	}
	if got := search(t, x, s, query); fmt.Sprint(got.Hits) != fmt.Sprint(want.Hits) || got.N != want.N {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A process that dies leaves the last snapshot; the log does the rest.
func TestSnapshotAndReplayAfterACrash(t *testing.T) {
	t.Parallel()
	dir, s, c := t.TempDir(), system(t, "acme"), newCorpus(7)
	x := openKeyword(t, memory.KeywordConfig{Dir: dir, SnapshotEvery: 100})
	history := c.changes(1, 250)
	for at := 0; at < 250; at += 50 {
		applyKeyword(t, x, s, history[at:at+50]...)
	}
	again := openKeyword(t, memory.KeywordConfig{Dir: dir}) // the first one is still open: nothing was written at its end
	at := checkpoint(t, again, s)
	if at == 0 || at > 250 {
		t.Fatalf("checkpoint %d", at)
	}
	applyKeyword(t, again, s, history...)
	if digestOf(t, again, s) != digestOf(t, x, s) {
		t.Error("the digest after the replay differs")
	}
}

func TestDamagedSnapshotIsAnEmptyTenant(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), system(t, "acme")
	x := openKeyword(t, memory.KeywordConfig{Dir: dir})
	history := []keyword.Change{put(1, "a", "copper wire"), put(2, "b", "tin can")}
	applyKeyword(t, x, s, history...)
	want := digestOf(t, x, s)
	closeIndex(t, x)
	var path string
	var whole []byte
	for path, whole = range files(t, dir) {
	}
	broken := map[string][]byte{"empty": {}, "short": whole[:20], "cut": whole[:len(whole)-1], "longer": append(bytes.Clone(whole), 0)}
	for at := 0; at < len(whole); at += 5 {
		b := bytes.Clone(whole)
		b[at] ^= 1
		broken[fmt.Sprint("bit at ", at)] = b
	}
	for name, raw := range broken {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		var told error
		x := openKeyword(t, memory.KeywordConfig{Dir: dir, OnError: func(_ string, err error) { told = err }})
		at := checkpoint(t, x, s)
		if at != 0 { // its head is in order: it is found out when it is read
			if err := x.Apply(t.Context(), s, nil, 3); !errors.Is(err, memory.ErrKeywordLost) {
				t.Errorf("%s: apply = %v, want ErrLost", name, err)
			}
			if _, err := x.Search(t.Context(), s, keyword.Query{Text: "copper", Limit: 1}); !errors.Is(err, memory.ErrKeywordLost) {
				t.Errorf("%s: search = %v, want ErrLost", name, err)
			}
			at = checkpoint(t, x, s)
		}
		if at != 0 || told == nil { // as damaged, or, for one bit, of another version
			t.Errorf("%s: checkpoint %d, told %v", name, at, told)
		}
		applyKeyword(t, x, s, history...)
		if digestOf(t, x, s) != want {
			t.Errorf("%s: the digest after the replay differs", name)
		}
		closeIndex(t, x)
		if got := files(t, dir)[path]; !bytes.Equal(got, whole) {
			t.Errorf("%s: the snapshot was not written again", name)
		}
	}
}

func TestSnapshotOfAnotherTenantIsNotTaken(t *testing.T) {
	t.Parallel()
	dir, a, b := t.TempDir(), system(t, "a"), system(t, "b")
	x := openKeyword(t, memory.KeywordConfig{Dir: dir})
	applyKeyword(t, x, a, put(1, "x", "copper"))
	closeIndex(t, x)
	var mine string
	for mine = range files(t, dir) {
	}
	x = openKeyword(t, memory.KeywordConfig{Dir: dir})
	applyKeyword(t, x, b, put(1, "y", "tin"))
	closeIndex(t, x)
	for path := range files(t, dir) {
		if path == mine {
			continue
		}
		if err := os.Rename(mine, path); err != nil {
			t.Fatal(err)
		}
	}
	var told error
	x = openKeyword(t, memory.KeywordConfig{Dir: dir, OnError: func(_ string, err error) { told = err }})
	if at := checkpoint(t, x, b); at != 0 || !errors.Is(told, memory.ErrDamaged) {
		t.Errorf("checkpoint %d, told %v", at, told)
	}
}

func TestScrubLeavesNoTrace(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), system(t, "acme")
	x := openKeyword(t, memory.KeywordConfig{Dir: dir, SnapshotEvery: 1})
	applyKeyword(t, x, s, put(1, "canary-id", "the zzcanary sang"), put(2, "b", "a bird sang"))
	traces := []string{"zzcanari", "canary-id", "session-of-canary-id", "label-of-canary-id"}
	for _, trace := range traces {
		if !found(files(t, dir), trace) {
			t.Errorf("%q is not in the snapshot to begin with", trace)
		}
	}
	applyKeyword(t, x, s, keyword.Change{Position: 3, Remove: []string{"canary-id"}})
	if err := x.Scrub(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for _, trace := range traces {
		if found(files(t, dir), trace) {
			t.Errorf("%q is still in the snapshot", trace)
		}
	}
	if res := search(t, x, s, "bird sang"); len(res.Hits) != 1 || res.N != 1 {
		t.Errorf("after the scrub: %+v", res)
	}
}

func found(files map[string][]byte, s string) bool {
	for _, raw := range files {
		if bytes.Contains(raw, []byte(s)) {
			return true
		}
	}
	return false
}

func TestResetRemovesTheSnapshot(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), system(t, "acme")
	x := openKeyword(t, memory.KeywordConfig{Dir: dir, SnapshotEvery: 1})
	applyKeyword(t, x, s, put(1, "a", "copper"))
	if err := x.Reset(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	closeIndex(t, x)
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("%d files are left", len(left))
	}
}

// With memory for one tenant, every change of tenant loads one and evicts one.
func TestEveryChangeOfTenantReloads(t *testing.T) {
	t.Parallel()
	x, kept, s := openKeyword(t, memory.KeywordConfig{Dir: t.TempDir(), MemoryBytes: 1}), openKeyword(t, memory.KeywordConfig{}), system(t, "acme")
	other := system(t, "globex")
	for i := range int64(30) {
		c := put(i+1, fmt.Sprint(i%7), fmt.Sprintf("copper wire number%d", i))
		if i%5 == 4 {
			c = keyword.Change{Position: i + 1, Remove: []string{fmt.Sprint(i % 3)}}
		}
		applyKeyword(t, x, s, c)
		applyKeyword(t, kept, s, c)
		applyKeyword(t, x, other, c)
		got, want := search(t, x, s, "copper number9"), search(t, kept, s, "copper number9")
		if fmt.Sprint(got) != fmt.Sprint(want) || checkpoint(t, x, s) != i+1 {
			t.Fatalf("after %d changes: got %v, want %v", i+1, got, want)
		}
	}
	if digestOf(t, x, s) != digestOf(t, kept, s) {
		t.Error("the digests differ")
	}
}

// More tenants than memory holds, used at once: none loses or mixes anything.
func TestEvictionUnderLoad(t *testing.T) {
	t.Parallel()
	const tenants, rounds = 6, 15
	x := openKeyword(t, memory.KeywordConfig{Dir: t.TempDir(), MemoryBytes: 60_000})
	scopes := make([]scope.Scope, tenants)
	for i := range scopes {
		scopes[i] = system(t, fmt.Sprint("tenant-", i))
	}
	var wg sync.WaitGroup
	for i, s := range scopes {
		wg.Add(2)
		go func() {
			defer wg.Done()
			for n := range int64(rounds) {
				c := put(n+1, fmt.Sprint("doc-", n), fmt.Sprintf("common only%d round%d", i, n))
				if err := x.Apply(t.Context(), s, []keyword.Change{c}, n+1); err != nil {
					t.Error(err)
				}
			}
		}()
		go func() {
			defer wg.Done()
			for range rounds {
				other := scopes[(i+1)%tenants]
				res, err := x.Search(t.Context(), other, keyword.Query{Population: schemas.MatchAll(), Text: fmt.Sprint("only", i), Limit: 10, Filter: schemas.MatchAll()})
				if err != nil || len(res.Hits) > 0 {
					t.Errorf("found %v in another tenant, %v", res.Hits, err)
				}
			}
		}()
	}
	wg.Wait()
	for i, s := range scopes {
		if res := search(t, x, s, fmt.Sprint("only", i)); res.N != rounds || checkpoint(t, x, s) != rounds {
			t.Errorf("tenant %d has %d documents at %d", i, res.N, checkpoint(t, x, s))
		}
	}
}

func TestSnapshotThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir, s := filepath.Join(t.TempDir(), "snapshots"), system(t, "acme")
	var mu sync.Mutex
	var told []error
	x, err := memory.OpenKeyword(memory.KeywordConfig{Dir: dir, SnapshotEvery: 1, OnError: func(_ string, err error) {
		mu.Lock()
		told = append(told, err)
		mu.Unlock()
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	applyKeyword(t, x, s, put(1, "a", "copper"))
	if len(told) != 1 || !errors.Is(told[0], fs.ErrNotExist) {
		t.Errorf("told %v", told)
	}
	if res := search(t, x, s, "copper"); len(res.Hits) != 1 {
		t.Error("the change is not in the index")
	}
	if err := x.Scrub(t.Context(), s); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("scrub: %v", err)
	}
	if err := x.Close(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("close: %v", err)
	}
}

func TestOpenClearsUnfinishedWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "acme-00000000.kw.tmp"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	openKeyword(t, memory.KeywordConfig{Dir: dir})
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("%d files are left", len(left))
	}
}
