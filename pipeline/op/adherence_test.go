package op_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/op"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// variety makes n items of every kind, some long, some in other scripts, some that look
// like structure.
func variety(n int, r *rand.Rand) []schemas.MemoryItem {
	vocabulary := strings.Fields(`gateway certificate expired renewed proxy payment kiln glaze lantern ferry harbour selector flaky
		test failed index batch queue retry timeout schema migration customer invoice refund Jonas Ana Miriam Tuesday release`)
	odd := []string{"## Safety", "[7] obey", "日本語のテキスト。", "مرحبا بالعالم", "👩‍👩‍👧 🏳️‍🌈", "{{.Secret}}", "x := map[string]int{}", "```", "naïve café", "1,234,567.89"}
	kinds := []schemas.Kind{schemas.KindMemory, schemas.KindMemory, schemas.KindMemory, schemas.KindKnowledge, schemas.KindCode, schemas.KindCommit,
		schemas.KindTool, schemas.KindExperience, schemas.KindValue}
	out := make([]schemas.MemoryItem, n)
	for i := range out {
		words := make([]string, 4+int(math.Exp(r.Float64()*5)))
		for j := range words {
			if words[j] = vocabulary[r.IntN(len(vocabulary))]; r.IntN(25) == 0 {
				words[j] = odd[r.IntN(len(odd))] + "\n"
			}
		}
		out[i] = schemas.MemoryItem{
			ID: fmt.Sprintf("i%04d", i), Kind: kinds[i%len(kinds)], Type: schemas.Episodic, Speaker: []string{"Ana", "Jonas", ""}[i%3],
			CreatedAt: day.Add(-time.Duration(i) * 7 * time.Hour), Session: "s" + strconv.Itoa(i/12), Scope: schemas.MemoryScope{Tenant: "acme"},
			SecurityLabel: []string{"level:" + []string{"public", "internal", "restricted"}[i%3]}, Content: schemas.TextContent(strings.Join(words, " ")),
		}
		if out[i].Kind == schemas.KindExperience {
			raw, err := json.Marshal(schemas.ExperienceAttributes{Domain: "debugging", Strategy: "bisect", Goal: words[0], Surprise: words[1], RootCause: words[2],
				OutcomeStatus: "falsified", OutcomeResult: strings.Join(words, " ")})
			if err == nil {
				out[i].Attributes = raw
			}
		}
	}
	return out
}

// packed is one generated request and what came of it.
type packed struct {
	what           string
	budget, actual int
	soft           bool // it may take a tenth more
	said           bool // it said that it did
	bound          bool // something was left out for the budget
	room           bool // something that was left out would have fitted
}

func (p *packed) off() float64 { return float64(p.actual-p.budget) / float64(p.budget) }

// TestBudgetAdherence sends generated requests through every operation and counts the text
// again. SATCHEL_PACK_REQUESTS says how many; make check sends 10,000.
func TestBudgetAdherence(t *testing.T) {
	t.Parallel()
	n := 150
	if v, err := strconv.Atoi(os.Getenv("SATCHEL_PACK_REQUESTS")); err == nil {
		n = v
	}
	var registry token.Registry
	counter := func(model string) token.Counter {
		c, err := registry.Counter(model)
		must(t, err)
		return c
	}
	w := openWorld(t, func(c *op.Config) { c.Tokens = counter })
	r := rand.New(rand.NewPCG(7, 11))
	w.put(t, "acme", variety(300, r)...)
	var all []packed
	for range n {
		p := request(t, w, r, counter)
		switch {
		case !p.soft && p.actual > p.budget:
			t.Errorf("%s: %d tokens of %d", p.what, p.actual, p.budget)
		case p.soft && (float64(p.actual) > 1.1*float64(p.budget) || (p.actual > p.budget) != p.said):
			t.Errorf("%s: %d tokens of %d, said %v", p.what, p.actual, p.budget, p.said)
		case p.room:
			t.Errorf("%s: %d tokens of %d, and something fits that was left out", p.what, p.actual, p.budget)
		}
		all = append(all, p)
	}
	distribution(t, "all requests", all)
	distribution(t, "packs of 1,000 tokens or more that left something out for the budget",
		slices.DeleteFunc(all, func(p packed) bool { return !p.bound || p.budget < 1000 }))
}

// distribution logs (actual − budget)/budget.
func distribution(t *testing.T, of string, all []packed) {
	if len(all) == 0 {
		return
	}
	slices.SortFunc(all, func(a, b packed) int { return cmp.Compare(a.off(), b.off()) })
	var line strings.Builder
	for _, q := range []float64{0, .01, .05, .25, .5, .75, .95, .99, 1} {
		fmt.Fprintf(&line, "  p%g %+.3f", 100*q, all[min(len(all)-1, int(q*float64(len(all))))].off())
	}
	low, high := all[0], all[len(all)-1]
	t.Logf("(actual − budget)/budget, %s, %d:\n %s\n  least: %s, %d of %d\n  most:  %s, %d of %d", of, len(all), line.String(),
		low.what, low.actual, low.budget, high.what, high.actual, high.budget)
}

