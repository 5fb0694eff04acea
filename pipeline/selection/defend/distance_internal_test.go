package defend

import (
	"slices"
	"strings"
	"testing"

	"satchel/pipeline/selection/words"

	"pgregory.net/rapid"
)

// TestLettersBoundDistance holds near to its meaning: the counts of letters and digits, one
// by one, whatever else is in the texts.
func TestLettersBoundDistance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"a", "A", "z", "Z", "{", "[", "`", "@", "0", "9", ":", "\x10", "\x19", " ", "\x7f", "é", "É", "語", "\x80", "\xff", "\xdf", "word"})
		draw := func(name string) string { return strings.Join(rapid.SliceOfN(part, 0, 30).Draw(t, name), "") }
		a, b, enough := draw("a"), draw("b"), rapid.Float64Range(0, 1).Draw(t, "enough")
		off := 0
		for c := range 256 {
			if c < '0' || c > '9' && c < 'a' {
				continue
			}
			n := 0
			for i := range len(a) {
				if int(a[i]|0x20) == c {
					n++
				}
			}
			for i := range len(b) {
				if int(b[i]|0x20) == c {
					n--
				}
			}
			off += max(n, -n)
		}
		want := off <= 2*int(float64(max(len(a), len(b)))*(1-enough))
		if got := lettersOf(a).near(lettersOf(b), enough); got != want {
			t.Fatalf("%q and %q, %v: %v, want %v", a, b, enough, got, want)
		}
	})
}

// TestCanonicalLeavesOutPhrases holds the form of a text to its words, one by one in lower
// case, with all phrases replaced.
func TestCanonicalLeavesOutPhrases(t *testing.T) {
	t.Parallel()
	parts := append(strings.Fields("by the way to be honest of course I think guess mean You know as i said in FACT Actually basically honestly anyway really just garden 14 not no never don't without É İs ΟΔΟΣ Ⅷ \xff e\u0301"), ".", ", ", "  ")
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 14).Draw(t, "words"), rapid.SampledFrom([]string{" ", "", "-"}).Draw(t, "glue"))
		want := " "
		words.Each(text, func(w string) { want += w + " " })
		want = phrases.Replace(want)
		var said facts
		words.Each(want, func(w string) {
			if strings.ContainsAny(w, "0123456789") || slices.Contains([]string{"not", "no", "never", "t", "without"}, w) {
				said.add(w)
			}
		})
		if got, facts := canonical(text); got != want || facts != said {
			t.Fatalf("%q: %q, %+v, want %q, %+v", text, got, facts, want, said)
		}
	})
}

// After Forget nothing is remembered of any text.
func TestTheDefensesForgets(t *testing.T) {
	t.Parallel()
	d, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	read := func(string) features { return features{hash: 7} }
	const text = "The card PIN of the gateway is 4711."
	d.looks.of(text, read)
	d.looks.digestOf(&print{key: d.looks.keyOf(text), text: text})
	d.InvalidateCaches()
	for i := range d.looks.stripes {
		if n := len(d.looks.stripes[i].kept); n != 0 {
			t.Fatalf("stripe %d holds %d", i, n)
		}
	}
	for i := range d.looks.digests {
		if d.looks.digests[i].Load() != nil {
			t.Fatalf("digest %d is there", i)
		}
	}
}
