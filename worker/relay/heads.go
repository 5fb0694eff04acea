package relay

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/worker/follow"
	"satchel/worker/metrics"
)

// headEvery is how long a log may grow before its head is signed and kept.
const headEvery = 5 * time.Second

// Heads signs the head of every log that has grown, now and then and at the end, so that
// a log that is rolled back later is found out by the head that was kept.
type Heads struct {
	Log     *eventlog.Log
	Logger  *slog.Logger
	Share   follow.Share
	Metrics *metrics.Metrics
	// Offer is given each head that was signed, and must not block; nil: nobody is.
	Offer func(tenant string, head schemas.HeadReply)
}

// Run signs until ctx is done, and then what is left.
func (h *Heads) Run(ctx context.Context) error {
	watch, stop := context.WithCancel(context.WithoutCancel(ctx)) // what grows at the end is signed, too
	defer stop()
	grown := h.Log.Watch(watch)
	own := h.Log.WatchOwn(watch)
	due, err := h.listTenants(ctx)
	if err != nil && ctx.Err() == nil {
		h.Logger.WarnContext(ctx, "list logs to sign", "error", err)
	}
	tick := time.NewTicker(headEvery)
	defer tick.Stop()
	for {
		select {
		case tenant, ok := <-grown:
			if !ok {
				return nil // the log is closed
			}
			due[tenant] = struct{}{}
		case tenant, ok := <-own:
			if !ok {
				return nil
			}
			due[tenant] = struct{}{}
		case <-ctx.Done():
			drainFeeds(due, grown, own)
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), headEvery)
			defer cancel()
			h.signHeads(last, due)
			return nil
		case <-tick.C:
			h.signHeads(ctx, due)
		}
	}
}

// drainFeeds takes what the feeds have at the moment.
func drainFeeds(due map[string]struct{}, feeds ...<-chan string) {
	const silence = 20 * time.Millisecond
	for _, feed := range feeds {
		for more := true; more; {
			select {
			case tenant, ok := <-feed:
				more = ok
				if ok {
					due[tenant] = struct{}{}
				}
			case <-time.After(silence):
				more = false
			}
		}
	}
}

// listTenants are the tenants that have a log: while nobody watched, any may have grown.
func (h *Heads) listTenants(ctx context.Context) (map[string]struct{}, error) {
	due := map[string]struct{}{}
	tenants, err := h.Log.Tenants(ctx)
	for _, tenant := range tenants {
		due[tenant] = struct{}{}
	}
	return due, err
}

// signHeads signs the heads that are due and takes them off the list, but for those that fail.
func (h *Heads) signHeads(ctx context.Context, due map[string]struct{}) {
	for tenant := range due {
		if ctx.Err() != nil {
			return
		}
		if !h.Share.OwnsTenant(tenant) { // it may come to this worker
			continue
		}
		err := h.signOne(ctx, tenant)
		if err == nil {
			delete(due, tenant)
		} else if !errors.Is(err, context.Canceled) {
			h.Logger.WarnContext(ctx, "sign head", "tenant", tenant, "error", err)
		}
	}
}

func (h *Heads) signOne(ctx context.Context, tenant string) error {
	s, err := scope.System(tenant)
	if err != nil {
		return err
	}
	head, err := h.Log.SignedHead(ctx, s)
	if err != nil {
		return err
	}
	h.Metrics.Sizes.Note(tenant, head.Size)
	h.Metrics.Signed.SetToCurrentTime()
	if h.Offer != nil {
		h.Offer(tenant, head)
	}
	return nil
}
