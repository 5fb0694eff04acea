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

// The tenants are looked at when the ledger has got messages, and not when it has got none or does not answer.
func TestLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ledger, moved, ended := &numbered{}, make(chan struct{}), make(chan struct{})
		go func() {
			New(Config{Ledger: ledger}).look(ctx, moved)
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
			err  error
			want bool
		}{{3, nil, true}, {3, nil, false}, {4, errors.New("away"), false}, {4, nil, true}, {4, nil, false}} {
			ledger.set(c.last, c.err)
			if got := looks(); got != c.want {
				t.Errorf("step %d: it looks: %v", i, got)
			}
		}
		cancel()
		<-ended
	})
}
