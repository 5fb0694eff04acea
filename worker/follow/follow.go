// Package follow runs what follows the logs: a step for every tenant whenever its log grows. What
// fails is tried again, and a Health knows what fails at present, for whoever asks whether the
// worker is ready.
package follow

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"satchel/pipeline/store/eventlog"
)

// GiveWay is how long what follows the log waits while requests are answered, so that
// their replies come first. What the log gets meanwhile is then followed at once.
const GiveWay = 2 * time.Millisecond

// ErrAhead is returned when what follows a log has more than the log holds: the log was restored
// from an older copy.
var ErrAhead = errors.New("index is ahead of the log")

// Pacing says when the steps of a follower begin.
type Pacing struct {
	Busy   func() bool                         // whether requests are answered at the moment, or were lately
	Every  time.Duration                       // from the beginning of one step of a tenant to the next's, at least
	Beside time.Duration                       // the same while busy
	Wanted func(tenant string) <-chan struct{} // has something when somebody waits for the step; nil: nobody ever does
	Again  <-chan struct{}                     // has something when every tenant is to have a step; nil: it never has
}

// awaitTurn waits until a tenant's step may begin, when the last one began at last, or ctx is done.
func (p *Pacing) awaitTurn(ctx context.Context, tenant string, last time.Time) {
	since := time.Since(last)
	wait := p.Every - since
	if p.Busy() {
		wait = max(wait, p.Beside-since, GiveWay)
	}
	if wait <= 0 {
		return
	}
	var wanted <-chan struct{}
	if p.Wanted != nil {
		wanted = p.Wanted(tenant)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wanted:
	case <-timer.C:
	}
}

// Run calls step for every tenant at the start and then whenever its log grows, or Again has something,
// until ctx is done. Steps of different tenants run side by side, two at a time, those of
// one never do; a failed step is tried again and holds up nobody else meanwhile.
func Run(ctx context.Context, log *eventlog.Log, retry Retry, logger *slog.Logger, what string, pace Pacing, step func(ctx context.Context, tenant string) error) error {
	grown := log.Watch(ctx)
	tenants, err := log.Tenants(ctx)
	if err != nil {
		return IgnoreCanceled(ctx, err)
	}
	f := &follower{states: map[string]stepState{}, begun: map[string]time.Time{}, slots: make(chan struct{}, 2)}
	defer f.wait.Wait()
	start := func(tenant string) {
		f.startStep(tenant, func() {
			f.awaitStep(ctx, tenant, &pace)
			err := retry.Do(ctx, logger, OfTenant(what, tenant), func(error) bool { return true }, func() error {
				f.slots <- struct{}{}
				defer func() { <-f.slots }()
				return step(ctx, tenant)
			})
			if err != nil && ctx.Err() == nil {
				logger.ErrorContext(ctx, what, "tenant", tenant, "error", err)
			}
		})
	}
	for {
		for _, tenant := range tenants {
			start(tenant)
		}
		tenants = nil
		select {
		case <-ctx.Done():
			return nil
		case <-pace.Again:
			if tenants, err = log.Tenants(ctx); err != nil && ctx.Err() == nil {
				logger.WarnContext(ctx, what, "error", err)
			}
		case tenant, ok := <-grown:
			if !ok {
				return nil
			}
			start(tenant)
		}
	}
}

// OfTenant names what a follower does for a tenant.
func OfTenant(what, tenant string) string { return what + " tenant " + tenant }

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

func (f *follower) startStep(tenant string, step func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.states[tenant] != stepIdle {
		f.states[tenant] = stepAgain
		return
	}
	f.states[tenant] = stepRunning
	f.wait.Go(func() {
		for more := true; more; more = f.continueSteps(tenant) {
			step()
		}
	})
}

// awaitStep waits until the tenant's next step may begin.
func (f *follower) awaitStep(ctx context.Context, tenant string, pace *Pacing) {
	f.mu.Lock()
	last := f.begun[tenant]
	f.mu.Unlock()
	pace.awaitTurn(ctx, tenant, last)
	f.mu.Lock()
	f.begun[tenant] = time.Now()
	f.mu.Unlock()
}

func (f *follower) continueSteps(tenant string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.states[tenant] == stepAgain {
		f.states[tenant] = stepRunning
		return true
	}
	delete(f.states, tenant)
	return false
}
