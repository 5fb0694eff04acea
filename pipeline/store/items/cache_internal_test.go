package items

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	"satchel/schemas"
)

// However records come and go, what is counted is what is kept, and it is within bounds.
func TestRecordsAreCounted(t *testing.T) {
	t.Parallel()
	c := newRecords(cachedBytes)
	read := make([]schemas.Record, 400)
	for round := range 40 {
		for i := range read {
			id := fmt.Sprint(round/2*len(read) + i) // every second round replaces the one before
			content := schemas.TextContent(strings.Repeat("x", (round*37+i*61)%(cachedContent+100)))
			read[i] = schemas.Record{MemoryItem: schemas.MemoryItem{ID: id, Content: content}}
		}
		_, state := c.get("acme", nil, nil)
		c.put("acme", state, read)
		c.drop("acme", []string{read[round].ID, read[round+7].ID})
		sum := 0
		for _, r := range c.kept.Values() {
			sum += sizeOf(r)
		}
		if c.bytes != sum || sum > cachedBytes {
			t.Fatalf("after round %d: %d bytes are counted, %d are kept, at most %d", round, c.bytes, sum, cachedBytes)
		}
	}
	if n := c.kept.Len(); n < cachedBytes/(cachedRecord+2*cachedContent) || n >= 20*len(read) {
		t.Errorf("%d records are kept", n)
	}
	if c.drop("acme", nil); c.bytes != 0 {
		t.Errorf("%d bytes are counted when nothing is kept", c.bytes)
	}
}

// Nothing leads to a record that was dropped.
func TestADroppedRecordIsGone(t *testing.T) {
	t.Parallel()
	c := newRecords(cachedBytes)
	content := schemas.TextContent(strings.Repeat("secret ", 100))
	list := []schemas.Record{{MemoryItem: schemas.MemoryItem{ID: "a", Content: content}}, {MemoryItem: schemas.MemoryItem{ID: "b", Content: content}}}
	c.put("acme", 0, list)
	var held []weak.Pointer[schemas.Record]
	for _, r := range c.kept.Values() {
		held = append(held, weak.Make(r))
	}
	c.drop("acme", []string{"a"})
	c.drop("acme", nil)
	runtime.GC()
	runtime.GC()
	for i, p := range held {
		if r := p.Value(); r != nil {
			t.Errorf("record %d of %d is still held: %s", i+1, len(held), r.ID)
		}
	}
	if len(held) != 2 {
		t.Errorf("%d were kept", len(held))
	}
	runtime.KeepAlive(c)
}

// Whatever of a record is long counts, and what is too long is not kept.
func TestLongRecordsAreNotKept(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", cachedContent+1)
	for name, r := range map[string]schemas.MemoryItem{
		"content": {Content: schemas.TextContent(long)}, "summary": {Summary: &schemas.Summary{Text: long}},
		"labels": {SecurityLabel: []string{long}}, "tags": {Provenance: schemas.Provenance{PolicyTags: []string{long}}},
		"refs": {GraphRefs: []string{long}}, "links": {Links: []schemas.Link{{To: long}}}, "attributes": {Attributes: []byte(long)},
	} {
		r.ID = "m"
		c := newRecords(cachedBytes)
		c.put("acme", 0, []schemas.Record{{MemoryItem: r}})
		if size := sizeOf(&schemas.Record{MemoryItem: r}); size < cachedRecord+cachedContent || c.kept.Len() != 0 {
			t.Errorf("%s: %d bytes are counted, %d records kept", name, size, c.kept.Len())
		}
	}
}

// What was counted is kept, but not when it has changed since it was read, and not in the
// place of anything else.
func TestCountedRecordsAreKept(t *testing.T) {
	t.Parallel()
	c := newRecords(cachedBytes)
	list := []schemas.Record{{MemoryItem: schemas.MemoryItem{ID: "a"}, Tokens: 3}, {MemoryItem: schemas.MemoryItem{ID: "b"}, Tokens: 4}}
	kept := func(ids ...string) (n int) {
		missing, _ := c.get("acme", ids, make([]*schemas.Record, len(ids)))
		return len(ids) - len(missing)
	}
	state := c.now()
	c.drop("acme", []string{"a"})
	c.counted("acme", state, list)
	if kept("a") != 0 || kept("b") != 1 {
		t.Errorf("changed meanwhile and kept: %d, unchanged: %d", kept("a"), kept("b"))
	}
	c.put("acme", state, list) // read before it was counted
	if kept("a") != 0 {
		t.Error("what was read before the count is kept")
	}
	large := schemas.TextContent(strings.Repeat("x", cachedContent/2))
	full := make([]schemas.Record, cachedBytes/cachedContent*2)
	for i := range full {
		full[i].ID, full[i].Content = fmt.Sprint(i), large
	}
	c.put("acme", c.now(), full)
	before := c.kept.Len()
	for i := range list {
		list[i].Content = large
	}
	c.counted("acme", c.now(), list)
	if kept("a", "b") != 0 || c.kept.Len() != before {
		t.Error("what was counted took the place of what was asked for")
	}
}
