package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/jetstream"
	"satchel/pipeline/store/eventlog"
	"satchel/worker/ingest"
)

// runStream is rollback --stream: it holds the stream MEMORY against the log's checkpoints,
// and accepts another one.
func (c *Rollback) runStream(ctx context.Context, a *app.App, nc *nats.Conn, conn js.JetStream) (err error) {
	log, _, err := a.OpenLog(ctx, app.Fixed{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if err := jetstream.EnsureStreams(ctx, conn, a.StreamConfig(nc)); err != nil {
		return fmt.Errorf("open streams: %w", err)
	}
	var changed, unread []int
	waiting := 0
	for partition := range jetstream.Partitions {
		found, err := c.checkPartition(ctx, a, nc, conn, log, partition)
		if err != nil {
			return err
		}
		switch found {
		case streamChanged:
			changed = append(changed, partition)
		case streamUnread:
			unread = append(unread, partition)
		case streamWaits:
			waiting++
		}
	}
	if c.Accept && len(changed) > 0 { // and whatever the former stream gets from now on is fenced
		for _, partition := range append(changed, unread...) {
			if err := acceptPartition(ctx, nc, conn, log, partition); err != nil {
				return err
			}
		}
	}
	return c.sayStream(a, len(changed), waiting)
}

// streamState is how a partition's stream stands to the log.
type streamState int

const (
	streamRead    streamState = iota // the log has what is in it
	streamUnread                     // nothing of it was ever logged
	streamWaits                      // events wait in it
	streamChanged                    // it is another one than the log was read from
)

// checkPartition holds a partition's stream against the log's checkpoint.
func (c *Rollback) checkPartition(ctx context.Context, a *app.App, nc *nats.Conn, conn js.JetStream, log *eventlog.Log, partition int) (streamState, error) {
	inbox, err := jetstream.OpenInbox(ctx, nc, conn, jetstream.InboxConfig{Partition: partition})
	if err != nil {
		return 0, err
	}
	defer inbox.Close()
	read, err := ingest.CheckStream(ctx, log, inbox)
	var changed *ingest.StreamChangedError
	if errors.As(err, &changed) {
		_, err = fmt.Fprintf(a.Out, "partition %s: %s; of the former stream the log has what came up to message %d\n", changed.Partition, changed.Problem, changed.Read)
		return streamChanged, err
	}
	if err != nil {
		return 0, err
	}
	switch waits, err := inbox.Waits(ctx, read); {
	case err != nil:
		return 0, err
	case waits:
		_, err = fmt.Fprintf(a.Out, "partition %s: events behind message %d are not in the log yet\n", inbox.Name(), read)
		return streamWaits, err
	case read == 0:
		return streamUnread, nil
	}
	return streamRead, nil
}

// acceptPartition has a partition read its stream from the beginning.
func acceptPartition(ctx context.Context, nc *nats.Conn, conn js.JetStream, log *eventlog.Log, partition int) error {
	inbox, err := jetstream.OpenInbox(ctx, nc, conn, jetstream.InboxConfig{Partition: partition})
	if err != nil {
		return err
	}
	defer inbox.Close()
	return ingest.AcceptStream(ctx, log, inbox)
}

// sayStream sums up what runStream found.
func (c *Rollback) sayStream(a *app.App, changed, waiting int) (err error) {
	const lost = "what the former stream acknowledged behind these messages is lost, unless its NATS is started once more and logs it first"
	switch {
	case changed > 0 && !c.Accept:
		err = &FoundError{What: terminal.Plural(changed, "partition has", "partitions have") + " another stream than the log was read from; " + lost + "; with --accept the log goes on with this one"}
	case changed > 0:
		_, err = fmt.Fprintf(a.Out, "%s read this stream from its beginning at the next start; %s\n", terminal.Plural(changed, "partition will", "partitions will"), lost)
	case waiting > 0:
		_, err = fmt.Fprintln(a.Out, "the stream is the one the log was read from; satchel up logs what waits: start it before NATS is changed")
	default:
		_, err = fmt.Fprintln(a.Out, "the stream is the one the log was read from, and nothing waits in it")
	}
	return err
}

// refuseRunning refuses while a process answers for Satchel on the NATS that is named. This
// process holds the data folder; one with another folder, on another NATS, is not seen.
func refuseRunning(ctx context.Context, a *app.App, nc *nats.Conn) error {
	if a.NATSURL == "" {
		return nil // the server is this process's
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := nc.RequestWithContext(ctx, "$SRV.PING.satchel", nil)
	switch {
	case err == nil:
		return config.Usagef("Satchel runs on the NATS at %s; stop every process first", config.Mask(a.NATSURL))
	case errors.Is(err, nats.ErrNoResponders):
		return nil
	}
	return fmt.Errorf("ask who runs on NATS: %w", err)
}
