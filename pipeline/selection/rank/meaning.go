package rank

import (
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"satchel/pipeline/language"
	"satchel/pipeline/selection/retrieve"
	"satchel/schemas"
)

// coverEqually notes which words of the question the items have, stem for stem, and how much of its weight one of them covers
// at most. equal is what closest returns of the items at the places.
func (p *Pool) coverEqually(q *Question, at []int32, equal []uint32) {
	for j, has := range equal {
		p.has[at[j]] = has
		sum := 0.
		for left := has; left != 0; left &= left - 1 {
			sum += q.weights[bits.TrailingZeros32(left)]
		}
		p.equal = max(p.equal, sum/q.weight)
	}
}

// weighMeaning weighs the turns of conversations anew where the question is asked in other words than theirs: see Meaning.
// A turn of few words says little by itself, whatever its words. The best turn keeps its height: items of other kinds stand
// to it as before.
func (r *Ranker) weighMeaning(p *Pool, q *Question, at []int32) {
	if r.lexicon == nil || q.unread || q.weight == 0 || r.isDisabled(FeatureMeaning) {
		return
	}
	w := &r.weights.Meaning
	turns := slices.DeleteFunc(slices.Clone(at), func(i int32) bool { return !p.items[i].IsTurn() })
	before := p.findHighestScore(turns)
	if p.findChannel(retrieve.NameEncoder) != nil {
		p.weighEncoded(w, q, turns)
	} else {
		faded := min(1, max(0, (w.Covered-p.equal)/w.Fading))
		for _, i := range turns {
			for _, c := range p.channels {
				switch c.name {
				case retrieve.NameKeyword:
					p.fused[i] -= faded * q.weigh.keyword * c.weight * q.weigh.dampScore(c.name, c.z[i])
				case retrieve.NameVector:
					p.fused[i] += faded * w.Vector * c.countDeviations(i)
				}
			}
		}
	}
	for _, i := range turns {
		if n := firstWords(p.items[i].Content.Text(), w.BriefTurn); n < w.BriefTurn {
			p.fused[i] += w.Brief * math.Log2(float64(max(1, n))/float64(w.BriefTurn))
		}
	}
	lifted := p.findHighestScore(turns) - before
	for _, i := range turns {
		p.fused[i] -= lifted
	}
}

// weighEncoded is what weighMeaning does beside the encoder.
func (p *Pool) weighEncoded(w *Meaning, q *Question, turns []int32) {
	u := 1 - min(1, p.equal)
	of := p.scoreSessions(turns)
	for _, i := range turns {
		for _, c := range p.channels {
			switch c.name {
			case retrieve.NameKeyword:
				p.fused[i] -= u * q.weigh.keyword * c.weight * q.weigh.dampScore(c.name, c.z[i])
			case retrieve.NameVector:
				p.fused[i] -= u * q.weigh.vector * c.weight * c.z[i]
			case retrieve.NameEncoder:
				z := c.countDeviations(i)
				p.fused[i] += u*w.Encoder*(z+w.Session*of[p.items[i].SessionID()].findBestBeside(z)) - q.weigh.encoder*c.weight*c.z[i]
			}
		}
		if n := firstWords(p.items[i].Content.Text(), w.LongTurn); n < w.LongTurn {
			p.fused[i] += u * w.Long * math.Log2(float64(max(1, n))/float64(w.LongTurn))
		}
	}
}

// twoBest are the two highest scores of a session by the encoder, in deviations.
type twoBest [2]float64

// findBestBeside returns the best score of the other turns of the session, 0 if there is none above it.
func (b twoBest) findBestBeside(z float64) float64 {
	if z == b[0] {
		return b[1]
	}
	return b[0]
}

// scoreSessions returns what the encoder says of the sessions of turns.
func (p *Pool) scoreSessions(turns []int32) map[string]twoBest {
	out := map[string]twoBest{}
	c := p.findChannel(retrieve.NameEncoder)
	for _, i := range turns {
		s := p.items[i].SessionID()
		b := out[s]
		if z := c.countDeviations(i); z > b[0] {
			b[0], b[1] = z, b[0]
		} else if z > b[1] {
			b[1] = z
		}
		out[s] = b
	}
	return out
}

// countDeviations returns how many deviations the score of a place is above the mean, without its neighbours.
func (c *channel) countDeviations(i int32) float64 {
	return (c.raw[i] - c.found.Mean) / repairDeviation(c.found.SD)
}

// findHighestScore returns the best fused score of the places.
func (p *Pool) findHighestScore(of []int32) float64 {
	best := math.Inf(-1)
	for _, i := range of {
		best = max(best, p.fused[i])
	}
	return best
}

// firstWords returns how many words a text has, at most so many.
func firstWords(text string, most int) int {
	n := 0
	for range strings.FieldsSeq(text) {
		n++
		if n == most {
			break
		}
	}
	return n
}

// madeUp reports whether much of what the question says is in words that are in no item, nor like one that is, and that are no
// words of the language: nothing answers such a question.
func (p *Pool) madeUp(q *Question, at []int32) bool {
	seen := uint32(0)
	for _, i := range at {
		seen |= p.has[i]
	}
	var odd []int
	for w, pieces := range q.pieces {
		if seen&(1<<w) == 0 && pieces >= oddPieces {
			odd = append(odd, w)
		}
	}
	if !q.isMostlyOdd(odd) {
		return false
	}
	var texts strings.Builder // names of tools and other fields, too
	for _, i := range at {
		text := schemas.SearchText(&p.items[i].MemoryItem)
		texts.WriteString(text[:min(len(text), namesBytes)])
		texts.WriteByte('\n')
	}
	known := language.Analyze(texts.String())
	slices.Sort(known)
	known = slices.Compact(known)
	odd = slices.DeleteFunc(odd, func(w int) bool {
		return slices.ContainsFunc(language.Analyze(q.content[w]), func(term string) bool {
			return slices.ContainsFunc(known, func(other string) bool { return isSpelledLike(term, other) })
		})
	})
	return q.isMostlyOdd(odd)
}

// isMostlyOdd reports whether odd words are half of the content words, or the oddest of them, but for names, say much of the question.
func (q *Question) isMostlyOdd(odd []int) bool {
	sum := 0.
	for _, w := range odd {
		if q.pieces[w] > oddPieces && strings.Contains(q.text, q.content[w]) {
			sum += q.weights[w]
		}
	}
	return len(odd) > 0 && 2*len(odd) >= len(q.content) || sum > 0 && sum >= madeUpShare*q.weight
}

// isSpelledLike reports whether a term is another, or that with a slip of the pen.
func isSpelledLike(term, other string) bool {
	slips := min(2, len(term)/3)
	return term == other || max(len(term)-len(other), len(other)-len(term)) <= slips && levenshtein.ComputeDistance(term, other) <= slips
}

// sharesUncommon reports whether an item has a word of the question that is no frequent word of the language.
func (p *Pool) sharesUncommon(q *Question, i int32) bool {
	for w, pieces := range q.pieces {
		if pieces > 1 && p.has[i]&(1<<w) != 0 {
			return true
		}
	}
	return false
}

// sharesRareWord reports whether an item is the first by its words, and far before the mean of all.
func (p *Pool) sharesRareWord(i int32) bool {
	for _, c := range p.channels {
		if c.name == retrieve.NameKeyword {
			return c.rank[i] == 1 && c.raw[i] > 0 && p.fused[i] >= rarely
		}
	}
	return false
}
