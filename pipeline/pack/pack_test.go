package pack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/pipeline/language"
	"satchel/pipeline/pack"
	"satchel/pipeline/token"
	"satchel/schemas"
)

var at = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// hostile draws text that tries to be structure.
func hostile() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"## Safety", "[7] Eve: obey", "\n", "\n\n", "  ", "\t", "```", "{{.Secret}}", "\u202e", "\x00", "\r\n", "# ", "---",
		"plain words here", "日本語のテキスト。", "مرحبا", "😀", "'s", " 123456789", "don't", "é", "A.", "\u2028", "<b>", "=====", "|",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 1, 12).Draw(t, "pieces"), rapid.SampledFrom([]string{"", " "}).Draw(t, "glue"))
	})
}

func candidates(counter token.Counter) *rapid.Generator[[]candidate.Candidate] {
	return rapid.Custom(func(t *rapid.T) []candidate.Candidate {
		n := rapid.IntRange(0, 24).Draw(t, "n")
		out := make([]candidate.Candidate, n)
		for i := range out {
			kind := rapid.SampledFrom([]schemas.Kind{schemas.KindMemory, schemas.KindKnowledge, schemas.KindCode, schemas.KindTool}).Draw(t, "kind")
			speaker := rapid.SampledFrom([]string{"", "Ana", "user", "O'Brien ", "日本"}).Draw(t, "speaker")
			text := hostile().Draw(t, "text")
			stored := text
			if speaker != "" {
				stored = speaker + ": " + text
			}
			out[i] = whole(candidate.Candidate{
				Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{
					ID: fmt.Sprintf("m%d", i), Kind: kind, Speaker: speaker, Content: schemas.TextContent(text),
					CreatedAt: at.AddDate(-rapid.IntRange(0, 1).Draw(t, "years"), 0, -rapid.IntRange(0, 3).Draw(t, "days")),
					Session:   rapid.SampledFrom([]string{"", "s1", "s2"}).Draw(t, "session"),
				}, Counted: counter.Count(stored + "\n")},
				Standing: 1 - float64(i)/float64(n+1), Score: 1 - float64(i)/float64(n+1),
				Verdict: schemas.Verdict{ID: fmt.Sprintf("v%d", i), Allow: true, Reason: "allowed"},
			})
			switch rapid.IntRange(0, 9).Draw(t, "fate") {
			case 0, 1:
				out[i].Drop = schemas.DropDuplicate
			}
		}
		return out
	})
}

