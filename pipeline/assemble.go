package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pack"
	"satchel/pipeline/pack/assembly"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/schemas"
)

// Defaults of an assembly.
const (
	defaultAssembled = 20 // items a source
	spare            = 10 // more that are asked for, in the place of what is dropped
	// floor is the relevance under which an item that shares no word with the query is not
	// about it: with few items in a source, the best of them need not be.
	floor = .3
	// assembledDepth is how many items of a source are read: there are five of them.
	assembledDepth = 64
)

// Assemble puts memories, code, experiences, values and commits about a query into one
// Markdown text; package assembly says how. A source that fails is left out with a
// warning, and only when all fail is it an error. The text may take a tenth more than
// max_tokens where a source would have nothing else, and then says so. Every error is
// a *schemas.Error; a context type that is not there is invalid_context_type.
func (e *Engine) Assemble(ctx context.Context, s scope.Scope, req schemas.AssembleRequest) (schemas.FormattedContext, error) {
	for i, t := range req.ContextTypes {
		if !slices.Contains(schemas.ContextTypes(), t) {
			return schemas.FormattedContext{}, &schemas.Error{
				Code: schemas.CodeInvalidContextType, Field: fmt.Sprintf("/context_types/%d", i),
				Message: "there is no such context type; there are " + strings.Join(schemas.ContextTypes(), ", "), Available: schemas.ContextTypes(),
			}
		}
	}
	limit := cmp.Or(req.Limit, defaultAssembled)
	t, err := e.enter(s, errand{query: req.Query, limit: limit, budget: cmp.Or(req.MaxTokens, defaultBudget), issues: req.Validate()})
	if err != nil {
		return schemas.FormattedContext{}, typed(ctx, err)
	}
	a := &assembling{t: t, s: s, title: "Context", floor: floor}
	if t.minScore = e.cfg.MinScore; req.MinScore != nil {
		t.minScore, a.floor = *req.MinScore, 0
	}
	for _, name := range schemas.ContextTypes() {
		if len(req.ContextTypes) == 0 || slices.Contains(req.ContextTypes, name) {
			a.groups = append(a.groups, &source{name: name, heading: assembly.Heading(name), weight: assembly.Weight(name), limit: limit})
		}
	}
	a.footer = func(shown [][]assembly.Shown) string {
		items, sources := 0, 0
		for _, group := range shown {
			items += len(group)
			sources += min(len(group), 1)
		}
		return counted(items, "item") + " from " + counted(sources, "source")
	}
	return a.run(ctx, "assemble", a.gather)
}

// counted is a number and a noun, with an s unless it is one.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// source is one section of an assembly on its way: what it is called, and which
// candidates are for it, by id.
type source struct {
	name    string // context type
	heading string
	weight  int
	limit   int
	view    assembly.View
	failing bool                            // failures come first
	of      func(*candidate.Candidate) bool // what is shown of it belongs here; nil: all does

	ranking selection.Ranking
	err     error
	score   map[string]float64 // by id, as selection found them
}

// assembling is an assembly on its way.
type assembling struct {
	t        *turn
	s        scope.Scope
	title    string
	groups   []*source
	footer   func(shown [][]assembly.Shown) string
	factor   map[string]float64 // by id, of relevance
	speakers []string           // taken off while duplicates are looked for
	floor    float64            // relevance under which only words speak for an item
	merged   bool               // duplicates between sources are left out
	out      assembly.Result
	groupsOf []assembly.Group
}

func (a *assembling) run(ctx context.Context, name string, gather func(context.Context, schemas.Filter) error) (schemas.FormattedContext, error) {
	a.merged = name == "assemble"
	res, err := a.t.pass(ctx, a.s, door{name: name, gather: gather, order: a.order, fill: func(context.Context) error { return a.fill() }})
	if err != nil {
		return schemas.FormattedContext{}, err
	}
	return a.reply(&res), nil
}

// strangers drops what nothing speaks for: little relevance, and no word of the query.
func (a *assembling) strangers(cs []candidate.Candidate) {
	if a.floor <= 0 || !slices.Contains(a.t.ranking.Sources, selection.NameKeyword) {
		return
	}
	for i := range cs {
		c := &cs[i]
		if word, _ := c.Channels.Of(selection.NameKeyword); c.Kept() && c.Score < a.floor && word.Score <= 0 {
			c.Drop, c.Detail = schemas.DropOffTopic, fmt.Sprintf("it has no word of the query, and its score is below %g", a.floor)
		}
	}
}

// order adjusts relevance by source and sorts, so that of two that are the same the
// more relevant stays. Who said it makes no difference between sources.
func (a *assembling) order(cs []candidate.Candidate) {
	a.t.belowMinimum(cs)
	a.strangers(cs)
	a.factor = make(map[string]float64, len(cs))
	for i := range cs {
		if cs[i].Verdict.Allow {
			a.factor[cs[i].Record.ID] = assembly.Adjust(&cs[i].Record, 1, a.t.now)
			cs[i].Score *= a.factor[cs[i].Record.ID]
		}
	}
	best(cs)
	a.speakers = make([]string, len(cs))
	for i := range cs {
		a.speakers[i], cs[i].Record.Speaker = cs[i].Record.Speaker, ""
	}
}

