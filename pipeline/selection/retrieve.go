package selection

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// answer is what one retriever came back with.
type answer struct {
	retriever Retriever
	weight    float64
	found     Found
	err       error
}

// gather fills the pool with what the retrievers found, and of what is linked to it. A
// retriever that fails is named in the warnings; when all fail, there is no ranking.
func (s *Selector) gather(ctx context.Context, sc scope.Scope, a *analysis, p *pool, answers []answer, out *Ranking) error {
	if len(answers) == 0 {
		return nil
	}
	if err := s.collect(ctx, p, answers, out); err != nil {
		return err
	}
	if s.graph != nil && !a.skips(NameGraph) && a.Type != schemas.QueryKeyword && a.Type != schemas.QuerySemantic {
		s.walk(ctx, sc, a, p, out)
	}
	return nil
}

// plan picks the retrievers of the query's type. A graph query finds its seeds by
// keyword and vector as well.
func (s *Selector) plan(a *analysis) []answer {
	var out []answer
	hasText := strings.TrimSpace(a.Text) != ""
	if s.keyword != nil && hasText && a.Type != schemas.QuerySemantic {
		out = append(out, answer{retriever: s.keyword, weight: s.weights.Keyword})
	}
	if s.vector != nil && len(a.probe.Vector) > 0 && a.Type != schemas.QueryKeyword {
		out = append(out, answer{retriever: s.vector, weight: s.weights.Vector})
	}
	if len(out) == 0 {
		out = append(out, answer{retriever: s.recency})
	}
	return slices.DeleteFunc(out, func(one answer) bool { return a.skips(one.retriever.Name()) })
}

func (a *analysis) skips(name string) bool { return a.Skip != nil && a.Skip(name) }

// ask runs all but the last retriever on their own goroutine and waits for them.
func (s *Selector) ask(ctx context.Context, sc scope.Scope, a *analysis, answers []answer) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for i := range answers {
		one := &answers[i]
		run := func() { one.found, one.err = one.retriever.Retrieve(ctx, sc, &a.probe) }
		if i == len(answers)-1 {
			run()
			continue
		}
		wg.Go(run)
	}
	wg.Wait()
}

// within gives a retriever its time.
func (s *Selector) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.cfg.Deadline > 0 {
		return context.WithTimeout(ctx, s.cfg.Deadline)
	}
	return context.WithCancel(ctx)
}

func (s *Selector) collect(ctx context.Context, p *pool, answers []answer, out *Ranking) error {
	failed := 0
	for i := range answers {
		one := &answers[i]
		name := one.retriever.Name()
		if one.err != nil {
			failed++
			out.Warnings = append(out.Warnings, name+": "+reason(one.err))
			continue
		}
		out.Sources = append(out.Sources, name)
		out.Counts[name] = len(one.found.Hits)
		p.take(name, one.weight, one.found)
	}
	if failed < len(answers) {
		return nil
	}
	if ctx.Err() != nil {
		return deadline(ctx)
	}
	return &schemas.Error{Code: schemas.CodeSearch, Message: "no retriever answered: " + strings.Join(out.Warnings, "; ")}
}

// reason says a retriever's failure without what an error may quote.
func reason(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "it was too late and is left out"
	}
	return "it did not answer and is left out"
}

// walk adds what is linked to the best finds and to the entities the query names.
func (s *Selector) walk(ctx context.Context, sc scope.Scope, a *analysis, p *pool, out *Ranking) {
	probe := a.probe
	probe.Limit = graphLimit
	for _, i := range p.first(&a.weigh, graphSeeds) {
		probe.Seeds = append(probe.Seeds, p.ids[i])
		p.distance[i] = 0
	}
	within, cancel := s.within(ctx)
	defer cancel()
	found, err := s.graph.Retrieve(within, sc, &probe)
	if err != nil {
		out.Warnings = append(out.Warnings, NameGraph+": "+reason(err))
		return
	}
	out.Sources = append(out.Sources, NameGraph)
	kept := found.Hits[:0]
	for _, h := range found.Hits {
		if i, ok := p.index[h.ID]; !ok || p.distance[i] != 0 {
			kept = append(kept, h)
		}
	}
	found.Hits = kept
	out.Counts[NameGraph] = len(kept)
	p.take(NameGraph, 0, found)
}