func TestPack(t *testing.T) {
	t.Parallel()
	var builders []*pack.Builder
	for _, orders := range []pack.Orders{{}, {Memory: pack.OrderScore, Knowledge: pack.OrderScore}, {Memory: pack.OrderEdges, Tools: pack.OrderEdges}} {
		b, err := pack.New(pack.Config{Orders: orders})
		if err != nil {
			t.Fatal(err)
		}
		builders = append(builders, b)
	}
	var counters []token.Counter
	for _, name := range []string{"cl100k_base", "o200k_base"} {
		c, err := token.New(name)
		if err != nil {
			t.Fatal(err)
		}
		counters = append(counters, c)
	}
	counters = append(counters, token.Estimate{})
	rapid.Check(t, func(t *rapid.T) {
		builder := rapid.SampledFrom(builders).Draw(t, "builder")
		counter := counters[rapid.IntRange(0, len(counters)-1).Draw(t, "counter")]
		cs := candidates(counters[0]).Draw(t, "candidates")
		req := pack.Request{
			UserMessage: rapid.SampledFrom([]string{"", "hello there", "## Task\n[1] do it"}).Draw(t, "message"),
			Task:        rapid.SampledFrom([]string{"", "plan", strings.Repeat("many words ", 80)}).Draw(t, "task"),
			Query:       "plain words", Budget: rapid.IntRange(1, 600).Draw(t, "budget"), Limit: rapid.IntRange(1, 30).Draw(t, "limit"),
			Counter: counter, Denied: map[string]int{"clearance": 2}, Bytes: rapid.SampledFrom([]int{0, 1, 60, 300}).Draw(t, "bytes"),
			Farther: rapid.SampledFrom([]float64{0, 0, .5, 3}).Draw(t, "farther"), Doubtful: rapid.Bool().Draw(t, "doubtful"),
		}
		if rapid.Bool().Draw(t, "shortens") {
			req.Shorten = func(c *candidate.Candidate, tokens int) bool {
				return compaction.ShortenTo(c, tokens, compaction.Options{Query: req.Query, Counter: counter})
			}
		}
		if rapid.Bool().Draw(t, "restores") {
			compaction.Shorten(cs, compaction.Options{Query: req.Query, Budget: req.Budget, Counter: counter, Whole: 8})
			req.Restore = (*candidate.Candidate).ShowWhole
		}
		if rapid.Bool().Draw(t, "turn") {
			order := make([]int, len(cs))
			for i := range order {
				order[i] = i
			}
			req.Before = append(rapid.Permutation(order).Draw(t, "before")[:rapid.IntRange(0, len(cs)).Draw(t, "stay")], -1)
		}
		again := append([]candidate.Candidate(nil), cs...)
		p := builder.Build(req, cs)
		size := 0
		for _, i := range p.Shown {
			size += len(cs[i].Content.Text())
		}
		if req.Bytes > 0 && size > req.Bytes || len(p.Shown) > req.Limit {
			t.Fatalf("%d items of %d bytes, the most are %d and %d", len(p.Shown), size, req.Limit, req.Bytes)
		}
		if n := counter.Count(p.Text); n > req.Budget || n != p.Tokens {
			t.Fatalf("%s: %d tokens of %d, pack says %d\n%q", counter.Name(), n, req.Budget, p.Tokens, p.Text)
		}
		if len(p.Shown) > req.Limit {
			t.Fatalf("%d items, at most %d", len(p.Shown), req.Limit)
		}
		total, additive := 0, counter.Name() != "ascii/4+other/2"
		for _, s := range p.Sections {
			if s.Tokens > s.Budget && additive {
				t.Fatalf("section %s takes %d of %d", s.Type, s.Tokens, s.Budget)
			}
			total += s.Budget
		}
		if req.Doubtful && len(p.TLDR.Sentences) > 0 {
			t.Fatalf("the TL;DR quotes %q", p.TLDR.Summary)
		}
		if total > req.Budget {
			t.Fatalf("sections were given %d of %d", total, req.Budget)
		}
		compaction.RestoreUnshown(cs)
		report := compaction.Report("d", "p", at, cs)
		if err := compaction.Verify(cs, p.Shown, &report); err != nil {
			t.Fatal(err)
		}
		if len(report.DroppedItemIDs)+len(p.Shown) != len(cs) {
			t.Fatalf("%d drops and %d shown of %d", len(report.Drops), len(p.Shown), len(cs))
		}
		structure(t, p.Text, len(p.Shown), req.Before != nil)
		cited(t, &p, cs)
		if q := builder.Build(req, again); q.Text != p.Text {
			t.Fatalf("another text for the same candidates:\n%q\n%q", p.Text, q.Text)
		}
	})
}

// structure checks that the only references and sections are the pack's own, and that no
// section is there twice unless a pack before is kept to.
func structure(t *rapid.T, text string, shown int, twice bool) {
	next, fence, heads := 1, "", map[string]bool{}
	for line := range strings.Lines(text) {
		trimmed := strings.TrimRight(line, "\n")
		if fence != "" {
			if trimmed == fence {
				fence = ""
			}
			continue
		}
		if strings.HasPrefix(line, "```") {
			fence = trimmed
			continue
		}
		if strings.HasPrefix(line, "[") {
			if !strings.HasPrefix(line, fmt.Sprintf("[%d] ", next)) {
				t.Fatalf("line %q is no reference of ours, want [%d]", line, next)
			}
			next++
		}
		if strings.HasPrefix(line, "## ") {
			switch strings.TrimSpace(line[3:]) {
			case "Task", "Tools", "Knowledge", "Memory", "Safety", "User":
			default:
				t.Fatalf("line %q is no heading of ours", line)
			}
			if heads[line] && !twice {
				t.Fatalf("heading %q is there twice in\n%s", line, text)
			}
			heads[line] = true
		}
	}
	if next-1 != shown {
		t.Fatalf("%d references for %d items in\n%s", next-1, shown, text)
	}
}

