package pii

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is looked for beside the paths that flag it. An item with more is hidden whole.
const (
	mostPhrases     = 16 << 10
	mostPhraseBytes = 256 << 10
)

// phrases finds many texts at once, as whole words: the automaton of Aho and Corasick ("Efficient
// string matching", 1975) over words in place of letters. A word is a run of letters and digits, and
// any other character is a word. Building takes time and memory linear in the phrases, and finding time
// linear in the text, whatever they are. The zero value finds nothing.
type phrases struct {
	words map[string]int32 // of the phrases, numbered
	next  map[uint64]int32 // the node behind a node and a word
	nodes []phraseNode     // the first is where nothing is read
	count int              // phrases
	bytes int              // of all phrases
}

// phraseNode is the beginning of a phrase.
type phraseNode struct {
	parent, word int32
	depth, size  int32 // words and bytes from the beginning
	fail         int32 // the longest other beginning that the text may be in
	hit          int32 // the longest phrase that ends here, 0 for none
	as           Type  // of the phrase that this is, "" for none
}

// phrasesOf returns the phrases of names and of values of fields. ok is false where there are more than
// are looked for.
func phrasesOf(names, values []string) (p *phrases, ok bool) {
	p = &phrases{}
	for _, name := range names {
		if strings.ContainsFunc(name, unicode.IsLetter) {
			p.addPhrase(name, Person)
		}
	}
	for _, value := range values {
		p.addPhrase(value, Field)
	}
	if p.count > mostPhrases || p.bytes > mostPhraseBytes {
		return nil, false
	}
	p.linkNodes()
	return p, true
}

// addPhrase adds a phrase. One that is there keeps its type.
func (p *phrases) addPhrase(text string, as Type) {
	text, _ = foldText(text)
	if len(text) < 2 || p.count > mostPhrases || p.bytes > mostPhraseBytes {
		return
	}
	if p.nodes == nil {
		p.words = map[string]int32{}
		p.next = map[uint64]int32{}
		p.nodes = make([]phraseNode, 1, 16)
	}
	at := int32(0)
	for i := 0; i < len(text); {
		end := wordEnd(text, i)
		word, known := p.words[text[i:end]]
		if !known {
			word = int32(len(p.words))
			p.words[text[i:end]] = word
		}
		node, known := p.next[makeEdgeKey(at, word)]
		if !known {
			node = int32(len(p.nodes))
			p.next[makeEdgeKey(at, word)] = node
			p.nodes = append(p.nodes, phraseNode{parent: at, word: word, depth: p.nodes[at].depth + 1, size: int32(end)})
		}
		at = node
		i = end
	}
	if p.nodes[at].as == "" {
		p.nodes[at].as = as
		p.count = p.count + 1
		p.bytes = p.bytes + len(text)
	}
}

// linkNodes sets where each node goes on, the shortest beginnings first.
func (p *phrases) linkNodes() {
	order := make([]int32, len(p.nodes))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(p.nodes[a].depth, p.nodes[b].depth) })
	for _, at := range order {
		n := &p.nodes[at]
		if n.depth > 1 {
			n.fail = p.followWord(p.nodes[n.parent].fail, n.word)
		}
		n.hit = p.nodes[n.fail].hit
		if n.as != "" {
			n.hit = at
		}
	}
}

// followWord returns the longest beginning of a phrase that the text is in, when word follows what led to at.
func (p *phrases) followWord(at, word int32) int32 {
	for {
		if next, ok := p.next[makeEdgeKey(at, word)]; ok || at == 0 {
			return next
		}
		at = p.nodes[at].fail
	}
}

func makeEdgeKey(at, word int32) uint64 { return uint64(uint32(at))<<32 | uint64(uint32(word)) }

// markPhrases adds the longest phrase that ends at each place of a folded text to spans, in order. Of two that
// overlap the later one loses what the earlier one has, so that all of both is marked.
func (p *phrases) markPhrases(spans []Span, text string) []Span {
	if p == nil || len(p.nodes) == 0 {
		return spans
	}
	found := len(spans)
	at := int32(0)
	for i := 0; i < len(text); {
		end := wordEnd(text, i)
		word, known := p.words[text[i:end]]
		i = end
		if !known {
			at = 0
			continue
		}
		at = p.followWord(at, word)
		if hit := p.nodes[at].hit; hit != 0 {
			spans = append(spans, Span{Start: end - int(p.nodes[hit].size), End: end, Type: p.nodes[hit].as, Confidence: 1, Rule: flaggedRule})
		}
	}
	if len(spans) == found {
		return spans
	}
	slices.SortStableFunc(spans, func(a, b Span) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) })
	kept := spans[:0]
	last := 0
	for _, sp := range spans {
		sp.Start = max(sp.Start, last)
		if sp.Start < sp.End {
			kept = append(kept, sp)
			last = sp.End
		}
	}
	return kept
}

// flaggedRule is the rule of words that the caller gave.
const flaggedRule = "flagged"

// wordEnd returns the end of the word of a phrase at i.
func wordEnd(text string, i int) int {
	for end := i; ; {
		if end == len(text) {
			return end
		}
		if isAlnum(text[end]) {
			end++
			continue
		}
		r := rune(text[end])
		size := 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[end:])
		}
		switch {
		case size > 1 && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			end += size
		case end == i:
			return end + size
		default:
			return end
		}
	}
}
