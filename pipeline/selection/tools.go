package selection

import (
	"slices"

	"satchel/pipeline/selection/retrieve"
	"satchel/schemas"
)

// mostOwnTools is how many tools a retriever adds to what it finds. A pack shows fewer.
const mostOwnTools = 10

// planTools plans, where the query bounds its tools, the same search among tools alone: thousands of other
// items that fit leave no place for a tool. An index that takes several filters answers both at once.
func (p *Pool) planTools() {
	if p.query.Tools <= 0 {
		return
	}
	only := schemas.Cond{Field: schemas.FieldKind, Op: schemas.In, Values: []string{string(schemas.KindTool)}}
	search := p.search
	search.Filter = search.Filter.And(schemas.Where(only))
	if search.Filter.IsNone() {
		return
	}
	p.tools.Query = &search
	for _, a := range p.answers {
		if a.Name() != retrieve.NameRecency {
			p.tools.Answers = append(p.tools.Answers, retrieve.Answer{Retriever: a.Retriever})
		}
	}
}

// addTools makes places in the pool for the best tools. Ranking asks for their scores.
func (p *Pool) addTools() {
	for i := range p.tools.Answers {
		a := &p.tools.Answers[i]
		if a.Err != nil && p.hasFailed(a.Name()) {
			continue // its warning is there
		}
		if a.Err != nil {
			p.out.Warnings = append(p.out.Warnings, a.Name()+": tools: "+retrieve.Failure(a.Err))
			continue
		}
		for _, h := range a.Result.Hits[:min(len(a.Result.Hits), mostOwnTools)] {
			p.columns.Add(h.ID)
		}
	}
}

// hasFailed reports whether a retriever has not answered the search among all items.
func (p *Pool) hasFailed(name string) bool {
	return slices.ContainsFunc(p.answers, func(a retrieve.Answer) bool { return a.Name() == name && a.Err != nil })
}
