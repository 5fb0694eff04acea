package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
)

// headEvery is how long a log may grow before its head is signed and kept.
const headEvery = 5 * time.Second

// heads signs the head of every log that has grown, now and then and at the end, so that
// a log that is rolled back later is found out by the head that was kept.
type heads struct {
	log    *eventlog.Log
	logger *slog.Logger
	share  share
	signed map[string]int64 // size, by tenant
}

func (h *heads) run(ctx context.Context) error {
	tick := time.NewTicker(headEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), headEvery)
			defer cancel()
			h.sign(last)
			return nil
		case <-tick.C:
			h.sign(ctx)
		}
	}
}

func (h *heads) sign(ctx context.Context) {
	tenants, err := h.log.Tenants(ctx)
	if err != nil {
		h.logger.WarnContext(ctx, "list logs to sign", "error", err)
		return
	}
	for _, tenant := range tenants {
		if !h.share.owns(tenant) {
			continue
		}
		if err := h.signOne(ctx, tenant); err != nil && !errors.Is(err, context.Canceled) {
			h.logger.WarnContext(ctx, "sign head", "tenant", tenant, "error", err)
		}
	}
}

func (h *heads) signOne(ctx context.Context, tenant string) error {
	s, err := scope.System(tenant)
	if err != nil {
		return err
	}
	head, err := h.log.Head(ctx, s)
	if err != nil || head.Size == 0 || head.Size == h.signed[tenant] {
		return err
	}
	if _, err := h.log.SignedHead(ctx, s); err != nil {
		return err
	}
	h.signed[tenant] = head.Size
	return nil
}
