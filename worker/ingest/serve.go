package ingest

import (
	"context"
	"errors"
	"time"

	"satchel/pipeline/store/eventlog"
	"satchel/worker/follow"
)

// fencedBackoff is how long an appender that was fenced leaves the partition to who fenced it.
const fencedBackoff = 300 * time.Millisecond

// checkAgain is how often a worker checks whether the partitions of others can be read.
const checkAgain = 10 * time.Second

// servePartition runs the appender whenever the partition is this worker's, until ctx is done.
func (a *partitionAppender) servePartition(ctx context.Context) error {
	if !a.cfg.Share.Shared() {
		return a.runAppender(ctx)
	}
	again := time.NewTicker(checkAgain)
	defer again.Stop()
	for ctx.Err() == nil {
		mine, changed := a.cfg.Share.OwnsPartition(a.partition)
		if !mine {
			a.resumed.Store(false)
			a.lookAtStream(ctx)
			select {
			case <-ctx.Done():
			case <-changed:
			case <-again.C:
			}
			continue
		}
		err := a.runWhileOwner(ctx)
		a.resumed.Store(false)
		a.inbox.Rest()
		switch {
		case errors.Is(err, eventlog.ErrFenced):
			a.cfg.Logger.InfoContext(ctx, "another worker has taken the partition", "partition", a.inbox.Name())
			if err := follow.Pause(ctx, fencedBackoff); err != nil {
				return nil
			}
		case err != nil:
			return err
		}
	}
	return nil
}

// runWhileOwner runs the appender until the partition is another's.
func (a *partitionAppender) runWhileOwner(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for {
			mine, changed := a.cfg.Share.OwnsPartition(a.partition)
			if !mine {
				end()
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
		}
	}()
	err := a.runAppender(ctx)
	end()
	<-watched
	return err
}
