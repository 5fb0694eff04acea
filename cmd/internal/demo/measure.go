package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"satchel/cmd/internal/command"
	"satchel/cmd/internal/terminal"
	"satchel/schemas"
)

// metric is one of the figures the demo is held to.
type metric struct {
	name      string
	good, all int
	target    float64 // share
	what      string
}

func (f *metric) share() float64 {
	if f.all == 0 {
		return 0
	}
	return float64(f.good) / float64(f.all)
}

// measured are the figures over the labelled questions.
type measured struct {
	relevance, answers, citations, drops, budget metric
	masked                                       int // citations of what policy masks, whose bytes the log cannot have
}

// measure asks the labelled questions and holds what comes back against the log, not against what the roles say of
// themselves.
func (t *runner) measure(ctx context.Context) error {
	questions, err := decodeLines[question](questions)
	if err != nil {
		return err
	}
	m := measured{
		relevance: metric{name: "context relevance", target: relevanceTarget, what: "questions whose evidence is in the context"},
		answers:   metric{name: "answers", target: answersTarget, what: "answers that cite the evidence"},
		citations: metric{name: "citation accuracy", target: citationsTarget, what: "citations whose bytes stand in the log where they say"},
		drops:     metric{name: "drop report", target: dropsTarget, what: "tokens that were looked at and left out are reported"},
		budget:    metric{name: "token budget", target: 1, what: "contexts within their budget"},
	}
	for _, q := range questions {
		var reply schemas.RunReply
		req := schemas.RunRequest{From: riskOfficer(), Task: q.Question, TokenBudget: demoBudget, MinPosition: t.seen}
		if err := t.client.Context(ctx, "run", &req, &reply); err != nil {
			return fmt.Errorf("ask %q: %w", q.Question, err)
		}
		t.seen = slices.Max(reply.Positions)
		if err := t.score(ctx, &m, q, &reply); err != nil {
			return err
		}
		if t.verbose {
			t.say("        %-62s %s", q.Question, terminal.OneLine(reply.Answer.Text, 120))
		}
	}
	if m.masked > 0 {
		m.citations.what += fmt.Sprintf("; besides, of what policy masks: %d", m.masked)
	}
	t.say("\nMEASURE %d labelled questions, each through the roles; what comes back is held against the log:", len(questions))
	missed := 0
	for _, f := range []*metric{&m.relevance, &m.answers, &m.citations, &m.drops, &m.budget} {
		verdict := "ok"
		if f.share() < f.target {
			verdict = "MISSED"
			missed++
		}
		t.say("        %-17s %5.1f %%  target %3.0f %%  %-6s %d of %d %s", f.name, 100*f.share(), 100*f.target, verdict, f.good, f.all, f.what)
	}
	if missed > 0 {
		return &command.FoundError{What: fmt.Sprintf("%s the target", terminal.Plural(missed, "figure misses", "figures miss"))}
	}
	return nil
}

// score adds one question's run.
func (t *runner) score(ctx context.Context, m *measured, q question, reply *schemas.RunReply) error {
	entries, err := t.node.Log.BySubject(ctx, t.scope, reply.RequestID)
	if err != nil {
		return err
	}
	var pack schemas.ContextPack
	var dropped schemas.DropReport
	var decided schemas.PolicyDecision
	for i := range entries {
		into := map[string]any{schemas.TypeContextPacked: &pack, schemas.TypeContextDropped: &dropped, schemas.TypePolicyDecided: &decided}[entries[i].Type]
		if into == nil {
			continue
		}
		if err := json.Unmarshal(entries[i].Data, into); err != nil {
			return fmt.Errorf("read entry %d: %w", entries[i].Position, err)
		}
	}
	shown := map[string][]schemas.Span{} // nil: the whole
	masked := map[string]bool{}
	for _, section := range pack.Sections {
		for i := range section.Items {
			shown[section.Items[i].ID] = section.Items[i].Spans
			masked[section.Items[i].ID] = len(section.Items[i].Redactions) > 0
		}
	}
	_, found := shown[q.Evidence]
	m.relevance.add(found)
	m.budget.add(pack.TokenActual <= pack.TokenBudget)
	cites := false
	for i := range reply.Answer.Sentences {
		for _, c := range reply.Answer.Sentences[i].Citations {
			cites = cites || c.ItemID == q.Evidence
			ok, err := t.citationHolds(ctx, &c)
			if err != nil {
				return err
			}
			if !ok && masked[c.ItemID] { // the log has it unmasked
				m.masked++
				continue
			}
			m.citations.add(ok)
		}
	}
	m.answers.add(cites)
	return t.countDrops(ctx, m, shown, &dropped, &decided)
}

