package pack

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/cache"
	"satchel/pipeline/token"
)

// costs counts tokens of rendered lines and remembers those of the exact tokenizers. It is safe for concurrent use.
type costs struct{ known *cache.Memo[int] }

const costsBytes = 6 << 20 // of a generation

// longestCounted is how many bytes of a body are counted for a pack. A longer one has at most as many tokens as bytes;
// it costs that many until the projector has counted it.
const longestCounted = 256 << 10

func newCosts() *costs { return &costs{known: cache.NewMemo[int](costsBytes)} }

// countCached returns the tokens of text.
func (c *costs) countCached(by token.Counter, text string) int {
	variant := slices.Index([]string{token.CL100K, token.O200K}, by.Name())
	if variant < 0 {
		return by.Count(text)
	}
	return c.known.Of(text, uint8(variant), func() (tokens, bytes int) { return by.Count(text), 8 })
}

// isAdditive reports whether a tokenizer's count of lines is the sum of their counts.
func isAdditive(by token.Counter) bool { return strings.HasSuffix(by.Name(), "_base") }

// storedTokenizer is the tokenizer of a candidate's ContentTokens.
const storedTokenizer = "cl100k_base"

// countLineTokens returns the tokens of " body\n", what follows a reference. verbatim says that
// body is what the record's stored count is of. That count is of the body without
// the space; the space can change only the tokens of the first word, because byte
// pairs are merged within words.
func (c *costs) countLineTokens(by token.Counter, cand *candidate.Candidate, body string, verbatim bool) int {
	if verbatim && cand.ContentTokens > 0 && by.Name() == storedTokenizer {
		if end := firstWord(body); end > 0 {
			return cand.ContentTokens + c.countCached(by, " "+body[:end]) - c.countCached(by, body[:end])
		}
	}
	if len(body) > longestCounted {
		return len(body) + len(" \n")
	}
	return c.countCached(by, " "+body+"\n")
}

// firstWord returns the end of the letters that s begins with, or else where the first
// space after a letter and before a letter is, 0 when there is neither: there a tokenizer
// certainly begins a new piece.
func firstWord(s string) int {
	n := 0
	for n < len(s) && n < 64 && isLetter(s[n]) {
		n++
	}
	if n > 0 && n < min(64, len(s)) && s[n] < utf8.RuneSelf {
		return n
	}
	for i := 1; i+1 < len(s) && i < 64; i++ {
		if s[i] == ' ' && isLetter(s[i-1]) && isLetter(s[i+1]) {
			return i
		}
	}
	return 0
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

// readMembers returns the members of a JSON object as text: strings as they are, the rest
// as JSON.
func readMembers(raw json.RawMessage) (map[string]string, bool) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, false
	}
	out := make(map[string]string, len(fields))
	for name, v := range fields {
		var s string
		if err := json.Unmarshal(v, &s); err != nil {
			s = string(v)
		}
		out[name] = s
	}
	return out, true
}
