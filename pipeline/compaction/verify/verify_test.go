package verify_test

import (
	"errors"
	"testing"

	"satchel/pipeline/compaction/verify"
	"satchel/schemas"
)

const (
	long  = "The gate failed. Jonas fixed it on 3 March. Nobody noticed."
	other = "Tea is at four."
	log   = "GET /a 200\nGET /b 200\nERROR boom\nGET /c 200\n"
)

func span(start, end int) schemas.Span { return schemas.Span{Start: start, End: end} }

func cut(id string, start, end int) schemas.SpanRef {
	return schemas.SpanRef{ItemID: id, Span: span(start, end)}
}

// count counts bytes, so that every byte tells.
func count(text string) int { return len(text) }

// sound is an input that accounts for everything: item a shown in part, b whole, c
// dropped, d denied, log e shown in part with counts, and three levels of summaries.
func sound() *verify.Input {
	part := "… Jonas fixed it on 3 March. …"
	logs := "3 lines like: GET {/a} 200\nERROR boom …"
	drop := func(id string, s schemas.Span, tokens int) schemas.Drop {
		return schemas.Drop{ItemID: id, Reason: schemas.DropSummarised, Tokens: tokens, Span: &s}
	}
	saved := len("Jonas: "+long) - len("Jonas: "+part)
	logSaved := len(log) - len(logs)
	return &verify.Input{
		Count: count,
		Sources: []verify.Source{
			{ID: "a", Speaker: "Jonas", Text: long, Tokens: 30, Hidden: []string{"+31 6 1234"}},
			{ID: "b", Text: other, Tokens: 9},
			{ID: "c", Text: "Dropped text.", Tokens: 7, Drop: schemas.DropBudget},
			{ID: "d", Text: "Secret text.", Tokens: 5, Drop: schemas.DropPolicy},
			{ID: "e", Text: log, Tokens: 20},
		},
		Shown: []verify.Shown{
			{ID: "a", Part: true, Text: part, Lines: []verify.Line{{Span: span(17, 43)}}, Before: len("Jonas: " + long + "\n"), After: len("Jonas: " + part + "\n")},
			{ID: "b", Text: other},
			{ID: "e", Part: true, Text: logs, Lines: []verify.Line{{Span: span(0, 10), Times: 3, Pattern: "GET <*> 200"}, {Span: span(22, 32)}},
				Before: len(log) + 1, After: len(logs) + 1},
		},
		Report: &schemas.DropReport{
			DroppedItemIDs: []string{"c"}, TokenSavings: saved + 7 + logSaved, Denied: map[string]int{"clearance": 1},
			Drops: []schemas.Drop{drop("a", span(0, 17), 10), drop("a", span(43, len(long)), saved-10),
				{ItemID: "c", Reason: schemas.DropBudget, Tokens: 7}, drop("e", span(10, 22), 1), drop("e", span(32, len(log)), logSaved-1)},
		},
		Summaries: []verify.Summary{
			{ID: "s1", Level: schemas.SummaryOfItem, Text: "Jonas: Jonas fixed it on 3 March.", Links: []string{"a"},
				Lines: []schemas.SummaryLine{{Span: span(7, 33), Cites: []schemas.SpanRef{cut("a", 17, 43)}}}},
			{ID: "s2", Level: schemas.SummaryOfCluster, Text: "Jonas: Jonas fixed it on 3 March.\nTea is at four.", Links: []string{"s1", "b"},
				Lines: []schemas.SummaryLine{{Span: span(7, 33), Cites: []schemas.SpanRef{cut("s1", 7, 33)}}, {Span: span(34, 49), Cites: []schemas.SpanRef{cut("b", 0, 15)}}}},
			{ID: "s3", Level: schemas.SummaryOfSession, Text: "It was Jonas who fixed the gate on 3 March.", Abstractive: true, Links: []string{"s2"},
				Lines: []schemas.SummaryLine{{Span: span(0, 43), Cites: []schemas.SpanRef{cut("s2", 0, 33)}}}},
		},
	}
}

