package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"satchel/pipeline/store/eventlog"
	"satchel/worker/follow"
)

// examineEvery is how long a log that was examined is taken to be in order.
const examineEvery = 24 * time.Hour

// examineLogs looks for damage in the logs' indexes, and then in the logs, until ctx is done or it
// finds some.
func (w *Worker) examineLogs(ctx context.Context) error {
	tick := time.NewTicker(examineEvery)
	defer tick.Stop()
	for {
		err := w.log.Examine(ctx)
		if err == nil {
			err = w.verifyLogs(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, eventlog.ErrCorrupt):
			return fmt.Errorf("examine log: %w", err)
		case err != nil:
			w.logger.WarnContext(ctx, "examine log", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// verifyLogs verifies the logs of all tenants whole. It pauses after each step for some times as long as
// the step took, longer while requests are answered.
func (w *Worker) verifyLogs(ctx context.Context) error {
	const (
		idle, busy = 4, 50
		least      = 5 * time.Millisecond // of work between two pauses
	)
	began := time.Now()
	err := w.log.VerifyTenants(ctx, func(int64, int64) {
		took := time.Since(began)
		times := time.Duration(idle)
		if took < least {
			return
		}
		if w.Projector.LatelyBusy() {
			times = busy
		}
		_ = follow.Pause(ctx, times*took) // VerifyTenants looks at ctx
		began = time.Now()
	})
	if err == nil {
		w.Projector.Metrics().Verified.SetToCurrentTime()
	}
	return err
}
