// Package compaction takes a pack to what fits and accounts for what it leaves out.
//
// It owns the trigger, the extracts that are shown in the place of long items, the
// hierarchy of summaries (item, cluster, session) and the drop report. It promises that
// every candidate is shown whole, or shown in part with the rest named span by span, or
// named in the report with a reason and its tokens, or counted as denied, and never two
// of these; that what is shown of an item is its own words; and that each line of a
// summary cites the item and the span it was taken from. Verify holds a report against
// the candidates, package verify the whole account; an error of either must keep the
// pack from leaving.
package compaction

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

// ErrAccount is returned when shown, dropped and denied do not add up to the candidates.
var ErrAccount = errors.New("drop report does not account for every candidate")

// reasons in the order in which a report's sentence names them.
func reasons() []schemas.DropReason {
	return []schemas.DropReason{
		schemas.DropBudget, schemas.DropRank, schemas.DropScore, schemas.DropConfidence, schemas.DropDuplicate, schemas.DropRecalled, schemas.DropStale, schemas.DropSuperseded,
		schemas.DropSummarised, schemas.DropOffTopic, schemas.DropInjection, schemas.DropRelevance, schemas.DropErased, schemas.DropPolicy,
	}
}

// Report returns the requester's drop report and the auditor's: the first counts what
// policy denied, the second names it. They share memory: neither may be changed.
func Report(id, packID string, at time.Time, cs []candidate.Candidate) (requester, auditor schemas.DropReport) {
	requester = schemas.DropReport{ID: id, PackID: packID, CreatedAt: at}
	dropped, refused := 0, 0
	for i := range cs {
		if cs[i].Drop == schemas.DropPolicy {
			refused++
		} else if !cs[i].Kept() {
			dropped++
		}
	}
	drops, denied := make([]schemas.Drop, 0, dropped+refused), make([]schemas.Drop, 0, refused)
	ids := make([]string, 0, dropped+refused)
	counts := map[schemas.DropReason]int{}
	for i := range cs {
		c := &cs[i]
		if c.Kept() {
			if c.Extract != nil {
				counts[schemas.DropSummarised]++
				drops = append(drops, spans(c)...)
				requester.TokenSavings += c.Extract.Before - c.Extract.After
			}
			continue
		}
		counts[c.Drop]++
		drop := schemas.Drop{ItemID: c.Record.ID, Reason: c.Drop, Detail: c.Detail, Score: round(c.Score), Tokens: c.Tokens, Place: c.Place}
		if c.Drop == schemas.DropPolicy {
			if requester.Denied == nil {
				requester.Denied = map[string]int{}
			}
			drop.Detail = c.Denial()
			requester.Denied[drop.Detail]++
			denied = append(denied, drop)
			continue
		}
		ids, drops = append(ids, c.Record.ID), append(drops, drop)
		requester.TokenSavings += drop.Tokens
	}
	requester.Reason = sentence(counts)
	auditor = requester
	requester.Drops, requester.DroppedItemIDs = slices.Clip(drops), slices.Clip(ids)
	auditor.Drops, auditor.DroppedItemIDs = append(drops, denied...), ids
	for i := range denied {
		auditor.DroppedItemIDs = append(auditor.DroppedItemIDs, denied[i].ItemID)
	}
	return requester, auditor
}

// spans are the drops of what an extract leaves out. The tokens it saves are shared out
// by length, so that they add up.
func spans(c *candidate.Candidate) []schemas.Drop {
	gaps := c.Extract.Gaps()
	out := make([]schemas.Drop, len(gaps))
	total := 0
	for _, g := range gaps {
		total += g.End - g.Start
	}
	saved, given, passed := c.Extract.Before-c.Extract.After, 0, 0
	for i, g := range gaps {
		passed += g.End - g.Start
		upTo := saved * passed / max(1, total)
		out[i] = schemas.Drop{ItemID: c.Record.ID, Reason: schemas.DropSummarised, Score: round(c.Score), Tokens: upTo - given, Span: &gaps[i]}
		given = upTo
	}
	return out
}

func sentence(counts map[schemas.DropReason]int) string {
	var parts []string
	for _, r := range reasons() {
		if n := counts[r]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d because %s", n, r.Sentence()))
		}
	}
	if len(parts) == 0 {
		return "Nothing was left out."
	}
	return "Left out: " + strings.Join(parts, ", ") + "."
}

// Verify checks that shown and the report account for the candidates: each exactly
// once, denied ones by count and never by id, and the tokens saved as they add up.
func Verify(cs []candidate.Candidate, shown []int, report *schemas.DropReport) error {
	state := make(map[string]schemas.DropReason, len(cs))
	for i := range cs {
		if _, twice := state[cs[i].Record.ID]; twice {
			return fmt.Errorf("account for %d candidates: one is there twice: %w", len(cs), ErrAccount)
		}
		state[cs[i].Record.ID] = cs[i].Drop
	}
	for _, i := range shown {
		if i < 0 || i >= len(cs) {
			return fmt.Errorf("account for %d candidates: shown is none of them: %w", len(cs), ErrAccount)
		}
		drop, open := state[cs[i].Record.ID]
		if !open || drop != "" || !cs[i].Verdict.Allow {
			return fmt.Errorf("account for item %q: shown but dropped, denied or shown before: %w", cs[i].Record.ID, ErrAccount)
		}
		delete(state, cs[i].Record.ID)
	}
	tokens, whole := 0, 0
	for _, d := range report.Drops {
		if d.Span != nil { // a part of what is shown; package verify looks at these
			tokens += d.Tokens
			continue
		}
		whole++
		if drop, open := state[d.ItemID]; !open || drop != d.Reason || drop == "" || drop == schemas.DropPolicy {
			return fmt.Errorf("account for item %q: reported but not dropped for that: %w", d.ItemID, ErrAccount)
		}
		delete(state, d.ItemID)
		tokens += d.Tokens
	}
	denied := 0
	for _, n := range report.Denied {
		denied += n
	}
	for _, drop := range state {
		if drop != schemas.DropPolicy {
			return fmt.Errorf("account for %d candidates: %d are left: %w", len(cs), len(state), ErrAccount)
		}
	}
	if denied != len(state) || tokens != report.TokenSavings || len(report.DroppedItemIDs) != whole {
		return fmt.Errorf("account for %d candidates: counts do not add up: %w", len(cs), ErrAccount)
	}
	return nil
}

func round(x float64) float64 { return math.Round(x*1e4) / 1e4 }