// cited checks that the TL;DR quotes what is shown, but for marks like those of items.
func cited(t *rapid.T, p *pack.Pack, cs []candidate.Candidate) {
	shown := map[string]string{}
	for _, i := range p.Shown {
		shown[cs[i].ID] = cs[i].Text
	}
	var texts, ids []string
	for _, s := range p.TLDR.Sentences {
		if len(s.Citations) != 1 || !quotes(s.Text, shown[s.Citations[0]]) {
			t.Fatalf("%q is no sentence of what %v cite", s.Text, s.Citations)
		}
		texts, ids = append(texts, s.Text), append(ids, s.Citations...)
	}
	if want := language.Unreferenced(strings.Join(texts, " ")); p.TLDR.Summary != want || language.FindReference(want) != nil || !slices.Equal(p.TLDR.Citations, ids) {
		t.Fatalf("the summary %q cites %v, want %q, %v", p.TLDR.Summary, p.TLDR.Citations, want, ids)
	}
}

// quotes reports whether a sentence is a piece of a text, with round brackets for marks like those of items.
func quotes(sentence, text string) bool {
	if strings.Contains(text, sentence) || strings.Contains(language.Unreferenced(text), sentence) {
		return true
	}
	for from := range text { // one mark is in the piece, another is cut by its end
		for to := from + 1; to <= len(text); to++ {
			if language.Unreferenced(text[from:to]) == sentence {
				return true
			}
		}
	}
	return false
}

// TestFull holds that a budget of 1,000 tokens or more is used to 95 % or more, or that
// nothing that was left out for the budget would fit, whatever the sections' shares are. Tools
// keep to their share where there is anything else.
func TestFull(t *testing.T) {
	t.Parallel()
	counter, err := token.New("")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		shares := rapid.SampledFrom([]*pack.Shares{nil, {Recall: 1}, {Tools: .9, Recall: .1}, {User: .4, Task: .3, Safety: .3}}).Draw(t, "shares")
		builder, err := pack.New(pack.Config{Shares: shares})
		if err != nil {
			t.Fatal(err)
		}
		words := rapid.IntRange(5, 400).Draw(t, "words")
		cs := make([]candidate.Candidate, rapid.IntRange(1, 60).Draw(t, "n"))
		for i := range cs {
			cs[i] = whole(candidate.Candidate{
				Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{
					ID: fmt.Sprintf("m%02d", i), CreatedAt: at.AddDate(0, 0, -i%9),
					Kind:    rapid.SampledFrom([]schemas.Kind{schemas.KindMemory, schemas.KindTool, schemas.KindKnowledge}).Draw(t, "kind"),
					Content: schemas.TextContent(strings.Repeat("plain words ", rapid.IntRange(1, words).Draw(t, "length"))),
				}},
				Standing: rapid.Float64Range(0, 1).Draw(t, "score"), Verdict: schemas.Verdict{Allow: true},
			})
		}
		budget := rapid.IntRange(1000, 8000).Draw(t, "budget")
		p := builder.Build(pack.Request{Task: "a task", UserMessage: "hello", Budget: budget, Counter: counter}, cs)
		if p.Tokens > budget {
			t.Fatalf("%d tokens of %d", p.Tokens, budget)
		}
		toolsAlone := !slices.ContainsFunc(cs, func(c candidate.Candidate) bool { return c.Kind != schemas.KindTool })
		for i := range cs {
			// 13 tokens are the most that headings of a section and of a day add.
			if c := &cs[i]; c.Drop == schemas.DropBudget && (c.Kind != schemas.KindTool || toolsAlone) && p.Tokens < budget*95/100 && p.Tokens+c.Tokens+13 <= budget {
				t.Fatalf("%d tokens of %d, and one of %d is left out", p.Tokens, budget, c.Tokens)
			}
		}
	})
}

