package op_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/op"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

func item(kind schemas.Kind, id, text string, attributes any) schemas.MemoryItem {
	m := schemas.MemoryItem{
		ID: id, Kind: kind, Type: schemas.Semantic, CreatedAt: day.Add(-48 * time.Hour), SecurityLabel: []string{"level:public"},
		Content: schemas.TextContent(text), Scope: schemas.MemoryScope{Tenant: "acme"},
	}
	if attributes != nil {
		raw, err := json.Marshal(attributes)
		if err != nil {
			panic(err)
		}
		m.Attributes = raw
	}
	return m
}

func experience(id, domain, strategy, status, goal, surprise, cause string) schemas.MemoryItem {
	return item(schemas.KindExperience, id, goal+" in "+domain, schemas.ExperienceAttributes{
		Domain: domain, Strategy: strategy, GHAPID: "ghap-" + id, Goal: goal, Hypothesis: "the cache of " + id + " is stale",
		Action: "flushed the cache of " + id, Prediction: "the selector test passes", OutcomeStatus: status, OutcomeResult: "result of " + id,
		Surprise: surprise, RootCause: cause, Lesson: &schemas.Lesson{WhatWorked: "reading the log of " + id}, ConfidenceTier: "gold", IterationCount: 2,
	})
}

// learn indexes items with the axes of experiences, as the projector does.
func (w *world) learn(t testing.TB, tenant string, list ...schemas.MemoryItem) {
	t.Helper()
	ctx := context.Background()
	w.put(t, tenant, list...)
	s, err := scope.System(tenant)
	must(t, err)
	var changes []vector.Change
	for i := range list {
		if list[i].Kind != schemas.KindExperience {
			continue
		}
		x, err := list[i].Experience()
		must(t, err)
		w.at[tenant]++
		doc := &vector.Doc{ID: list[i].ID, Position: w.at[tenant], Facets: list[i].Facets()}
		for axis, text := range map[string]string{"": list[i].Content.Text(), "strategy": x.Strategy, "surprise": x.Surprise, "root_cause": x.RootCause} {
			if text != "" {
				v, err := w.embed.Embed(ctx, []string{text})
				must(t, err)
				doc.Chunks = append(doc.Chunks, vector.Chunk{Axis: axis, Vector: v[0]})
			}
		}
		changes = append(changes, vector.Change{Position: w.at[tenant], Put: doc})
	}
	must(t, w.vector.Apply(ctx, s, changes, w.at[tenant]))
}

func study(t testing.TB, w *world) {
	t.Helper()
	secret := item(schemas.KindMemory, "m-secret", "The selector cache password is swordfish.", nil)
	secret.SecurityLabel = []string{"level:confidential"}
	fact := item(schemas.KindMemory, "m-1", "The selector cache is flushed at midnight.", nil)
	fact.Category = "fact"
	w.learn(t, "acme",
		fact, secret,
		item(schemas.KindCode, "c-1", "func FlushCache()", schemas.CodeAttributes{
			FilePath: "cache/flush.go", StartLine: 12, EndLine: 30, Language: "go", Name: "FlushCache", QualifiedName: "cache.FlushCache",
			UnitType: "function", Signature: "func FlushCache(ctx context.Context) error", Docstring: "FlushCache empties the selector cache.",
		}),
		experience("e-1", "debugging", "bisect", "falsified", "find why the selector cache fails", "the cache was never filled", "a build tag hid the file"),
		experience("e-2", "debugging", "systematic-elimination", "confirmed", "fix the slow selector", "", "the index was missing"),
		experience("e-3", "feature", "systematic-elimination", "falsified", "add a selector cache", "two caches fought", "no owner of the cache"),
		item(schemas.KindValue, "v-1", "Look at the selector cache before you change code.", schemas.ValueAttributes{
			Axis: "strategy", ClusterID: "k1", ClusterSize: 7, SimilarityToCentroid: .9, Domain: "debugging",
		}),
		item(schemas.KindValue, "v-2", "Ask before you add a cache.", schemas.ValueAttributes{Axis: "full", ClusterSize: 3, Domain: "feature"}),
		item(schemas.KindCommit, "k-1", "Flush the selector cache at midnight\n\nIt grew without bound.", schemas.CommitAttributes{
			SHA: "0123456789abcdef", Author: "Ana", Timestamp: "2026-01-20T10:00:00Z", FilesChanged: []string{"cron/midnight.go", "docs/cache.md"}, Insertions: 12, Deletions: 3,
		}),
	)
}

