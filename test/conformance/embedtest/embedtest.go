// Package embedtest is the conformance suite of the embed port. Every driver's
// tests call [Run]; what passes it keeps the contract of [embed.Embedder].
package embedtest

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"satchel/pipeline/model"
)

// tolerance is how far a vector may be from length one, and how far two
// vectors of one text may be apart in any number: servers compute batches of
// different shapes with different rounding.
const tolerance = 1e-3

// Run checks the embedder that open returns; open is called once per subtest.
func Run(t *testing.T, open func(t *testing.T) model.Embedder) {
	t.Helper()
	for _, c := range []struct {
		name  string
		check func(t *testing.T, e model.Embedder)
	}{
		{"model", checkModel},
		{"no texts", checkNoTexts},
		{"unit length", checkUnitLength},
		{"empty text is zero", checkEmpty},
		{"deterministic", checkDeterministic},
		{"batch equals single", checkBatch},
		{"distinguishes texts", checkMeaning},
		{"unusual input", checkUnusual},
		{"input is left alone", checkInput},
		{"cancellation", checkCancellation},
		{"concurrent use", checkConcurrent},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, open(t))
		})
	}
}

// dialogue returns texts whose vectors are all different.
func dialogue() []string {
	return []string{
		"Anna: I adopted a puppy from the shelter last weekend.",
		"The quarterly invoice is overdue.",
		"How do I rebase a branch in git?",
		"My grandmother plays the violin.",
		"We drove along the coast and slept in a tent.",
		"She is allergic to peanuts.",
		"x",
	}
}

func mustEmbed(t *testing.T, e model.Embedder, texts ...string) [][]float32 {
	t.Helper()
	got, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatalf("Embed(%d texts): %v", len(texts), err)
	}
	if len(got) != len(texts) {
		t.Fatalf("Embed(%d texts) returned %d vectors", len(texts), len(got))
	}
	for i, v := range got {
		if want := e.Model().Dimensions; len(v) != want {
			t.Fatalf("vector %d has %d dimensions, want %d", i, len(v), want)
		}
	}
	return got
}

func checkModel(t *testing.T, e model.Embedder) {
	m := e.Model()
	if m.Name == "" || m.Revision == "" || m.Dimensions <= 0 {
		t.Errorf("Model() = %+v, want every field set", m)
	}
	if strings.Contains(m.Name, "@") {
		t.Errorf("Model().Name = %q holds an @", m.Name)
	}
	mustEmbed(t, e, "some text")
	if again := e.Model(); again != m {
		t.Errorf("Model() changed from %+v to %+v", m, again)
	}
}

func checkNoTexts(t *testing.T, e model.Embedder) {
	mustEmbed(t, e)
	mustEmbed(t, e, []string{}...)
}

func checkUnitLength(t *testing.T, e model.Embedder) {
	for i, v := range mustEmbed(t, e, dialogue()...) {
		if n := length(v); math.Abs(n-1) > tolerance {
			t.Errorf("vector %d has length %v, want 1", i, n)
		}
	}
}

func checkEmpty(t *testing.T, e model.Embedder) {
	for i, v := range mustEmbed(t, e, "", "a word", " \t\r\n", "\u00a0\u2003") {
		if n := length(v); i != 1 && n != 0 {
			t.Errorf("vector %d of an empty text has length %v, want 0", i, n)
		}
	}
}

func checkDeterministic(t *testing.T, e model.Embedder) {
	compare(t, mustEmbed(t, e, dialogue()...), mustEmbed(t, e, dialogue()...))
}

func checkBatch(t *testing.T, e model.Embedder) {
	texts := append(dialogue(), "")
	var singles [][]float32
	for _, text := range texts {
		singles = append(singles, mustEmbed(t, e, text)...)
	}
	compare(t, mustEmbed(t, e, texts...), singles)

	slices.Reverse(texts)
	slices.Reverse(singles)
	compare(t, mustEmbed(t, e, texts...), singles)

	compare(t, mustEmbed(t, e, texts[1], texts[1]), [][]float32{singles[1], singles[1]})
}

func checkMeaning(t *testing.T, e model.Embedder) {
	vs := mustEmbed(t, e, dialogue()...)
	for i := range vs {
		for j := range i {
			if c := dot(vs[i], vs[j]); c > 0.999 {
				t.Errorf("texts %d and %d have cosine %v", i, j, c)
			}
		}
	}
	near := mustEmbed(t, e, "The dog barked at the cat.", "A puppy and a kitten.", "The central bank raised its interest rate.")
	if a, b := dot(near[0], near[1]), dot(near[0], near[2]); a <= b {
		t.Errorf("cosine of two texts on pets is %v, of a text on pets and one on banks %v", a, b)
	}
}

func checkUnusual(t *testing.T, e model.Embedder) {
	texts := []string{
		"\x00", "before\x00after", "\xff\xfe", "half a rune \xe4\xbd", "\xed\xa0\x80 surrogate", "\ufffd",
		"😀", "thanks 🎉🎉 👩‍👩‍👧", "日本語のテキスト", "今天天气很好。", "안녕하세요", "Ελληνικά", "עברית", "ไทย",
		"e\u0301 and \u00e9", "\u200b\u200d\ufeff", "\u202eright to left", strings.Repeat("\u0301", 1000),
		"[CLS] [SEP] <s> </s> <|endoftext|>", "!!!", strings.Repeat("a", 10_000), strings.Repeat("z ", 10_000),
		strings.Repeat("All work and no play makes Jack a dull boy. ", 1<<20/44),
		strings.Repeat("\U0001F600", 1<<18), strings.Repeat("语", 1<<20/3), strings.Repeat("\x00", 1<<20),
	}
	for i, v := range mustEmbed(t, e, texts...) {
		n := length(v)
		if math.IsNaN(n) || n != 0 && math.Abs(n-1) > tolerance {
			t.Errorf("text %d %.20q: length %v, want 0 or 1", i, texts[i], n)
		}
	}
}

func checkInput(t *testing.T, e model.Embedder) {
	texts := dialogue()
	first := mustEmbed(t, e, texts...)
	if want := dialogue(); !slices.Equal(texts, want) {
		t.Errorf("Embed changed its input to %q", texts)
	}
	kept := slices.Clone(first[0])
	clear(first[1])
	second := mustEmbed(t, e, texts...)
	compare(t, [][]float32{first[0]}, [][]float32{kept})
	if length(second[1]) == 0 {
		t.Error("writing to a returned vector changed a later one")
	}
}

func checkCancellation(t *testing.T, e model.Embedder) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := e.Embed(ctx, dialogue())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Embed with a cancelled context: error %v, want context.Canceled", err)
	}
	if got != nil {
		t.Errorf("Embed with a cancelled context returned %d vectors", len(got))
	}
}

func checkConcurrent(t *testing.T, e model.Embedder) {
	want := mustEmbed(t, e, dialogue()...)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := e.Embed(t.Context(), dialogue())
			if err != nil {
				t.Errorf("Embed: %v", err)
				return
			}
			compare(t, got, want)
		})
	}
	wg.Wait()
}

func compare(t *testing.T, got, want [][]float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("got %d vectors, want %d", len(got), len(want))
		return
	}
	for i := range got {
		for j := range got[i] {
			if d := math.Abs(float64(got[i][j] - want[i][j])); d > tolerance {
				t.Errorf("vector %d differs in dimension %d by %v", i, j, d)
				break
			}
		}
	}
}

func length(v []float32) float64 { return math.Sqrt(dot(v, v)) }

func dot(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
