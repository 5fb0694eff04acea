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

// pacing says when the steps of a follower begin.
type pacing struct {
	busy   func() bool                         // whether requests are answered at the moment, or were lately
	every  time.Duration                       // from the beginning of one step of a tenant to the next's, at least
	beside time.Duration                       // the same while busy
	wanted func(tenant string) <-chan struct{} // has something when somebody waits for the step; nil: nobody ever does
}

// await waits until a tenant's step may begin, when the last one began at last, or ctx is done.
func (p *pacing) await(ctx context.Context, tenant string, last time.Time) {
	since := time.Since(last)
	wait := p.every - since
	if p.busy() {
		wait = max(wait, p.beside-since, giveWay)
	}
	if wait <= 0 {
		return
	}
	var wanted <-chan struct{}
	if p.wanted != nil {
		wanted = p.wanted(tenant)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wanted:
	case <-timer.C:
	}
}

// follow calls step for every tenant at the start and then whenever its log grows,
// until ctx is done. Steps of different tenants run side by side, two at a time, those of
// one never do; a failed step is tried again and holds up nobody else meanwhile.
func follow(ctx context.Context, log *eventlog.Log, retry retryPolicy, logger *slog.Logger, what string, pace pacing, step func(ctx context.Context, tenant string) error) error {
	grown := log.Watch(ctx)
	tenants, err := log.Tenants(ctx)
	if err != nil {
		return ignoreCanceled(ctx, err)
	}
	f := &follower{states: map[string]stepState{}, begun: map[string]time.Time{}, slots: make(chan struct{}, 2)}
	defer f.wait.Wait()
	start := func(tenant string) {
		f.start(tenant, func() {
			f.await(ctx, tenant, &pace)
			err := retry.do(ctx, logger, ofTenant(what, tenant), func(error) bool { return true }, func() error {
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

// ofTenant names what a follower does for a tenant.
func ofTenant(what, tenant string) string { return what + " tenant " + tenant }

type stepState int

const (
	stepIdle stepState = iota
	stepRunning
	stepAgain // running, and the log has grown since
)

type follower struct {
	mu     sync.Mutex
	states map[string]stepState
	begun  map[string]time.Time // the last step, by tenant
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

// await waits until the tenant's next step may begin.
func (f *follower) await(ctx context.Context, tenant string, pace *pacing) {
	f.mu.Lock()
	last := f.begun[tenant]
	f.mu.Unlock()
	pace.await(ctx, tenant, last)
	f.mu.Lock()
	f.begun[tenant] = time.Now()
	f.mu.Unlock()
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
