package op_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"satchel/schemas"
)

type evalMemory struct{ ID, Tenant, Session, TS, Speaker, Text string }

type evalQuery struct {
	ID, Tenant, Text, Category, TS string
	Relevant                       []string
	Sessions                       []string `json:"relevant_sessions"`
}

// TestQuality ranks the sets under SATCHEL_EVAL_DATA, a folder of data sets as the
// evaluation has them. SATCHEL_EVAL_SETS picks some by name, SATCHEL_EVAL_OFF switches
// features off.
func TestQuality(t *testing.T) {
	dir := os.Getenv("SATCHEL_EVAL_DATA")
	if dir == "" {
		t.Skip("SATCHEL_EVAL_DATA is not set")
	}
	sets := []string{"locomo", "beam100k"}
	if v := os.Getenv("SATCHEL_EVAL_SETS"); v != "" {
		sets = strings.Split(v, ",")
	}
	for _, set := range sets {
		t.Run(set, func(t *testing.T) { evaluate(t, filepath.Join(dir, set)) })
	}
}

func evaluate(t *testing.T, dir string) {
	w := openWorld(t, evalConfig)
	file, kind := "memories.jsonl", schemas.KindMemory
	if _, err := os.Stat(filepath.Join(dir, "tools.jsonl")); err == nil {
		file, kind = "tools.jsonl", schemas.KindTool
	}
	byTenant := map[string][]schemas.MemoryItem{}
	session := map[string]string{}
	for _, m := range lines[evalMemory](t, filepath.Join(dir, file)) {
		at, err := time.Parse(time.RFC3339, m.TS)
		if err != nil {
			at = day
		}
		session[m.ID] = m.Session
		byTenant[m.Tenant] = append(byTenant[m.Tenant], schemas.MemoryItem{
			ID: m.ID, Kind: kind, Type: schemas.Episodic, CreatedAt: at, Session: m.Session, Speaker: m.Speaker,
			SecurityLabel: []string{"level:public"}, Content: schemas.TextContent(m.Text),
			Scope: schemas.MemoryScope{Tenant: m.Tenant},
		})
	}
	for tenant, list := range byTenant {
		w.put(t, tenant, list...)
	}
	type score struct{ n, recall, ndcg, e500, e1000, e2000 float64 }
	total, byCategory := score{}, map[string]*score{}
	var took []time.Duration
	for _, q := range lines[evalQuery](t, filepath.Join(dir, "queries.jsonl")) {
		if q.Category == "adversarial" || len(q.Relevant) == 0 {
			continue
		}
		s := as(t, q.Tenant, schemas.Restricted)
		now, err := time.Parse(time.RFC3339, q.TS)
		if err != nil {
			now = day
		}
		req := schemas.ContextRequest{Payload: schemas.RequestPayload{Query: schemas.Query{Text: q.Text}, Now: now, Repeat: "full"}}
		start := time.Now()
		ranked, err := w.engine.Rank(context.Background(), s, req)
		must(t, err)
		took = append(took, time.Since(start))
		hits, gain := 0.0, 0.0
		for i, c := range ranked[:min(10, len(ranked))] {
			if slices.Contains(q.Relevant, c.ID) {
				hits++
				gain += 1 / math.Log2(float64(i)+2)
			}
		}
		ideal := 0.0
		for i := range min(10, len(q.Relevant)) {
			ideal += 1 / math.Log2(float64(i)+2)
		}
		one := score{n: 1, recall: hits / float64(len(q.Relevant)), ndcg: gain / ideal}
		if os.Getenv("SATCHEL_EVAL_PACKS") != "" {
			for budget, out := range map[int]*float64{500: &one.e500, 1000: &one.e1000, 2000: &one.e2000} {
				req.Payload.TokenBudget = budget
				res, err := w.engine.Context(context.Background(), s, req)
				must(t, err)
				n := 0.0
				for _, r := range res.Payload.Results {
					if slices.Contains(q.Relevant, r.ID) {
						n++
					}
				}
				*out = n / float64(len(q.Relevant))
			}
		}
		c := byCategory[q.Category]
		if c == nil {
			c = &score{}
			byCategory[q.Category] = c
		}
		for _, to := range []*score{&total, c} {
			to.n++
			to.recall += one.recall
			to.ndcg += one.ndcg
			to.e500 += one.e500
			to.e1000 += one.e1000
			to.e2000 += one.e2000
		}
	}
	say := func(name string, s *score) string {
		return fmt.Sprintf("%-24s n %4.0f  R@10 %.3f  nDCG %.3f  ev %.3f %.3f %.3f", name, s.n, s.recall/s.n, s.ndcg/s.n, s.e500/s.n, s.e1000/s.n, s.e2000/s.n)
	}
	slices.SortFunc(took, cmp.Compare)
	t.Log(say(filepath.Base(dir), &total), " p50", took[len(took)/2], "p95", took[len(took)*95/100])
	for name, s := range byCategory {
		t.Log("  " + say(name, s))
	}
}
