package relay

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"satchel/worker/transport"
)

// numbered is a ledger that knows its last sequence alone.
type numbered struct {
	transport.Ledger
	mu   sync.Mutex
	last uint64
	err  error
}

func (n *numbered) LastSequence(context.Context) (uint64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last, n.err
}

func (n *numbered) set(last uint64, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last, n.err = last, err
}

// The tenants are looked at when the ledger has got messages of others, and not when it has got none, or those of this
// process, or does not answer.
func TestLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ledger, moved, ended := &numbered{}, make(chan struct{}), make(chan struct{})
		relay := New(Config{Ledger: ledger})
		go func() {
			relay.watchLedger(ctx, moved)
			close(ended)
		}()
		looks := func() bool {
			select {
			case <-moved:
				return true
			case <-time.After(lookEvery + time.Second):
				return false
			}
		}
		for i, c := range []struct {
			last uint64
			sent uint64
			err  error
			want bool
		}{{3, 0, nil, true}, {3, 0, nil, false}, {4, 0, errors.New("away"), false}, {4, 0, nil, true}, {4, 0, nil, false},
			{6, 2, nil, false}, {9, 2, nil, true}, {9, 0, nil, false}} {
			relay.sent.Add(c.sent)
			ledger.set(c.last, c.err)
			if got := looks(); got != c.want {
				t.Errorf("step %d: it looks: %v", i, got)
			}
		}
		cancel()
		<-ended
	})
}
