package defend

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/candidate"
)

// BenchmarkDefenses is what the defences cost a request of 133 candidates.
func BenchmarkDefenses(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 9))
	var cs []candidate.Candidate
	for i := range 133 {
		cs = append(cs, turnOf(fmt.Sprintf("i%d", i), "Ana", strings.Join(turnText(r, 1+r.IntN(4)), ". ")+"."))
	}
	d, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	work := make([]candidate.Candidate, len(cs))
	b.ReportAllocs()
	for b.Loop() {
		copy(work, cs)
		d.Apply(work, true, time.Time{})
	}
}

// planted texts are sentences of everyday words, as turns of a conversation have them.
func turnText(r *rand.Rand, sentences int) []string {
	who := strings.Fields("Anna Ben Clara David Emma Felix Grace Henry Iris Jack")
	did := []string{"moved to", "called about", "painted", "forgot", "is looking for", "talked about", "visited", "repaired", "likes", "wrote about"}
	what := []string{"the old bicycle", "a house near the river", "her first concert", "the garden fence", "a new telescope", "their trip to Norway", "the blue sofa", "a book on beekeeping", "the school play", "his grandmother's recipe", "that noisy printer", "a class in pottery"}
	when := []string{"last weekend", "before breakfast", "in the rain", "with two friends", "after the long meeting", "during the holidays", "on a train", "because of the storm", "for the third time", "in a hurry"}
	out := make([]string, sentences)
	for i := range out {
		out[i] = fmt.Sprintf("%s %s %s %s", who[r.IntN(len(who))], did[r.IntN(len(did))], what[r.IntN(len(what))], when[r.IntN(len(when))])
	}
	return out
}
