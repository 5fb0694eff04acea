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
	c := candidate.Candidate{Record: schemas.Record{MemoryItem: schemas.MemoryItem{ID: id}}, Drop: drop, Tokens: tokens}
	c.Verdict = schemas.Verdict{Allow: drop != schemas.DropPolicy, Reason: "clearance"}
	return c
}

func setup() []candidate.Candidate {
	return []candidate.Candidate{
		one("a", "", 10), one("b", schemas.DropBudget, 20), one("c", schemas.DropPolicy, 30),
		one("d", schemas.DropDuplicate, 40), one("e", "", 50), one("f", schemas.DropPolicy, 0),
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	cs := setup()
	requester, auditor := compaction.Report("d1", "p1", at, cs)
	if err := compaction.Verify(cs, []int{0, 4}, &requester); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "d"}, requester.DroppedItemIDs); diff != "" {
		t.Errorf("requester's ids (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b", "d", "c", "f"}, auditor.DroppedItemIDs); diff != "" {
		t.Errorf("auditor's ids (-want +got):\n%s", diff)
	}
	if requester.TokenSavings != 60 || requester.Denied["clearance"] != 2 {
		t.Errorf("saved %d, denied %v", requester.TokenSavings, requester.Denied)
	}
	if !strings.Contains(requester.Reason, "1 because it did not fit the token budget") {
		t.Errorf("reason is %q", requester.Reason)
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
		report, _ := compaction.Report("d", "p", time.Time{}, []candidate.Candidate{one("a", r, 1)})
		if words := r.Sentence(); words == string(r) || !strings.Contains(report.Reason, "1 because "+words) {
			t.Errorf("%s: %q, sentence %q", r, report.Reason, words)
		}
	}
}

// TestReportOfWhatRedactionEmpties: policy allows the item, so the reason it is kept back
// for cannot be that of its verdict.
func TestReportOfWhatRedactionEmpties(t *testing.T) {
	t.Parallel()
	c := one("a", schemas.DropPolicy, 1)
	c.Verdict = schemas.Verdict{Allow: true, Reason: "allowed", Redact: true}
	none := one("b", schemas.DropPolicy, 1)
	none.Verdict = schemas.Verdict{}
	requester, auditor := compaction.Report("d", "p", time.Time{}, []candidate.Candidate{c, none})
	want := map[string]int{candidate.ReasonRedacted: 1, "denied": 1}
	if diff := cmp.Diff(want, requester.Denied); diff != "" {
		t.Errorf("denied (-want +got):\n%s", diff)
	}
	if auditor.Drops[0].Detail != candidate.ReasonRedacted {
		t.Errorf("the auditor's detail is %q", auditor.Drops[0].Detail)
	}
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(cs []candidate.Candidate, r *schemas.DropReport, shown *[]int){
		"shown twice":         func(_ []candidate.Candidate, _ *schemas.DropReport, s *[]int) { *s = []int{0, 4, 4} },
		"shown and dropped":   func(_ []candidate.Candidate, _ *schemas.DropReport, s *[]int) { *s = []int{0, 1, 4} },
		"shown and denied":    func(cs []candidate.Candidate, _ *schemas.DropReport, _ *[]int) { cs[0].Verdict.Allow = false },
		"neither":             func(_ []candidate.Candidate, _ *schemas.DropReport, s *[]int) { *s = []int{0} },
		"out of range":        func(_ []candidate.Candidate, _ *schemas.DropReport, s *[]int) { *s = []int{0, 9} },
		"drop left out":       func(_ []candidate.Candidate, r *schemas.DropReport, _ *[]int) { r.Drops = r.Drops[1:] },
		"another reason":      func(_ []candidate.Candidate, r *schemas.DropReport, _ *[]int) { r.Drops[0].Reason = schemas.DropRank },
		"a denied item named": func(_ []candidate.Candidate, r *schemas.DropReport, _ *[]int) { r.Drops[0].ItemID = "c" },
		"tokens":              func(_ []candidate.Candidate, r *schemas.DropReport, _ *[]int) { r.TokenSavings++ },
		"denials":             func(_ []candidate.Candidate, r *schemas.DropReport, _ *[]int) { r.Denied["clearance"] = 1 },
		"one item twice":      func(cs []candidate.Candidate, _ *schemas.DropReport, _ *[]int) { cs[1].Record.ID = "a" },
	} {
		cs, shown := setup(), []int{0, 4}
		report, _ := compaction.Report("d", "p", time.Time{}, cs)
		spoil(cs, &report, &shown)
		if err := compaction.Verify(cs, shown, &report); !errors.Is(err, compaction.ErrAccount) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}
