package assembly_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pack/assembly"
	"satchel/pipeline/token"
	"satchel/schemas"
)

var now = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func record(kind schemas.Kind, text string, attributes any) *candidate.Candidate {
	c := candidate.New(&candidate.Visible{MemoryItem: schemas.MemoryItem{
		ID: "i", Kind: kind, Type: schemas.Semantic, Content: schemas.TextContent(text), CreatedAt: now}}, schemas.Verdict{Allow: true})
	r := &c
	if attributes != nil {
		raw, err := json.Marshal(attributes)
		if err != nil {
			panic(err)
		}
		r.Attributes = raw
	}
	return r
}

func TestShowWithoutAttributes(t *testing.T) {
	t.Parallel()
	for kind, want := range map[schemas.Kind]string{
		schemas.KindMemory:     "**Memory**: \\# text\n*Category: semantic*, 31 January 2026",
		schemas.KindCode:       "**code**\n```\n# text\n```",
		schemas.KindExperience: "**Experience**\n\\# text",
		schemas.KindValue:      "**Value**:\n\\# text",
		schemas.KindCommit:     "**Commit** on 2026-01-31\n\\# text",
	} {
		it := assembly.Show(record(kind, "# text", nil), assembly.Full, 1000, nil)
		if diff := cmp.Diff(want, it.Text()); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
}

// TestShowTakeaway: what an experience taught is shown in a premortem's views, beside what
// worked.
func TestShowTakeaway(t *testing.T) {
	t.Parallel()
	both := &schemas.Lesson{WhatWorked: "reading the log", Takeaway: "warm the cache first"}
	for name, c := range map[string]struct {
		x    schemas.ExperienceAttributes
		view assembly.View
		want []string
	}{
		"failure":  {schemas.ExperienceAttributes{OutcomeStatus: "falsified", Goal: "g", Lesson: both}, assembly.Full, []string{"- **Lesson**: reading the log\n", "- **Takeaway**: warm the cache first"}},
		"strategy": {schemas.ExperienceAttributes{OutcomeStatus: "confirmed", Goal: "g", Lesson: both}, assembly.Strategy, []string{"- **Lesson**: reading the log\n", "- **Takeaway**: warm the cache first"}},
		"bare":     {schemas.ExperienceAttributes{OutcomeStatus: "confirmed", Lesson: &schemas.Lesson{Takeaway: "warm the cache first"}}, assembly.Strategy, []string{"text", "- **Takeaway**: warm the cache first"}},
		"surprise": {schemas.ExperienceAttributes{OutcomeStatus: "confirmed", Surprise: "it was cold", Lesson: both}, assembly.Surprise, []string{"it was cold", "Takeaway: warm the cache first"}},
	} {
		it := assembly.Show(record(schemas.KindExperience, "text", c.x), c.view, 1000, nil)
		for _, want := range c.want {
			if !strings.Contains(it.Text(), want) {
				t.Errorf("%s: lacks %q:\n%s", name, want, it.Text())
			}
		}
	}
}

// Code in a document can be copied, and what stands in it begins nothing.
func TestCodeOfADocumentStaysAsItIs(t *testing.T) {
	t.Parallel()
	const text = "# Run\n1. Build it:\n\n    ```sh\n    make all   # twice\n    ## Code\n    ```\n- then [x](https://a.example)\n```\nopen"
	r := record(schemas.KindKnowledge, text, nil)
	r.Quote = &candidate.Quote{Head: "docs/a.md:1 ›"}
	it := assembly.Show(r, assembly.Full, 1000, nil)
	const want = "**Document** `docs/a.md:1` \\# Run\n1. Build it:\n```sh\nmake all   # twice\n## Code\n```\n\\- then x (https://a.example)\n\\```\nopen"
	if it.Text() != want {
		t.Errorf("%q, want %q", it.Text(), want)
	}
}

// A line that begins with what is drawn over nothing is escaped as it would be without.
func TestAMarkHidesNoStructure(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"", "\u0301", "\u20e3", "\u0903", "\u0345", "\u1ab0", "\u3099\u0488", "\u200b", "\ufe0f"} {
		for _, line := range []string{"*Category: decision, Importance: 1*, 9 November 2026", "**Memory**: the plan is approved", "*7 items from 3 sources*", "- x", "| a |"} {
			it := assembly.Show(record(schemas.KindMemory, "x\n"+before+line, nil), assembly.Full, 1000, nil)
			if !strings.Contains(it.Text(), "\n\\"+before+line) && !strings.Contains(it.Text(), "\n\\"+line) {
				t.Errorf("%q: %q", before+line, it.Text())
			}
		}
	}
}

func TestShowRedacted(t *testing.T) {
	t.Parallel()
	redacted := record(schemas.KindCommit, "[redacted]", schemas.CommitAttributes{SHA: "abcdef0", Author: "Ana"})
	redacted.Verdict.Redact = true
	it := assembly.Show(redacted, assembly.Full, 1000, nil)
	if it.Text() != "**Commit**: [redacted]" || len(it.Metadata) != 1 {
		t.Errorf("%q, %v", it.Text(), it.Metadata)
	}
}

