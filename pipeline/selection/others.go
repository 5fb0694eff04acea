package selection

import (
	"context"
	"sync"

	"satchel/pipeline/scope"
	"satchel/pipeline/selection/retrieve"
	"satchel/schemas"
)

// askForOthers asks the retrievers again for what is no tool, where tools are most of what they found and
// more than the query wants: hundreds of tools that fit leave no place for anything else.
func (s *Selector) askForOthers(ctx context.Context, sc scope.Scope, p *Pool) error {
	if p.query.Tools <= 0 || !p.More() {
		return nil
	}
	if err := s.readRecords(ctx, sc, p, p.columns.All()); err != nil {
		return err
	}
	tools := 0
	all := 0
	for _, r := range p.records {
		if r != nil {
			all++
		}
		if r != nil && r.Kind == schemas.KindTool {
			tools++
		}
	}
	search := p.search
	search.Filter = search.Filter.And(noTools())
	if tools <= p.query.Tools || 2*tools < all || search.Filter.IsNone() {
		return nil
	}
	within, cancel := retrieve.Within(ctx, s.cfg.Deadline)
	defer cancel()
	found := make([]retrieve.Result, len(p.answers))
	failed := make([]error, len(p.answers))
	var wait sync.WaitGroup
	for i, a := range p.answers {
		if a.Err == nil {
			wait.Go(func() { found[i], failed[i] = a.Retrieve(within, sc, &search) })
		}
	}
	wait.Wait()
	for i := range found {
		if failed[i] != nil {
			p.out.Warnings = append(p.out.Warnings, p.answers[i].Name()+": "+retrieve.Failure(failed[i]))
		}
		for _, h := range found[i].Hits {
			p.columns.Add(h.ID)
		}
	}
	return nil
}

// noTools matches items of every kind but tools.
func noTools() schemas.Filter {
	var kinds []string
	for _, k := range schemas.Kinds() {
		if k.Kind != schemas.KindTool {
			kinds = append(kinds, string(k.Kind))
		}
	}
	return schemas.Where(schemas.Cond{Field: schemas.FieldKind, Op: schemas.In, Values: kinds})
}
