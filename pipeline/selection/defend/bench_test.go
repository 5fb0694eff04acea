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
