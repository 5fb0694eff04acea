package compaction_test

import (
	"fmt"
	"slices"
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

// texts draws what items hold: prose, lists, logs, tables, JSON, other scripts, broken
// bytes.
func texts() *rapid.Generator[string] {
	words := rapid.SampledFrom([]string{"certificate", "gateway", "Jonas", "renewed", "the", "a", "on", "3.", "March", "2026-03-03", "€1,200.50",
		"Dr.", "e.g.", "证书过期了。", "é", "🚀", "\xff\xfe", "…", "[12]", "# heading", "```", "why?", "No!", "\u202e", "\t", "x" + strings.Repeat("y", 90)})
	prose := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(words, 0, 120).Draw(t, "words"), rapid.SampledFrom([]string{" ", ". ", "\n", "  ", ".\n\n"}).Draw(t, "between"))
	})
	lines := rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(1, 60).Draw(t, "lines")
		form := rapid.SampledFrom([]string{"2026-03-03T10:00:%02dZ INFO GET /a/%d 200\n", "2026-03-03T10:00:%02dZ ERROR boom %d\n\tat x.y(z)\n",
			"row %d,%d,7\n", "=== RUN T%d\n--- FAIL: T%d (0.00s)\n", "%d\t%d\n"}).Draw(t, "form")
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, form, i, i*7%13)
		}
		return b.String()
	})
	return rapid.OneOf(prose, lines, rapid.String())
}

func candidates() *rapid.Generator[[]candidate.Candidate] {
	return rapid.Custom(func(t *rapid.T) []candidate.Candidate {
		n := rapid.IntRange(0, 12).Draw(t, "items")
		cs := make([]candidate.Candidate, n)
		for i := range cs {
			c := &cs[i]
			c.Visible = &candidate.Visible{}
			c.ID = fmt.Sprintf("i%d", i)
			c.Kind = rapid.SampledFrom([]schemas.Kind{schemas.KindMemory, schemas.KindKnowledge, schemas.KindTool, schemas.KindCode}).Draw(t, "kind")
			c.Speaker = rapid.SampledFrom([]string{"", "Jonas", "user"}).Draw(t, "speaker")
			text := texts().Draw(t, "text")
			c.Content = schemas.TextContent(text)
			if rapid.Bool().Draw(t, "json") {
				c.Content = schemas.JSONContent([]byte(fmt.Sprintf(`{"status":"ok","rows":[{"a":%d},{"a":2,"note":"gateway certificate %s"}]}`, i, strings.Repeat("x ", i*20))))
			}
			c.Verdict.Allow = true
			c.Drop = rapid.SampledFrom([]schemas.DropReason{"", "", "", schemas.DropOffTopic, schemas.DropDuplicate}).Draw(t, "drop")
			c.Score = rapid.Float64Range(0, 1).Draw(t, "score")
		}
		return cs
	})
}

// An extract that fills a place has no more tokens than that, and the account holds; a candidate without one
// stays as it is.
func TestShortenTo(t *testing.T) {
	t.Parallel()
	by, err := token.New(token.CL100K)
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	rapid.Check(t, func(t *rapid.T) {
		cs := candidates().Draw(t, "candidates")
		if rapid.Bool().Draw(t, "short already") {
			compaction.Shorten(cs, compaction.Options{Query: "why did the certificate expire", Budget: 200, Counter: by, Whole: 40})
		}
		most := rapid.IntRange(0, 90).Draw(t, "tokens")
		for i := range cs {
			was := cs[i]
			if !compaction.ShortenTo(&cs[i], most, compaction.Options{Query: "why did the certificate expire", Counter: by}) {
				if cs[i].Content.Text() != was.Content.Text() || cs[i].Extract != was.Extract || cs[i].ContentTokens != was.ContentTokens {
					t.Fatalf("%q became %q", was.Content.Text(), cs[i].Content.Text())
				}
				continue
			}
			made++
			if n := compaction.Tokens(&cs[i], by); n > most || cs[i].Extract.After != n {
				t.Fatalf("%d tokens of %d, the extract says %d", n, most, cs[i].Extract.After)
			}
		}
		report := compaction.Report("d", "p", time.Time{}, cs)
		if err := verify.Verify(input(cs, &report, by)); err != nil {
			t.Fatal(err)
		}
	})
	if made == 0 {
		t.Fatal("no extract was made")
	}
}

// TestShortenToKeepsTheAnswer puts the sentence that answers into a place of 40 tokens.
func TestShortenToKeepsTheAnswer(t *testing.T) {
	t.Parallel()
	by, err := token.New(token.CL100K)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "Shelf %d was dusted by the crew. ", i)
		if i == 17 {
			text.WriteString("Jonas renewed the certificate of the gateway. ")
		}
	}
	c := whole(candidate.Candidate{Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{Kind: schemas.KindMemory, Speaker: "Ana", Content: schemas.TextContent(text.String())}}})
	if !compaction.ShortenTo(&c, 40, compaction.Options{Query: "who renewed the gateway certificate?", Counter: by}) || !strings.Contains(c.Content.Text(), "Jonas renewed the certificate") {
		t.Errorf("the extract is %q", c.Content.Text())
	}
	if c.ShowWhole(); c.Content.Text() != text.String() {
		t.Errorf("the whole came back as %q", c.Content.Text())
	}
}