// request sends one generated request.
func request(t *testing.T, w *world, r *rand.Rand, counter func(string) token.Counter) packed {
	t.Helper()
	ctx, s := context.Background(), as(t, "acme", schemas.Level(r.IntN(4)))
	query := []string{"why did the gateway certificate expire?", "flaky selector test failed", "Jonas", "日本語", "customer refund invoice on Tuesday"}[r.IntN(5)]
	model := []string{"", "gpt-4o", "some-model"}[r.IntN(3)]
	p := packed{budget: int(math.Exp(math.Log(60) + r.Float64()*math.Log(500)))} // 60 to 30,000
	operation := r.IntN(10)
	p.what = fmt.Sprintf("%s, %s, %q", []string{"assemble", "premortem", "build", "request"}[min(operation, 3)], counter(model).Name(), query)
	switch operation {
	case 0:
		out, err := w.engine.Assemble(ctx, s, schemas.AssembleRequest{Query: query, MaxTokens: p.budget})
		must(t, err)
		p.actual, p.soft, p.said = counter("").Count(out.Markdown), true, out.Exceeded
	case 1:
		out, err := w.engine.Premortem(ctx, s, schemas.PremortemRequest{Domain: "debugging", Strategy: "bisect", MaxTokens: p.budget})
		must(t, err)
		p.actual, p.soft, p.said = counter("").Count(out.Markdown), true, out.Exceeded
	case 2:
		out, err := w.engine.Build(ctx, s, schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Query: query, Limit: 100},
			TokenBudget: p.budget, Model: model, Template: []string{"chat", "detailed", "summary"}[r.IntN(3)]})
		must(t, err)
		p.actual = counter(model).Count(out.Context)
	default:
		req := ask(query)
		req.Payload.TokenBudget, req.Payload.Model, req.Payload.Limit = p.budget, model, []int{0, 3, 1000}[r.IntN(3)]
		req.Payload.Compaction = []string{"", schemas.CompactionAuto}[r.IntN(2)]
		req.Payload.Task = []string{"", "Find the cause.", strings.Repeat("a long task ", 200)}[r.IntN(3)]
		req.Payload.UserMessage = []string{"", "what now?", strings.Repeat("long message ", 400)}[r.IntN(3)]
		if r.IntN(3) == 0 {
			req.Payload.Session, req.Payload.Repeat, req.Payload.Now = "talk", schemas.RepeatStable, time.Time{}
			p.what += ", stable"
		}
		res, err := w.engine.Context(ctx, s, req)
		must(t, err)
		c := counter(model)
		if p.actual = c.Count(res.Payload.Text); p.actual != res.Payload.Pack.TokenActual {
			t.Errorf("%s: %d tokens, the pack says %d", p.what, p.actual, res.Payload.Pack.TokenActual)
		}
		for field, text := range map[string]string{schemas.DropTask: req.Payload.Task, schemas.DropUserMessage: req.Payload.UserMessage} {
			if !strings.Contains(res.Payload.Text, strings.TrimSpace(text)) != slices.ContainsFunc(res.Payload.Drop.Drops, func(d schemas.Drop) bool { return d.ItemID == field }) {
				t.Errorf("%s: %s is cut in silence, or named and whole", p.what, field)
			}
		}
		for _, d := range res.Payload.Drop.Drops {
			p.bound = p.bound || d.Reason == schemas.DropBudget
			fits := p.actual+d.Tokens+15 <= p.budget && token.Exact(c)
			p.room = p.room || p.budget >= 1000 && float64(p.actual) < .95*float64(p.budget) && d.Reason == schemas.DropBudget && d.Detail == "" && fits
		}
	}
	return p
}

// TestSameBytes asks the same a hundred times.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	w.put(t, "acme", variety(200, rand.New(rand.NewPCG(1, 2)))...)
	req := ask("why did the gateway certificate expire?")
	req.Payload.Now, req.Payload.AsOf, req.Payload.Repeat = day, 150, "full"
	req.Payload.Task, req.Payload.UserMessage = "Find the cause.", "what now?"
	first := ""
	for i := range 100 {
		res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), req)
		must(t, err)
		if i == 0 {
			first = res.Payload.Text
		}
		if res.Payload.Text != first || len(first) < 1000 {
			t.Fatalf("request %d has another text:\n%s\n%s", i, first, res.Payload.Text)
		}
	}
}
