package pack_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pack"
	"satchel/pipeline/token"
	"satchel/schemas"
)

func TestSentences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"One. Two! Three? Four", []string{"One.", "Two!", "Three?", "Four"}},
		{"Dr. Smith of St. Gallen, e.g. Mr. J. R. Ewing, came. He left.", []string{"Dr. Smith of St. Gallen, e.g. Mr. J. R. Ewing, came.", "He left."}},
		{"Version 1.2.3 costs $4.50 at example.com. Buy it.", []string{"Version 1.2.3 costs $4.50 at example.com.", "Buy it."}},
		{"The U.S. government met on Jan. 5 and Feb. 6. It was cold.", []string{"The U.S. government met on Jan. 5 and Feb. 6.", "It was cold."}},
		{"昨日、東京に行った。明日は大阪だ！本当？はい", []string{"昨日、東京に行った。", "明日は大阪だ！", "本当？", "はい"}},
		{"यह एक वाक्य है। यह दूसरा है।", []string{"यह एक वाक्य है।", "यह दूसरा है।"}},
		{"هل أنت هنا؟ نعم أنا هنا.", []string{"هل أنت هنا؟", "نعم أنا هنا."}},
		{"To do:\n- Renew the certificate.\n- Restart both proxies\n3. Tell Ana.", []string{"To do:", "Renew the certificate.", "Restart both proxies", "Tell Ana."}},
		{"# Heading\nProse here.\n```go\nx := 1. Then\n```\nMore prose.\nif (a) { return b; }\n| a | b |", []string{"Prose here.", "More prose."}},
		{"", nil},
	} {
		if got := slices.Collect(pack.Sentences(c.text)); !cmp.Equal(got, c.want) {
			t.Errorf("%q: %s", c.text, cmp.Diff(c.want, got))
		}
	}
}

func FuzzSentences(f *testing.F) {
	f.Add("a. B c.\n```\nd\n```\n1. e", 2)
	f.Fuzz(func(t *testing.T, text string, most int) {
		n := 0
		for s := range pack.Sentences(text) {
			if s == "" || !strings.Contains(text, s) {
				t.Fatalf("%q is no piece of %q", s, text)
			}
			if n++; n == most {
				break
			}
		}
	})
}

// A sentence of an extract does not reach over what was left out.
func TestNoSentenceOverAGap(t *testing.T) {
	t.Parallel()
	cs := []candidate.Candidate{whole(candidate.Candidate{Standing: .9, Score: .9, Verdict: schemas.Verdict{Allow: true}, Extract: &candidate.Extract{}, Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{
		ID: "a", Kind: schemas.KindMemory, Content: schemas.TextContent("The kiln is fired on Mondays … the glaze is mixed at noon.")}}})}
	builder, err := pack.New(pack.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p := builder.Build(pack.Request{Query: "kiln glaze", Budget: 500, Counter: token.Estimate{}}, cs)
	var got []string
	for _, s := range p.TLDR.Sentences {
		got = append(got, s.Text)
	}
	if want := []string{"The kiln is fired on Mondays", "the glaze is mixed at noon."}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
