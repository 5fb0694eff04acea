package selection

import (
	"math/bits"
	"time"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

// Defend drops, among the candidates that are still kept and in their order, what is
// superseded, what has expired or is no longer valid at now, and what a better
// candidate says already.
func Defend(cs []candidate.Candidate, now time.Time) {
	seen := newSeen(len(cs))
	for i := range cs {
		c := &cs[i]
		if !c.Kept() {
			continue
		}
		if c.Drop, c.Detail = stale(&c.Record, now); !c.Kept() {
			continue
		}
		if of := seen.find(&c.Record); of != "" {
			c.Drop, c.Detail = schemas.DropDuplicate, "of "+of
		}
	}
}

func stale(r *schemas.Record, now time.Time) (schemas.DropReason, string) {
	switch end := r.ExpiresAt(); {
	case r.SupersededBy != "":
		return schemas.DropSuperseded, "by " + r.SupersededBy
	case !end.IsZero() && !now.Before(end):
		return schemas.DropStale, "expired at " + end.UTC().Format(time.RFC3339)
	case !r.ValidTo.IsZero() && !now.Before(r.ValidTo):
		return schemas.DropStale, "valid until " + r.ValidTo.UTC().Format(time.RFC3339)
	}
	return "", ""
}

// Limits of near-duplicate detection.
const (
	sameEnough   = .9 // Levenshtein similarity from which two texts are one
	shortestText = 48 // bytes under which only equal texts are one
	mostBits     = 22 // differing simhash bits above which texts are not compared
	mostBitsLong = 16 // the same for two long texts
	longestText  = 600
)

// seen holds what was kept so far.
type seen struct {
	byText map[spokenText]string
	prints []print
}

type spokenText struct{ speaker, text string }

type print struct {
	hash    uint64
	id      string
	speaker string
	text    string
	hashes  []uint64 // of the words of a long text, once they are needed
}

func newSeen(n int) *seen {
	return &seen{byText: make(map[spokenText]string, n), prints: make([]print, 0, n)}
}

// find returns the id of a kept item that says the same, or takes r in and returns "".
// What two speakers say alike is not a repetition.
func (s *seen) find(r *schemas.Record) string {
	text := r.Content.Text()
	key := spokenText{r.Speaker, text}
	if id, ok := s.byText[key]; ok {
		return id
	}
	p := print{id: r.ID, speaker: r.Speaker, text: text}
	if len(text) >= shortestText {
		p.hash = simhash(text)
		for i := range s.prints {
			q := &s.prints[i]
			if q.speaker == p.speaker && bits.OnesCount64(p.hash^q.hash) <= p.most(q) && similar(&p, q) {
				return q.id
			}
		}
		s.prints = append(s.prints, p)
	}
	s.byText[key] = r.ID
	return ""
}

// simhash is a 64-bit locality-sensitive hash over the words of the lower-cased text
// and their successors: texts that differ little differ in few bits. Each bit is a
// vote of all features; the votes are counted eight at a time, in the bytes of eight
// words, and moved to wider counters before a byte can overflow.
func simhash(text string) uint64 {
	var votes votes
	var before uint64
	eachHash(text, func(word uint64) {
		votes.add(mix(word))
		votes.add(mix(before*31 + word))
		before = word
	})
	return votes.majority()
}

func mix(h uint64) uint64 {
	h ^= h >> 32
	h *= 0x9E3779B97F4A7C15
	h ^= h >> 29
	h *= 0xBF58476D1CE4E5B9
	return h ^ h>>32
}

// votes counts, for each of 64 bits, how many hashes have it.
type votes struct {
	narrow [8]uint64 // byte k of narrow[j] counts bit 8k+j
	wide   [64]uint32
	open   int // hashes in narrow
	total  uint32
}

func (v *votes) add(h uint64) {
	const low = 0x0101010101010101
	for j := range v.narrow {
		v.narrow[j] += h >> j & low
	}
	if v.total++; v.open == 254 {
		v.widen()
		return
	}
	v.open++
}

func (v *votes) widen() {
	for j := range v.narrow {
		for k := range 8 {
			v.wide[8*k+j] += uint32(v.narrow[j] >> (8 * k) & 0xFF)
		}
		v.narrow[j] = 0
	}
	v.open = 0
}

func (v *votes) majority() uint64 {
	v.widen()
	var out uint64
	for bit, n := range v.wide {
		if 2*n > v.total {
			out |= 1 << bit
		}
	}
	return out
}

// most is the number of differing bits up to which two texts are compared: the longer
// they are, the less a tenth of their words moves the votes.
func (p *print) most(q *print) int {
	if len(p.text) > longestText && len(q.text) > longestText {
		return mostBitsLong
	}
	return mostBits
}

// similar reports whether two texts are at least sameEnough alike by Levenshtein
// distance: over bytes for short texts, over words for long ones.
func similar(p, q *print) bool {
	if !near(p.text, q.text) {
		return false
	}
	if len(p.text) > longestText && len(q.text) > longestText {
		return alike(p.words(), q.words())
	}
	return alike([]byte(p.text), []byte(q.text))
}

func (p *print) words() []uint64 {
	if p.hashes == nil {
		p.hashes = make([]uint64, 0, len(p.text)/5)
		eachHash(p.text, func(h uint64) { p.hashes = append(p.hashes, h) })
	}
	return p.hashes
}

// eachHash calls f with a hash of every word of the lower-cased text.
func eachHash(text string, f func(uint64)) {
	var word uint64
	for i := 0; i <= len(text); i++ {
		var b byte
		if i < len(text) {
			b = text[i]
		}
		if b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b >= 0x80 {
			word = (word ^ uint64(b)) * 0x100000001B3
			continue
		}
		if word != 0 {
			f(word)
			word = 0
		}
	}
}

// near is a cheap upper bound: every edit changes the count of at most two bytes.
func near(a, b string) bool {
	longer, shorter := max(len(a), len(b)), min(len(a), len(b))
	most := int(float64(longer) * (1 - sameEnough))
	if longer-shorter > most {
		return false
	}
	var counts [256]int16
	for i := 0; i < len(a); i++ {
		counts[a[i]]++
	}
	for i := 0; i < len(b); i++ {
		counts[b[i]]--
	}
	off := 0
	for _, n := range counts {
		off += int(max(n, -n))
	}
	return off <= 2*most
}

func alike[T comparable](a, b []T) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	if len(a) == 0 {
		return true
	}
	most := int(float64(len(a)) * (1 - sameEnough))
	return len(a)-len(b) <= most && distance(a, b, most) <= most
}

// distance is the Levenshtein distance of a and b, or most+1 when it is above most.
// Only the band of width most around the diagonal is computed.
func distance[T comparable](a, b []T, most int) int {
	const far = 1 << 30
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
		if j > most {
			row[j] = far
		}
	}
	for i := 1; i <= len(a); i++ {
		lo, hi := max(1, i-most), min(len(b), i+most)
		diagonal := row[lo-1]
		left := far
		if lo == 1 {
			row[0] = i
			left = i
		}
		best := left
		for j := lo; j <= hi; j++ {
			up := far
			if j < i+most {
				up = row[j]
			}
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			v := min(diagonal+cost, left+1, up+1)
			diagonal, row[j], left = row[j], v, v
			best = min(best, v)
		}
		if best > most {
			return most + 1
		}
	}
	return row[len(b)]
}