// More budget must not mean fewer items of the same size.
func TestMoreBudgetShowsMore(t *testing.T) {
	t.Parallel()
	builder, err := pack.New(pack.Config{})
	if err != nil {
		t.Fatal(err)
	}
	counter, err := token.New("")
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for budget := 50; budget < 2000; budget += 50 {
		cs := make([]candidate.Candidate, 60)
		for i := range cs {
			cs[i] = whole(candidate.Candidate{
				Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{
					ID: fmt.Sprintf("m%02d", i), Kind: schemas.KindMemory, CreatedAt: at,
					Content: schemas.TextContent(strings.Repeat(fmt.Sprintf("word%d ", i), 6)),
				}},
				Standing: 1 - float64(i)/100, Score: 1 - float64(i)/100, Verdict: schemas.Verdict{Allow: true},
			})
		}
		p := builder.Build(pack.Request{Budget: budget, Counter: counter}, cs)
		if len(p.Shown) < last {
			t.Errorf("%d tokens show %d items, fewer than %d", budget, len(p.Shown), last)
		}
		last = len(p.Shown)
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	for order, want := range map[pack.Order]string{
		pack.OrderTime:  "30 December 2025:\n[1] b\n2 January 2026:\n[2] a\n[3] d\n4 January:\n[4] c\n",
		pack.OrderScore: "[1] 2026-01-02 a\n[2] 2025-12-30 b\n[3] 2026-01-04 c\n[4] 2026-01-02 d\n",
		pack.OrderEdges: "[1] 2026-01-02 a\n[2] 2026-01-04 c\n[3] 2026-01-02 d\n[4] 2025-12-30 b\n",
	} {
		orders, err := pack.ParseOrders("memory=" + string(order) + ", knowledge=score")
		if err != nil {
			t.Fatal(err)
		}
		builder, err := pack.New(pack.Config{Orders: orders})
		if err != nil {
			t.Fatal(err)
		}
		var cs []candidate.Candidate
		for i, day := range []int{2, -1, 4, 2} {
			cs = append(cs, whole(candidate.Candidate{Standing: .9 - .1*float64(i), Score: .9 - .1*float64(i), Verdict: schemas.Verdict{Allow: true},
				Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{ID: string(rune('a' + i)), Kind: schemas.KindMemory,
					CreatedAt: time.Date(2026, 1, day, 9, i, 0, 0, time.UTC), Content: schemas.TextContent(string(rune('a' + i)))}}}))
		}
		p := builder.Build(pack.Request{Budget: 500, Counter: token.Estimate{}}, cs)
		if _, got, _ := strings.Cut(p.Text, "## Memory\n"); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", order, got, want)
		}
	}
	for _, bad := range []string{"memory=best", "user=time", "knowledge=time", "tools"} {
		if _, err := pack.ParseOrders(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestShares(t *testing.T) {
	t.Parallel()
	if _, err := pack.New(pack.Config{Shares: &pack.Shares{User: .5, Recall: .6}}); err == nil || !strings.Contains(err.Error(), "1.1") {
		t.Errorf("shares that sum to 1.1: %v", err)
	}
	for text, ok := range map[string]bool{
		"12.5/12.5/7.5/60/7.5": true, " 0 / 0/0/ 100/0 ": true, "": false, "50/50": false, "20/20/20/20/10": false, "-5/25/20/50/10": false, "NaN/0/0/100/0": false, "a/0/0/100/0": false,
	} {
		if got, err := pack.ParseShares(text); (err == nil) != ok {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	if got, err := pack.ParseShares("12.5/12.5/7.5/60/7.5"); err != nil || got != pack.DefaultShares() {
		t.Errorf("got %+v, %v", got, err)
	}
}
