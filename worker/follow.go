package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// giveWay is how long what follows the log waits while requests are answered, so that
// their replies come first. What the log gets meanwhile is then followed at once.
const giveWay = 2 * time.Millisecond

// follow calls step for every tenant at the start and then whenever its log grows,
// until ctx is done. Steps of different tenants run side by side, two at a time, those of
// one never do; a failed step is tried again and holds up nobody else meanwhile.
func follow(ctx context.Context, log *eventlog.Log, retry retryPolicy, logger *slog.Logger, what string, busy func() bool, step func(ctx context.Context, tenant string) error) error {
	grown := log.Watch(ctx)
	tenants, err := log.Tenants(ctx)
	if err != nil {
		return ignoreCanceled(ctx, err)
	}
	f := &follower{states: map[string]stepState{}, slots: make(chan struct{}, 2)}
	defer f.wait.Wait()
	start := func(tenant string) {
		f.start(tenant, func() {
			if busy() {
				select {
				case <-ctx.Done():
				case <-time.After(giveWay):
				}
			}
			err := retry.do(ctx, logger, what+" tenant "+tenant, func(error) bool { return true }, func() error {
				f.slots <- struct{}{}
				defer func() { <-f.slots }()
				return step(ctx, tenant)
			})
			if err != nil && ctx.Err() == nil {
				logger.ErrorContext(ctx, what, "tenant", tenant, "error", err)
			}
		})
	}
	for _, tenant := range tenants {
		start(tenant)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case tenant, ok := <-grown:
			if !ok {
				return nil
			}
			start(tenant)
		}
	}
}

type stepState int

const (
	stepIdle stepState = iota
	stepRunning
	stepAgain // running, and the log has grown since
)

type follower struct {
	mu     sync.Mutex
	states map[string]stepState
	slots  chan struct{}
	wait   sync.WaitGroup
}

func (f *follower) start(tenant string, step func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.states[tenant] != stepIdle {
		f.states[tenant] = stepAgain
		return
	}
	f.states[tenant] = stepRunning
	f.wait.Go(func() {
		for more := true; more; more = f.again(tenant) {
			step()
		}
	})
}

func (f *follower) again(tenant string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.states[tenant] == stepAgain {
		f.states[tenant] = stepRunning
		return true
	}
	delete(f.states, tenant)
	return false
}

// shownText is what an item's stored token count is of: "speaker: text" and a newline.
func shownText(r *schemas.Record) string {
	if r.Speaker == "" {
		return r.Content.Text() + "\n"
	}
	return r.Speaker + ": " + r.Content.Text() + "\n"
}