// input makes the verifier's input of candidates of which all that are kept are shown.
func input(cs []candidate.Candidate, report *schemas.DropReport, by token.Counter) *verify.Input {
	in := &verify.Input{Report: report, Count: by.Count}
	for i := range cs {
		c := &cs[i]
		src := verify.Source{ID: c.ID, Speaker: c.Speaker, Text: c.Content.Text(), Tokens: c.Tokens, Drop: c.Drop}
		shown := verify.Shown{ID: c.ID, Text: c.Content.Text()}
		if e := c.Extract; e != nil {
			src.Text, shown.Part, shown.Before, shown.After = e.Whole.Text(), true, e.Before, e.After
			for _, l := range e.Lines {
				shown.Lines = append(shown.Lines, verify.Line{Span: l.Span, Times: l.Times, Pattern: l.Pattern})
			}
		}
		in.Sources = append(in.Sources, src)
		if c.Kept() {
			in.Shown = append(in.Shown, shown)
		}
	}
	return in
}

// TestExtractsAreAccountedFor shortens whatever comes, drops some of it, and holds the
// report against the input by other code than made it.
func TestExtractsAreAccountedFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cs := candidates().Draw(t, "candidates")
		was := make([]string, len(cs))
		for i := range cs {
			was[i] = cs[i].Content.Text()
		}
		o := compaction.Options{Query: rapid.SampledFrom([]string{"", "who renewed the gateway certificate?", "证书", "boom 7"}).Draw(t, "query"),
			Budget: rapid.IntRange(1, 400).Draw(t, "budget"), Whole: rapid.IntRange(0, 40).Draw(t, "whole"), Counter: token.Estimate{}}
		compaction.Shorten(cs, o)
		var shown []int
		for i := range cs {
			if cs[i].Kept() && rapid.Bool().Draw(t, "dropped") {
				cs[i].Drop = schemas.DropBudget
			}
			if cs[i].Kept() {
				shown = append(shown, i)
			}
		}
		compaction.RestoreUnshown(cs)
		report := compaction.Report("d", "p", time.Time{}, cs)
		if err := compaction.Verify(cs, shown, &report); err != nil {
			t.Fatal(err)
		}
		in := input(cs, &report, o.Counter)
		if err := verify.Verify(in); err != nil {
			t.Fatal(err)
		}
		for i := range cs {
			if in.Sources[i].Text != was[i] {
				t.Fatalf("item %d: what it was is not kept", i)
			}
			if e := cs[i].Extract; e != nil && (e.After >= e.Before || cs[i].Kind == schemas.KindTool || cs[i].Kind == schemas.KindCode) {
				t.Fatalf("item %d: an extract of %d tokens for %d of %s", i, e.After, e.Before, cs[i].Kind)
			}
		}
	})
}

// TestTextsChangeNoExtract shortens the same items with and without a memory of their texts, for one question after
// another, and after the memory was cleared.
func TestTextsChangeNoExtract(t *testing.T) {
	t.Parallel()
	texts := compaction.NewTexts()
	rapid.Check(t, func(t *rapid.T) {
		cs := candidates().Draw(t, "candidates")
		o := compaction.Options{Budget: 200, Whole: 20, Counter: token.Estimate{}}
		for _, o.Query = range []string{"", "who renewed the gateway certificate?", "boom 7"} {
			with, without := slices.Clone(cs), slices.Clone(cs)
			compaction.Shorten(without, o)
			o.Texts = texts
			compaction.Shorten(with, o)
			o.Texts = nil
			for i := range cs {
				if got, want := with[i].Content.Text(), without[i].Content.Text(); got != want {
					t.Fatalf("item %d is %q, without a memory %q", i, got, want)
				}
			}
		}
		if rapid.Bool().Draw(t, "clear") {
			texts.Clear()
		}
	})
}

func TestExtractKeepsWhatIsAsked(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("We talked about the weather for a while. ", 30) + "Jonas renewed the gateway certificate on Tuesday. " + strings.Repeat("Then there was lunch. ", 30)
	cs := []candidate.Candidate{whole(candidate.Candidate{Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{ID: "a", Kind: schemas.KindMemory, Content: schemas.TextContent(text)}}})}
	if n := compaction.Shorten(cs, compaction.Options{Query: "who renewed the certificate?", Budget: 200, Counter: token.Estimate{}}); n != 1 {
		t.Fatalf("%d extracts", n)
	}
	got := cs[0].Content.Text()
	if !strings.Contains(got, "Jonas renewed the gateway certificate on Tuesday.") || len(got) > 400 {
		t.Errorf("the extract is %q", got)
	}
	cs[0].ShowWhole()
	if cs[0].Content.Text() != text || cs[0].Extract != nil {
		t.Error("the whole does not come back")
	}
}

