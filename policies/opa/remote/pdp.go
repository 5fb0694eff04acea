package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"satchel/pipeline/infra/httpclient"
	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
)

// PDP decides by asking an OPA server. It is safe for concurrent use.
type PDP struct {
	client     *client
	cache      *cache
	breaker    *httpclient.Breaker
	found      atomic.Pointer[abilities]
	failures   atomic.Uint64
	now        func() time.Time
	timeout    time.Duration
	cooldown   time.Duration
	parallel   int
	batchItems int
}

// New returns a PDP over the server of c, which need not be there yet. It asks nothing:
// Probe does. Close it when done.
func New(c Config) (*PDP, error) {
	base, err := c.makeBaseURL()
	if err != nil {
		return nil, err
	}
	c.setDefaults()
	asked, err := c.makeClient()
	if err != nil {
		return nil, err
	}
	return &PDP{
		client:  &client{base: base, http: asked},
		cache:   newCache(&c),
		breaker: httpclient.NewBreaker(httpclient.BreakerConfig{Failures: c.Failures, Cooldown: c.Cooldown, Clock: c.Clock}),
		now:     c.Clock, timeout: c.Timeout, cooldown: c.Cooldown, parallel: c.Parallel, batchItems: c.BatchItems,
	}, nil
}

// Close closes idle connections.
func (p *PDP) Close() { p.client.http.Close() }

// Revision returns the revision of the last answer, "unversioned" without one.
func (p *PDP) Revision() string { return p.cache.readState().revision }

// Stats is what the PDP has done since it was made.
type Stats struct {
	Revision string `json:"revision"`
	Breaker  string `json:"breaker"`  // closed, open or half_open
	Batch    bool   `json:"batch"`    // the server has the document for many items
	Filter   bool   `json:"filter"`   // and the one for the stores
	Hits     uint64 `json:"hits"`     // verdicts that were kept
	Misses   uint64 `json:"misses"`   // verdicts that were asked for
	Requests uint64 `json:"requests"` // to the server
	Failures uint64 `json:"failures"` // decisions and filters that the server failed
}

// HitRate is hits ÷ (hits + misses), 0 before the first.
func (s Stats) HitRate() float64 {
	if s.Hits+s.Misses == 0 {
		return 0
	}
	return float64(s.Hits) / float64(s.Hits+s.Misses)
}

// Stats returns the counts.
func (p *PDP) Stats() Stats {
	s := Stats{Breaker: p.breaker.State(), Requests: p.client.calls.Load(), Failures: p.failures.Load()}
	if found := p.found.Load(); found != nil {
		s.Batch = found.batch
		s.Filter = found.filter
	}
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	s.Revision = p.cache.revision
	s.Hits = p.cache.hits
	s.Misses = p.cache.misses
	return s
}

// Decide returns a verdict for every resource of r, in order.
func (p *PDP) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	d := policies.Decision{Revision: p.Revision(), Verdicts: make([]policies.Verdict, len(r.Resources))}
	err := s.Check()
	if err == nil && r.Now.IsZero() {
		err = errors.New("request has no time")
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		if !r.Unhashed {
			d.InputHash = policies.InputHash(s, &r)
		}
		d.Revision, err = p.fillVerdicts(ctx, s, &r, d.Verdicts)
	}
	if err != nil {
		d.Deny()
		return d, fmt.Errorf("decide action %q: %w: %w", r.Action, policies.ErrUnavailable, err)
	}
	return d, nil
}

// fillVerdicts fills in verdicts. All of them are of the revision that it returns.
func (p *PDP) fillVerdicts(ctx context.Context, s scope.Scope, r *policies.Request, verdicts []policies.Verdict) (string, error) {
	asker, questions := questionsOf(s, r, p.cache.ttl > 0)
	before := p.cache.lookUpVerdicts(r.Now, questions)
	var open []*question
	for i := range questions {
		if !questions[i].known {
			open = append(open, &questions[i])
		}
	}
	revision := before.revision
	if len(open) > 0 {
		err := p.runGuarded(ctx, func(ctx context.Context) (err error) {
			revision, err = p.askQuestions(ctx, asker, r.Now, open)
			if err == nil && (revision == before.revision || len(open) == len(questions)) || err != nil && !errors.Is(err, errMixed) {
				return err
			}
			// What is known is of another revision than what was asked, or that is of several.
			open = open[:0]
			for i := range questions {
				open = append(open, &questions[i])
			}
			revision, err = p.askQuestions(ctx, asker, r.Now, open)
			return err
		})
		if err != nil {
			return before.revision, err
		}
		p.cache.keepAnswers(before, revision, r.Now, open)
	}
	for i := range questions {
		verdicts[i] = questions[i].verdict
		verdicts[i].Redact = slices.Clone(verdicts[i].Redact)
		verdicts[i].Obligations.Types = slices.Clone(verdicts[i].Obligations.Types)
	}
	return revision, nil
}

// Filter returns the server's filter for s and action, or, when it has none, the filter
// that matches all for an action there is and none for another.
func (p *PDP) Filter(ctx context.Context, s scope.Scope, action string) (schemas.Filter, error) {
	f := schemas.MatchNone()
	err := s.Check()
	if err == nil {
		f, err = p.findFilter(ctx, s, action)
	}
	if err != nil {
		return schemas.MatchNone(), fmt.Errorf("filter action %q: %w: %w", action, policies.ErrUnavailable, err)
	}
	return f, nil
}

func (p *PDP) findFilter(ctx context.Context, s scope.Scope, action string) (schemas.Filter, error) {
	asker := appendAsker(make([]byte, 0, 256), s, action)
	before := p.cache.readState()
	f, ok := p.cache.findCachedFilter(string(asker))
	if ok {
		return f, nil
	}
	var revision string
	err := p.runGuarded(ctx, func(ctx context.Context) error {
		found, err := p.findAbilities(ctx)
		if err != nil {
			return err
		}
		if !found.filter {
			f = matchKnown(action)
			revision = before.revision
			return nil
		}
		r, err := p.client.askForDocument(ctx, filtered, buildRequestBody(asker, time.Unix(0, 1), 0, func(dst []byte) []byte { return dst }))
		if err != nil {
			return err
		}
		f, err = policies.ReadFilter(r.result)
		revision = r.revision
		if revision == noRevision {
			revision = before.revision
		}
		return err
	})
	if err != nil {
		return schemas.MatchNone(), err
	}
	p.cache.keepFilter(before, revision, string(asker), f)
	return f, nil
}

// matchKnown leaves everything to the decision on each item.
func matchKnown(action string) schemas.Filter {
	switch action {
	case "read", "open", "write", "erase", "change", "relabel", "register", "follow":
		return schemas.MatchAll()
	}
	return schemas.MatchNone()
}
