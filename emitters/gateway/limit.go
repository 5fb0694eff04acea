package gateway

import (
	"sync"

	"satchel/schemas"
)

// What one token may have.
const (
	mostInFlight = 32 // requests under way
	mostSessions = 64 // of the Model Context Protocol
	mostStreams  = 64 // that follow the ledger
)

// limits bound what each token has of the gateway, so that one client leaves room for the others.
type limits struct {
	most     int
	mu       sync.Mutex
	inFlight map[string]int // by the fingerprint of the token's entry
}

func newLimits(most int) *limits { return &limits{most: most, inFlight: map[string]int{}} }

// takePlace takes a place for a request, which done gives back.
func (l *limits) takePlace(fingerprint string) (done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inFlight[fingerprint] >= l.most {
		return nil, &schemas.Error{Code: schemas.CodeOverloaded, Message: "the token has too many requests under way"}
	}
	l.inFlight[fingerprint]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.inFlight[fingerprint]--
		if l.inFlight[fingerprint] == 0 {
			delete(l.inFlight, fingerprint)
		}
	}, nil
}
