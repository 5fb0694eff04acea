package compaction_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/schemas"
)

func one(id string, drop schemas.DropReason, tokens int) candidate.Candidate {
	return whole(candidate.Candidate{Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{ID: id}}, Drop: drop, Tokens: tokens,
		Verdict: schemas.Verdict{Allow: true}})
}

func setup() []candidate.Candidate {
	return []candidate.Candidate{one("a", "", 10), one("b", schemas.DropBudget, 20), one("d", schemas.DropDuplicate, 40), one("e", "", 50)}
}

func TestReport(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	cs := setup()
	report := compaction.Report("d1", "p1", at, cs)
	if err := compaction.Verify(cs, []int{0, 3}, &report); err != nil {
		t.Fatal(err)
	}
	denied := []candidate.Denied{{ID: "c", Reason: "clearance"}, {ID: "f", Reason: "clearance"}}
	counted, named := compaction.CountDenied(report, denied), compaction.NameDenied(report, denied)
	if diff := cmp.Diff([]string{"b", "d"}, counted.DroppedItemIDs); diff != "" {
		t.Errorf("ids without the denied (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b", "d", "c", "f"}, named.DroppedItemIDs); diff != "" {
		t.Errorf("ids with the denied (-want +got):\n%s", diff)
	}
	if report.TokenSavings != 60 || report.Denied != nil || counted.Denied["clearance"] != 2 || named.Drops[3].Detail != "clearance" {
		t.Errorf("saved %d, denied %v and %v, named %+v", report.TokenSavings, report.Denied, counted.Denied, named.Drops)
	}
	const all = "Left out: 1 because it did not fit the token budget, 1 because a better item says the same, 2 because policy does not allow it for this principal."
	if counted.Reason != all || strings.Contains(report.Reason, "policy") {
		t.Errorf("reasons are %q and %q", report.Reason, counted.Reason)
	}
}

// TestReportSaysEveryReason takes the reasons from the published schema: each has words,
// and the sentence over a report leaves none out.
func TestReportSaysEveryReason(t *testing.T) {
	t.Parallel()
	raw, err := schemas.JSONSchema("drop-report")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Enum []schemas.DropReason `json:"enum"`
			} `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	reasons := schema.Defs["Drop"].Properties["reason"].Enum
	if len(reasons) < 14 {
		t.Fatalf("the schema has the reasons %q", reasons)
	}
	for _, r := range reasons {
		report := compaction.Report("d", "p", time.Time{}, []candidate.Candidate{one("a", r, 1)})
		if r == schemas.DropPolicy {
			report = compaction.CountDenied(compaction.Report("d", "p", time.Time{}, nil), []candidate.Denied{{ID: "a"}})
		}
		if words := r.Sentence(); words == string(r) || !strings.Contains(report.Reason, "1 because "+words) {
			t.Errorf("%s: %q, sentence %q", r, report.Reason, words)
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(cs []candidate.Candidate, r *schemas.DropReport, shown *[]int){
		"shown twice":         func(_ []candidate.Candidate, _ *schemas.DropReport, s *[]int) { *s = []int{0, 3, 3} },
		"shown and dropped":   func(_ []candidate.Candidate, _ *schemas.DropReport, s *[]int) { *s = []int{0, 1, 3} },
		"shown and denied":    func(cs []candidate.Candidate, _ *schemas.DropReport, _ *[]int) { cs[0].Verdict.Allow = false },
		"neither":             func(_ []candidate.Candidate, _ *schemas.DropReport, s *[]int) { *s = []int{0} },
		"out of range":        func(_ []candidate.Candidate, _ *schemas.DropReport, s *[]int) { *s = []int{0, 9} },
		"drop left out":       func(_ []candidate.Candidate, r *schemas.DropReport, _ *[]int) { r.Drops = r.Drops[1:] },
		"another reason":      func(_ []candidate.Candidate, r *schemas.DropReport, _ *[]int) { r.Drops[0].Reason = schemas.DropRank },
		"a denied item named": func(_ []candidate.Candidate, r *schemas.DropReport, _ *[]int) { r.Drops[0].ItemID = "c" },
		"tokens":              func(_ []candidate.Candidate, r *schemas.DropReport, _ *[]int) { r.TokenSavings++ },
		"one item twice":      func(cs []candidate.Candidate, _ *schemas.DropReport, _ *[]int) { cs[1].ID = "a" },
	} {
		cs, shown := setup(), []int{0, 3}
		report := compaction.Report("d", "p", time.Time{}, cs)
		spoil(cs, &report, &shown)
		if err := compaction.Verify(cs, shown, &report); !errors.Is(err, compaction.ErrAccount) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}
