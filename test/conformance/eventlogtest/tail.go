package eventlogtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/store/eventlog"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

// testTail holds what Read gives with its newest entries in memory against what is
// stored, while the memory overflows and content is erased.
func testTail(t *testing.T, open Open) {
	l := newLog(t, open(t), func(c *eventlog.Config) { c.Tail = 8 << 10 })
	sizes := map[string]int64{}
	for round := range 8 {
		for _, tenant := range []string{"acme", "other", "acme"} {
			id := fmt.Sprint(round, "-", sizes[tenant])
			bare := eventlog.Draft{Tenant: tenant, Type: "t", Source: "s", ID: "bare" + id}
			long := draft(tenant, "long"+id, strings.Repeat("long ", 100*round))
			add(t, l, bare, long, packed(tenant, "pack"+id, "rendered", "item-"+id))
			sizes[tenant] += 3
			if round%4 == 3 {
				erasure := draft(tenant, "erase"+id, "")
				erasure.Type = typeErased
				if _, err := l.AppendErasure(t.Context(), folded.Tenant(t, tenant), erasure, []int64{sizes[tenant] - 1}, nil); err != nil {
					t.Fatal(err)
				}
				sizes[tenant]++
			}
		}
		for tenant, size := range sizes {
			s := folded.Tenant(t, tenant)
			for after := int64(0); after <= size; after++ {
				entries, err := l.Read(t.Context(), s, after, 3)
				if err != nil || (len(entries) == 0) != (after == size) {
					t.Fatalf("%d entries after %d of %d: %v", len(entries), after, size, err)
				}
				for i, e := range entries {
					stored := must.Get(l.Entry(t.Context(), s, after+1+int64(i)))(t)
					if diff := cmp.Diff(stored, e); diff != "" {
						t.Fatalf("position %d (-stored +read): %s", stored.Position, diff)
					}
					leaves, err := l.Leaves(t.Context(), s, []int64{stored.Position})
					if err != nil || hashOf(t, leaves[0]) != stored.Leaf {
						t.Fatalf("leaf of position %d is %v, %v", stored.Position, leaves, err)
					}
				}
			}
		}
	}
}
