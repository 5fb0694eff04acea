package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/pipeline/compaction/verify"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// Report is the drop report of a request. The two share memory.
type Report struct {
	Requester schemas.DropReport // tells an auditor how many items policy denied, and nobody else
	Full      schemas.DropReport // names them, for the log
}

type accounting struct {
	ids   func() string
	log   *slog.Logger
	count func(model string) token.Counter
}

// report makes the drop report and checks it against the candidates: a mismatch blocks the
// reply.
func (a *accounting) report(ctx context.Context, rec *Recorder, req Request, ranked Ranked, packed Packed) (Report, error) {
	return staged(ctx, rec, "account", func(ctx context.Context) (Report, error) {
		var out Report
		out.Requester = compaction.Report(a.ids(), a.ids(), req.Times.Ranking, ranked.Candidates)
		if err := compaction.Verify(ranked.Candidates, packed.Shown, &out.Requester); err != nil {
			rec.measures().gaps.Inc()
			return Report{}, fmt.Errorf("verify pack: %w", err)
		}
		plain := out.Requester
		complete := compaction.NameLost(compaction.NameUnread(plain, ranked.Unread), packed.Lost)
		out.Requester, out.Full = complete, compaction.NameDenied(complete, ranked.Decision.Denied)
		if isAuditor(req.Scope) {
			out.Requester = compaction.CountDenied(complete, ranked.Decision.Denied)
		}
		if !packed.Compacted {
			return out, nil
		}
		if err := a.verify(req, ranked, packed, plain); err != nil {
			a.log.LogAttrs(ctx, slog.LevelError, "compaction mismatch",
				slog.String("request", req.ID), slog.String("cause", err.Error()))
			rec.measures().gaps.Inc()
			return Report{}, fmt.Errorf("%w: %w", &schemas.Error{
				Code: schemas.CodeCompaction, Message: "what was left out could not be accounted for, so nothing leaves",
			}, err)
		}
		return out, nil
	})
}

// verify checks extracts and summaries against the items that they were cut from.
func (a *accounting) verify(req Request, ranked Ranked, packed Packed, report schemas.DropReport) error {
	cs := ranked.Candidates
	in := verify.Input{Sources: make([]verify.Source, len(cs)), Report: &report, Count: a.count(req.Model).Count}
	for i := range cs {
		in.Sources[i] = sourceOf(&cs[i])
		in.Sources[i].Hidden = ranked.Removed[cs[i].ID]
	}
	in.Shown = make([]verify.Shown, len(packed.Shown))
	for n, i := range packed.Shown {
		in.Shown[n] = shownOf(&cs[i])
	}
	for i := range packed.Summaries {
		s := &packed.Summaries[i]
		in.Summaries = append(in.Summaries, verify.Summary{
			ID: s.ID, Level: s.Level, Text: s.Text, Links: s.Links, Lines: s.Lines,
		})
	}
	return verify.Verify(&in)
}

func sourceOf(c *candidate.Candidate) verify.Source {
	text := c.Content.Text()
	if c.Extract != nil {
		text = c.Extract.Whole.Text()
	}
	speaker := strings.ReplaceAll(c.Speaker, "\n", " ")
	return verify.Source{ID: c.ID, Speaker: speaker, Text: text, Tokens: c.Tokens, Drop: c.Drop}
}

func shownOf(c *candidate.Candidate) verify.Shown {
	out := verify.Shown{ID: c.ID, Text: c.Content.Text()}
	if e := c.Extract; e != nil {
		out.Part = true
		out.Before = e.Before
		out.After = e.After
		for _, l := range e.Lines {
			out.Lines = append(out.Lines, verify.Line{Span: l.Span, Times: l.Times, Pattern: l.Pattern})
		}
	}
	return out
}
