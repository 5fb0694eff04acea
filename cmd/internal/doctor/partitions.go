package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/terminal"
	"satchel/jetstream"
	"satchel/pipeline/store/eventlog"
	"satchel/worker/ingest"
)

// stillAfter is how long a partition may log nothing while an event waits in it.
const stillAfter = 7 * time.Second

// checkPartitions says which partitions log nothing though events wait in them. Where some wait, it
// waits until the log has taken of them, as long as a partition may stand still.
func checkPartitions(ctx context.Context, a *app.App, running app.Finding) app.Finding {
	const check = "partitions"
	if running.Idle || a.RequireData() != nil {
		return reportIdle(check, "not asked: Satchel does not run")
	}
	conn, err := command.DialOperator(ctx, a)
	if err != nil {
		return reportIdle(check, "not asked: "+err.Error())
	}
	defer conn.Close()
	log, err := a.ReadLog(ctx)
	if err != nil {
		return reportFailed(check, "%v", err)
	}
	defer log.Close()
	began := time.Now()
	waiting := map[string]uint64(nil)
	for {
		now, err := readWaiting(ctx, conn.NC, log.Log)
		if err != nil {
			return reportFailed(check, "%v", err)
		}
		if waiting == nil {
			waiting = now
		}
		var still []string
		for partition := range jetstream.Partitions {
			name := jetstream.PartitionName(partition)
			read, waited := waiting[name]
			if at, waits := now[name]; waited && waits && at == read {
				still = append(still, name)
			}
		}
		switch {
		case len(still) == 0 && len(waiting) == 0:
			return reportPassed(check, "the log has every event")
		case len(still) == 0:
			return reportPassed(check, "events wait in %s, and the log takes them", terminal.Plural(len(waiting), "partition", "partitions"))
		case time.Since(began) >= stillAfter:
			return reportFailed(check, "%s: events wait, and none was logged for %s; see /readyz and the log of satchel up", strings.Join(still, ", "), stillAfter)
		}
		select {
		case <-ctx.Done():
			return reportFailed(check, "%v", ctx.Err())
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// readWaiting returns, by partition, the last message that the log has, of partitions in which
// others wait.
func readWaiting(ctx context.Context, nc *nats.Conn, log *eventlog.Log) (map[string]uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	waiting := map[string]uint64{}
	for partition := range jetstream.Partitions {
		name := jetstream.PartitionName(partition)
		cp, err := log.Checkpoint(ctx, ingest.CheckpointName(name))
		if err != nil {
			return nil, fmt.Errorf("read checkpoint of partition %q: %w", name, err)
		}
		first, err := jetstream.FirstWaiting(ctx, nc, partition, cp.StreamSeq)
		if err != nil {
			return nil, err
		}
		if first > 0 {
			waiting[name] = cp.StreamSeq
		}
	}
	return waiting, nil
}
