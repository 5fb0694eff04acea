package jetstream

import "testing"

// TestRoomIsLeftForOthers: whatever principals and tenants store as much as they may, another
// one can still store something.
func TestRoomIsLeftForOthers(t *testing.T) {
	t.Parallel()
	const total, size = 128 << 20, 1 << 20
	held := map[string]map[string]int64{}
	all := int64(0)
	fill := func(tenant, owner string) (stored int64) {
		if held[tenant] == nil {
			held[tenant] = map[string]int64{}
		}
		for {
			u := usage{all: all, owner: held[tenant][owner]}
			for _, n := range held[tenant] {
				u.tenant += n
			}
			if u.computeRoom(total) < size {
				return stored
			}
			held[tenant][owner] += size
			all += size
			stored += size
		}
	}
	for _, c := range []struct {
		tenant, owner string
		least, most   int64
	}{
		{"acme", "flood", 60 << 20, total / 2},
		{"acme", "second", 14 << 20, total / 4},
		{"acme", "third", 6 << 20, total / 8},
		{"globex", "agent", 6 << 20, total / 8},
		{"initech", "agent", 2 << 20, total / 8},
	} {
		if got := fill(c.tenant, c.owner); got < c.least || got > c.most {
			t.Errorf("%s of %s could store %d MiB, want %d to %d", c.owner, c.tenant, got>>20, c.least>>20, c.most>>20)
		}
	}
	if (usage{all: 2 * total}).computeRoom(total) != 0 {
		t.Error("there is room in a bucket that is over its size")
	}
}
