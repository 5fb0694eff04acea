package selection

import (
	"fmt"
	"testing"
)

// Every text says what it says, however many were looked at, and most are looked at once.
func TestLooksRemember(t *testing.T) {
	t.Parallel()
	l, reads := newLooks(), 0
	read := func(text string) looked {
		reads++
		return looked{hash: uint64(len(text)), injected: float64(text[0])}
	}
	const n = 120_000
	text := func(i int) string { return fmt.Sprintf("%c%0*d", 'a'+i%26, 6+i%9, i) }
	for i := range n {
		if got := l.of(text(i), read); got.hash != uint64(len(text(i))) || got.injected != float64(text(i)[0]) || got.text != l.keyOf(text(i)) {
			t.Fatalf("text %d: %+v", i, got)
		}
	}
	reads = 0
	for i := range n {
		l.of(text(i), read)
	}
	if reads > n/10 {
		t.Errorf("%d of %d texts were looked at again", reads, n)
	}
	slots := 0
	for i := range l.stripes {
		slots += len(l.stripes[i].kept)
	}
	if slots > lookStripes*lookMost {
		t.Errorf("%d places", slots)
	}
}