// TestExtractLeavesOutBareHeadings shortens a plan of which most days say the same.
func TestExtractLeavesOutBareHeadings(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("Here is the plan for the sprint.\n# Plan\n## Week 1\n")
	for i := range 14 {
		fmt.Fprintf(&b, "### Day %d (March %d)\n- **Duration:** 1 day\n", i+1, i+15)
		if i == 9 {
			b.WriteString("- The sprint ends with a review of the registration.\n")
		}
	}
	cs := []candidate.Candidate{whole(candidate.Candidate{Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{ID: "a", Kind: schemas.KindMemory, Content: schemas.TextContent(b.String())}}})}
	if n := compaction.Shorten(cs, compaction.Options{Query: "when does the sprint end?", Budget: 400, Whole: 40, Counter: token.Estimate{}}); n != 1 {
		t.Fatalf("%d extracts", n)
	}
	got := cs[0].Content.Text()
	if n := strings.Count(got, "Duration"); n > 1 || strings.Count(got, "###") > 2 {
		t.Errorf("the extract repeats itself: %q", got)
	}
	for _, want := range []string{"Here is the plan", "## Week 1", "### Day 10", "The sprint ends with a review"} {
		if !strings.Contains(got, want) {
			t.Errorf("the extract lacks %q: %q", want, got)
		}
	}
}

func TestExtractOfALogCounts(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "2026-03-03T10:%02d:00Z INFO GET /orders/%d 200\n", i%60, i)
	}
	b.WriteString("2026-03-03T11:00:00Z ERROR card declined\n\tat Pay.run(Pay.java:42)\n")
	cs := []candidate.Candidate{whole(candidate.Candidate{Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{ID: "a", Kind: schemas.KindMemory, Content: schemas.TextContent(b.String())}}})}
	compaction.Shorten(cs, compaction.Options{Query: "why was the card declined?", Budget: 1000, Counter: token.Estimate{}})
	got := cs[0].Content.Text()
	for _, want := range []string{"200 lines like: {2026-03-03T10:00:00Z} INFO GET {/orders/0 200}", "ERROR card declined\n\tat Pay.run"} {
		if !strings.Contains(got, want) {
			t.Errorf("the extract lacks %q: %q", want, got)
		}
	}
}

func TestTrigger(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trigger               compaction.Trigger
		tokens, items, budget int
		want                  bool
	}{
		{compaction.Trigger{}, 800, 3, 1000, false},
		{compaction.Trigger{}, 801, 3, 1000, true},
		{compaction.Trigger{}, 10, 201, 1000, true},
		{compaction.Trigger{Share: .5, Items: 2}, 501, 1, 1000, true},
		{compaction.Trigger{Share: .5, Items: 2}, 1, 3, 1000, true},
		{compaction.Trigger{Share: .5, Items: 2}, 500, 2, 1000, false},
	} {
		if got := c.trigger.Due(c.tokens, c.items, c.budget); got != c.want {
			t.Errorf("%+v: due is %v for %d tokens of %d items", c.trigger, got, c.tokens, c.items)
		}
	}
}

// conversation is about 30,000 tokens in 600 items with stored counts.
func conversation() []candidate.Candidate {
	cs := make([]candidate.Candidate, 600)
	for i := range cs {
		text := strings.Repeat(fmt.Sprintf("On day %d Jonas looked at the gateway. The certificate number %d was renewed by the team. ", i, i*31), 2)
		cs[i] = whole(candidate.Candidate{Score: 1 - float64(i)/600, Visible: &candidate.Visible{Counted: 50, MemoryItem: schemas.MemoryItem{
			ID: fmt.Sprint("i", i), Kind: schemas.KindMemory, Content: schemas.TextContent(text)}}})
		cs[i].Verdict.Allow = true
	}
	return cs
}

// BenchmarkShorten30k brings 30,000 tokens under a budget, with report and verification, and
// reports the 50th and 95th percentile of what it took.
func BenchmarkShorten30k(b *testing.B) {
	by, err := token.New("")
	if err != nil {
		b.Fatal(err)
	}
	counter := token.Cached(by, 1<<14)
	for _, name := range []string{"cold", "stored counts"} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				b.StopTimer()
				cs := conversation()
				if name == "cold" {
					counter = token.Cached(by, 1<<14)
				}
				b.StartTimer()
				start := time.Now()
				compaction.Shorten(cs, compaction.Options{Query: "who renewed certificate 3100?", Budget: 8000, Whole: 40, Counter: counter})
				report := compaction.Report("d", "p", time.Time{}, cs)
				if err := verify.Verify(input(cs, &report, counter)); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
}

// TestShortenEndsOnWhatIsNoText has bytes of which none begins a character.
func TestShortenEndsOnWhatIsNoText(t *testing.T) {
	t.Parallel()
	cs := []candidate.Candidate{whole(candidate.Candidate{Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{ID: "a", Kind: schemas.KindMemory, Content: schemas.TextContent(strings.Repeat("\x80", 5000))}}})}
	if n := compaction.Shorten(cs, compaction.Options{Query: "x", Budget: 100, Counter: token.Estimate{}}); n != 1 {
		t.Errorf("%d items are shorter", n)
	}
}
