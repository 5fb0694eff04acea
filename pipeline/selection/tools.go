package selection

import (
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
	p.toolSearch = p.search
	p.toolSearch.Filter = p.search.Filter.And(schemas.Where(schemas.Cond{Field: schemas.FieldKind, Op: schemas.In, Values: []string{string(schemas.KindTool)}}))
	if p.toolSearch.Filter.IsNone() {
		return
	}
	for _, a := range p.answers {
		if a.Name() != retrieve.NameRecency {
			p.tools = append(p.tools, retrieve.Answer{Retriever: a.Retriever})
		}
	}
}

// addTools makes places in the pool for the best tools. Ranking asks for their scores.
func (p *Pool) addTools() {
	for i := range p.tools {
		a := &p.tools[i]
		if a.Err != nil {
			p.out.Warnings = append(p.out.Warnings, a.Name()+": tools: "+retrieve.Failure(a.Err))
			continue
		}
		for _, h := range a.Result.Hits[:min(len(a.Result.Hits), mostOwnTools)] {
			p.columns.Add(h.ID)
		}
	}
}
