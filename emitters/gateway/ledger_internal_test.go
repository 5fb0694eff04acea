package gateway

import (
	"errors"
	"testing"
	"time"
)

// A stream that is behind asks for its token, too, before it reads on.
func TestAStreamThatCatchesUpLooksAtItsToken(t *testing.T) {
	revoked := errors.New("revoked")
	f := &feed{at: 1, still: func() error { return revoked }, asked: time.Now().Add(-lookAgain)}
	if err := f.sendNewEntries(t.Context()); !errors.Is(err, revoked) {
		t.Errorf("it goes on with %v", err)
	}
}
