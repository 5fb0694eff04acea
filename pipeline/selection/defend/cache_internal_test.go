package defend

import (
	"fmt"
	"testing"

	"satchel/pipeline/selection/defend/injection"
)

// Every text says what it says, however many were looked at, and most are looked at once.
func TestLooksRemember(t *testing.T) {
	t.Parallel()
	l, reads := newFeatureCache(), 0
	found := func(text string) injection.Finding {
		return injection.Finding{Score: float64(text[0]), Orders: text[0]%2 == 0, Unread: text[0]%3 == 0}
	}
	said := func(text string) wording { return wording{whole: uint64(len(text)), tokens: uint16(text[0])} }
	read := func(text string) features {
		reads++
		return features{wording: said(text), injected: found(text)}
	}
	const n = 120_000
	text := func(i int) string { return fmt.Sprintf("%c%0*d", 'a'+i%26, 6+i%9, i) }
	for i := range n {
		if got := l.findFeatures(text(i), read); got.wording != said(text(i)) || got.injected != found(text(i)) || got.text != l.keyOf(text(i)) {
			t.Fatalf("text %d: %+v", i, got)
		}
	}
	reads = 0
	for i := range n {
		l.findFeatures(text(i), read)
	}
	if reads > n/10 {
		t.Errorf("%d of %d texts were read again", reads, n)
	}
	slots := 0
	for i := range l.stripes {
		slots += len(l.stripes[i].kept)
	}
	if slots > lookStripes*lookMost {
		t.Errorf("%d places", slots)
	}
}
