package items

import (
	"fmt"
	"strings"
	"testing"

	"satchel/schemas"
)

// However records come and go, what is counted is what is kept, and it is within bounds.
func TestRecordsAreCounted(t *testing.T) {
	t.Parallel()
	c := newRecords()
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