func TestAssembleFiveSources(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	study(t, w)
	ctx := context.Background()
	s := as(t, "acme", schemas.Internal)
	out, err := w.engine.Assemble(ctx, s, schemas.AssembleRequest{Query: "selector cache", Fill: true})
	must(t, err)
	at := 0
	for _, part := range []string{
		"# Context\n\n## Memories\n**Memory**: The selector cache is flushed at midnight.\n*Category: fact*, 29 January 2026\n",
		"## Code\n**function** `FlushCache` in `cache/flush.go:12`\nFlushCache empties the selector cache.\n```go\nfunc FlushCache(ctx context.Context) error\n",
		"## Experiences\n", "## Values\n", "**Value** (strategy, cluster size: 7):\nLook at the selector cache before you change code.\n",
		"## Commits\n**Commit** `0123456` by Ana on 2026-01-20\nFlush the selector cache at midnight\nIt grew without bound.\n*Files: cron/midnight.go, docs/cache.md*\n",
		"\n---\n*8 items from 5 sources*\n",
	} {
		i := strings.Index(out.Markdown[at:], part)
		if i < 0 {
			t.Fatalf("%q is not there, or not in its place:\n%s", part, out.Markdown)
		}
		at += i
	}
	want := "**Experience**: debugging | bisect\n- **Goal**: find why the selector cache fails\n- **Hypothesis**: the cache of e-1 is stale\n- **Action**: flushed the cache of e-1\n" +
		"- **Prediction**: the selector test passes\n- **Outcome**: falsified - result of e-1\n- **Surprise**: the cache was never filled\n- **Root cause**: a build tag hid the file\n- **Lesson**: reading the log of e-1\n"
	if !strings.Contains(out.Markdown, want) {
		t.Errorf("the experience is not as documented:\n%s", out.Markdown)
	}
	if strings.Contains(out.Markdown, "swordfish") || out.Exceeded || out.TokenCount != w.tokens.Count(out.Markdown) || out.TokenCount > 2000 {
		t.Errorf("%d tokens:\n%s", out.TokenCount, out.Markdown)
	}
	if diff := cmp.Diff(map[string]int{"memories": 1, "code": 1, "experiences": 3, "values": 2, "commits": 1}, out.SourcesUsed); diff != "" {
		t.Error(diff)
	}
	for _, it := range out.Items {
		if it.Relevance <= 0 || it.Relevance > 1 || !strings.Contains(out.Markdown, it.Content) {
			t.Errorf("item %+v", it)
		}
		if it.Source == "commit" && (it.Metadata["sha"] != "0123456789abcdef" || it.Metadata["insertions"] != 12) {
			t.Errorf("metadata %v", it.Metadata)
		}
	}
	entry, err := w.log.Entry(ctx, s, out.Positions.Pack)
	must(t, err)
	var logged schemas.ContextPack
	must(t, json.Unmarshal(entry.Data, &logged))
	if logged.ID != out.PackID || logged.TokenActual != out.TokenCount || len(logged.PolicyDecisions) != 8 || logged.TokenBudget != 2000 {
		t.Errorf("the log has %+v", logged)
	}
	stored, err := w.log.Attachment(ctx, s, out.Positions.Pack)
	must(t, err)
	var res schemas.ContextResult
	must(t, json.Unmarshal(stored, &res))
	if res.Payload.Text != out.Markdown || strings.Contains(string(stored), "swordfish") {
		t.Error("the stored pack is not what left")
	}
	only, err := w.engine.Assemble(ctx, s, schemas.AssembleRequest{Query: "selector cache", ContextTypes: []string{"values"}, Limit: 1})
	must(t, err)
	if len(only.Items) != 1 || strings.Count(only.Markdown, "## ") != 1 {
		t.Errorf("values only:\n%s", only.Markdown)
	}
}

