package gateway

import (
	"errors"
	"testing"

	"satchel/schemas"
)

// One token has a bounded share, whatever the others do.
func TestATokenHasItsShare(t *testing.T) {
	l := newLimits(mostInFlight)
	var dones []func()
	for range mostInFlight {
		done, err := l.takePlace("a")
		if err != nil {
			t.Fatal(err)
		}
		dones = append(dones, done)
	}
	var refused *schemas.Error
	if _, err := l.takePlace("a"); !errors.As(err, &refused) || refused.Code != schemas.CodeOverloaded {
		t.Errorf("one more under way: %v", err)
	}
	if _, err := l.takePlace("b"); err != nil {
		t.Errorf("another token: %v", err)
	}
	dones[0]()
	if _, err := l.takePlace("a"); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
}
