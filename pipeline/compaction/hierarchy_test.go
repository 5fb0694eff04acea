package compaction_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/pipeline/compaction/verify"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// checked holds summaries against their leaves by the verifier.
func checked(leaves []compaction.Source, summaries []compaction.Summary) error {
	in := &verify.Input{Report: &schemas.DropReport{}}
	for i := range leaves {
		r := leaves[i].Candidate
		in.Sources = append(in.Sources, verify.Source{ID: r.ID, Speaker: strings.ReplaceAll(r.Speaker, "\n", " "), Text: r.Content.Text()})
		in.Shown = append(in.Shown, verify.Shown{ID: r.ID, Text: r.Content.Text()})
	}
	for _, s := range summaries {
		in.Summaries = append(in.Summaries, verify.Summary{ID: s.ID, Level: s.Level, Text: s.Text, Lines: s.Lines, Links: s.Links})
	}
	return verify.Verify(in)
}

func TestHierarchy(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)
	var cs []candidate.Candidate
	for i := range 40 {
		text := fmt.Sprintf("Step %d went well. The pump number %d was checked.", i, i*3)
		if i%10 == 5 {
			text = strings.Repeat("Somebody talked about lunch and about the weather for a while. ", 12) + fmt.Sprintf("The valve %d leaked and Jonas closed it.", i)
		}
		cs = append(cs, whole(candidate.Candidate{Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{ID: fmt.Sprintf("i%02d", i), Session: "s", Speaker: "Clara",
			CreatedAt: day.Add(time.Duration(i) * time.Hour), Content: schemas.TextContent(text)}}}))
	}
	var leaves []compaction.Source
	for i := range cs {
		leaves = append(leaves, compaction.Source{Candidate: &cs[i], Class: "internal"})
	}
	out := compaction.Summarise(leaves, "which valve leaked?", 120, token.Estimate{})
	if err := checked(leaves, out); err != nil {
		t.Fatal(err)
	}
	levels := map[schemas.SummaryLevel]int{}
	for _, s := range out {
		levels[s.Level]++
	}
	if levels[schemas.SummaryOfItem] != 4 || levels[schemas.SummaryOfCluster] < 2 || levels[schemas.SummaryOfSession] != 1 {
		t.Errorf("levels are %v", levels)
	}
	top := out[len(out)-1]
	if top.Level != schemas.SummaryOfSession || !strings.Contains(top.Text, "The valve 5 leaked and Jonas closed it.") {
		t.Errorf("the session's summary is of %s: %q", top.Level, top.Text)
	}
	if n := (token.Estimate{}).Count(top.Text); n > 150 {
		t.Errorf("the session's summary has %d tokens", n)
	}
	again := compaction.Summarise(leaves, "which valve leaked?", 120, token.Estimate{})
	if again[len(again)-1].ID != top.ID {
		t.Error("the same again has another id")
	}
}

// TestSummariesOfShortItems: many short items have one summary, which is shorter than they
// are; one of them, or two of which one line is taken, have none.
func TestSummariesOfShortItems(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{1: 0, 2: 0, 20: 1} {
		var leaves []compaction.Source
		for i := range n {
			c := new(whole(candidate.Candidate{Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{ID: fmt.Sprint("i", i), Session: "s",
				Content: schemas.TextContent(fmt.Sprintf("The pump number %d was checked and runs.", i))}}}))
			leaves = append(leaves, compaction.Source{Candidate: c, Class: "a"})
		}
		out := compaction.Summarise(leaves, "pump 7", 100, token.Estimate{})
		if len(out) != want {
			t.Errorf("%d items have %d summaries", n, len(out))
		}
		for _, s := range out {
			if len(s.Leaves) < 2 || len(s.Leaves) == n {
				t.Errorf("a summary of %d of %d items: %q", len(s.Leaves), n, s.Text)
			}
		}
	}
}

func TestClassesDoNotMix(t *testing.T) {
	t.Parallel()
	var leaves []compaction.Source
	for i := range 12 {
		c := new(whole(candidate.Candidate{Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{ID: fmt.Sprint("i", i), Session: "s",
			Content: schemas.TextContent(fmt.Sprintf("Class %d says this. And that.", i%2))}}}))
		leaves = append(leaves, compaction.Source{Candidate: c, Class: fmt.Sprint(i % 2)})
	}
	for _, s := range compaction.Summarise(leaves, "", 50, token.Estimate{}) {
		for _, at := range s.Leaves {
			if leaves[at].Class != leaves[s.Leaves[0]].Class {
				t.Errorf("a summary is of two classes: %q", s.Text)
			}
		}
	}
}

// TestSummariesAreSupported makes summaries of whatever comes and holds each line
// against what it cites by other code than made it.
func TestSummariesAreSupported(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "items")
		leaves := make([]compaction.Source, n)
		for i := range leaves {
			c := &candidate.Candidate{Visible: &candidate.Visible{}}
			c.ID, c.Speaker = fmt.Sprint("i", i), rapid.SampledFrom([]string{"", "Jonas", "a\nb"}).Draw(t, "speaker")
			c.Session = rapid.SampledFrom([]string{"", "s", "t"}).Draw(t, "session")
			c.CreatedAt = time.Unix(rapid.Int64Range(0, 400_000).Draw(t, "at"), 0)
			c.Content = schemas.TextContent(texts().Draw(t, "text"))
			leaves[i] = compaction.Source{Candidate: c, Class: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "class")}
		}
		out := compaction.Summarise(leaves, "gateway certificate", rapid.IntRange(0, 200).Draw(t, "budget"), token.Estimate{})
		if err := checked(leaves, out); err != nil {
			t.Fatal(err)
		}
	})
}