func TestAssembleDuplicatesAcrossSources(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	text := "The lighthouse lamp is replaced in spring, before the first ferry of the season leaves."
	value := item(schemas.KindValue, "v-1", "Replace the lamp early.", schemas.ValueAttributes{Axis: "full", GHAPID: "ghap-e-1"})
	w.learn(t, "acme",
		memory("m-1", "level:public", "Ana", text),
		item(schemas.KindCommit, "k-1", text+".", schemas.CommitAttributes{SHA: "aaaaaaa1", FilesChanged: []string{"x.go"}}),
		item(schemas.KindCode, "c-1", "lamp code", schemas.CodeAttributes{FilePath: "lamp.go", Name: "Lamp", Signature: "func Lamp()", Docstring: "Lamp lights the lighthouse."}),
		item(schemas.KindCommit, "k-2", "Turn the lighthouse lamp on", schemas.CommitAttributes{SHA: "bbbbbbb1", FilesChanged: []string{"lamp.go"}}),
		item(schemas.KindCode, "c-2", "other code of the same file", schemas.CodeAttributes{FilePath: "lamp.go", Name: "Off", Signature: "func Off()", Docstring: "Off turns the lighthouse lamp off."}),
		experience("e-1", "debugging", "bisect", "falsified", "replace the lighthouse lamp", "", ""), value,
	)
	out, err := w.engine.Assemble(context.Background(), as(t, "acme", schemas.Internal), schemas.AssembleRequest{Query: "lighthouse lamp"})
	must(t, err)
	var both []string
	for _, id := range []string{"`aaaaaaa`", "**Memory**: Ana: The lighthouse lamp", "`bbbbbbb`", "`Lamp`", "Replace the lamp early", "- **Goal**: replace the lighthouse lamp"} {
		if n := strings.Count(out.Markdown, id); n > 1 {
			t.Errorf("%q is there %d times:\n%s", id, n, out.Markdown)
		} else if n == 1 {
			both = append(both, id)
		}
	}
	has := func(id string) bool { return slices.Contains(both, id) }
	if !has("`bbbbbbb`") || !has("`Lamp`") { // a commit and the code that it changed say different things
		t.Errorf("of a commit and its code there is %v:\n%s", both, out.Markdown)
	}
	if has("Replace the lamp early") == has("- **Goal**: replace the lighthouse lamp") {
		t.Errorf("of two that tell the same experience there is %v:\n%s", both, out.Markdown)
	}
	if !has("`aaaaaaa`") || !has("**Memory**: Ana: The lighthouse lamp") { // what is known of them differs
		t.Errorf("of a memory and a commit with its text there is %v:\n%s", both, out.Markdown)
	}
}

// TestAssembleLeavesOutWhatSharesACommonWord: where one source has what the query is about, another is
// not filled with items that have a common word of it.
func TestAssembleLeavesOutWhatSharesACommonWord(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	study(t, w)
	for i, text := range []string{
		"I have had two jobs at the theatre since May, and liked both.", "Thanks, a small tailored resume is what I need for the theatre.",
		"My sister has a small garden behind the theatre, with a bench.", "The theatre has jobs for the summer, says Cy.",
	} {
		w.put(t, "acme", memory(fmt.Sprint("talk", i), "level:public", "Bo", text))
	}
	w.put(t, "acme", memory("q1", "level:public", "", "The quokka scheduler starves small jobs when the queue is long."))
	got := func(minScore *float64) string {
		out, err := w.engine.Assemble(t.Context(), as(t, "acme", schemas.Internal), schemas.AssembleRequest{Query: "quokka scheduler starves small jobs", MinScore: minScore})
		must(t, err)
		if !strings.Contains(out.Markdown, "The quokka scheduler starves") {
			t.Errorf("the answer is left out:\n%s", out.Markdown)
		}
		return out.Markdown
	}
	if text := got(nil); strings.Contains(text, "theatre") {
		t.Errorf("talk fills the text:\n%s", text)
	}
	if text := got(new(float64)); !strings.Contains(text, "theatre") {
		t.Errorf("min_score 0 leaves something out:\n%s", text)
	}
}

