package worker

import (
	"context"
	"log/slog"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/policies/exception"
)

// sweepEvery is how soon after its end an exception's end is in the log. The exception
// itself holds no longer than it should.
const sweepEvery = time.Second

// exceptionSweeper writes the ends of governed exceptions.
type exceptionSweeper struct {
	log        *eventlog.Log
	exceptions *exception.Registry
	logger     *slog.Logger
}

func (w *exceptionSweeper) sweepExceptions(ctx context.Context) error {
	tenants, err := w.log.Tenants(ctx)
	if err != nil && ctx.Err() == nil {
		w.logger.Warn("governed exceptions are not swept at start", "error", err)
	}
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		for _, tenant := range tenants {
			s, err := scope.System(tenant)
			if err == nil {
				err = w.exceptions.Sweep(ctx, s)
			}
			if err != nil && ctx.Err() == nil {
				w.logger.Warn("sweep governed exceptions", "tenant", tenant, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			tenants = w.exceptions.Pending()
		}
	}
}
