package idtable

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func BenchmarkLookupAll(b *testing.B) {
	trash := make([]byte, 64<<20)
	for _, form := range []string{"uuid", "text"} {
		tab, ids := benchTable(100_000)
		if form == "text" {
			tab = New(0)
			for i := range ids {
				ids[i] = fmt.Sprintf("item-%09d", i)
				tab.Intern(ids[i])
			}
		}
		rng := rand.New(rand.NewPCG(1, 1))
		some, ords := make([]string, 600), make([]uint32, 600)
		pick := func() {
			for i := range some {
				some[i] = string([]byte(ids[rng.IntN(len(ids))]))
			}
		}
		cold := func(b *testing.B, f func()) {
			for b.Loop() {
				b.StopTimer()
				for i := 0; i < len(trash); i += 64 {
					trash[i]++
				}
				pick()
				b.StartTimer()
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/600, "ns/id")
		}
		b.Run(form+"/one", func(b *testing.B) {
			cold(b, func() {
				for i, id := range some {
					ords[i], _ = tab.Lookup(id)
				}
			})
		})
		b.Run(form+"/all", func(b *testing.B) {
			cold(b, func() { tab.LookupAll(some, ords) })
		})
	}
}
