package pipeline

import (
	"cmp"
	"fmt"
	"time"

	"satchel/pipeline/relevance"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
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

// isReplay reports whether the request is about a past moment. The engine remembers no session
// of one.
func (r *Request) isReplay() bool {
	o := r.Options
	return o.AsOf > 0 || !o.AsOfTime.IsZero() || !o.Now.IsZero()
}

// newRequest completes a request with its scope, id and times. It refuses a request without a
// scope, one that has issues, and a vector of another length than the index's, whose pointer
// is field.
func (e *Engine) newRequest(s scope.Scope, r Request, issues []schemas.Issue, field string) (Request, error) {
	if s.Check() != nil {
		return Request{}, noScope()
	}
	if err := schemas.Invalid(issues); err != nil {
		return Request{}, err
	}
	if len(r.Vector) > 0 && e.cfg.Embedder != nil {
		if want := e.cfg.Embedder.Model().Dimensions; len(r.Vector) != want {
			return Request{}, invalid(field, fmt.Sprintf("has %d numbers, the index has %d", len(r.Vector), want))
		}
	}
	r.Scope, r.Query = s, relevance.AfterGreeting(r.Query)
	if r.ID == "" {
		r.ID = e.cfg.IDs()
	}
	if r.Options == nil {
		r.Options = &schemas.RequestPayload{}
	}
	r.Times.Started = e.cfg.Clock()
	zone, err := schemas.Zone(r.TZ)
	if err != nil {
		return Request{}, invalid("/tz", err.Error())
	}
	r.Times.Ranking, r.Times.Policy = r.Times.Started.In(cmp.Or(zone, e.cfg.Zone, time.UTC)), r.Times.Started.UTC()
	return r, nil
}

// newContextRequest makes the request of a ContextRequest. Limits above the engine's are cut, with
// a note.
func (e *Engine) newContextRequest(s scope.Scope, in *schemas.ContextRequest) (Request, error) {
	p := &in.Payload
	r, err := e.newRequest(s, Request{
		ID: in.Meta.ID, Query: cmp.Or(p.Query.Text, p.UserMessage), Vector: p.Query.Vector,
		Session: p.Session, Model: p.Model, TZ: p.TZ, Options: p,
	}, in.Validate(), "/payload/query/vector")
	switch {
	case err != nil:
		return Request{}, err
	case p.Tenant != "" && p.Tenant != s.Tenant():
		return Request{}, invalid("/payload/tenant", "is not the tenant of the scope")
	case p.IncludeProofs && e.cfg.Prover == nil:
		return Request{}, invalid("/payload/include_proofs", "this engine has no prover")
	}
	if !p.Now.IsZero() {
		r.Times.Ranking = p.Now.In(r.Zone())
	}
	if !eventlog.Storable(r.Times.Ranking) {
		return Request{}, invalid("/payload/now", "must be within "+eventlog.StorableYears)
	}
	if r.Times.Ranking.After(r.Times.Policy) {
		r.Times.Policy = r.Times.Ranking
	}
	r.Limits, r.Notes = e.cfg.Slice.bound(Limits{
		Items: p.Limit, Tokens: cmp.Or(max(p.TokenBudget, 0), schemas.DefaultTokenBudget), Bytes: p.MaxBytes, MinScore: cmp.Or(p.MinScore, e.cfg.MinScore),
	}, r.Notes)
	return r, nil
}
