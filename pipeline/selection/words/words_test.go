package words

import (
	"slices"
	"testing"
)

// The hashes of a text are those of its words, whatever letters it has.
func FuzzHashes(f *testing.F) {
	for _, text := range []string{"", "The Barn, the door; 42 keys", "Straße ÄÖÜ, naïve İstanbul x", "日本語 and ascii", "a\xffb \x80", "don't re-read"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := []uint64{}
		for _, w := range Of(text) {
			want = append(want, Hash(w))
		}
		if got := Hashes(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, not %v", text, got, want)
		}
	})
}
