package op_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"satchel/schemas"
)

// corpus returns n turns of invented talk over a vocabulary with a long tail.
func corpus(n int, seed uint64) []schemas.MemoryItem {
	r := rand.New(rand.NewPCG(seed, 7))
	vocabulary := strings.Fields(`garden harbour invoice kettle lantern marble notebook orchard parcel quarry ribbon
		saddle timber umbrella violin window yarn apple bridge candle dinner engine forest guitar hammer island jacket
		kitchen ladder market needle office pencil quilt river school ticket uncle valley weather bought found lost
		mended painted planned visited wrote called promised remembered forgot deploy rollback index schema migration
		cluster latency budget token policy ledger proof checkpoint replica quorum`)
	speakers := []string{"Ana", "Bo", "Cy", "Dee"}
	out := make([]schemas.MemoryItem, n)
	for i := range out {
		var b strings.Builder
		for range 12 + r.IntN(30) {
			k := int(float64(len(vocabulary)) * r.Float64() * r.Float64())
			b.WriteString(vocabulary[k])
			b.WriteByte(' ')
			if r.IntN(9) == 0 {
				fmt.Fprintf(&b, "item%d ", r.IntN(n))
			}
		}
		label := []string{"level:public", "level:internal", "level:confidential", "level:restricted"}[min(3, r.IntN(8)/2)]
		out[i] = schemas.MemoryItem{
			ID: fmt.Sprintf("m-%06d", i), Kind: schemas.KindMemory, Type: schemas.Episodic,
			CreatedAt: day.Add(-time.Duration(n-i) * time.Hour), Session: fmt.Sprintf("s-%d", i/20), Speaker: speakers[r.IntN(4)],
			SecurityLabel: []string{label}, Content: schemas.TextContent(strings.TrimSpace(b.String()) + "."),
			Scope: schemas.MemoryScope{Tenant: "bench"},
		}
	}
	return out
}

func BenchmarkContext(b *testing.B) {
	w := openWorld(b, nil)
	w.put(b, "bench", corpus(1000, 1)...)
	s := as(b, "bench", schemas.Internal)
	queries := []string{
		"When did Ana plan the garden by the harbour?", "What did Bo promise about the invoice?",
		"latency budget of the cluster", "Who lost the umbrella at the market?", "rollback of the schema migration",
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		_, err := w.engine.Context(context.Background(), s, schemas.ContextRequest{Payload: schemas.RequestPayload{
			Query: schemas.Query{Text: queries[i%len(queries)]}, Now: day,
		}})
		must(b, err)
		i++
	}
}

// BenchmarkAssemble100k assembles all five sources over a hundred thousand items, a fifth of
// each kind, with another query each time.
func BenchmarkAssemble100k(b *testing.B) {
	const n = 100_000
	w := openWorld(b, nil)
	all := corpus(n, 2)
	kinds := []schemas.Kind{schemas.KindMemory, schemas.KindCode, schemas.KindExperience, schemas.KindValue, schemas.KindCommit}
	for i := range all {
		all[i].Kind = kinds[i%len(kinds)]
	}
	for some := range slices.Chunk(all, 5000) {
		w.put(b, "bench", some...)
	}
	s := as(b, "bench", schemas.Internal)
	for some := range slices.Chunk(all, 1000) { // as a worker does in the background
		ids := make([]string, len(some))
		for i := range some {
			ids[i] = some[i].ID
		}
		records, err := w.items.Get(context.Background(), s, ids)
		must(b, err)
		w.engine.Warm(s, records)
	}
	r := rand.New(rand.NewPCG(3, 4))
	query := func() string {
		words := strings.Fields(all[r.IntN(n)].Content.Text())
		return strings.Join(words[:5], " ")
	}
	for range 20 {
		_, err := w.engine.Assemble(context.Background(), s, schemas.AssembleRequest{Query: query()})
		must(b, err)
	}
	var took []time.Duration
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		start := time.Now()
		_, err := w.engine.Assemble(context.Background(), s, schemas.AssembleRequest{Query: query()})
		must(b, err)
		took = append(took, time.Since(start))
	}
	runtime.ReadMemStats(&after)
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1e6, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100])/1e6, "p95-ms")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(len(took))/(1<<20), "MiB/op")
}
