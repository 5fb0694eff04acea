package items

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/schemas"
)

// Records are kept as they were read, whatever they hold.
func TestKeptAsRead(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	full := schemas.Record{
		MemoryItem: schemas.MemoryItem{
			ID: "a", Type: schemas.Semantic, Kind: schemas.KindMemory, Scope: schemas.MemoryScope{Tenant: "acme", Session: "s"}, Session: "s",
			CreatedAt: at, UpdatedAt: at.Add(time.Hour), TTL: 7, Novelty: new(float64), SecurityLabel: []string{"level:internal"}, Content: schemas.TextContent("hello"),
			Links: []schemas.Link{{Rel: schemas.RelFollows, To: "b"}}, Seq: 3, Speaker: "Ann", Role: "user", Signer: "ann", Attributes: []byte(`{"x":1}`),
		},
		Position: 12, First: 4, RecordedAt: at.Add(time.Minute), Terms: 5, Tokens: 6, AccessCount: 8, LastAccess: at.Add(time.Second), SupersededBy: "c",
	}
	full.Facets = full.MemoryItem.Facets()
	for _, want := range []schemas.Record{{MemoryItem: schemas.MemoryItem{ID: "a"}}, full} {
		c := newRecords(cachedBytes)
		c.keepRecords("acme", 0, []schemas.Record{want})
		out := make([]*Lent, 1)
		if missing, _ := c.findKeptRecords("acme", []string{"a"}, out); len(missing) != 0 {
			t.Fatal("it is not kept")
		}
		if diff := cmp.Diff(want, *out[0].Record, cmp.AllowUnexported(schemas.Content{})); diff != "" {
			t.Errorf("-read +kept:\n%s", diff)
		}
	}
}

// However records come and go, they take no more than they may.
func TestKeptWithinBounds(t *testing.T) {
	t.Parallel()
	const most = 4 << 20
	c := newRecords(most)
	read := make([]schemas.Record, 400)
	for round := range 40 {
		for i := range read {
			id := fmt.Sprint(round/2*len(read) + i) // every second round replaces the one before
			content := schemas.TextContent(strings.Repeat("x", (round*37+i*61)%(cachedRecord+100)))
			read[i] = schemas.Record{MemoryItem: schemas.MemoryItem{ID: id, Content: content}}
		}
		_, state := c.findKeptRecords("acme", nil, nil)
		c.keepRecords("acme", state, read)
		c.dropRecords("acme", []string{read[round].ID, read[round+7].ID})
		if n := c.kept.Bytes(); n > most {
			t.Fatalf("after round %d: %d bytes are kept, at most %d", round, n, most)
		}
	}
	if n := c.kept.Len(); n < most/cachedRecord/2 {
		t.Errorf("%d records are kept", n)
	}
	if c.dropRecords("acme", nil); c.kept.Len() != 0 {
		t.Errorf("%d are kept when nothing is", c.kept.Len())
	}
}

// What is damaged is read anew.
func TestDamagedInMemory(t *testing.T) {
	t.Parallel()
	c := newRecords(cachedBytes)
	c.keepRecords("acme", 0, []schemas.Record{{MemoryItem: schemas.MemoryItem{ID: "a"}}, {MemoryItem: schemas.MemoryItem{ID: "b"}}})
	c.kept.Get("acme", "a")[keptHead] = 99
	out := make([]*Lent, 2)
	missing, _ := c.findKeptRecords("acme", []string{"a", "b"}, out)
	if len(missing) != 1 || missing[0] != "a" || out[0] != nil || out[1] == nil {
		t.Errorf("missing are %v", missing)
	}
}

// Whatever of a record is long counts, and what is too long is not kept.
func TestLongRecordsAreNotKept(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", cachedRecord+1)
	for name, r := range map[string]schemas.MemoryItem{
		"content": {Content: schemas.TextContent(long)}, "summary": {Summary: &schemas.Summary{Text: long}},
		"labels": {SecurityLabel: []string{long}}, "tags": {Provenance: schemas.Provenance{PolicyTags: []string{long}}},
		"refs": {GraphRefs: []string{long}}, "links": {Links: []schemas.Link{{To: long}}}, "attributes": {Attributes: []byte(long)},
	} {
		r.ID = "m"
		c := newRecords(cachedBytes)
		c.keepRecords("acme", 0, []schemas.Record{{MemoryItem: r}})
		if c.kept.Len() != 0 {
			t.Errorf("%s: %d records are kept", name, c.kept.Len())
		}
	}
}

// What was counted is kept, but not when it has changed since it was read, and not in the
// place of anything else.
func TestCountedRecordsAreKept(t *testing.T) {
	t.Parallel()
	c := newRecords(4 << 20)
	list := []schemas.Record{{MemoryItem: schemas.MemoryItem{ID: "a"}, Tokens: 3}, {MemoryItem: schemas.MemoryItem{ID: "b"}, Tokens: 4}}
	kept := func(ids ...string) (n int) {
		missing, _ := c.findKeptRecords("acme", ids, make([]*Lent, len(ids)))
		return len(ids) - len(missing)
	}
	state := c.readState()
	c.dropRecords("acme", []string{"a"})
	c.keepCountedRecords("acme", state, list)
	if kept("a") != 0 || kept("b") != 1 {
		t.Errorf("changed meanwhile and kept: %d, unchanged: %d", kept("a"), kept("b"))
	}
	c.keepRecords("acme", state, list) // read before it was counted
	if kept("a") != 0 {
		t.Error("what was read before the count is kept")
	}
	large := schemas.TextContent(strings.Repeat("x", cachedRecord-200))
	for i := 0; c.kept.Fits("acme", "a", []byte(large.Text())); i++ {
		c.keepRecords("acme", c.readState(), []schemas.Record{{MemoryItem: schemas.MemoryItem{ID: fmt.Sprint(i), Content: large}}})
	}
	before := c.kept.Len()
	for i := range list {
		list[i].Content = large
	}
	c.keepCountedRecords("acme", c.readState(), list)
	if kept("a", "b") != 0 || c.kept.Len() != before-1 { // b, as it was
		t.Error("what was counted took the place of what was asked for")
	}
}