func TestAssembleRefusesAndDegrades(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := openWorld(t, nil)
	study(t, w)
	s := as(t, "acme", schemas.Internal)
	for field, c := range map[string]struct {
		req  schemas.AssembleRequest
		code schemas.Code
	}{
		"/context_types/1": {schemas.AssembleRequest{Query: "x", ContextTypes: []string{"code", "poems"}}, schemas.CodeInvalidContextType},
		"/query":           {schemas.AssembleRequest{Query: " "}, schemas.CodeValidation},
		"/max_tokens":      {schemas.AssembleRequest{Query: "x", MaxTokens: -1}, schemas.CodeValidation},
		"/limit":           {schemas.AssembleRequest{Query: "x", Limit: 10_000}, schemas.CodeValidation},
	} {
		_, err := w.engine.Assemble(ctx, s, c.req)
		refusedWith(t, err, c.code, field)
	}
	if _, err := w.engine.Assemble(ctx, scope.Scope{}, schemas.AssembleRequest{Query: "x"}); err == nil {
		t.Error("the zero scope assembles")
	}
	none, err := w.engine.Assemble(ctx, as(t, "nobody", schemas.Internal), schemas.AssembleRequest{Query: "selector cache"})
	if err != nil || none.Markdown != "" || none.TokenCount != 0 || len(none.Items) != 0 || none.PackID == "" || none.Exceeded {
		t.Errorf("of nothing: %+v, %v", none, err)
	}
	for _, budget := range []int{1, 5, 20, 60, 120} {
		out, err := w.engine.Assemble(ctx, s, schemas.AssembleRequest{Query: "selector cache", MaxTokens: budget})
		must(t, err)
		if n := w.tokens.Count(out.Markdown); n > budget+budget/10 || out.Exceeded != (n > budget) {
			t.Errorf("budget %d: %d tokens, exceeded %v", budget, n, out.Exceeded)
		}
	}

	broken := openWorld(t, func(c *op.Config) {
		c.Keyword = deafTo{c.Keyword, "code"}
		c.Vector = nil
	})
	study(t, broken)
	out, err := broken.engine.Assemble(ctx, s, schemas.AssembleRequest{Query: "selector cache"})
	must(t, err)
	if out.SourcesUsed["code"] != 0 || out.SourcesUsed["memories"] != 1 || !slices.ContainsFunc(out.Warnings, func(w string) bool { return strings.HasPrefix(w, "Passages of Memories, Code, Commits: ") }) {
		t.Errorf("a source that fails: %v, %v", out.SourcesUsed, out.Warnings)
	}
	_, err = broken.engine.Assemble(ctx, s, schemas.AssembleRequest{Query: "selector cache", ContextTypes: []string{"code"}})
	refusedWith(t, err, schemas.CodeSearch, "")
}

// deafTo is a keyword index that fails for one kind.
type deafTo struct {
	keyword.Index
	kind string
}

func (d deafTo) Search(ctx context.Context, s scope.Scope, q keyword.Query) (keyword.Result, error) {
	for _, c := range q.Filter.Conds() {
		if c.Field == schemas.FieldKind && slices.Contains(c.Values, d.kind) {
			return keyword.Result{}, errors.New("down")
		}
	}
	return d.Index.Search(ctx, s, q)
}

func refusedWith(t *testing.T, err error, code schemas.Code, field string) {
	t.Helper()
	var refused *schemas.Error
	if !errors.As(err, &refused) || refused.Code != code || refused.Field != field {
		t.Errorf("error %v, want %s at %q", err, code, field)
	}
}

