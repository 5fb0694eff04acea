package rank

import (
	"satchel/pipeline/selection/retrieve"
)

// LanguageCoverage is what an embedder offers besides [embed.Embedder] when it knows what it
// was made for: which share of a text, 0–1, it can read. Without it that is all.
type LanguageCoverage interface {
	Reads(text string) float64
}

// weighing is what one query makes of the channels: factors of their weights, and the
// z-score from which more of the keyword channel says less.
//
// A long query has many words that are matched exactly, and each of them counts; its
// mean vector and the closeness of its single words say less the more of them there
// are. In a short query a single rare word makes a z-score that no other channel
// reaches, although it is one word. And what an embedder cannot read it must not weigh.
type weighing struct {
	keyword, vector, encoder, words float64
	knee                            float64
}

// The numbers of content words from which a query counts as long, and how its keyword
// scores are damped: above knee·words, at least fewestKnee, by damp.
const (
	manyExact  = 10
	manyClose  = 8
	kneeWords  = .8
	fewestKnee = 4
	damp       = .4
)

// evenWeights leaves every weight as it is.
func evenWeights() weighing { return weighing{keyword: 1, vector: 1, encoder: 1, words: 1} }

func (r *Ranker) makeWeighing(text string, distinct int) weighing {
	w := evenWeights()
	if r.isDisabled(FeatureWeigh) {
		return w
	}
	n := float64(max(1, distinct))
	w.keyword = max(1, n/manyExact)
	w.words = min(1, manyClose/n)
	w.knee = max(fewestKnee, kneeWords*n)
	if reader, ok := r.cfg.Embedder.(LanguageCoverage); ok {
		w.vector *= reader.Reads(text)
		w.encoder = w.vector
	}
	if r.lexicon != nil {
		w.words *= r.lexicon.source.ReadsWords(text)
	}
	return w
}

// findFactor returns the factor of a channel's weight.
func (w *weighing) findFactor(channel string) float64 {
	switch channel {
	case retrieve.NameKeyword:
		return w.keyword
	case retrieve.NameVector:
		return w.vector
	case retrieve.NameEncoder:
		return w.encoder
	case NameWords:
		return w.words
	}
	return 1
}

// dampScore is a z-score as it counts in the fusion.
func (w *weighing) dampScore(channel string, z float64) float64 {
	if channel != retrieve.NameKeyword || w.knee == 0 || z <= w.knee {
		return z
	}
	return w.knee + damp*(z-w.knee)
}

// asksOrder reports whether the words ask in which order things came up.
func asksOrder(ws []string) bool {
	for i, w := range ws {
		switch w {
		case "chronological", "chronologically", "timeline":
			return true
		case "order":
			if i > 0 && (ws[i-1] == "in" || ws[i-1] == "what" || ws[i-1] == "which" || ws[i-1] == "the" && i+2 < len(ws) && ws[i+1] == "in" && ws[i+2] == "which") {
				return i+1 >= len(ws) || ws[i+1] != "to" // "in order to" asks for none
			}
		}
	}
	return false
}

// asksWhy reports whether the words ask for a cause.
func asksWhy(ws []string) bool {
	for i, w := range ws {
		next := ""
		if i+1 < len(ws) {
			next = ws[i+1]
		}
		switch w {
		case "why", "cause", "caused", "causes", "reason", "reasons":
			return true
		case "how":
			if next == "come" {
				return true
			}
		case "led", "leads":
			if next == "to" {
				return true
			}
		}
	}
	return false
}

// What an item gives away for each better one of its session, when a question asks for
// an order: the answer is spread over the sessions.
const (
	crowding = .3
	crowd    = 5 // that count at most
)

// spreadSessions takes from every item crowding for each better one of its session, so that
// the first of each session come first. order is best first, before and after.
func (p *Pool) spreadSessions(order []int32) []int32 {
	queues := map[string][]int32{}
	var names []string
	for _, i := range order {
		name := p.items[i].SessionID()
		if queues[name] == nil {
			names = append(names, name)
		}
		queues[name] = append(queues[name], i)
	}
	if len(names) < 2 {
		return order
	}
	taken := make(map[string]int, len(names))
	for _, name := range names {
		if name == "" {
			continue // what stands alone crowds nobody
		}
		for _, i := range queues[name] {
			p.fused[i] -= crowding * float64(min(crowd, taken[name]))
			taken[name]++
		}
	}
	return p.sortByScore(order)
}
