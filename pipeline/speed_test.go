package pipeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
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
	stages := map[string]float64{}
	i := 0
	for b.Loop() {
		res, err := w.engine.Context(context.Background(), s, schemas.ContextRequest{Payload: schemas.RequestPayload{
			Query: schemas.Query{Text: queries[i%len(queries)]}, Now: day,
		}})
		must(b, err)
		for name, ms := range res.Payload.Explainability.Timings.Stages {
			stages[name] += ms
		}
		i++
	}
	for name, ms := range stages {
		b.ReportMetric(ms/float64(i), "ms/"+name)
	}
}
