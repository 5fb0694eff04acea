package pack

import (
	"testing"

	"pgregory.net/rapid"

	"satchel/pipeline/candidate"
	"satchel/pipeline/token"
)

// TestLineFromStoredCount holds the count derived from a stored one against the count of
// the line itself, for texts that begin in every odd way.
func TestLineFromStoredCount(t *testing.T) {
	t.Parallel()
	counter, err := token.New(storedTokenizer)
	if err != nil {
		t.Fatal(err)
	}
	c := newCosts()
	part := rapid.OneOf(
		rapid.SampledFrom([]string{"ana", "Ana", "don't", "I'll", "x1", "12", ": ", " ", "  ", "\n", "é", "ö̈", "東京", "'s", "-", "(", "HTTPServer", "a.b", "\t"}),
		rapid.StringN(0, 6, 24),
	)
	rapid.Check(t, func(t *rapid.T) {
		body := ""
		for range rapid.IntRange(1, 6).Draw(t, "parts") {
			body += part.Draw(t, "part")
		}
		cand := candidate.Candidate{}
		cand.ContentTokens = counter.Count(body + "\n")
		if got, want := c.countLineTokens(counter, &cand, body, true), counter.Count(" "+body+"\n"); got != want {
			t.Fatalf("%q: %d tokens, want %d", body, got, want)
		}
	})
}
