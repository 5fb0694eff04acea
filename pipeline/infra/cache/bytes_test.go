package cache

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Whatever is put and deleted, what is got is what was put last under that name, and the
// bytes stay within the bound.
func TestCacheHoldsWhatWasPut(t *testing.T) {
	t.Parallel()
	for _, most := range []int{0, 5000, 64 << 10, 8 << 20} {
		rng, c, put := rand.New(rand.NewPCG(1, uint64(most))), New(most), map[string]string{}
		for step := range 20_000 {
			tenant, id := fmt.Sprint("t", rng.IntN(3)), fmt.Sprint("id", rng.IntN(800))
			name := tenant + "/" + id
			switch rng.IntN(4) {
			case 0:
				c.Delete(tenant, id)
				delete(put, name)
			case 1, 2:
				put[name] = strings.Repeat(fmt.Sprint(step, " "), rng.IntN(100))
				c.Put(tenant, id, []byte(put[name]))
			}
			if got := c.Get(tenant, id); got != nil && string(got) != put[name] {
				t.Fatalf("step %d: %s is %q, not %q", step, name, got, put[name])
			}
			if n := c.Bytes(); n > most {
				t.Fatalf("step %d: %d bytes of %d", step, n, most)
			}
			if step == 10_000 {
				c.Clear("t1")
				for name := range put {
					if strings.HasPrefix(name, "t1/") {
						delete(put, name)
					}
				}
			}
		}
		kept := 0
		for name := range put {
			tenant, id, _ := strings.Cut(name, "/")
			if c.Get(tenant, id) != nil {
				kept++
			}
		}
		if kept != c.Len() {
			t.Errorf("of %d bytes: %d values are found, %d counted", most, kept, c.Len())
		}
		if most > 1<<20 && kept != len(put) || most == 0 && kept > 0 {
			t.Errorf("of %d bytes: %d of %d are kept", most, kept, len(put))
		}
	}
}

// The oldest goes first, and what fits pushes nothing out.
func TestTheOldestGoesFirst(t *testing.T) {
	t.Parallel()
	c, value := New(256<<10), make([]byte, 900)
	n := 0
	for ; c.Fits("acme", fmt.Sprint(n), value); n++ {
		c.Put("acme", fmt.Sprint(n), value)
	}
	if c.Len() != n || n < 200 {
		t.Fatalf("%d of %d are kept", c.Len(), n)
	}
	c.Put("acme", "one more", value)
	if c.Get("acme", "0") != nil || c.Get("acme", fmt.Sprint(n-1)) == nil || c.Get("acme", "one more") == nil {
		t.Error("another than the oldest made way")
	}
	c.Put("acme", "too long", make([]byte, 64<<10))
	if c.Get("acme", "too long") != nil || c.Get("acme", "one more") == nil {
		t.Error("what is too long is kept, or took the place of something")
	}
}

// Nothing is left of what was deleted, replaced, cleared or evicted.
func TestWhatIsDeletedIsWiped(t *testing.T) {
	t.Parallel()
	secret := []byte("secret")
	for name, remove := range map[string]func(c *Cache){
		"deleted":  func(c *Cache) { c.Delete("acme", "a") },
		"replaced": func(c *Cache) { c.Put("acme", "a", []byte("public")) },
		"cleared":  func(c *Cache) { c.Clear("acme") },
		"evicted":  func(c *Cache) { c.evictPage() },
	} {
		c := New(1 << 20)
		c.Put("acme", "a", secret)
		c.Put("other", "b", []byte("stays"))
		page := c.pages[0]
		remove(c)
		if bytes.Contains(page[:cap(page)], secret) {
			t.Errorf("%s: it is still there", name)
		}
		if got := string(c.Get("other", "b")); got != "stays" && name != "evicted" {
			t.Errorf("%s: the other tenant's is %q", name, got)
		}
	}
}

// A hash that two names share gives neither the other's value.
func TestSharedHash(t *testing.T) {
	t.Parallel()
	c := New(1 << 20)
	c.Put("acme", "a", []byte("one"))
	c.at[c.hashEntryKey("acme", "b")] = c.at[c.hashEntryKey("acme", "a")]
	c.at[c.hashEntryKey("other", "a")] = c.at[c.hashEntryKey("acme", "a")]
	for _, of := range [][2]string{{"acme", "b"}, {"other", "a"}} {
		if got := c.Get(of[0], of[1]); got != nil {
			t.Errorf("%s of %s is %q", of[1], of[0], got)
		}
	}
}

// Values may hold anything, also nothing.
func TestEmptyValue(t *testing.T) {
	t.Parallel()
	c := New(1 << 20)
	c.Put("", "", nil)
	if got := c.Get("", ""); got == nil || len(got) != 0 || c.Len() != 1 {
		t.Errorf("an empty value is %v", got)
	}
}

// Room that nothing is left in is there again.
func TestClearedRoomIsThereAgain(t *testing.T) {
	t.Parallel()
	c, value := New(256<<10), make([]byte, 900)
	fill := func() (n int) {
		for ; c.Fits("acme", fmt.Sprint(n), value); n++ {
			c.Put("acme", fmt.Sprint(n), value)
		}
		return n
	}
	first := fill()
	c.Clear("acme")
	if again := fill(); again != first || c.Get("acme", "0") == nil {
		t.Errorf("%d fit where %d did", again, first)
	}
	for n := range first {
		c.Delete("acme", fmt.Sprint(n))
	}
	if again := fill(); again != first || c.Bytes() > 256<<10 {
		t.Errorf("%d fit where %d did", again, first)
	}
}