func TestPremortem(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	study(t, w)
	ctx := context.Background()
	s := as(t, "acme", schemas.Internal)
	out, err := w.engine.Premortem(ctx, s, schemas.PremortemRequest{Domain: "debugging", Strategy: "systematic-elimination"})
	must(t, err)
	loud, err := w.engine.Premortem(ctx, s, schemas.PremortemRequest{Domain: "DEBUGGING", Strategy: "Systematic-Elimination"})
	if err != nil || len(loud.Items) != len(out.Items) {
		t.Errorf("a domain in capitals has %d items, want %d: %v", len(loud.Items), len(out.Items), err)
	}
	want := `# Premortem: debugging with systematic-elimination

## Common Failures
**Experience**: debugging | bisect
- **Goal**: find why the selector cache fails
- **Hypothesis**: the cache of e-1 is stale
- **Action**: flushed the cache of e-1
- **Prediction**: the selector test passes
- **Outcome**: falsified - result of e-1
- **Surprise**: the cache was never filled
- **Root cause**: a build tag hid the file
- **Lesson**: reading the log of e-1

## Strategy Performance
**FALSIFIED** (feature): add a selector cache → result of e-3
- **Lesson**: reading the log of e-3
*experience e-3*

**confirmed** (debugging): fix the slow selector → result of e-2
- **Lesson**: reading the log of e-2
*experience e-2*

## Unexpected Outcomes
**Surprise**: the cache was never filled
*Goal: find why the selector cache fails; Strategy: bisect; Outcome: falsified; experience e-1*

## Root Causes to Watch
**Root cause**: a build tag hid the file
*Goal: find why the selector cache fails; Strategy: bisect; Outcome: falsified; experience e-1*

**Root cause**: the index was missing
*Goal: fix the slow selector; Strategy: systematic-elimination; Outcome: confirmed; experience e-2*

## Relevant Principles
**Value** (strategy, cluster size: 7):
Look at the selector cache before you change code.

---
*Based on 3 past experiences*
`
	sorted := func(s string) []string { l := strings.Split(s, "\n"); slices.Sort(l); return l }
	if diff := cmp.Diff(sorted(want), sorted(out.Markdown)); diff != "" {
		t.Errorf("%s\n%s", diff, out.Markdown)
	}
	if diff := cmp.Diff(map[string]int{"experiences": 3, "values": 1}, out.SourcesUsed); diff != "" {
		t.Error(diff)
	}
	bare, err := w.engine.Premortem(ctx, s, schemas.PremortemRequest{Domain: "feature"})
	must(t, err)
	if strings.Contains(bare.Markdown, "Strategy Performance") || !strings.HasPrefix(bare.Markdown, "# Premortem: feature\n") || !strings.Contains(bare.Markdown, "two caches fought") {
		t.Errorf("without a strategy:\n%s", bare.Markdown)
	}
	twin := experience("e-7", "firing", "fast", "falsified", "fire the wet clay", "it burst", "water")
	twin.ID = "e-8"
	w.learn(t, "acme", experience("e-7", "firing", "fast", "falsified", "fire the wet clay", "it burst", "water"), twin)
	twins, err := w.engine.Premortem(ctx, s, schemas.PremortemRequest{Domain: "firing"})
	must(t, err)
	if !strings.Contains(twins.Markdown, "\n*Based on 1 past experience and 1 like it*\n") {
		t.Errorf("of two alike:\n%s", twins.Markdown)
	}
	none, err := w.engine.Premortem(ctx, s, schemas.PremortemRequest{Domain: "cooking"})
	if err != nil || strings.Contains(none.Markdown, "Experience") {
		t.Errorf("of an unknown domain: %v\n%s", err, none.Markdown)
	}
	_, err = w.engine.Premortem(ctx, s, schemas.PremortemRequest{})
	refusedWith(t, err, schemas.CodeValidation, "/domain")
	blind := openWorld(t, func(c *op.Config) { c.Vector, c.Embedder = nil, nil })
	study(t, blind)
	out, err = blind.engine.Premortem(ctx, s, schemas.PremortemRequest{Domain: "debugging"})
	must(t, err)
	if !strings.Contains(out.Markdown, "a build tag hid the file") {
		t.Errorf("without vectors:\n%s", out.Markdown)
	}
}

