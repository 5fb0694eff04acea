package pack

import (
	"encoding/json"
	"hash/maphash"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"satchel/pipeline/candidate"
	"satchel/pipeline/token"
)

// costs counts tokens of rendered lines and remembers them by the hash of the text,
// never the text itself. It is bounded and safe for concurrent use.
type costs struct {
	seeds [2]maphash.Seed

	mu    sync.RWMutex
	known map[costKey]int32

	// What a space before a text's first word adds to its tokens, by the word: each in the
	// one slot its hash has, of which 8 bits are the tokens plus 128.
	leads [maxLeads]atomic.Uint64
}

type costKey struct {
	tokenizer string
	hash      [2]uint64
}

const (
	maxCosts = 128 << 10
	maxLeads = 4 << 10 // a power of two
)

// longestCounted is how many bytes of a body are counted for a pack. A longer one has at most as many tokens as bytes;
// it costs that many until the projector has counted it.
const longestCounted = 256 << 10

func newCosts() *costs {
	return &costs{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, known: map[costKey]int32{}}
}

// count returns the tokens of text.
func (c *costs) count(by token.Counter, text string) int {
	key := costKey{by.Name(), [2]uint64{maphash.String(c.seeds[0], text), maphash.String(c.seeds[1], text)}}
	c.mu.RLock()
	n, ok := c.known[key]
	c.mu.RUnlock()
	if ok {
		return int(n)
	}
	n = int32(min(by.Count(text), math.MaxInt32))
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxCosts {
		clear(c.known)
	}
	c.known[key] = n
	return int(n)
}

// additive reports whether a tokenizer's count of lines is the sum of their counts.
func additive(by token.Counter) bool { return strings.HasSuffix(by.Name(), "_base") }

// storedTokenizer is the tokenizer of a candidate's ContentTokens.
const storedTokenizer = "cl100k_base"

// line returns the tokens of " body\n", what follows a reference. verbatim says that
// body is what the record's stored count is of. That count is of the body without
// the space; the space can change only the tokens of the first word, because byte
// pairs are merged within words.
func (c *costs) line(by token.Counter, cand *candidate.Candidate, body string, verbatim bool) int {
	if verbatim && cand.ContentTokens > 0 && by.Name() == storedTokenizer {
		if end := firstWord(body); end > 0 {
			return cand.ContentTokens + c.lead(by, body[:end])
		}
	}
	if len(body) > longestCounted {
		return len(body) + len(" \n")
	}
	return c.count(by, " "+body+"\n")
}

// lead returns how many tokens a space before a word adds in the stored tokenizer.
func (c *costs) lead(by token.Counter, word string) int {
	const low, middle = 0xff, 128
	hash := maphash.String(c.seeds[0], word)
	slot := &c.leads[hash%maxLeads]
	if kept := slot.Load(); kept&low != 0 && kept&^low == hash&^low {
		return int(kept&low) - middle
	}
	more := by.Count(" "+word) - by.Count(word)
	if more > -middle && more < middle {
		slot.Store(hash&^low | uint64(more+middle))
	}
	return more
}

// firstWord returns the end of the letters that s begins with, or else where the first
// space after a letter and before a letter is, 0 when there is neither: there a tokenizer
// certainly begins a new piece.
func firstWord(s string) int {
	n := 0
	for n < len(s) && n < 64 && letter(s[n]) {
		n++
	}
	if n > 0 && n < 64 && n < len(s) && s[n] < utf8.RuneSelf {
		return n
	}
	for i := 1; i+1 < len(s) && i < 64; i++ {
		if s[i] == ' ' && letter(s[i-1]) && letter(s[i+1]) {
			return i
		}
	}
	return 0
}

func letter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

// members returns the members of a JSON object as text: strings as they are, the rest
// as JSON.
func members(raw json.RawMessage) (map[string]string, bool) {
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
