// Package compaction takes a pack to what fits and accounts for what it leaves out.
//
// It owns the trigger, the extracts that are shown in the place of long items, the
// hierarchy of summaries (item, cluster, session) and the drop report. It promises that
// every candidate is shown whole, or shown in part with the rest named span by span, or
// named in the report with a reason and its tokens, and never two of these; that what is shown of an item is its own words; and that each line of a
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

// ErrAccount is returned when shown and dropped do not add up to the candidates.
var ErrAccount = errors.New("drop report does not account for every candidate")

// listReasons in the order in which a report's sentence names them.
func listReasons() []schemas.DropReason {
	return []schemas.DropReason{
		schemas.DropBudget, schemas.DropRank, schemas.DropScore, schemas.DropConfidence, schemas.DropDuplicate, schemas.DropNewer, schemas.DropRecalled, schemas.DropStale, schemas.DropSuperseded,
		schemas.DropSummarised, schemas.DropOffTopic, schemas.DropInjection, schemas.DropRelevance, schemas.DropErased,
	}
}

// Report returns the drop report of a pack: of every candidate that is not shown, and of
// each part of a candidate that an extract leaves out.
func Report(id, packID string, at time.Time, cs []candidate.Candidate) schemas.DropReport {
	out := schemas.DropReport{ID: id, PackID: packID, CreatedAt: at, Drops: make([]schemas.Drop, 0, len(cs)), DroppedItemIDs: make([]string, 0, len(cs))}
	counts := map[schemas.DropReason]int{}
	for i := range cs {
		c := &cs[i]
		switch {
		case !c.Kept():
			counts[c.Drop]++
			out.Drops = append(out.Drops, schemas.Drop{ItemID: c.ID, Reason: c.Drop, Detail: c.Detail, Score: roundScore(c.Score), Tokens: c.Tokens, Place: c.Place})
			out.DroppedItemIDs = append(out.DroppedItemIDs, c.ID)
			out.TokenSavings += c.Tokens
		case c.Extract != nil:
			counts[schemas.DropSummarised]++
			out.Drops = append(out.Drops, listSpanDrops(c)...)
			out.TokenSavings += c.Extract.Before - c.Extract.After
		}
	}
	out.Reason = writeSentence(counts)
	return out
}

// NameUnread adds to a report the items that were found and never became candidates: enough others were before
// them in the search. They have no score, which only reading would tell.
func NameUnread(r schemas.DropReport, unread []candidate.Unread) schemas.DropReport {
	drops := make([]schemas.Drop, len(unread))
	for i := range unread {
		drops[i] = schemas.Drop{ItemID: unread[i].ID, Reason: schemas.DropRank, Detail: candidate.NotRead}
	}
	return withDrops(r, drops, fmt.Sprintf("%d found and not read", len(unread)))
}

// NameLost adds to a report what a pack does not show of the request's own texts.
func NameLost(r schemas.DropReport, lost []schemas.Drop) schemas.DropReport {
	return withDrops(r, lost, fmt.Sprintf("%d because the texts of the request themselves did not fit", len(lost)))
}

// withDrops adds drops to a copy of a report, and why to its sentence. Spans name parts, and so no item.
func withDrops(r schemas.DropReport, drops []schemas.Drop, why string) schemas.DropReport {
	if len(drops) == 0 {
		return r
	}
	r.Drops = slices.Concat(r.Drops, drops)
	r.DroppedItemIDs = slices.Clip(r.DroppedItemIDs)
	for i := range drops {
		r.TokenSavings += drops[i].Tokens
		if drops[i].Span == nil {
			r.DroppedItemIDs = append(r.DroppedItemIDs, drops[i].ItemID)
		}
	}
	return withReason(r, why)
}

// withReason adds to the sentence of a report.
func withReason(r schemas.DropReport, part string) schemas.DropReport {
	if r.Reason == nothing {
		r.Reason = leftOut + part + "."
	} else {
		r.Reason = strings.TrimSuffix(r.Reason, ".") + ", " + part + "."
	}
	return r
}