func TestPremortemFindsARareDomain(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	var many []schemas.MemoryItem
	for i := range 3 {
		x := experience(fmt.Sprintf("e-rare-%d", i), "welding", "bisect", "falsified", fmt.Sprintf("join %d plates", i+2), fmt.Sprintf("plate %d bent", i), fmt.Sprintf("heat of torch %d", i))
		x.CreatedAt = x.CreatedAt.AddDate(-1, 0, 0)
		many = append(many, x)
	}
	for i := range 1200 {
		many = append(many, experience(fmt.Sprintf("e-%03d", i), "feature", "bisect", "falsified",
			fmt.Sprintf("failures and issues in migration %d", i), "", fmt.Sprintf("hypotheses fail in number %d", i)))
	}
	w.learn(t, "acme", many...)
	out, err := w.engine.Premortem(context.Background(), as(t, "acme", schemas.Internal), schemas.PremortemRequest{Domain: "welding", MaxTokens: 4000})
	must(t, err)
	for _, part := range []string{"join 2 plates", "join 4 plates", "plate 1 bent", "heat of torch 2", "Based on 3 past"} {
		if !strings.Contains(out.Markdown, part) {
			t.Errorf("%q is not there:\n%s", part, out.Markdown)
		}
	}
}

// corpusOfFive has n items of each source.
func corpusOfFive(n int) []schemas.MemoryItem {
	list := corpus(n, 3)
	var out []schemas.MemoryItem
	for i := range list {
		m := list[i]
		m.Scope.Tenant, m.SecurityLabel = "acme", []string{"level:public"}
		out = append(out, m)
		text := m.Content.Text()
		out = append(out,
			item(schemas.KindCode, "c-"+m.ID, text, schemas.CodeAttributes{
				FilePath: fmt.Sprintf("pkg/f%d.go", i), StartLine: i + 1, Name: fmt.Sprintf("F%d", i), UnitType: "function", Language: "go",
				Signature: fmt.Sprintf("func F%d(ctx context.Context) error", i), Docstring: text,
			}),
			experience("e-"+m.ID, []string{"debugging", "feature"}[i%2], "bisect", []string{"falsified", "confirmed"}[i%3%2], text, "odd "+text[:20], "cause "+text[:30]),
			item(schemas.KindValue, "v-"+m.ID, text[:60], schemas.ValueAttributes{Axis: "full", ClusterSize: i}),
			item(schemas.KindCommit, "k-"+m.ID, text, schemas.CommitAttributes{SHA: fmt.Sprintf("%040x", i), Author: "Ana", FilesChanged: []string{fmt.Sprintf("pkg/g%d.go", i)}}))
	}
	return out
}

func BenchmarkAssemble(b *testing.B) {
	w := openWorld(b, nil)
	w.learn(b, "acme", corpusOfFive(1000)...)
	s := as(b, "acme", schemas.Internal)
	queries := []string{"garden by the harbour", "invoice promised", "latency budget of the cluster", "umbrella at the market", "rollback of the schema migration"}
	var all []float64
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		start := time.Now()
		_, err := w.engine.Assemble(context.Background(), s, schemas.AssembleRequest{Query: queries[i%len(queries)]})
		must(b, err)
		all = append(all, float64(time.Since(start).Microseconds())/1000)
		i++
	}
	slices.Sort(all)
	b.ReportMetric(all[len(all)/2], "p50-ms")
	b.ReportMetric(all[int(math.Ceil(.95*float64(len(all))))-1], "p95-ms")
}