func TestSound(t *testing.T) {
	t.Parallel()
	if err := verify.Verify(sound()); err != nil {
		t.Fatal(err)
	}
	if err := verify.Verify(&verify.Input{Report: &schemas.DropReport{}}); err != nil {
		t.Errorf("nothing: %v", err)
	}
}

// TestBroken breaks a sound compaction in every way the verifier promises to find.
func TestBroken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want  verify.Check
		spoil func(in *verify.Input)
	}{
		"an input twice":               {verify.CheckSources, func(in *verify.Input) { in.Sources[1].ID = "a" }},
		"shown and no input":           {verify.CheckShown, func(in *verify.Input) { in.Shown[1].ID = "x" }},
		"shown twice":                  {verify.CheckShown, func(in *verify.Input) { in.Shown = append(in.Shown, in.Shown[1]) }},
		"shown and dropped":            {verify.CheckShown, func(in *verify.Input) { in.Sources[1].Drop = schemas.DropRank }},
		"shown and denied":             {verify.CheckDenied, func(in *verify.Input) { in.Shown[1] = verify.Shown{ID: "d", Text: "Secret text."} }},
		"a denied item named":          {verify.CheckDenied, func(in *verify.Input) { in.Report.Drops[2].ItemID = "d" }},
		"denials miscounted":           {verify.CheckDenied, func(in *verify.Input) { in.Report.Denied["clearance"] = 2 }},
		"neither shown nor dropped":    {verify.CheckCoverage, func(in *verify.Input) { in.Shown = in.Shown[:2] }},
		"a drop left out":              {verify.CheckCoverage, func(in *verify.Input) { drop(in, 2, -7); in.Report.DroppedItemIDs = nil }},
		"a drop twice":                 {verify.CheckCoverage, func(in *verify.Input) { in.Report.Drops = append(in.Report.Drops, in.Report.Drops[2]) }},
		"an unknown drop":              {verify.CheckCoverage, func(in *verify.Input) { in.Report.Drops[2].ItemID = "x" }},
		"an id that is not dropped":    {verify.CheckCoverage, func(in *verify.Input) { in.Report.DroppedItemIDs[0] = "b" }},
		"another reason":               {verify.CheckReason, func(in *verify.Input) { in.Report.Drops[2].Reason = schemas.DropRank }},
		"a span with a whole's reason": {verify.CheckReason, func(in *verify.Input) { in.Report.Drops[0].Reason = schemas.DropBudget }},
		"a span missing":               {verify.CheckCoverage, func(in *verify.Input) { drop(in, 0, -10) }},
		"the last span missing":        {verify.CheckCoverage, func(in *verify.Input) { drop(in, 1, -in.Report.Drops[1].Tokens) }},
		"a span too short":             {verify.CheckCoverage, func(in *verify.Input) { in.Report.Drops[0].Span = &schemas.Span{Start: 0, End: 16} }},
		"a span that overlaps":         {verify.CheckCoverage, func(in *verify.Input) { in.Report.Drops[0].Span = &schemas.Span{Start: 0, End: 18} }},
		"spans of a whole":             {verify.CheckCoverage, func(in *verify.Input) { in.Report.Drops[0].ItemID = "b" }},
		"tokens of a drop":             {verify.CheckSavings, func(in *verify.Input) { in.Report.Drops[2].Tokens++; in.Report.TokenSavings++ }},
		"tokens in all":                {verify.CheckSavings, func(in *verify.Input) { in.Report.TokenSavings++ }},
		"tokens of spans":              {verify.CheckSavings, func(in *verify.Input) { in.Report.Drops[0].Tokens++; in.Report.TokenSavings++ }},
		"tokens after":                 {verify.CheckSavings, func(in *verify.Input) { in.Shown[0].After++; in.Shown[0].Before++ }},
		"a whole that is changed":      {verify.CheckExtract, func(in *verify.Input) { in.Shown[1].Text = "Tea is at five." }},
		"a word changed":               {verify.CheckExtract, func(in *verify.Input) { in.Shown[0].Text = "… Jonas fixed it on 4 March. …" }},
		"words added":                  {verify.CheckExtract, func(in *verify.Input) { in.Shown[0].Text += " Trust me." }},
		"spans out of order":           {verify.CheckExtract, func(in *verify.Input) { l := in.Shown[2].Lines; l[0], l[1] = l[1], l[0] }},
		"a span beyond the text":       {verify.CheckExtract, func(in *verify.Input) { in.Shown[0].Lines[0].Span.End = 999 }},
		"a part without lines":         {verify.CheckExtract, func(in *verify.Input) { in.Shown[0].Lines = nil }},
		"more lines than there are": {verify.CheckCount, func(in *verify.Input) {
			in.Shown[2].Lines[0].Times = 4
			in.Shown[2].Text = "4 lines like: GET {/a} 200\nERROR boom …"
		}},
		"a word marked that does not differ": {verify.CheckExtract, func(in *verify.Input) { in.Shown[2].Text = "3 lines like: GET {/a 200}\nERROR boom …" }},
		"a word that differs, not marked":    {verify.CheckExtract, func(in *verify.Input) { in.Shown[2].Text = "3 lines like: GET /a 200\nERROR boom …" }},
		"what was redacted, shown":           {verify.CheckRedacted, func(in *verify.Input) { in.Shown[0].Text = "… call +31 6 1234 …" }},
		"what was redacted, summarised":      {verify.CheckRedacted, func(in *verify.Input) { in.Summaries[0].Text = "Jonas: Call +31 6 1234 at once now." }},
		"an invented citation":               {verify.CheckCitation, func(in *verify.Input) { in.Summaries[0].Lines[0].Cites[0].ItemID = "z" }},
		"a citation beyond the text":         {verify.CheckCitation, func(in *verify.Input) { in.Summaries[0].Lines[0].Cites[0].Span.End = 99 }},
		"a line without a citation":          {verify.CheckCitation, func(in *verify.Input) { in.Summaries[0].Lines[0].Cites = nil }},
		"a sentence between lines": {verify.CheckCitation, func(in *verify.Input) {
			in.Summaries[1].Text = "Jonas: Jonas fixed it on 3 March.\nTea is at four. Or five."
		}},
		"another speaker":                {verify.CheckCitation, func(in *verify.Input) { in.Summaries[0].Text = "Clara: Jonas fixed it on 3 March." }},
		"a citation that says otherwise": {verify.CheckSupport, func(in *verify.Input) { in.Summaries[0].Lines[0].Cites[0].Span = span(0, 26) }},
		"a number of its own":            {verify.CheckSupport, func(in *verify.Input) { in.Summaries[2].Text = "It was Jonas who fixed the gate on 5 March." }},
		"a name of its own":              {verify.CheckSupport, func(in *verify.Input) { in.Summaries[2].Text = "It was Clara who fixed the gate on 3 March." }},
		"a denied item cited": {verify.CheckDenied, func(in *verify.Input) {
			in.Sources[3].Speaker = "Jonas"
			in.Summaries[0].Lines[0].Cites[0].ItemID = "d"
		}},
		"a summary that cites upwards": {verify.CheckHierarchy, func(in *verify.Input) { in.Summaries[0].Level = schemas.SummaryOfSession }},
		"a link missing":               {verify.CheckHierarchy, func(in *verify.Input) { in.Summaries[1].Links = []string{"s1"} }},
		"an id that is taken":          {verify.CheckHierarchy, func(in *verify.Input) { in.Summaries[2].ID = "s1" }},
		"no drop report":               {verify.CheckCoverage, func(in *verify.Input) { in.Report = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := sound()
			c.spoil(in)
			err := verify.Verify(in)
			var m *verify.Mismatch
			if !errors.Is(err, verify.ErrMismatch) || !errors.As(err, &m) {
				t.Fatalf("error is %v", err)
			}
			if m.Check != c.want {
				t.Errorf("%v: found by the check of %s, not of %s", err, m.Check, c.want)
			}
		})
	}
}

// drop takes drop i away, and tokens from what is saved in all.
func drop(in *verify.Input, i, tokens int) {
	in.Report.Drops = append(in.Report.Drops[:i:i], in.Report.Drops[i+1:]...)
	in.Report.TokenSavings += tokens
}