// CountDenied adds to a report how many items policy denied, by reason.
func CountDenied(r schemas.DropReport, denied []candidate.Denied) schemas.DropReport {
	if len(denied) == 0 {
		return r
	}
	r.Denied = map[string]int{}
	for _, d := range denied {
		r.Denied[d.Reason]++
	}
	return withReason(r, formatReason(len(denied), schemas.DropPolicy))
}

// NameDenied adds to a report which items policy denied, and why.
func NameDenied(r schemas.DropReport, denied []candidate.Denied) schemas.DropReport {
	drops := make([]schemas.Drop, len(denied))
	for i, d := range denied {
		drops[i] = schemas.Drop{ItemID: d.ID, Reason: schemas.DropPolicy, Detail: d.Reason}
	}
	r.Denied = CountDenied(r, denied).Denied
	return withDrops(r, drops, formatReason(len(denied), schemas.DropPolicy))
}

// listSpanDrops are the drops of what an extract leaves out. The tokens it saves are shared out
// by length, so that they add up.
func listSpanDrops(c *candidate.Candidate) []schemas.Drop {
	gaps := c.Extract.Gaps()
	out := make([]schemas.Drop, len(gaps))
	total := 0
	for _, g := range gaps {
		total += g.End - g.Start
	}
	saved := c.Extract.Before - c.Extract.After
	var given, passed int
	for i, g := range gaps {
		passed += g.End - g.Start
		upTo := saved * passed / max(1, total)
		out[i] = schemas.Drop{ItemID: c.ID, Reason: schemas.DropSummarised, Score: roundScore(c.Score), Tokens: upTo - given, Span: &gaps[i]}
		given = upTo
	}
	return out
}

func writeSentence(counts map[schemas.DropReason]int) string {
	var parts []string
	for _, r := range listReasons() {
		if n := counts[r]; n > 0 {
			parts = append(parts, formatReason(n, r))
		}
	}
	if len(parts) == 0 {
		return nothing
	}
	return leftOut + strings.Join(parts, ", ") + "."
}

const (
	nothing = "Nothing was left out."
	leftOut = "Left out: "
)

func formatReason(n int, r schemas.DropReason) string {
	return fmt.Sprintf("%d because %s", n, r.Sentence())
}

// Verify checks that shown and the report account for the candidates, each exactly once,
// and that the tokens saved add up. The report names no denied item.
func Verify(cs []candidate.Candidate, shown []int, report *schemas.DropReport) error {
	state := make(map[string]schemas.DropReason, len(cs))
	for i := range cs {
		if _, twice := state[cs[i].ID]; twice {
			return fmt.Errorf("account for %d candidates: one is there twice: %w", len(cs), ErrAccount)
		}
		state[cs[i].ID] = cs[i].Drop
	}
	for _, i := range shown {
		if i < 0 || i >= len(cs) {
			return fmt.Errorf("account for %d candidates: shown is none of them: %w", len(cs), ErrAccount)
		}
		drop, open := state[cs[i].ID]
		if !open || drop != "" || !cs[i].Verdict.Allow {
			return fmt.Errorf("account for item %q: shown but dropped, denied or shown before: %w", cs[i].ID, ErrAccount)
		}
		delete(state, cs[i].ID)
	}
	var tokens, whole int
	for _, d := range report.Drops {
		tokens += d.Tokens
		if d.Span != nil { // a part of what is shown; package verify looks at these
			continue
		}
		whole++
		drop, open := state[d.ItemID]
		isDropped := drop != "" && drop != schemas.DropPolicy && drop == d.Reason
		if !open || !isDropped {
			return fmt.Errorf("account for item %q: reported but not dropped for that: %w", d.ItemID, ErrAccount)
		}
		delete(state, d.ItemID)
	}
	if len(state) > 0 {
		return fmt.Errorf("account for %d candidates: %d are left: %w", len(cs), len(state), ErrAccount)
	}
	if tokens != report.TokenSavings || len(report.DroppedItemIDs) != whole {
		return fmt.Errorf("account for %d candidates: counts do not add up: %w", len(cs), ErrAccount)
	}
	return nil
}

func roundScore(x float64) float64 { return math.Round(x*1e4) / 1e4 }