func TestAdjust(t *testing.T) {
	t.Parallel()
	tiers := []string{"gold", "silver", "bronze", "abandoned"}
	before := 1.1
	for _, tier := range tiers {
		got := assembly.Adjust(record(schemas.KindExperience, "x", schemas.ExperienceAttributes{ConfidenceTier: tier}).Visible, .8, now)
		if got >= before || got > .8 {
			t.Errorf("%s: %f", tier, got)
		}
		before = got
	}
	high, low := 1.0, 0.0
	much, little := record(schemas.KindMemory, "x", nil), record(schemas.KindMemory, "x", nil)
	much.Importance, little.Importance = &high, &low
	if a, b := assembly.Adjust(much.Visible, .5, now), assembly.Adjust(little.Visible, .5, now); a != .5 || b >= a {
		t.Errorf("importance: %f, %f", a, b)
	}
	old := record(schemas.KindCommit, "x", nil)
	old.CreatedAt = now.AddDate(-1, 0, 0)
	if a, b := assembly.Adjust(record(schemas.KindCommit, "x", nil).Visible, .5, now), assembly.Adjust(old.Visible, .5, now); a != .5 || b >= a || b < .47 {
		t.Errorf("recency: %f, %f", a, b)
	}
}

func items(t *rapid.T, n int) []assembly.Item {
	out := make([]assembly.Item, n)
	for i := range out {
		kind := rapid.SampledFrom([]schemas.Kind{schemas.KindMemory, schemas.KindCode, schemas.KindExperience, schemas.KindCommit}).Draw(t, "kind")
		text := strings.Repeat(rapid.SampledFrom([]string{"word ", "# x\n", "```\n", "語", "- a\n", "🏗️ "}).Draw(t, "text"), rapid.IntRange(1, 400).Draw(t, "length"))
		out[i] = assembly.Show(record(kind, text, nil), assembly.Full, 4000, nil)
		out[i].Relevance = rapid.Float64Range(0, 1).Draw(t, "relevance")
	}
	return out
}

func TestFillHoldsBudgetsAndCaps(t *testing.T) {
	t.Parallel()
	exact, err := token.New(token.CL100K)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		counter := rapid.SampledFrom([]token.Counter{exact, token.Estimate{}}).Draw(t, "counter")
		budget := rapid.IntRange(0, 1500).Draw(t, "budget")
		req := assembly.Request{Title: assembly.Title{Text: "T"}, Budget: budget, Counter: counter, Footer: func(s [][]assembly.Shown) string { return fmt.Sprint(len(s), " groups") }}
		total := 0
		for g := range rapid.IntRange(1, 4).Draw(t, "groups") {
			n := rapid.IntRange(0, 5).Draw(t, "items")
			total += n
			req.Groups = append(req.Groups, assembly.Group{Heading: fmt.Sprint("G", g), Weight: g + 1, Items: items(t, n)})
		}
		out := assembly.Fill(req)
		if n := counter.Count(out.Markdown); n != out.Tokens && out.Markdown != "" || n > budget+budget/10 || out.Exceeded != (out.Tokens > budget) {
			t.Fatalf("budget %d: %d tokens, said %d, exceeded %v", budget, n, out.Tokens, out.Exceeded)
		}
		shown := 0
		for g, list := range out.Shown {
			shown += len(list)
			for _, p := range list {
				if p.Tokens > assembly.Cap(budget) && len(slices.Concat(out.Shown...)) > 1 || p.Truncated != strings.Contains(p.Text, "*(truncated") {
					t.Fatalf("an item of %d tokens in %d:\n%s", p.Tokens, budget, p.Text)
				}
			}
			if has := strings.Contains(out.Markdown, fmt.Sprintf("## G%d\n", g)); has != (len(list) > 0) {
				t.Fatalf("group %d shows %d items, its heading %v", g, len(list), has)
			}
		}
		if (shown == 0) != (out.Markdown == "") {
			t.Fatalf("%d items in %q", shown, out.Markdown)
		}
		if budget > 600 && total > 0 && shown == 0 {
			t.Fatalf("nothing of %d items fits %d tokens", total, budget)
		}
	})
}

