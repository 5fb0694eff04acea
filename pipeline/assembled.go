package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/pipeline/pack"
	"satchel/pipeline/pack/assembly"
	"satchel/schemas"
)

// assembled is the text of an assembly and the items that it was made of, by source.
type assembled struct {
	assembly.Result
	title  assembly.Title
	groups []assembly.Group
}

// pack formats the kept candidates and writes those that fit.
func (o *assembleOp) pack(ctx context.Context, req Request, plan Plan, ranked Ranked) (Packed, error) {
	cs := ranked.Candidates
	req.Limits.Tokens = ranked.budget(req.Limits.Tokens)
	quoted, notes := o.quote(ctx, req, plan, ranked)
	quoted = o.shorten(req, ranked) || quoted
	a := &assembled{groups: o.format(req, ranked), title: o.titleOf(ranked)}
	o.dropInjected(req, a, cs)
	if o.dropRepeated {
		a.dropDuplicates(cs)
	}
	o.write(req, a, cs)
	if again := repeats(cs, a.candidates()); len(again) > 0 {
		dropRepeats(cs, again)
		o.write(req, a, cs)
	}
	out := o.show(a, cs, newPacked(ranked.Notes.With(notes...)))
	out.Compacted = quoted
	markShown(cs, out.Shown, schemas.DropBudget)
	compaction.RestoreUnshown(cs)
	if a.Exceeded {
		out.Notes = out.Notes.With(fmt.Sprintf("the text takes %d tokens, %d more than max_tokens, "+
			"so that no source is without an item", a.Tokens, a.Tokens-req.Limits.Tokens))
	}
	return out, nil
}

// titleOf is the title of the text, with what is not known here.
func (o *assembleOp) titleOf(ranked Ranked) assembly.Title {
	return assembly.Title{Text: o.title, Unmentioned: ranked.Unmentioned}
}

// format makes the items of each source.
func (o *assembleOp) format(req Request, ranked Ranked) []assembly.Group {
	out := make([]assembly.Group, len(o.sources))
	clip := assembly.Clip(req.Limits.Tokens)
	for g := range o.sources {
		src := &o.sources[g]
		out[g] = assembly.Group{Heading: src.heading, Weight: src.weight}
		for i := range ranked.Candidates {
			c := &ranked.Candidates[i]
			score, found := ranked.Groups[g].Scores[c.ID]
			if !found || !c.Kept() || src.accepts != nil && !src.accepts(c) {
				continue
			}
			it := assembly.Show(c, src.view, clip)
			if c.Fenced() {
				it.Caution()
			}
			it.At, it.Relevance = i, fourPlaces(score*ranked.Factors[c.ID])
			out[g].Items = append(out[g].Items, it)
		}
	}
	return out
}

// leastProbe is the length in bytes of the shortest line that can instruct.
const leastProbe = 24

// dropInjected drops items whose attributes look injected: the defenses read the content alone.
// Each line is judged by itself: a signature beside a sentence is unlike
// anything that the classifier knows.
func (o *assembleOp) dropInjected(req Request, a *assembled, cs []candidate.Candidate) {
	var probes []candidate.Candidate
	var of []int
	for _, g := range a.groups {
		for n := range g.Items {
			i := g.Items[n].At
			if len(cs[i].Attributes) == 0 {
				continue
			}
			for line := range strings.Lines(g.Items[n].Body()) {
				if line = strings.TrimSpace(line); len(line) >= leastProbe {
					probe := &candidate.Visible{MemoryItem: schemas.MemoryItem{Content: schemas.TextContent(line)}}
					probes, of = append(probes, candidate.New(probe, cs[i].Verdict)), append(of, i)
				}
			}
		}
	}
	o.e.defenses.ApplyKeepingDuplicates(probes, false, req.Times.Policy)
	for n, i := range of {
		if probes[n].Suspect || probes[n].Drop == schemas.DropInjection {
			cs[i].Drop, cs[i].Detail = schemas.DropInjection, probes[n].Detail
		}
	}
}

// dropDuplicates drops items that say the same as a more relevant item of another source.
func (a *assembled) dropDuplicates(cs []candidate.Candidate) {
	var all []assembly.Item
	for _, g := range a.groups {
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

// write writes the text of the best kept items of each source.
func (o *assembleOp) write(req Request, a *assembled, cs []candidate.Candidate) {
	for g := range o.sources {
		src, items := &o.sources[g], a.groups[g].Items
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
		a.groups[g].Items = items[:min(len(items), src.limit)]
	}
	a.Result = assembly.Fill(assembly.Request{
		Title: a.title, Groups: a.groups, Budget: req.Limits.Tokens, Counter: o.e.counter(""),
		Footer: func(shown [][]assembly.Shown) string { return o.footer(a, cs, shown) },
	})
}

// candidates are the indexes of the candidates that the text shows, once for each showing.
func (a *assembled) candidates() []int {
	var out []int
	for g, shown := range a.Shown {
		for _, p := range shown {
			out = append(out, a.groups[g].Items[p.Item].At)
		}
	}
	return out
}

// show fills out from the text: the shown candidates, their sections and their tokens.
func (o *assembleOp) show(a *assembled, cs []candidate.Candidate, out Packed) Packed {
	out.Text, out.Tokens, out.Assembly = a.Markdown, a.Tokens, *a
	listed := map[int]bool{}
	for g, shown := range a.Shown {
		section := pack.Section{Budget: a.Budgets[g], Reason: o.sources[g].heading + ": by relevance"}
		for _, p := range shown {
			i := a.groups[g].Items[p.Item].At
			section.Type = sectionOf(cs[i].Kind)
			section.Items = append(section.Items, i)
			section.Tokens += p.Tokens
			if !listed[i] {
				listed[i] = true
				out.Shown = append(out.Shown, i)
				cs[i].Text, cs[i].Tokens = "", 0
			}
			cs[i].Text += p.Text
			cs[i].Tokens += p.Tokens
		}
		if len(shown) > 0 {
			out.Sections = append(out.Sections, section)
		}
	}
	return out
}

// formattedContext is the reply of an assembly.
func formattedContext(sources []source, out Outcome) schemas.FormattedContext {
	a, p := &out.Packed.Assembly, &out.Result.Payload
	reply := schemas.FormattedContext{
		Markdown: a.Markdown, TokenCount: a.Tokens, Exceeded: a.Exceeded, Items: []schemas.AssembledItem{},
		SourcesUsed: map[string]int{}, Warnings: p.Explainability.Warnings, PackID: p.PackID, Positions: p.Positions,
	}
	counted := map[int]bool{}
	for g, shown := range a.Shown {
		for _, p := range shown {
			it := &a.groups[g].Items[p.Item]
			reply.Items = append(reply.Items, schemas.AssembledItem{
				Source: it.Source, Content: p.Text, Relevance: it.Relevance, Metadata: it.Metadata,
			})
			if !counted[it.At] {
				counted[it.At] = true
				reply.SourcesUsed[sources[g].name]++
			}
		}
	}
	return reply
}

// countItems is the last line of an assembly.
func countItems(_ *assembled, _ []candidate.Candidate, shown [][]assembly.Shown) string {
	items, sources := 0, 0
	for _, group := range shown {
		items += len(group)
		sources += min(len(group), 1)
	}
	return countOf(items, sources)
}

func countOf(items, sources int) string {
	return counted(items, "item") + " from " + counted(sources, "source")
}

// counted is a number and a noun, with an s unless it is one.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
