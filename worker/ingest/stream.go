package ingest

import (
	"context"
	"errors"
	"fmt"

	"satchel/pipeline/store/eventlog"
	"satchel/worker/transport"
)

// StreamChangedError says that a stream is not the one its checkpoint was made on:
// it was made anew, lost its tail or holds another message at the checkpoint.
type StreamChangedError struct {
	Partition string
	Problem   string
	Read      uint64 // the last message of the former stream that the log has
}

// Error names the partition, what differs and where it says what to do.
func (e *StreamChangedError) Error() string {
	return fmt.Sprintf("partition %q: stream does not match the checkpoint: %s; see satchel rollback --help", e.Partition, e.Problem)
}

const createdAnew = "it was created anew (another epoch)"

// CheckpointName returns the name of a partition's checkpoint in the log.
func CheckpointName(partition string) string { return "append/" + partition }

// CheckStream returns the last message of a partition that the log has, or a
// *StreamChangedError when the partition's stream is not the one it was read from.
func CheckStream(ctx context.Context, log *eventlog.Log, inbox transport.Inbox) (read uint64, err error) {
	cp, err := log.Checkpoint(ctx, CheckpointName(inbox.Name()))
	if err != nil {
		return 0, fmt.Errorf("read checkpoint of partition %q: %w", inbox.Name(), err)
	}
	return cp.StreamSeq, checkStreamMatch(ctx, inbox, cp)
}

// AcceptStream has a partition read the inbox's stream from its beginning. What the log has
// is recognised by source and id; a worker that still reads the former stream is fenced, and
// finds that its stream is another one.
func AcceptStream(ctx context.Context, log *eventlog.Log, inbox transport.Inbox) error {
	st, err := inbox.State(ctx, 0)
	if err != nil {
		return fmt.Errorf("read stream state of partition %q: %w", inbox.Name(), err)
	}
	return log.Restart(ctx, CheckpointName(inbox.Name()), st.Epoch)
}

// checkStreamMatch returns a *StreamChangedError when a checkpoint was not made on the inbox's stream.
func checkStreamMatch(ctx context.Context, inbox transport.Inbox, cp eventlog.Checkpoint) error {
	st, err := inbox.State(ctx, cp.StreamSeq)
	if err != nil {
		return fmt.Errorf("read stream state of partition %q: %w", inbox.Name(), err)
	}
	var problem string
	switch {
	case cp.StreamSeq == 0 && cp.Epoch == "": // nothing was ever read
	case st.Epoch != cp.Epoch:
		problem = createdAnew
	case st.LastSeq < cp.StreamSeq:
		problem = fmt.Sprintf("it ends at %d, before the checkpoint %d", st.LastSeq, cp.StreamSeq)
	case st.Found && st.Hash != cp.Hash:
		problem = fmt.Sprintf("message %d is another one", cp.StreamSeq)
	}
	if problem != "" {
		return &StreamChangedError{Partition: inbox.Name(), Problem: problem, Read: cp.StreamSeq}
	}
	return nil
}

// lookAtStream finds out whether the partition of another worker can be read, so that this one
// need not take what nobody will log. What cannot be found out is the owner's to say.
func (a *partitionAppender) lookAtStream(ctx context.Context) {
	var changed *StreamChangedError
	switch _, err := CheckStream(ctx, a.cfg.Log, a.inbox); {
	case errors.As(err, &changed):
		a.changed.Store(changed)
	case err == nil:
		a.changed.Store(nil)
	}
}
