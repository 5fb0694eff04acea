package memory

import (
	"math/rand/v2"
	"testing"
)

// Random characters take less memory than they have bytes, whatever parts them.
func TestRandomTextIsNotKept(t *testing.T) {
	t.Parallel()
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for name, c := range map[string]struct {
		line int
		most int64
	}{"one run": {1 << 20, 64 << 10}, "lines": {76, 4 << 20}, "words": {9, 4 << 20}} {
		text := make([]byte, 1<<20)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range text {
			if text[i] = letters[r.IntN(len(letters))]; i%c.line == c.line-1 {
				text[i] = '\n'
			}
		}
		s := newKeywordState()
		index(t, s, 1, "a", string(text))
		if got := s.Bytes(); got > c.most {
			t.Errorf("%s: a text of %d bytes takes %d, at most %d", name, len(text), got, c.most)
		}
	}
}
