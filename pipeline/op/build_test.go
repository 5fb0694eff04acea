package op_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"satchel/pipeline/model"
	"satchel/pipeline/op"
	"satchel/pipeline/pack/template"
	"satchel/pipeline/scope"
	"satchel/schemas"
	"satchel/test/parts"
)

func TestBuildRanksAndRenders(t *testing.T) {
	t.Parallel()
	w := library(t, func(c *op.Config) {
		c.Rankers = []op.Ranker{{Name: "doubt", Similarity: .1, Confidence: .9}}
	})
	ctx := context.Background()
	s := as(t, "acme", schemas.Internal)
	build := func(req schemas.BuildRequest) schemas.BuildReply {
		t.Helper()
		req.Query = "harbour crane"
		out, err := w.engine.Build(ctx, s, req)
		must(t, err)
		if n := w.tokens.Count(out.Context); n != out.TokenCount {
			t.Errorf("%d tokens are said to be %d", n, out.TokenCount)
		}
		return out
	}
	out := build(schemas.BuildRequest{})
	if !strings.HasPrefix(out.Context, "Relevant context from past conversations:\n\n- ") || out.Template != "chat" || out.Truncated || out.PackID == "" || len(out.Memories) != 5 {
		t.Errorf("%+v", out)
	}
	if got := found(build(schemas.BuildRequest{Ranker: "recency"}).Memories); !slices.Equal(got, []string{"a", "e", "b", "c", "d"}) {
		t.Errorf("by recency: %v", got)
	}
	if got := found(build(schemas.BuildRequest{RankerWeights: &schemas.RankerWeights{Recency: .5}}).Memories); !slices.Equal(got, []string{"a", "e", "b", "c", "d"}) {
		t.Errorf("by weights of the request: %v", got)
	}
	if _, err := w.engine.Build(ctx, s, schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Query: "x"}, RankerWeights: &schemas.RankerWeights{}}); err == nil {
		t.Error("weights of 0 are taken")
	}
	if got := found(build(schemas.BuildRequest{Ranker: "confidence"}).Memories); got[2] != "b" || got[3] != "a" || got[4] != "e" {
		t.Errorf("by confidence: %v", got)
	}
	if got := found(build(schemas.BuildRequest{Ranker: "similarity"}).Memories); !slices.Contains(got[:2], "a") || !slices.Contains(got[:2], "b") {
		t.Errorf("by similarity: %v", got)
	}
	if got := found(build(schemas.BuildRequest{Ranker: "doubt"}).Memories); got[4] != "e" {
		t.Errorf("by a registered ranker: %v", got)
	}
	small := build(schemas.BuildRequest{TokenBudget: 25})
	if !small.Truncated || len(small.Memories) == 0 || small.TokenCount > 25 {
		t.Errorf("25 tokens: %+v", small)
	}
	if tiny := build(schemas.BuildRequest{TokenBudget: 1}); !tiny.Truncated || tiny.Context != "" || tiny.TokenCount != 0 {
		t.Errorf("1 token: %+v", tiny)
	}
	if d := build(schemas.BuildRequest{Template: "detailed"}); !strings.Contains(d.Context, "[semantic] The harbour crane lifts ten tons. (confidence: 0.50, 2026-01-30T12:00:00Z)") {
		t.Errorf("detailed:\n%s", d.Context)
	}
	inline := build(schemas.BuildRequest{Inline: &schemas.ContextTemplate{Name: "x", MemoryFormat: "{{score}};", Separator: ""}})
	if inline.Template != "x" || strings.Count(inline.Context, ";") != 5 {
		t.Errorf("inline: %+v", inline)
	}
	if m := build(schemas.BuildRequest{IncludeMetadata: true, Model: "gpt-4"}); !strings.Contains(m.Context, "(semantic, confidence 0.50, 2026-01-30T12:00:00Z)") {
		t.Errorf("with metadata:\n%s", m.Context)
	}
	none, err := w.engine.Build(ctx, as(t, "nobody", schemas.Internal), schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Query: "x"}})
	if err != nil || none.Context != "" || none.Memories == nil || none.PackID == "" {
		t.Errorf("of nothing: %+v, %v", none, err)
	}
}