// fill formats what is kept and writes what fits.
func (a *assembling) fill() error {
	cs := a.t.ranking.Candidates
	for i := range cs {
		cs[i].Record.Speaker = a.speakers[i]
	}
	a.groupsOf = make([]assembly.Group, len(a.groups))
	texts := make(map[int]string, len(cs))
	for g, src := range a.groups {
		a.groupsOf[g] = assembly.Group{Heading: src.heading, Weight: src.weight}
		for i := range cs {
			if similarity, of := src.score[cs[i].Record.ID]; of && cs[i].Kept() && (src.of == nil || src.of(&cs[i])) {
				it := assembly.Show(&cs[i].Record, cs[i].Verdict.Redact, src.view, assembly.Clip(a.t.budget))
				it.At, it.Relevance = i, round(similarity*a.factor[cs[i].Record.ID])
				a.groupsOf[g].Items = append(a.groupsOf[g].Items, it)
				texts[i] += it.Body() + "\n"
			}
		}
	}
	a.suspect(texts)
	if a.merged {
		a.same()
	}
	a.limit()
	a.write()
	if again := repeats(cs, a.shown()); len(again) > 0 {
		repeated(cs, again)
		a.limit()
		a.write()
	}
	a.show()
	return nil
}

func (a *assembling) write() {
	a.out = assembly.Fill(assembly.Request{
		Title: a.title, Groups: a.groupsOf, Budget: a.t.budget, Counter: a.t.e.counter(""), Footer: a.footer,
	})
}

// suspect drops what looks injected in the attributes, which the defence of the
// content alone does not see. Each line is judged by itself: a signature beside a
// sentence is unlike anything the classifier knows.
func (a *assembling) suspect(texts map[int]string) {
	cs := a.t.ranking.Candidates
	var probes []candidate.Candidate
	var of []int
	for i := range cs {
		if !cs[i].Kept() || len(cs[i].Record.Attributes) == 0 {
			continue
		}
		for line := range strings.Lines(texts[i]) {
			if line = strings.TrimSpace(line); len(line) >= leastProbe {
				c := candidate.Candidate{Verdict: cs[i].Verdict}
				c.Record.Content = schemas.TextContent(line)
				probes, of = append(probes, c), append(of, i)
			}
		}
	}
	a.t.e.defence.Guard(probes, false, a.t.now)
	for j, i := range of {
		if probes[j].Suspect || probes[j].Drop == schemas.DropInjection {
			cs[i].Drop, cs[i].Detail = schemas.DropInjection, probes[j].Detail
		}
	}
}

// leastProbe is the length of the shortest line that can instruct, in bytes.
const leastProbe = 24

// same drops what a more relevant item of another source shows already.
func (a *assembling) same() {
	cs := a.t.ranking.Candidates
	var all []assembly.Item
	for _, g := range a.groupsOf {
		for _, it := range g.Items {
			if cs[it.At].Kept() {
				all = append(all, it)
			}
		}
	}
	slices.SortStableFunc(all, func(x, y assembly.Item) int { return cmp.Compare(x.At, y.At) })
	for i, of := range assembly.Same(all) {
		if of >= 0 {
			c := &cs[all[i].At]
			c.Drop, c.Detail, c.Of = schemas.DropDuplicate, "of "+all[of].ID, all[of].ID
		}
	}
}

// limit leaves the best of each source, failures first where they are asked for.
func (a *assembling) limit() {
	cs := a.t.ranking.Candidates
	for g, src := range a.groups {
		items := a.groupsOf[g].Items
		items = slices.DeleteFunc(items, func(it assembly.Item) bool { return !cs[it.At].Kept() })
		slices.SortStableFunc(items, func(x, y assembly.Item) int {
			if src.failing && x.Failure() != y.Failure() {
				if x.Failure() {
					return -1
				}
				return 1
			}
			return cmp.Compare(y.Relevance, x.Relevance)
		})
		a.groupsOf[g].Items = items[:min(len(items), src.limit)]
	}
}

// show takes over what the text shows.
func (a *assembling) show() {
	t := a.t
	cs := t.ranking.Candidates
	t.packed.Text, t.packed.Tokens = a.out.Markdown, a.out.Tokens
	var order []int
	listed := map[int]bool{}
	for g, shown := range a.out.Shown {
		section := pack.Section{Budget: a.out.Budgets[g], Reason: a.groups[g].heading + ": by relevance"}
		for _, p := range shown {
			i := a.groupsOf[g].Items[p.Item].At
			section.Type = sectionOf(cs[i].Record.Kind)
			section.Items = append(section.Items, i)
			section.Tokens += p.Tokens
			if !listed[i] {
				listed[i] = true
				order = append(order, i)
				cs[i].Text, cs[i].Tokens = "", 0
			}
			cs[i].Text += p.Text
			cs[i].Tokens += p.Tokens
		}
		if len(shown) > 0 {
			t.packed.Sections = append(t.packed.Sections, section)
		}
	}
	t.close(order, schemas.DropBudget)
	if a.out.Exceeded {
		t.warnings = append(t.warnings, fmt.Sprintf("the text takes %d tokens, %d more than max_tokens, so that no source is without an item",
			a.out.Tokens, a.out.Tokens-t.budget))
	}
}

// reply is the text as it leaves.
func (a *assembling) reply(res *schemas.ContextResult) schemas.FormattedContext {
	out := schemas.FormattedContext{
		Markdown: a.out.Markdown, TokenCount: a.out.Tokens, Exceeded: a.out.Exceeded, Items: []schemas.AssembledItem{},
		SourcesUsed: map[string]int{}, Warnings: res.Payload.Explainability.Warnings,
		PackID: res.Payload.PackID, Positions: res.Payload.Positions,
	}
	counted := map[int]bool{}
	for g, shown := range a.out.Shown {
		for _, p := range shown {
			it := &a.groupsOf[g].Items[p.Item]
			out.Items = append(out.Items, schemas.AssembledItem{Source: it.Source, Content: p.Text, Relevance: it.Relevance, Metadata: it.Metadata})
			if !counted[it.At] {
				counted[it.At] = true
				out.SourcesUsed[a.groups[g].name]++
			}
		}
	}
	return out
}
