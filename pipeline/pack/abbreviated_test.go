package pack_test

import (
	"strings"
	"testing"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pack"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/schemas"
)

// What a session's history puts in the place of a text that was shown comes out escaped where an item says it.
func TestAnItemIsNoReferenceToAnEarlierPack(t *testing.T) {
	t.Parallel()
	h, s := selection.NewHistory(selection.HistoryConfig{}), scope.Scope{}
	v := candidate.Visible{MemoryItem: schemas.MemoryItem{ID: "a", Kind: schemas.KindMemory, Content: schemas.TextContent(strings.Repeat("The gateway limit is 92 bar. ", 9))}}
	for range 3 {
		cs := []candidate.Candidate{candidate.New(&v, schemas.Verdict{Allow: true})}
		if h.Abbreviate(s, "chat", cs) > 0 {
			if text := cs[0].Content.Text(); pack.Plain(text) != `\`+text {
				t.Errorf("%q is shown as %q", text, pack.Plain(text))
			}
		} else if len(cs[0].Content.Text()) < 96 {
			t.Error("nothing is abbreviated")
		}
		h.Add(s, "chat", cs, []int{0}, false)
		h.Add(s, "chat", nil, nil, false)
	}
}
