package items

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"satchel/schemas"
)

// held counts what both generations take.
func (c *ready) held() (records, bytes int) {
	for _, g := range []generation{c.young, c.old} {
		for _, list := range g {
			for _, kept := range list {
				records, bytes = records+1, bytes+kept.bytes
			}
		}
	}
	return records, bytes
}

// Whatever is put, asked for and dropped, records take no more than they may, and each is the
// one that was put last under its tenant and id.
func TestReadyWithinBounds(t *testing.T) {
	t.Parallel()
	const most = 200 * readyHead
	rng, c, put := rand.New(rand.NewPCG(1, 2)), newReady(most), map[recordKey]*Lent{}
	hits := 0
	for step := range 20_000 {
		tenant, id := fmt.Sprint("t", rng.IntN(3)), fmt.Sprint(rng.IntN(120))
		key := recordKey{tenant, id}
		switch rng.IntN(8) {
		case 0:
			c.dropLentRecord(tenant, id)
			delete(put, key)
		case 1, 2:
			r := Lend(&schemas.Record{MemoryItem: schemas.MemoryItem{ID: id}})
			put[key] = r
			c.keepLentRecords(tenant, []*Lent{r}, []int{rng.IntN(readyHead)})
		default:
			out := make([]*Lent, 1)
			if c.findLentRecords(tenant, []string{id}, out); out[0] != nil {
				hits++
				if out[0] != put[key] {
					t.Fatalf("step %d: %v is not what was put", step, key)
				}
			}
		}
		if _, n := c.held(); n > most {
			t.Fatalf("step %d: %d bytes of %d", step, n, most)
		}
		if step == 10_000 {
			c.clearTenant("t1")
			for key := range put {
				if key.tenant == "t1" {
					delete(put, key)
				}
			}
		}
	}
	if hits < 1000 {
		t.Errorf("%d records were found", hits)
	}
	for _, tenant := range []string{"t0", "t1", "t2"} {
		c.clearTenant(tenant)
	}
	if n, _ := c.held(); n != 0 || c.bytes != 0 {
		t.Errorf("%d records and %d bytes are left of nothing", n, c.bytes)
	}
}

// What is asked for again and again stays, however much else comes.
func TestReadyKeepsWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	c := newReady(100 * readyHead)
	add := func(id string) {
		c.keepLentRecords("acme", []*Lent{Lend(&schemas.Record{MemoryItem: schemas.MemoryItem{ID: id}})}, []int{0})
	}
	add("a")
	for i := range 1000 {
		add(fmt.Sprint(i))
		out := make([]*Lent, 1)
		if c.findLentRecords("acme", []string{"a"}, out); out[0] == nil {
			t.Fatalf("it is gone after %d others", i)
		}
	}
}
