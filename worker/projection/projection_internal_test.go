package projection

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

// The private index holds an item while its whole text is not what everybody sees.
func TestPrivateTexts(t *testing.T) {
	t.Parallel()
	var p projection
	item := func(at int64, text string) *schemas.Record {
		return &schemas.Record{Position: at, MemoryItem: schemas.MemoryItem{ID: "a", Content: schemas.TextContent(text)}}
	}
	p.addPrivate(item(1, "the pin is 4821"), nil, "the pin is 4821")
	p.addPrivate(item(2, "the pin is gone"), nil, "")
	if diff := cmp.Diff([]keyword.Change{
		{Position: 1, Put: &keyword.Doc{ID: "a", Position: 1, Text: "the pin is 4821"}},
		{Position: 2, Remove: []string{"a"}},
	}, p.private, cmp.AllowUnexported(schemas.Facets{})); diff != "" {
		t.Error(diff)
	}
}