func (f *metric) add(good bool) {
	f.all++
	if good {
		f.good++
	}
}

// citationHolds reads the entry that a citation names and hashes the bytes that it cites.
func (t *runner) citationHolds(ctx context.Context, c *schemas.Citation) (bool, error) {
	position, err := strconv.ParseInt(strings.TrimPrefix(c.ContentRef, "log:"), 10, 64)
	if err != nil {
		return false, nil
	}
	e, err := t.node.Log.Entry(ctx, t.scope, position)
	if err != nil {
		return false, fmt.Errorf("read entry %d: %w", position, err)
	}
	var item schemas.MemoryItem
	if err := json.Unmarshal(e.Data, &item); err != nil || item.ID != c.ItemID {
		return false, nil
	}
	text := item.Content.Text()
	if c.Span != nil {
		if c.Span.Start < 0 || c.Span.End > len(text) || c.Span.Start > c.Span.End {
			return false, nil
		}
		text = text[c.Span.Start:c.Span.End]
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:]) == c.SHA256, nil
}

// countDrops counts the tokens of what was decided on and not shown, whole items and the parts that an extract leaves
// out, and those of them that the drop report names.
func (t *runner) countDrops(ctx context.Context, m *measured, shown map[string][]schemas.Span, dropped *schemas.DropReport, decided *schemas.PolicyDecision) error {
	reported := map[string][]schemas.Span{}
	whole := map[string]bool{}
	for i := range dropped.Drops {
		d := &dropped.Drops[i]
		if d.Span == nil {
			whole[d.ItemID] = true
		} else {
			reported[d.ItemID] = append(reported[d.ItemID], *d.Span)
		}
	}
	ids := make([]string, len(decided.Verdicts))
	for i := range decided.Verdicts {
		ids[i] = decided.Verdicts[i].ItemID
	}
	records, err := t.node.Items.Get(ctx, t.scope, ids)
	if err != nil {
		return fmt.Errorf("read items: %w", err)
	}
	count := t.node.Counter("")
	for i := range records {
		text := records[i].Content.Text()
		for _, gap := range findGaps(shown, records[i].ID, len(text)) {
			n := count.Count(text[gap.Start:gap.End])
			m.drops.all += n
			covers := func(r schemas.Span) bool { return r.Start <= gap.Start && r.End >= gap.End }
			if whole[records[i].ID] || slices.ContainsFunc(reported[records[i].ID], covers) {
				m.drops.good += n
			}
		}
	}
	return nil
}

// findGaps are the parts of an item's text that are not shown.
func findGaps(shown map[string][]schemas.Span, id string, size int) []schemas.Span {
	spans, ok := shown[id]
	switch {
	case !ok:
		return []schemas.Span{{End: size}}
	case len(spans) == 0:
		return nil
	}
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b schemas.Span) int { return a.Start - b.Start })
	var out []schemas.Span
	at := 0
	for _, sp := range append(spans, schemas.Span{Start: size, End: size}) {
		if sp.Start > at {
			out = append(out, schemas.Span{Start: at, End: min(sp.Start, size)})
		}
		at = max(at, sp.End)
	}
	return out
}
