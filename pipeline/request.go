package pipeline

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"satchel/pipeline/relevance"
	"satchel/pipeline/scope"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// Request is the input of an operation. It does not change once it is made.
type Request struct {
	ID      string
	Scope   scope.Scope
	Query   string
	Vector  []float32 // of the query; nil: the engine embeds the query
	Session string
	Model   string // names the tokenizer
	TZ      string // names the zone of the times
	// Options are the payload of a context request, read only. Of the other operations they
	// hold min_position alone.
	Options *schemas.RequestPayload
	Limits  Limits
	Times   Times
	Notes   Notes
}

// Limits bound the output of a request.
type Limits struct {
	Items    int
	Tokens   int     // of the text
	Bytes    int     // of the content; 0: no limit
	MinScore float64 // of an item
}

// Times are the moments of a request.
type Times struct {
	Started time.Time // by the clock
	Ranking time.Time // now, for ranking and for what is stale, in the zone of the asker
	Policy  time.Time // now, for policy; never before Started: no request brings back what has expired
}

// Notes are the warnings of a request so far, in the order of the stages. A stage returns the
// notes of its input and its own.
type Notes []string

// With returns the notes and more, and leaves n as it is.
func (n Notes) With(more ...string) Notes { return append(n[:len(n):len(n)], more...) }

// Zone is the zone whose days the request means.
func (r *Request) Zone() *time.Location { return r.Times.Ranking.Location() }

// Greets reports whether a request says hello, thanks, yes or no and asks nothing.
func (r *Request) Greets() bool {
	q := &r.Options.Query
	return len(r.Vector) == 0 && q.Graph == nil && len(q.Filters) == 0 && relevance.AsksNothing(r.Query)
}

// Admitting makes requests.
type Admitting struct {
	Process
	Bounds
	Models
	counters sync.Map // token.Counter by the name of the tokenizer
}

// Request completes a request with its scope, id and times. It refuses a request without a
// scope, one that has issues, and a vector of another length than the index's, whose pointer
// is field. Every error is a *schemas.Error.
func (a *Admitting) Request(s scope.Scope, r Request, issues []schemas.Issue, field string) (Request, error) {
	if s.Check() != nil {
		return Request{}, NoScope()
	}
	if err := schemas.Invalid(issues); err != nil {
		return Request{}, err
	}
	if len(r.Vector) > 0 && a.Embedder != nil {
		if want := a.Embedder.Model().Dimensions; len(r.Vector) != want {
			return Request{}, Invalid(field, fmt.Sprintf("has %d numbers, the index has %d", len(r.Vector), want))
		}
	}
	r.Scope, r.Query = s, relevance.AfterGreeting(r.Query)
	if r.ID == "" {
		r.ID = a.IDs()
	}
	if r.Options == nil {
		r.Options = &schemas.RequestPayload{}
	}
	r.Times.Started = a.Clock()
	zone, err := schemas.Zone(r.TZ)
	if err != nil {
		return Request{}, Invalid("/tz", err.Error())
	}
	r.Times.Ranking, r.Times.Policy = r.Times.Started.In(cmp.Or(zone, a.Zone, time.UTC)), r.Times.Started.UTC()
	return r, nil
}

// Budget limits the output of a request, whichever limit is reached first. A request may ask
// for less; if it asks for more, its limit is cut, with a warning. Zero values are the defaults
// of the H4R document.
type Budget struct {
	Bytes  int // of content; default 122,880
	Tokens int // of the rendered text; default 30,000
	// Items is the most items. Default: 100, and in proportion more where a request names no limit
	// and its tokens are more than schemas.DefaultTokenBudget.
	Items int
}

// defaultItems is the default of Budget.Items.
const defaultItems = 100

func (b *Budget) fill() {
	b.Bytes, b.Tokens = cmp.Or(max(b.Bytes, 0), 120<<10), cmp.Or(max(b.Tokens, 0), 30_000)
}

// Bound returns the limits that a request has: what it asks for, 0 for nothing, as far as the budget
// gives that. A note says what was cut.
func (b *Budget) Bound(asked Limits, notes Notes) (Limits, Notes) {
	out := asked
	out.Bytes, notes = cut("bytes", cmp.Or(asked.Bytes, b.Bytes), b.Bytes, notes)
	out.Tokens, notes = cut("tokens", cmp.Or(asked.Tokens, b.Tokens), b.Tokens, notes)
	if asked.Items > 0 {
		out.Items, notes = cut("items", asked.Items, b.Named(), notes)
	} else {
		out.Items = b.items(out.Tokens)
	}
	return out, notes
}

// Named is the most items that a request may ask for by name.
func (b *Budget) Named() int { return cmp.Or(max(b.Items, 0), defaultItems) }

// items is the most items of a text of so many tokens.
func (b *Budget) items(tokens int) int {
	if b.Items > 0 {
		return b.Items
	}
	return max(defaultItems, defaultItems*tokens/schemas.DefaultTokenBudget)
}

// cut cuts what a request asks for to the most that it is given.
func cut(what string, asked, most int, notes Notes) (int, Notes) {
	if asked <= most {
		return asked, notes
	}
	return most, notes.With(fmt.Sprintf("budget: %d %s are cut to %d, the most that a request is given here", asked, what, most))
}

// Left is what limits leave for results and all that they bring with them.
func (b *Budget) Left(limits Limits) Limits {
	limits.Items = b.items(limits.Tokens)
	return limits
}

// Take takes an item off what is left of the limits, and reports whether they pay for it.
func (l *Limits) Take(tokens, bytes int) bool {
	if l.Items < 1 || tokens > l.Tokens || bytes > l.Bytes {
		return false
	}
	l.Items = l.Items - 1
	l.Tokens = l.Tokens - tokens
	l.Bytes = l.Bytes - bytes
	return true
}

// countedTexts is how many texts' counts are kept for each tokenizer.
const countedTexts = 32 << 10

// Counter returns the counter of a model's tokenizer, which remembers the counts of texts that are shown
// again and again.
func (a *Admitting) Counter(model string) token.Counter {
	base := a.Tokens(model)
	known, found := a.counters.Load(base.Name())
	if !found {
		known, _ = a.counters.LoadOrStore(base.Name(), token.Cached(base, countedTexts))
	}
	return known.(token.Counter)
}
