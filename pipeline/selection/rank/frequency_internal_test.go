package rank

import (
	"testing"
)

// What was measured before an erasure is not known after it, nor kept when it comes late.
func TestSharesAreForgotten(t *testing.T) {
	t.Parallel()
	s := newDocFrequency(nil)
	key := frequencyKey{tenant: "acme", word: "kiln"}
	s.storeFrequency(key, frequency{value: .5, n: 10}, s.era)
	late := s.era
	s.forgetFrequencies()
	s.storeFrequency(key, frequency{value: .5, n: 10}, late)
	if len(s.seen) != 0 {
		t.Errorf("still known: %v", s.seen)
	}
	s.storeFrequency(key, frequency{value: .2, n: 8}, s.era)
	if s.seen[key].value != .2 {
		t.Errorf("not known: %v", s.seen)
	}
}
