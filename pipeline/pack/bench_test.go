package pack_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pack"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// BenchmarkBuild is a pack of 50 of 130 turns, and the suggestions about it.
func BenchmarkBuild(b *testing.B) {
	counter, err := token.New("")
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 5))
	vocabulary := strings.Fields("garden harbour Invoice kettle lantern Marble notebook orchard parcel quarry ribbon saddle we they bought, lost. mended planned; visited wrote 14 pounds")
	speakers := []string{"Ana", "Bo", "Cy"}
	cs := make([]candidate.Candidate, 130)
	for i := range cs {
		words := make([]string, 15+r.IntN(40))
		for n := range words {
			words[n] = vocabulary[r.IntN(len(vocabulary))]
		}
		text := strings.Join(words, " ") + "."
		speaker := speakers[r.IntN(len(speakers))]
		cs[i] = whole(candidate.Candidate{
			Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{
				ID: fmt.Sprintf("m-%03d", i), Kind: schemas.KindMemory, Type: schemas.Episodic, Speaker: speaker,
				Content: schemas.TextContent(text), CreatedAt: at.Add(-time.Duration(r.IntN(1000)) * time.Hour), Session: fmt.Sprintf("s%d", r.IntN(40)),
			}, Counted: counter.Count(speaker + ": " + text + "\n")},
			Standing: 1 - float64(i)/131, Score: 1 - float64(i)/131, Verdict: schemas.Verdict{Allow: true, Reason: "allowed"},
		})
	}
	builder, err := pack.New(pack.Config{})
	if err != nil {
		b.Fatal(err)
	}
	rules, err := pack.NewRules("", nil)
	if err != nil {
		b.Fatal(err)
	}
	work := make([]candidate.Candidate, len(cs))
	b.ReportAllocs()
	for b.Loop() {
		copy(work, cs)
		p := builder.Build(pack.Request{Query: "When did Ana lose the invoice for the kettle?", UserMessage: "When did Ana lose the invoice?", Budget: 4000, Limit: 50, Counter: counter}, work)
		rules.Afford(work, p.Shown, false)
	}
}
