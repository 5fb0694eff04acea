package selection

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection/retrieve"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

const (
	mentions = 20 // items that may have a name are read
	title    = 4  // words with a capital make a title, where they are most of the words
)

// findUnmentionedNames returns the names in a question that no item has which the principal may see. It
// looks among the items that were found, and asks the keyword index for a name that none of them
// has. Where that does not answer, the name counts as mentioned. A name that is given to tools is what
// they are called with: where nothing else was found, none is returned. Nor is any of a question in a language that is
// not read: names may have cases there.
func (s *Selector) findUnmentionedNames(ctx context.Context, sc scope.Scope, p *Pool, seen []*candidate.Visible) []string {
	q := &p.query
	if s.keyword == nil || q.FilterVisible == nil || q.isSkipped(retrieve.NameKeyword) || p.renamed || p.question.Unread() || !slices.ContainsFunc(seen, isNotTool) {
		return nil
	}
	var out []string
	last := -1
	for _, name := range namesIn(q.Text) {
		has := func(v *candidate.Visible) bool {
			return v != nil && (strings.Contains(v.Content.Text(), name.text) || strings.Contains(v.Speaker, name.text) ||
				!v.Masked && bytes.Contains(v.Attributes, []byte(name.text)))
		}
		if slices.ContainsFunc(seen, has) || s.isMentioned(ctx, sc, q, name.text) {
			continue
		}
		if n := len(out); n > 0 && last == name.at-1 {
			out[n-1] += " " + name.text
		} else {
			out = append(out, name.text)
		}
		last = name.at
	}
	return out
}

// isNotTool reports whether an item is not a tool.
func isNotTool(v *candidate.Visible) bool { return v != nil && v.Kind != schemas.KindTool }

// isMentioned reports whether an item has the name that the principal may see whole.
func (s *Selector) isMentioned(ctx context.Context, sc scope.Scope, q *Query, name string) bool {
	known := q.Known
	if known.IsNone() {
		known = q.Population
	}
	found, err := s.cfg.Keyword.Search(ctx, sc, keyword.Query{Text: name, Limit: mentions, Filter: known, Population: known.Settled(), Exclude: q.Exclude})
	if err != nil {
		return true
	}
	if len(found.Hits) == 0 {
		return len(language.Analyze(name)) == 0
	}
	ids := make([]string, len(found.Hits))
	for i, h := range found.Hits {
		ids[i] = h.ID
	}
	records, err := s.cfg.Items.Get(ctx, sc, ids)
	if err != nil {
		return true
	}
	return len(q.FilterVisible(ctx, slices.DeleteFunc(records, func(r schemas.Record) bool { return !q.canSeeRecord(&r) }))) > 0
}

// name is a word of a question that is written like a name, and its place among the words.
type name struct {
	text string
	at   int
}

// namesIn returns the words that are written like names: with a capital, within a sentence. Of a
// text that writes most words so, and of German, which writes nouns so, there are none.
func namesIn(text string) []name {
	if isGermanQuestion(language.Words(text)) {
		return nil
	}
	var out []name
	starts := true
	capitals := 0
	all := 0
	for at, field := range strings.Fields(text) {
		begins := starts
		starts = strings.ContainsAny(field[len(field)-1:], ".?!:")
		w := strings.TrimFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s")
		first, _ := utf8.DecodeRuneInString(w)
		all++
		if !unicode.IsUpper(first) {
			continue
		}
		capitals++
		lower := strings.ToLower(w)
		if begins || len(language.Words(w)) != 1 || utf8.RuneCountInString(w) < 3 || language.IsStopWord(lower) || language.IsTimeName(lower) {
			continue
		}
		out = append(out, name{w, at})
	}
	if capitals >= title && 3*capitals > 2*all {
		return nil
	}
	return out
}

// isGermanQuestion reports whether words are those of a German question: one that asks, or two others. Words of names that are
// not German, as "von", do not count.
func isGermanQuestion(ws []string) bool {
	words := language.Of("de")
	n := 0
	for _, w := range ws {
		switch {
		case words.Is(language.Asking, w):
			return true
		case words.Is(language.Function, w):
			n++
		}
	}
	return n >= 2
}
