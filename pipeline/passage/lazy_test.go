package passage

import (
	"fmt"
	"strings"
	"testing"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

// noting notes the texts whose vectors are made.
type noting struct{ texts map[string]int }

func (n *noting) ReadsWords(string) float64 { return 1 }

func (n *noting) WordVector(dst []float32, text string) []float32 {
	n.texts[text]++
	return append(dst[:0], make([]float32, dimensions)...)
}

// TestOnlyTheBestAreRead: the passages of the best items are read, once, and those of the others never.
func TestOnlyTheBestAreRead(t *testing.T) {
	t.Parallel()
	cs := make([]candidate.Candidate, 2*units)
	for i := range cs {
		cs[i] = item(t, fmt.Sprintf("i%03d", i), schemas.KindCode, fmt.Sprintf("func number%03d() int { return theAnswer(%d) }", i, i), nil)
		cs[i].SetScore(1 - float64(i)/float64(len(cs)+1))
	}
	by := &noting{map[string]int{}}
	r := reader(t, Config{Vectors: by})
	passages := func() (n int) {
		for text, times := range by.texts {
			if strings.Contains(text, "the Answer") {
				if n++; times != 1 {
					t.Errorf("read %d times: %s", times, text)
				}
			}
		}
		return n
	}
	for range 2 {
		r.Score(t.Context(), system(t), Query{Text: "the lake"}, cs)
		if n := passages(); n != units {
			t.Fatalf("the passages of %d items are read, not of %d", n, units)
		}
	}
	r.InvalidateCaches()
	clear(by.texts)
	r.Score(t.Context(), system(t), Query{Text: "the lake"}, cs)
	if n := passages(); n != units {
		t.Errorf("after an erasure the passages of %d items are read, not of %d", n, units)
	}
}

// TestMemoKeepsWhatIsAskedFor: what is asked for stays when much else passes by, and the memo does not grow for ever.
func TestMemoKeepsWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	m := newMemo()
	r := reading{memo: m}
	hot := item(t, "hot", schemas.KindCode, "func hot() {}", nil)
	first := m.analyseItem("acme", &hot, readWhole)
	text := strings.Repeat("The lake house has a blue door and a long table. ", 400)
	for i := range 250 {
		cold := item(t, fmt.Sprint(i), schemas.KindKnowledge, fmt.Sprint(i, " ", text), nil)
		r.readPassages(m.analyseItem("acme", &cold, readWhole), cold.Content.Text(), false)
		if m.analyseItem("acme", &hot, readWhole) != first {
			t.Fatalf("after %d others it is forgotten", i)
		}
	}
	kept := 0
	for _, list := range []map[memoKey]*analysis{m.young, m.old} {
		for _, a := range list {
			kept += a.bytes
		}
	}
	if most := 2*mostBytes + 1<<20; kept > most || kept < mostBytes/2 {
		t.Errorf("%d bytes are kept of at most %d", kept, most)
	}
}

// TestAQuestionReadsSoMuch: the first items are read whole, of the others the beginning, and nothing of them is missing from
// their passages.
func TestAQuestionReadsSoMuch(t *testing.T) {
	t.Parallel()
	reader, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("The lake house has a blue door and a long table. ", 15000) + "\n\nThe key hangs behind the oar."
	var list []candidate.Candidate
	for i := range 14 {
		list = append(list, item(t, fmt.Sprint(i), schemas.KindKnowledge, fmt.Sprint(i, " ", text), nil))
	}
	got := reader.Score(t.Context(), system(t), Query{Text: "Where does the key hang?"}, list)
	if whole := readWhole / len(text); got.Begun != len(list)-whole {
		t.Errorf("of %d items %d were read to their beginning", len(list), got.Begun)
	}
	for i, a := range got.items {
		end := 0
		for _, p := range a.parts {
			if p.span.Start < end || len(strings.TrimSpace(list[i].Content.Text()[end:p.span.Start])) > 0 {
				t.Fatalf("item %d: a passage begins at %d, the one before ended at %d", i, p.span.Start, end)
			}
			end = p.span.End
		}
		if end < len(list[i].Content.Text()) {
			t.Errorf("item %d: the passages end at %d of %d", i, end, len(list[i].Content.Text()))
		}
	}
	if best := got.list[0]; best.at != 0 || !strings.Contains(list[0].Content.Text()[got.items[0].parts[best.part].span.Start:], "oar") {
		t.Errorf("the best passage is %d of item %d", best.part, best.at)
	}
}