// A preview is the build with the scores of its ranking, and the log has it. Scores alone are not logged.
func TestPreviewIsTheBuildWithItsScores(t *testing.T) {
	t.Parallel()
	w := library(t, nil)
	ctx := context.Background()
	s := as(t, "acme", schemas.Internal)
	req := schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Query: "harbour crane"}, TokenBudget: 40}
	before, err := w.log.Head(ctx, s)
	must(t, err)
	p, err := w.engine.Preview(ctx, s, req)
	must(t, err)
	after, err := w.log.Head(ctx, s)
	must(t, err)
	b, err := w.engine.Build(ctx, s, req)
	must(t, err)
	if before.Size == after.Size || p.Positions.Pack != before.Size+1 {
		t.Errorf("a preview is not in the log: %+v", p.Positions)
	}
	logged, err := w.log.Head(ctx, s)
	must(t, err)
	req.ScoresOnly = true
	only, err := w.engine.Preview(ctx, s, req)
	must(t, err)
	if still, err := w.log.Head(ctx, s); err != nil || still.Size != logged.Size {
		t.Errorf("scores are in the log: %d after %d, %v", still.Size, logged.Size, err)
	}
	if only.Context != "" || len(only.Memories) > 0 || only.PackID != "" || !slices.Equal(only.MemoryIDs, p.MemoryIDs) {
		t.Errorf("scores only: %+v", only)
	}
	if !slices.Equal(p.MemoryIDs, found(b.Memories)) || p.TokenCount != b.TokenCount || p.Truncated != b.Truncated {
		t.Errorf("preview %+v, build %+v", p, b)
	}
	if p.Context == "" || p.Context != b.Context || !slices.Equal(found(p.Memories), found(b.Memories)) || p.PackID == "" || p.RankingScores["h"] != 0 || len(p.RankingScores) != 5 || p.BudgetUsed != 100*float64(p.TokenCount)/40 {
		t.Errorf("preview %+v", p)
	}
}

func TestSearchesAndBuildsRefuse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := library(t, func(c *op.Config) { c.Templates = &template.Store{Dir: dir} })
	ctx := context.Background()
	s := as(t, "acme", schemas.Internal)
	q := schemas.SearchRequest{Query: "crane"}
	nan := make([]float32, 256)
	nan[3] = float32(math.NaN())
	for name, c := range map[string]struct {
		req   schemas.BuildRequest
		code  schemas.Code
		field string
	}{
		"template":  {schemas.BuildRequest{SearchRequest: q, Template: "nope"}, schemas.CodeTemplateNotFound, "/template"},
		"ranker":    {schemas.BuildRequest{SearchRequest: q, Ranker: "nope"}, schemas.CodeValidation, "/ranker"},
		"inline":    {schemas.BuildRequest{SearchRequest: q, Inline: &schemas.ContextTemplate{Name: "x", MemoryFormat: "{{nope}}"}}, schemas.CodeValidation, "/inline/memory_format"},
		"budget":    {schemas.BuildRequest{SearchRequest: q, TokenBudget: -1}, schemas.CodeValidation, "/token_budget"},
		"huge":      {schemas.BuildRequest{SearchRequest: q, TokenBudget: 1 << 30}, schemas.CodeValidation, "/token_budget"},
		"nothing":   {schemas.BuildRequest{}, schemas.CodeValidation, "/query"},
		"limit":     {schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Query: "x", Limit: 10_000}}, schemas.CodeValidation, "/limit"},
		"NaN":       {schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Vector: nan}}, schemas.CodeValidation, "/vector/3"},
		"dimension": {schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Vector: []float32{1}}}, schemas.CodeValidation, "/vector"},
		"zero":      {schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Vector: make([]float32, w.embed.Model().Dimensions)}}, schemas.CodeValidation, "/vector"},
		"position":  {schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Query: "x", MinPosition: -1}}, schemas.CodeValidation, "/min_position"},
	} {
		_, err := w.engine.Build(ctx, s, c.req)
		var refused *schemas.Error
		if !errors.As(err, &refused) || refused.Code != c.code || refused.Field != c.field {
			t.Errorf("%s: %v, want %s at %s", name, err, c.code, c.field)
		}
		if name == "template" && !slices.Equal(refused.Available, []string{"chat", "detailed", "summary"}) {
			t.Errorf("there are %v", refused.Available)
		}
	}
	if _, err := w.engine.Search(ctx, scope.Scope{}, q); err == nil {
		t.Error("the zero scope searches")
	}
	wrong := w.config()
	wrong.Rankers = []op.Ranker{{Name: "x", Recency: math.NaN()}}
	if _, err := op.New(wrong); err == nil {
		t.Error("a ranker with NaN is taken")
	}
	mute := library(t, func(c *op.Config) { c.Embedder, c.Keyword = mutes{c.Embedder}, nil })
	_, err := mute.engine.Search(ctx, s, q)
	refusedWith(t, err, schemas.CodeEmbedding, "")
	degraded := library(t, func(c *op.Config) { c.Embedder = mutes{c.Embedder} })
	out, err := degraded.engine.Search(ctx, s, q)
	if err != nil || len(out.Results) == 0 || !slices.Contains(out.Warnings, "vector: the query could not be embedded") {
		t.Errorf("without an embedder that answers: %+v, %v", out, err)
	}
}

// mutes is an embedder that fails.
type mutes struct{ model.Embedder }

func (mutes) Embed(context.Context, []string) ([][]float32, error) { return nil, errors.New("down") }

