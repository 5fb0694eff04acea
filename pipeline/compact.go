package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/pipeline/compaction/verify"
	"satchel/pipeline/pack"
	"satchel/schemas"
)

// compacting reports whether extracts may stand for what is too long for the pack: the
// request, or else the engine's setting, says auto, and the trigger is pulled.
func (t *turn) compacting(cs []candidate.Candidate) bool {
	mode := t.req.Compaction
	if mode == "" {
		mode = t.e.cfg.Compaction
	}
	if mode != schemas.CompactionAuto {
		return false
	}
	tokens, items, by := 0, 0, t.e.counter("")
	t.tool = latestTool(cs, t.req.Session)
	for i := range cs {
		if cs[i].Kept() {
			items++
			tokens += compaction.Tokens(&cs[i], by)
		}
	}
	return t.tool != "" && !t.e.cfg.Trigger.KeepTools || t.e.cfg.Trigger.Due(tokens, items, t.budget)
}

// latestTool is the item that a tool has just put out in the session, "" when another
// item came after it.
func latestTool(cs []candidate.Candidate, session string) string {
	var last *schemas.Record
	for i := range cs {
		r := &cs[i].Record
		if session == "" || !cs[i].Kept() || r.SessionID() != session || r.Kind == schemas.KindSummary {
			continue
		}
		if last == nil || r.CreatedAt.After(last.CreatedAt) || r.CreatedAt.Equal(last.CreatedAt) && r.Position > last.Position {
			last = r
		}
	}
	if last == nil || last.Role != "tool" {
		return ""
	}
	return last.ID
}

// compose fills the pack. When it is compacted, long items are candidates by their
// extracts; where room is left afterwards, extracts give way to the whole, best first.
func (t *turn) compose(req pack.Request, cs []candidate.Candidate) pack.Pack {
	if !t.compacting(cs) {
		return t.e.builder.Build(req, cs)
	}
	t.compacted = true
	if compaction.Shorten(cs, compaction.Options{Query: t.query, Budget: t.budget, Counter: t.e.counter(t.req.Model)}) == 0 {
		return t.e.builder.Build(req, cs)
	}
	first := slices.Clone(cs)
	packed := t.e.builder.Build(req, first)
	if grown, roomier := t.grow(req, cs, first, &packed); roomier {
		first, packed = grown.cs, grown.packed
	}
	copy(cs, first)
	compaction.Settle(cs)
	return packed
}

// filled is candidates and the pack of them.
type filled struct {
	cs     []candidate.Candidate
	packed pack.Pack
}

// grow tries the pack again with the whole of the best extracts that the tokens left
// over pay for. The trial counts only if it shows everything that the first did.
func (t *turn) grow(req pack.Request, cs, first []candidate.Candidate, packed *pack.Pack) (filled, bool) {
	left := t.budget - packed.Tokens
	shown := slices.Clone(packed.Shown)
	slices.Sort(shown) // candidates are in the order of their scores
	second := slices.Clone(cs)
	n := 0
	for _, i := range shown {
		e := first[i].Extract
		if e != nil && e.Before-e.After <= left && first[i].Record.ID != t.tool {
			left -= e.Before - e.After
			compaction.Restore(&second[i])
			n++
		}
	}
	if n == 0 {
		return filled{}, false
	}
	out := filled{cs: second, packed: t.e.builder.Build(req, second)}
	for _, i := range packed.Shown {
		if !second[i].Kept() {
			return filled{}, false
		}
	}
	return out, true
}

// verify holds the pack and its drop report against the candidates.
func (t *turn) verify(ctx context.Context) error {
	if !t.compacted {
		return nil
	}
	cs := t.ranking.Candidates
	in := verify.Input{Sources: make([]verify.Source, len(cs)), Report: &t.drop, Count: t.e.counter(t.req.Model).Count}
	for i := range cs {
		in.Sources[i] = sourceOf(&cs[i])
		in.Sources[i].Hidden = t.hidden[cs[i].Record.ID]
	}
	in.Shown = make([]verify.Shown, 0, len(t.packed.Shown))
	for _, i := range t.packed.Shown {
		if i < 0 || i >= len(cs) {
			return compactionError(&verify.Mismatch{Check: verify.CheckShown, Detail: "shown is none of the candidates"})
		}
		in.Shown = append(in.Shown, shownOf(&cs[i]))
	}
	for i := range t.summaries {
		s := &t.summaries[i]
		in.Summaries = append(in.Summaries, verify.Summary{ID: s.ID, Level: s.Level, Text: s.Text, Links: s.Links, Lines: s.Lines})
	}
	if err := verify.Verify(&in); err != nil {
		t.e.cfg.Logger.LogAttrs(ctx, slog.LevelError, "compaction mismatch", slog.String("request", t.request), slog.String("cause", err.Error()))
		return compactionError(err)
	}
	return nil
}

func compactionError(err error) error {
	return fmt.Errorf("%w: %w", &schemas.Error{Code: schemas.CodeCompaction, Message: "what was left out could not be accounted for, so nothing leaves"}, err)
}

func sourceOf(c *candidate.Candidate) verify.Source {
	text := c.Record.Content.Text()
	if c.Extract != nil {
		text = c.Extract.Whole.Text()
	}
	return verify.Source{ID: c.Record.ID, Speaker: strings.ReplaceAll(c.Record.Speaker, "\n", " "), Text: text, Tokens: c.Tokens, Drop: c.Drop}
}

func shownOf(c *candidate.Candidate) verify.Shown {
	out := verify.Shown{ID: c.Record.ID, Text: c.Record.Content.Text()}
	if e := c.Extract; e != nil {
		out.Part, out.Before, out.After = true, e.Before, e.After
		for _, l := range e.Lines {
			out.Lines = append(out.Lines, verify.Line{Span: l.Span, Times: l.Times, Pattern: l.Pattern})
		}
	}
	return out
}