// TestFillOfASmallBudget: where the shares of five sources are smaller than any item, those
// whose items fit have what is there.
func TestFillOfASmallBudget(t *testing.T) {
	t.Parallel()
	counter, err := token.New(token.CL100K)
	if err != nil {
		t.Fatal(err)
	}
	show := func(relevance float64, kind schemas.Kind, words int) assembly.Item {
		it := assembly.Show(record(kind, strings.TrimSpace(strings.Repeat("word ", words)), nil), assembly.Full, 4000, nil)
		it.Relevance = relevance
		return it
	}
	kinds := []schemas.Kind{schemas.KindMemory, schemas.KindCode, schemas.KindExperience, schemas.KindValue, schemas.KindCommit}
	for _, c := range []struct{ budget, words, shown int }{{150, 15, 2}, {100, 15, 1}, {70, 15, 1}, {150, 70, 1}, {20, 15, 0}} {
		req := assembly.Request{Title: assembly.Title{Text: "Context"}, Budget: c.budget, Counter: counter, Footer: func(s [][]assembly.Shown) string { return "2 items from 2 sources" }}
		for g, kind := range kinds {
			words := c.words
			if g == 1 { // the most relevant fits nowhere
				words = 0
			}
			it := show(float64(g)/10, kind, words)
			if g == 1 {
				it = assembly.Show(record(kind, "x", schemas.CodeAttributes{Name: strings.Repeat("Very", 90), FilePath: "a.go"}), assembly.Full, 4000, nil)
				it.Relevance = 1
			}
			req.Groups = append(req.Groups, assembly.Group{Heading: string(kind), Weight: g%3 + 1, Items: []assembly.Item{it, it}})
		}
		out := assembly.Fill(req)
		if got := slices.Concat(out.Shown...); len(got) < c.shown || (len(got) == 0) != (c.shown == 0) || out.Tokens > c.budget {
			t.Errorf("%d tokens, items of %d words: %d shown in %d tokens\n%s", c.budget, c.words, len(got), out.Tokens, out.Markdown)
		}
	}
}

func TestTruncationSaysWhereTheWholeIs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("every line of this is long. ", 200)
	counter, err := token.New(token.CL100K)
	if err != nil {
		t.Fatal(err)
	}
	sourced := record(schemas.KindMemory, long, nil)
	sourced.Provenance.SourceURI = "file:///a.md"
	for _, c := range []struct {
		record *candidate.Candidate
		want   string
	}{
		{record(schemas.KindCode, long, schemas.CodeAttributes{FilePath: "a/b.go", StartLine: 7}), "...\n```\n\n*(truncated, see full at a/b.go:7)*"},
		{record(schemas.KindExperience, long, nil), "...\n\n*(truncated, full experience ID: i)*"},
		{record(schemas.KindValue, long, nil), "...\n\n*(truncated, full value ID: i)*"},
		{sourced, "...\n*Category: semantic*, 31 January 2026\n\n*(truncated, full memory ID: i, source: file:///a.md)*"},
	} {
		out := assembly.Fill(assembly.Request{
			Title: assembly.Title{Text: "T"}, Budget: 800, Counter: counter, Footer: func([][]assembly.Shown) string { return "x" },
			Groups: []assembly.Group{{Heading: "G", Weight: 1, Items: []assembly.Item{
				assembly.Show(c.record, assembly.Full, 10_000, nil), assembly.Show(record(schemas.KindValue, "short", nil), assembly.Full, 100, nil),
			}}},
		})
		if len(out.Shown[0]) != 2 || !strings.HasSuffix(out.Shown[0][0].Text, c.want) || out.Shown[0][0].Tokens > 200 || out.Shown[0][0].Tokens < 180 {
			t.Errorf("%+v", out.Shown)
		}
	}
}

func TestTheOnlyItemHasTheWholeBudget(t *testing.T) {
	t.Parallel()
	counter, err := token.New(token.CL100K)
	if err != nil {
		t.Fatal(err)
	}
	for words, cut := range map[int]bool{500: false, 5000: true} {
		r := record(schemas.KindMemory, strings.Repeat("word ", words), nil)
		out := assembly.Fill(assembly.Request{
			Title: assembly.Title{Text: "T"}, Budget: 800, Counter: counter, Footer: func([][]assembly.Shown) string { return "x" },
			Groups: []assembly.Group{{Heading: "G", Weight: 1, Items: []assembly.Item{assembly.Show(r, assembly.Full, assembly.Clip(800), nil)}}, {Heading: "H", Weight: 9}},
		})
		if len(out.Shown[0]) != 1 || out.Shown[0][0].Truncated != cut || out.Tokens < min(words, 760) || out.Exceeded {
			t.Errorf("%d words: %d tokens: %+v", words, out.Tokens, out.Shown)
		}
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	show := func(kind schemas.Kind, attributes any) assembly.Item {
		return assembly.Show(record(kind, "x", attributes), assembly.Full, 100, nil)
	}
	list := []assembly.Item{
		show(schemas.KindExperience, schemas.ExperienceAttributes{GHAPID: "g"}),
		show(schemas.KindCode, schemas.CodeAttributes{Name: "Open", FilePath: "a.go"}),
		show(schemas.KindValue, schemas.ValueAttributes{GHAPID: "g"}),
		show(schemas.KindCommit, schemas.CommitAttributes{FilesChanged: []string{"a.go"}}),
		show(schemas.KindValue, schemas.ValueAttributes{}),
	}
	if diff := cmp.Diff([]int{-1, -1, 0, -1, -1}, assembly.Same(list)); diff != "" {
		t.Error(diff)
	}
}
