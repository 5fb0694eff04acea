package roles

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/sentences"
	"satchel/schemas"
)

// quotation is an item of the pack. Where the plan has several steps, it is a sentence or a passage of one.
type quotation struct {
	evidence
	id, text, speaker string
	writer            string // agent that recorded it
	note              bool   // no document, code or commit
	sum, part         bool   // a summary; a part of an item
	relevance         float64
	made              time.Time // no later than it was recorded
	trust             float64
	words             map[string]bool
	vector            []float32
}

// extract answers with what the pack shows, word for word: each step with what answers it, the best first. Of
// notes that are about the same thing the newest comes first.
func (st *step) extract(ctx context.Context) (*schemas.RoleAnswer, []string, error) {
	invocation, err := st.invocation(Extractive, map[string]float64{"least_relevance": leastRelevance, "least_score": leastScore}, st.view)
	if err != nil {
		return nil, nil, err
	}
	c := &quotes{plan: st.view.Fields().Plan, now: st.started}
	if c.list, err = st.quotations(ctx, len(c.plan) > 1); err != nil {
		return nil, nil, err
	}
	if err := c.read(ctx, st); err != nil {
		return nil, nil, err
	}
	if len(c.plan) == 1 {
		c.dropFar(st.causes())
	}
	w := st.writer()
	var later []string
	answered := map[string]bool{}
	for s, of := range c.assign() {
		front := c.newest(s, of)
		for _, i := range front {
			q := &c.list[i]
			w.add(q.text, q.speaker, c.plan[s].ID, []evidence{q.evidence})
			answered[c.plan[s].ID] = true
			if first := &c.list[front[0]]; i != front[0] && c.replaces(q, first) {
				later = append(later, fmt.Sprintf("%s [%d]", q.where, w.numbers[q.id]))
			}
		}
	}
	a := w.answer(invocation)
	a.Unanswered = slices.DeleteFunc(a.Unanswered, func(id string) bool {
		s := slices.IndexFunc(c.plan, func(p schemas.PlanStep) bool { return p.ID == id })
		return slices.ContainsFunc(c.scores[s], func(score float64) bool { return score >= leastScore })
	})
	a.Invocation.AnswerSHA256, a.Invocation.AnswerTokens = digest([]byte(a.Text)), st.cfg.Tokens(a.Text)
	var warnings []string
	if len(a.Sentences) > 0 && !c.clear {
		warnings = append(warnings, "synthesizer: these quotations come closest; none of them clearly answers the task")
	}
	if len(later) > 0 {
		warnings = append(warnings, "synthesizer: a later note is about the same: "+strings.Join(later, ", "))
	}
	return a, warnings, nil
}

// quotations are the items of the pack that may be quoted, best first. What looks injected is none, nor is a tool unless one
// is asked for. Where a name of the question is nowhere, there are none.
func (st *step) quotations(ctx context.Context, apart bool) ([]quotation, error) {
	if preamble, _, _ := strings.Cut(st.context.Payload.Text, "\n## "); strings.Contains(preamble, "\n"+candidate.NothingMentions) {
		return nil, nil
	}
	records, err := st.records(ctx)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*schemas.Record, len(records))
	for i := range records {
		byID[records[i].ID] = &records[i]
	}
	relevance := ofItems(st.context, func(it *schemas.ContextItem) float64 { return it.Evidence.Bears })
	zone, places := st.zone(), places(st.context)
	speakers := st.speakers()
	var list []quotation
	for i, snippet := range st.view.Fields().Snippets {
		r := byID[snippet.ItemID]
		if r == nil || snippet.Flagged == schemas.FlagInjection || r.Kind == schemas.KindTool && !toolAsked.MatchString(st.req.Task) {
			continue
		}
		q := quotation{evidence: evidence{snippet: i, span: &schemas.Span{End: len(snippet.Text)}, where: places[r.ID]}, id: r.ID, text: snippet.Text, writer: r.Author, relevance: relevance[r.ID],
			note: places[r.ID] == "" && r.Kind != schemas.KindCode && r.Kind != schemas.KindCommit, sum: r.Kind == schemas.KindSummary, made: r.CreatedAt, trust: trustOf(r)}
		if r.RecordedAt.Before(q.made) { // a writer may name any day
			q.made = r.RecordedAt
		}
		if forms := speakers[r.ID]; forms != nil {
			q.speaker = forms[len(forms)-1]
		}
		if q.note {
			q.where = r.CreatedAt.In(zone).Format("2 January 2006")
		}
		far := q.note && q.relevance < leastRelevance
		list = append(list, q.parts((apart || far) && len(snippet.Text) > longNote)...)
	}
	list = slices.DeleteFunc(list, func(q quotation) bool { return q.sum && slices.ContainsFunc(list, q.repeats) })
	slices.SortStableFunc(list, func(a, b quotation) int { return cmp.Compare(b.relevance, a.relevance) })
	return list, nil
}

// repeats reports whether a summary says again what another item says.
func (q *quotation) repeats(other quotation) bool {
	return !other.sum && strings.Contains(q.text, other.text)
}

// parts are the sentences of a note, or the passages of what else it is, or all of it.
func (q *quotation) parts(apart bool) []quotation {
	if !apart {
		return []quotation{*q}
	}
	spans := sentences.Split(q.text)
	if !q.note {
		spans = sentences.Blocks(q.text, 0, true)
	}
	var out []quotation
	for _, span := range spans {
		if part := q.text[span.Start:span.End]; strings.Trim(part, candidate.Ellipsis+" \n") != "" {
			one := *q
			one.text, one.span, one.part = part, &span, true
			out = append(out, one)
		}
	}
	return out
}

// trustOf is the trust of an item.
func trustOf(r *schemas.Record) float64 {
	if r.Trust == nil {
		return 0.5
	}
	return *r.Trust
}

// causes are the links from what the pack shows to its causes.
func (st *step) causes() map[string][]string {
	out := map[string][]string{}
	if graph := st.context.Payload.Explainability.CausalGraph; graph != nil {
		for _, e := range graph.Edges {
			if e.Rel == schemas.RelCausedBy {
				out[e.From] = append(out[e.From], e.To)
			}
		}
	}
	return out
}

// toolAsked finds that a question is about what to call, or how to do something.
var toolAsked = regexp.MustCompile(`(?i)\b(?:tools?|functions?|commands?|apis?|endpoints?|scripts?|call|invoke|how (?:do|can|could|should|would|to))\b`)
