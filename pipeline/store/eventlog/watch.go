package eventlog

import (
	"context"
	"slices"
	"sync"
	"time"

	"satchel/pipeline/scope"
)

// quietFor is how long a Watch keeps quiet growth to itself, see Batch.
const quietFor = 200 * time.Millisecond

// watchers tells who waits that a tenant's log has grown. Telling never blocks.
type watchers struct {
	mu    sync.Mutex
	grown map[string]*growth // by tenant that someone waits for
	feeds map[*feed]struct{}
	done  chan struct{}
	ended bool
	wait  sync.WaitGroup
}

// growth is what the callers wait for that await a tenant's log.
type growth struct {
	told    chan struct{} // closed when the log grows
	waiting int
}

// feed is one Watch: the tenants that grew since they were last taken.
type feed struct {
	order []string
	set   map[string]struct{} // of order and later
	later []string            // grew quietly; told when the timer ends
	timer *time.Timer
	own   bool          // tells of this Log's commits only
	wake  chan struct{} // capacity 1
}

func (w *watchers) init() {
	w.grown = map[string]*growth{}
	w.feeds = map[*feed]struct{}{}
	w.done = make(chan struct{})
}

func (w *watchers) closeWatchers() {
	w.mu.Lock()
	if !w.ended {
		w.ended = true
		close(w.done)
	}
	w.mu.Unlock()
	w.wait.Wait()
}

// wakeWatchers wakes who waits for the tenant; own is whether this Log has made it grow, quiet
// whether the feeds may hear of it later.
func (w *watchers) wakeWatchers(tenant string, own, quiet bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g, ok := w.grown[tenant]; ok {
		close(g.told)
		delete(w.grown, tenant)
	}
	for f := range w.feeds {
		if !f.own || own {
			f.noteGrowth(tenant, quiet && !f.own)
		}
	}
}

// noteGrowth notes that a tenant grew. The caller holds the lock.
func (f *feed) noteGrowth(tenant string, quiet bool) {
	if _, ok := f.set[tenant]; ok {
		i := slices.Index(f.later, tenant)
		if quiet || i < 0 {
			return
		}
		f.later = slices.Delete(f.later, i, i+1)
	}
	f.set[tenant] = struct{}{}
	if quiet {
		f.later = append(f.later, tenant)
		if len(f.later) == 1 {
			f.timer.Reset(quietFor)
		}
		return
	}
	f.order = append(f.order, tenant)
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// joinGrowth returns what has a channel that is closed when tenant's log grows. The caller MUST give
// it to leave when it does not wait any more.
func (w *watchers) joinGrowth(tenant string) *growth {
	w.mu.Lock()
	defer w.mu.Unlock()
	g, ok := w.grown[tenant]
	if !ok {
		g = &growth{told: make(chan struct{})}
		w.grown[tenant] = g
	}
	g.waiting++
	return g
}

func (w *watchers) leaveGrowth(tenant string, g *growth) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g.waiting--
	if g.waiting == 0 && w.grown[tenant] == g {
		delete(w.grown, tenant)
	}
}

func (w *watchers) takeTenant(f *feed) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(f.order) == 0 {
		return "", false
	}
	tenant := f.order[0]
	f.order = f.order[1:]
	delete(f.set, tenant)
	return tenant, true
}

// settleFeed makes the quiet growth of a feed due.
func (w *watchers) settleFeed(f *feed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f.order = append(f.order, f.later...)
	f.later = nil
}

// Await blocks until the log is longer than after, and returns its size. It sees the
// commits of this Log, and those that NotifyGrowth tells it of.
func (l *Log) Await(ctx context.Context, s scope.Scope, after int64) (int64, error) {
	if err := s.Check(); err != nil {
		return 0, err
	}
	for {
		size, err := l.awaitOnce(ctx, s, after)
		if err != nil || size > after {
			return size, err
		}
	}
}

// awaitOnce returns the log's size when it is longer than after, or once it has grown.
func (l *Log) awaitOnce(ctx context.Context, s scope.Scope, after int64) (int64, error) {
	grown := l.watch.joinGrowth(s.Tenant())
	defer l.watch.leaveGrowth(s.Tenant(), grown)
	h, err := l.Head(ctx, s)
	if err != nil || h.Size > after {
		return h.Size, err
	}
	select {
	case <-grown.told:
		return after, nil
	case <-l.watch.done:
		return 0, ErrClosed
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Watch returns a channel of tenants whose log has grown since Watch was called. Growth
// that was not yet taken is told once; quiet growth is told after a while, or with what
// its tenant's log gets next. The channel is closed when ctx is done or the Log
// is closed.
func (l *Log) Watch(ctx context.Context) <-chan string { return l.watch.openFeed(ctx, false) }

// WatchOwn is Watch of the commits of this Log alone, without what NotifyGrowth was told. It tells
// of quiet growth at once: others may wait for it.
func (l *Log) WatchOwn(ctx context.Context) <-chan string { return l.watch.openFeed(ctx, true) }

// NotifyGrowth tells the Log that another one over the same database has made a tenant's log
// grow, or may have: a caller that waits or follows looks again.
func (l *Log) NotifyGrowth(tenant string) { l.watch.wakeWatchers(tenant, false, false) }

func (w *watchers) openFeed(ctx context.Context, own bool) <-chan string {
	out := make(chan string)
	f := &feed{set: map[string]struct{}{}, own: own, wake: make(chan struct{}, 1), timer: time.NewTimer(quietFor)}
	f.timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		close(out)
		return out
	}
	w.feeds[f] = struct{}{}
	w.wait.Go(func() {
		defer close(out)
		defer f.timer.Stop()
		w.serveFeed(ctx, f, out)
		w.mu.Lock()
		delete(w.feeds, f)
		w.mu.Unlock()
	})
	return out
}

func (w *watchers) serveFeed(ctx context.Context, f *feed, out chan<- string) {
	for {
		select {
		case <-f.timer.C: // before what has grown since
			w.settleFeed(f)
		default:
		}
		tenant, ok := w.takeTenant(f)
		if ok {
			select {
			case out <- tenant:
			case <-ctx.Done():
				return
			case <-w.done:
				return
			}
			continue
		}
		select {
		case <-f.wake:
		case <-f.timer.C:
			w.settleFeed(f)
		case <-ctx.Done():
			return
		case <-w.done:
			return
		}
	}
}