// A name that nothing has which the principal may see is said, and such a text is short. A name
// that only an attribute has, such as a file that a commit changed, is here.
func TestAssemblySaysWhatNothingMentions(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	hidden := item(schemas.KindKnowledge, "hidden", "The kiln is sold to Peru.", nil)
	hidden.SecurityLabel = []string{"level:confidential"}
	list := []schemas.MemoryItem{hidden}
	for i := range 60 {
		list = append(list, item(schemas.KindCode, fmt.Sprint("c", i), fmt.Sprintf("func FireKiln%d() error {\n\treturn kiln.Fire(%d) // with beech, at night, until it is warm\n}", i, i), nil))
	}
	list = append(list, item(schemas.KindCommit, "k", "Fire the kiln at night", schemas.CommitAttributes{SHA: "0123456789", Author: "Ida", FilesChanged: []string{"Makefile"}}))
	w.learn(t, "acme", list...)
	for _, c := range []struct {
		query, says string
		level       schemas.Level
	}{
		{"how is the kiln sold to Peru fired?", "# Context\n\nNothing here mentions: Peru\n\n", schemas.Internal},
		{"how is the kiln sold to Peru fired?", "", schemas.Confidential},
		{"who changed the Makefile of the kiln at night?", "", schemas.Internal},
	} {
		out, err := w.engine.Assemble(context.Background(), as(t, "acme", c.level), schemas.AssembleRequest{Query: c.query, MaxTokens: 1000})
		must(t, err)
		if strings.Contains(out.Markdown, "Nothing here") != (c.says != "") || !strings.HasPrefix(out.Markdown, c.says) {
			t.Errorf("%q of %v:\n%s", c.query, c.level, out.Markdown)
		}
		if c.says != "" && out.TokenCount > 500 {
			t.Errorf("%q of %v: %d tokens", c.query, c.level, out.TokenCount)
		}
	}
}

// Code and commits that only share words with a question give way to the memories that answer it; where no memory does, they
// stay. Their relevance is how much they bear on the question, not their place among passages.
func TestCodeGivesWayToAnAnswer(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	var list []schemas.MemoryItem
	for i := range 60 {
		name := fmt.Sprintf("openPage%d", i)
		list = append(list, item(schemas.KindCode, "code"+name, fmt.Sprintf("func %s(reading int) int {\n\treturn reading + %d // about to be closed\n}", name, i),
			schemas.CodeAttributes{FilePath: "store/page.go", QualifiedName: "store." + name, StartLine: 10 * i}))
	}
	answer := item(schemas.KindMemory, "answer", "The poetry reading that Caroline attended was about being seen as who one is.", nil)
	w.put(t, "acme", append(list, answer)...)
	const question = "What was the poetry reading that Caroline attended about?"
	out, err := w.engine.Assemble(t.Context(), as(t, "acme", schemas.Public), schemas.AssembleRequest{Query: question})
	must(t, err)
	if strings.Contains(out.Markdown, "openPage") || !strings.Contains(out.Markdown, "being seen") {
		t.Errorf("the answer is not alone:\n%s", out.Markdown)
	}
	out, err = w.engine.Assemble(t.Context(), as(t, "acme", schemas.Public), schemas.AssembleRequest{Query: question, ContextTypes: []string{"code"}})
	must(t, err)
	if len(out.Items) == 0 {
		t.Fatal("without a memory the code is not there")
	}
	for _, it := range out.Items {
		if it.Relevance > .3 {
			t.Errorf("code that hardly bears on the question has the relevance %v", it.Relevance)
		}
	}
}

// Greetings and made-up words ask for nothing: an assembly of them is empty.
func TestAnAssemblyOfNothing(t *testing.T) {
	t.Parallel()
	w := library(t, nil)
	for _, query := range []string{"hello", "thanks!", "frobnitz quaxelbrump"} {
		out, err := w.engine.Assemble(context.Background(), as(t, "acme", schemas.Internal), schemas.AssembleRequest{Query: query})
		must(t, err)
		if len(out.Items) > 0 {
			t.Errorf("%q: %s", query, out.Markdown)
		}
	}
}
