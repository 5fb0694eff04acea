package op

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/pipeline/pack"
	"satchel/pipeline/pack/assembly"
	"satchel/pipeline/passage"
	"satchel/schemas"
)

// assembled is the text of an assembly and the items that it was made of, by source.
type assembled struct {
	assembly.Result
	title  assembly.Title
	more   int // items that are not shown as they bear on the question less than others, but filling shows
	groups []assembly.Group
}

// Pack formats the kept candidates and writes those that fit.
func (o *assembleOp) Pack(ctx context.Context, req pipeline.Request, plan pipeline.Plan, ranked pipeline.Ranked) (pipeline.Packed, error) {
	cs := ranked.Candidates
	quoted, notes := o.quote(ctx, req, plan, ranked)
	quoted = o.shorten(req, ranked) || quoted
	title := o.titleOf(ranked) // before the items: it says who wrote them
	a := &assembled{groups: o.format(req, ranked), title: title}
	if o.dropRepeated {
		a.dropDuplicates(cs)
	}
	a.more = o.more
	if o.ends {
		o.dropFar(req, a, cs)
		a.more += worthLess(cs)
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

// titleOf is the title of the text, with who wrote it and what is not known here.
func (o *assembleOp) titleOf(ranked pipeline.Ranked) assembly.Title {
	return assembly.Title{Text: o.title, Author: pack.Credit(ranked.Candidates), Unmentioned: ranked.Unmentioned}
}

// format makes the items of each source.
func (o *assembleOp) format(req pipeline.Request, ranked pipeline.Ranked) []assembly.Group {
	out := make([]assembly.Group, len(o.sources))
	clip := assembly.Clip(req.Limits.Tokens)
	newest, older := pack.Versions(ranked.Candidates)
	for g := range o.sources {
		src := &o.sources[g]
		out[g] = assembly.Group{Heading: src.heading, Weight: src.weight}
		for i := range ranked.Candidates {
			c := &ranked.Candidates[i]
			score, found := o.groups[g].scores[c.ID]
			if !found || !c.Kept() || newest[i] >= 0 || src.accepts != nil && !src.accepts(c) {
				continue
			}
			it := assembly.Show(c, src.view, clip, req.Zone())
			if also := pack.Also(c, req.Zone()); also != "" {
				it.Add(strings.TrimSpace(also))
			}
			for _, of := range older[i][:min(mostOlder, len(older[i]))] {
				it.Add(pack.Older(&ranked.Candidates[of], c, req.Zone()))
				it.Versions = append(it.Versions, of)
			}
			switch {
			case c.Suspect:
				it.Quote()
			case c.Unjudged:
				it.Caution()
			}
			it.At, it.Relevance = i, fourPlaces(score*o.factors[c.ID])
			out[g].Items = append(out[g].Items, it)
		}
	}
	return out
}

// mostOlder is how many older versions stand below an item.
const mostOlder = 4

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
			c.Drop = schemas.DropDuplicate
			c.Detail = "of " + all[of].ID
			c.Of = all[of].ID
		}
	}
}

// dropFar drops the items that are worth too little for their tokens, as a pack does. Quotations were chosen by their
// passages.
func (o *assembleOp) dropFar(req pipeline.Request, a *assembled, cs []candidate.Candidate) {
	far := o.e.packEnd(req)
	best := math.Inf(-1)
	counter := o.e.Admit.Counter("")
	if far == 0 {
		return
	}
	values := make(map[int]float64, len(cs))
	for _, g := range a.groups {
		for _, it := range g.Items {
			if c := &cs[it.At]; c.Kept() && c.Quote == nil {
				values[it.At] = pack.Value(c.Standing, counter.Count(it.Text()))
				best = max(best, values[it.At])
			}
		}
	}
	for at, value := range values {
		if value < best-far {
			cs[at].Drop = schemas.DropRank
			cs[at].Detail = candidate.WorthLess
		}
	}
}

// write writes the text of the best kept items of each source.
func (o *assembleOp) write(req pipeline.Request, a *assembled, cs []candidate.Candidate) {
	for g := range o.sources {
		src := &o.sources[g]
		items := a.groups[g].Items
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
	left := o.e.Admit.Slice.Left(req.Limits)
	a.Result = assembly.Fill(assembly.Request{
		Title: a.title, Groups: a.groups, Budget: left.Tokens, Most: o.e.Admit.Slice.Tokens, Items: left.Items, Bytes: left.Bytes, Counter: o.e.Admit.Counter(""),
		Footer: func(shown [][]assembly.Shown) string { return "*" + o.footer(a, cs, shown) + "*" + pack.More(a.more) },
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
func (o *assembleOp) show(a *assembled, cs []candidate.Candidate, out pipeline.Packed) pipeline.Packed {
	out.Text = a.Markdown
	out.Tokens = a.Tokens
	o.made = *a
	listed := map[int]bool{}
	for g, shown := range a.Shown {
		section := pack.Section{Budget: a.Budgets[g], Reason: o.sources[g].heading + ": by relevance"}
		for _, p := range shown {
			i := a.groups[g].Items[p.Item].At
			section.Type = sectionOf(cs[i].Kind)
			section.Items = append(section.Items, i)
			section.Tokens += p.Tokens
			for _, at := range append([]int{i}, a.groups[g].Items[p.Item].Versions...) {
				if !listed[at] {
					listed[at] = true
					out.Shown = append(out.Shown, at)
					cs[at].Text = ""
					cs[at].Tokens = 0
				}
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

// reply is that of an assembly.
func (o *assembleOp) reply(out pipeline.Outcome) schemas.FormattedContext {
	a := &o.made
	p := &out.Result.Payload
	reply := schemas.FormattedContext{
		Markdown: a.Markdown, TokenCount: a.Tokens, Exceeded: a.Exceeded, Items: []schemas.AssembledItem{},
		SourcesUsed: map[string]int{}, Warnings: p.Explainability.Warnings, PackID: p.PackID, Positions: p.Positions,
	}
	counted := map[int]bool{}
	for g, shown := range a.Shown {
		for _, p := range shown {
			it := &a.groups[g].Items[p.Item]
			relevance := it.Relevance
			if c := &out.Ranked.Candidates[it.At]; passage.Of(c.Visible) { // its standing is among passages
				relevance = fourPlaces(c.Score)
			}
			reply.Items = append(reply.Items, schemas.AssembledItem{
				Source: it.Source, Content: p.Text, Relevance: relevance, Metadata: it.Metadata,
			})
			if !counted[it.At] {
				counted[it.At] = true
				reply.SourcesUsed[o.sources[g].name]++
			}
		}
	}
	return reply
}

// countItems is the last line of an assembly.
func countItems(_ *assembled, _ []candidate.Candidate, shown [][]assembly.Shown) string {
	items := 0
	sources := 0
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
