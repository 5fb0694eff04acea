package rank

import (
	"context"
	"strings"
	"time"

	"satchel/pipeline/language"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

// Question is a question's text, read once.
type Question struct {
	cosines  bool   // relevance is calibrated on those of its vector with the items'
	kind     string // of query: keyword, semantic, graph or hybrid
	text     string
	words    []string  // of the whole text
	content  []string  // of what it is about, without stop words
	names    []string  // other names of what it names
	distinct int       // words that are no stop words
	weights  []float64 // by content word, how much it tells
	weight   float64   // of all content words
	pieces   []int     // by content word, of the vocabulary; nil: nobody knows
	unread   bool      // the lexicon does not know the script
	wordless bool      // there is a text, and nothing in it says what it is about
	days     []language.Interval
	told     bool           // of these days something is told; see toldOf
	newest   bool           // it asks for the newest
	all      bool           // it asks for all of the days, whatever it is
	zone     *time.Location // of the asker
	when     bool           // it asks when
	order    bool           // it asks for an order
	why      bool           // it asks for a cause
	weigh    weighing
}

// Read reads a question. about is its text without how it asks, kind the type of query, names are
// other names of what it names, in lower case. cosines are what those of its vector with the items' are of.
func (r *Ranker) Read(text, about, kind string, names []string, cosines bool, now time.Time) *Question {
	q := &Question{kind: kind, text: text, words: language.Words(text), names: names, cosines: cosines}
	q.content, q.distinct = language.ContentWords(language.Words(about))
	q.wordless = len(q.content) == 0 && strings.TrimSpace(text) != ""
	q.newest, q.zone = language.AsksNewest(text, now), now.Location()
	q.all = language.AsksAll(text, now)
	q.days, q.when, q.order = language.FindTimes(text, now), asksWhen(q.words), asksOrder(q.words)
	q.why = asksWhy(q.words)
	q.weigh = r.makeWeighing(text, q.distinct)
	q.unread = r.lexicon == nil || r.lexicon.source.ReadsWords(about) < mostlyRead
	q.weights = make([]float64, len(q.content))
	for i, w := range q.content {
		q.weights[i] = plainWeight
		if by, ok := r.cfg.Embedder.(WordWeights); ok && !q.unread {
			q.weights[i], q.pieces = by.WordWeight(w), append(q.pieces, by.WordPieces(w))
		}
		q.weight += q.weights[i]
	}
	return q
}

// Unread reports whether the lexicon does not know the question's language.
func (q *Question) Unread() bool { return q.unread }

// MeasureWords finds out how common the question's words are under several filters at once,
// among as many documents as each lets through. population and exclude are those of Request.
func (r *Ranker) MeasureWords(ctx context.Context, s scope.Scope, q *Question, population schemas.Filter, exclude []string, filters []schemas.Filter, n []int) {
	if len(filters) > 1 && r.comparesWords(q) {
		r.words.measureFrequencies(ctx, s, keyword.Query{Population: population.Settled(), Exclude: exclude}, filters, n, q.content)
	}
}

// AsksNewest reports whether the question asks for the newest there is.
func (q *Question) AsksNewest() bool { return q.newest }

// Days are the days that the question names.
func (q *Question) Days() []language.Interval { return q.days }
