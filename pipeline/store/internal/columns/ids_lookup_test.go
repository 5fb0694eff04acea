package columns

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Ids whose hashes share the upper half are told apart by their text.
func TestLookupAllOfEqualHashes(t *testing.T) {
	t.Parallel()
	tab := NewIDs(0)
	tab.Intern("other")
	tab.Intern("id")
	h := tab.computeIDHash("id", false, nil)
	clear(tab.slots)
	tab.placeOrdinal(h, 0) // as if the first id had the hash of the second
	tab.placeOrdinal(h, 1)
	ords := make([]uint32, 2)
	if tab.LookupAll([]string{"id", "nobody"}, ords); !slices.Equal(ords, []uint32{1, NoID}) {
		t.Errorf("got %v", ords)
	}
}

func TestLookupAllInAnEmptyTable(t *testing.T) {
	t.Parallel()
	for _, tab := range []*IDs{NewIDs(0), NewIDs(9)} {
		ords := []uint32{7, 7}
		if tab.LookupAll([]string{"a", ""}, ords); !slices.Equal(ords, []uint32{NoID, NoID}) {
			t.Errorf("got %v", ords)
		}
	}
}

func BenchmarkLookupAll(b *testing.B) {
	other := make([]byte, 64<<20)
	for _, form := range []string{"uuid", "text"} {
		tab, ids := benchTable(100_000) // nothing of it is in the cache
		if form == "text" {
			tab = NewIDs(0)
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
				for i := 0; i < len(other); i += 64 {
					other[i]++
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