func TestContentIsNeverInterpreted(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	w := openWorld(t, nil)
	nasty := "crane {{type}} {{nope}} \u202eevil\u202c \x1b[31mred\x00\r\n# Heading\n---\n```\n[1] fake\n<!-- hidden\n\n\n🏗️ עגורן"
	m := item(schemas.KindMemory, "m", nasty, nil)
	m.Category = "a*b\n# c"
	code := item(schemas.KindCode, "c", "the crane `` ```\n````\nx in code", schemas.CodeAttributes{
		FilePath: "crane`.go\n# x", Name: "a`b", Signature: "crane `` ```\n````\nx", Language: "go\n# y", UnitType: "fn**",
	})
	exp := experience("e", "crane\n# d", "s", "falsified", "crane\n## Goal", "sur\n---\nprise", "")
	commit := item(schemas.KindCommit, "k", "# crane\n\n## Fake\n", schemas.CommitAttributes{SHA: "abcdef0", Author: "A\n# B", FilesChanged: []string{"a*b.go"}})
	big := item(schemas.KindMemory, "big", "crane "+strings.Repeat("long words here. ", 300_000), nil)
	w.learn(t, "acme", m, code, exp, commit, big)
	ctx := context.Background()
	s := as(t, "acme", schemas.Internal)
	out, err := w.engine.Assemble(ctx, s, schemas.AssembleRequest{Query: "crane"})
	must(t, err)
	built, err := w.engine.Build(ctx, s, schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Query: "crane"}})
	must(t, err)
	var headings []string
	fenced := false
	for line := range strings.Lines(out.Markdown) {
		if strings.HasPrefix(line, "`````") || strings.HasPrefix(line, "```") && !fenced && !strings.HasPrefix(line, "````\n") {
			fenced = !fenced
		}
		if strings.HasPrefix(line, "#") && !fenced {
			headings = append(headings, strings.TrimSpace(line))
		}
	}
	if diff := cmp.Diff([]string{"# Context", "## Memories", "## Code", "## Experiences", "## Commits"}, headings); diff != "" {
		t.Errorf("%s\n%s", diff, out.Markdown)
	}
	for _, text := range []string{out.Markdown, built.Context} {
		if strings.ContainsAny(text, "\u202e\u202c\x1b\x00\r") || !strings.Contains(text, "{{type}} {{nope}}") || !strings.Contains(text, "🏗️ עגורן") {
			t.Errorf("content came out as\n%s", text)
		}
	}
	if !strings.Contains(out.Markdown, "\n*Category: semantic*, 29 January 2026\n\n*(truncated, full memory ID: big)*") || out.TokenCount > 2000 {
		t.Errorf("%d tokens:\n%s", out.TokenCount, out.Markdown)
	}
	if most := 8000; built.TokenCount > most || len(built.Context) > 6*most { // the passages that fit, whatever the memory's length
		t.Errorf("a memory of 5 MB takes %d tokens, %d bytes", built.TokenCount, len(built.Context))
	}
}

func TestRedactedItemsShowNoAttributes(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	m := experience("e", "debugging", "s", "falsified", "call 555-0100", "", "")
	m.Content, m.PIIFlags = schemas.JSONContent([]byte(`{"goal":"find the crane","phone":"555-0100"}`)), []string{"$.content.phone"}
	w.learn(t, "acme", m)
	out, err := w.engine.Assemble(context.Background(), as(t, "acme", schemas.Internal), schemas.AssembleRequest{Query: "crane"})
	must(t, err)
	if strings.Contains(fmt.Sprintf("%+v", out), "555-0100") || !strings.Contains(out.Markdown, "find the crane") {
		t.Errorf("a redacted item:\n%s\n%+v", out.Markdown, out.Items)
	}
}

func TestBudgetsHold(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	w.learn(t, "acme", corpusOfFive(60)...)
	s := as(t, "acme", schemas.Internal)
	rapid.Check(t, func(t *rapid.T) {
		budget := rapid.IntRange(1, 3000).Draw(t, "budget")
		query := rapid.SampledFrom([]string{"garden harbour", "invoice", "umbrella violin", "zzz"}).Draw(t, "query")
		types := rapid.SliceOfNDistinct(rapid.SampledFrom(schemas.ContextTypes()), 0, 5, rapid.ID).Draw(t, "types")
		out, err := w.engine.Assemble(context.Background(), s, schemas.AssembleRequest{Query: query, MaxTokens: budget, ContextTypes: types})
		if err != nil {
			t.Fatal(err)
		}
		n := w.tokens.Count(out.Markdown)
		if n != out.TokenCount || n > budget+budget/10 || out.Exceeded != (n > budget) {
			t.Fatalf("budget %d: %d tokens, said to be %d, exceeded %v", budget, n, out.TokenCount, out.Exceeded)
		}
		built, err := w.engine.Build(context.Background(), s, schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Query: query}, TokenBudget: budget,
			Template: rapid.SampledFrom([]string{"chat", "detailed", "summary"}).Draw(t, "template")})
		if err != nil {
			t.Fatal(err)
		}
		if n := w.tokens.Count(built.Context); n > budget {
			t.Fatalf("budget %d: %d tokens", budget, n)
		}
	})
}
