package pipeline

import (
	"cmp"
	"context"
	"errors"

	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/pipeline/model"
	"satchel/pipeline/pack"
	"satchel/pipeline/selection/defend"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// Packed is the text of a request and the candidates that it shows.
type Packed struct {
	pack.Pack
	Affordances []schemas.Affordance
	Causal      *schemas.CausalGraph
	Compacted   bool      // extracts may stand for items
	Summaries   []Summary // of a compaction
	Hits        hits      // of a search or a build
	Next        string    // of a list of items: where it goes on
	Build       built     // of a build
	Assembly    assembled // of an assembly
	Notes       Notes
}

// Summary is a summary that a compaction made.
type Summary struct {
	compaction.Summary
	Draft eventlog.Draft // its log entry; without a type it is not kept
}

// fill has the operation make its text. A model writes the TL;DR of it where the spec says so.
func (e *Engine) fill(
	ctx context.Context, rec *Recorder, op operation, req Request, plan Plan, ranked Ranked,
) (Packed, error) {
	packed, err := staged(ctx, rec, "pack", func(ctx context.Context) (Packed, error) {
		return op.pack(ctx, req, plan, ranked)
	})
	if err != nil {
		return Packed{}, err
	}
	packed.Notes = packed.Notes.With(defend.WarnInjected(ranked.Candidates, packed.Shown)...).With(explainEmpty(req, plan, ranked, packed)...)
	if !op.spec().Summarize {
		return packed, nil
	}
	return staged(ctx, rec, "summarize", func(ctx context.Context) (Packed, error) {
		return e.abstract(ctx, req, ranked, packed)
	})
}

// abstract has a model write the TL;DR, where there is one. When that fails, the extractive
// TL;DR stays, with a note.
func (e *Engine) abstract(ctx context.Context, req Request, ranked Ranked, packed Packed) (Packed, error) {
	if e.cfg.Summarizer == nil || len(packed.Shown) == 0 || ranked.doubtful() {
		return packed, nil
	}
	tldr, err := e.cfg.Summarizer.Summarize(ctx, req.Query, ranked.Candidates, packed.Shown)
	switch {
	case err == nil:
		packed.TLDR = tldr
	case ctx.Err() != nil:
		return Packed{}, ctx.Err()
	case errors.Is(err, pack.ErrCitation):
		packed.Notes = packed.Notes.With("tldr: the model's summary did not hold against what it cites; it is extractive")
	case errors.Is(err, model.ErrRefused):
		packed.Notes = packed.Notes.With("tldr: the model refused; it is extractive")
	default:
		packed.Notes = packed.Notes.With("tldr: the model gave no answer; it is extractive")
	}
	return packed, nil
}

// newPacked begins the output of an operation that does not use the pack builder.
func newPacked(notes Notes) Packed {
	tldr := schemas.TLDR{Citations: []string{}}
	return Packed{Pack: pack.Pack{TLDR: tldr}, Affordances: []schemas.Affordance{}, Notes: notes}
}

// markShown drops the candidates that are kept and not shown. Of versions of a statement the newest that is shown
// stands for the older ones.
func markShown(cs []candidate.Candidate, shown []int, why schemas.DropReason) {
	taken := make(map[int]bool, len(shown))
	for _, i := range shown {
		taken[i] = true
	}
	newest, _ := pack.Versions(cs)
	for i := range cs {
		if !taken[i] && cs[i].Kept() {
			cs[i].Drop = why
			if of := newest[i]; of >= 0 && taken[of] {
				cs[i].Drop, cs[i].Detail, cs[i].Of = schemas.DropNewer, "by "+cs[of].ID, cs[of].ID
			}
		}
		if cs[i].Tokens == 0 {
			cs[i].Tokens = cmp.Or(cs[i].ContentTokens, len(cs[i].Content.Text())/4)
		}
	}
}

// sectionsOf groups the shown candidates as packs do, by the kind table.
func sectionsOf(cs []candidate.Candidate, shown []int, budget int, reason string) []pack.Section {
	var out []pack.Section
	for _, kind := range []schemas.SectionType{schemas.SectionTools, schemas.SectionKnowledge, schemas.SectionMemory} {
		sec := pack.Section{Type: kind, Budget: budget, Reason: reason}
		for _, i := range shown {
			if sectionOf(cs[i].Kind) == kind {
				sec.Items = append(sec.Items, i)
				sec.Tokens += cs[i].Tokens
			}
		}
		if len(sec.Items) > 0 {
			out = append(out, sec)
		}
	}
	return out
}

func sectionOf(k schemas.Kind) schemas.SectionType {
	if info, ok := k.Info(); ok {
		return info.Section
	}
	return schemas.SectionMemory
}

// denials counts, for an auditor, what policy denied, by reason.
func denials(req Request, ranked Ranked) map[string]int {
	denied := map[string]int{}
	if isAuditor(req.Scope) {
		for _, d := range ranked.Decision.Denied {
			denied[d.Reason]++
		}
	}
	return denied
}

// idsOf returns the ids of the candidates at the indexes.
func idsOf(cs []candidate.Candidate, at []int) []string {
	ids := make([]string, len(at))
	for n, i := range at {
		ids[n] = cs[i].ID
	}
	return ids
}
