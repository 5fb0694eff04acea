package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/worker/follow"
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
func CheckStream(ctx context.Context, log *eventlog.Log, inbox Inbox) (read uint64, err error) {
	cp, err := log.Checkpoint(ctx, CheckpointName(inbox.Name()))
	if err != nil {
		return 0, fmt.Errorf("read checkpoint of partition %q: %w", inbox.Name(), err)
	}
	return cp.StreamSeq, matches(ctx, inbox, cp)
}

// AcceptStream has a partition read the inbox's stream from its beginning. What the log has
// is recognised by source and id; a worker that still reads the former stream is fenced, and
// finds that its stream is another one.
func AcceptStream(ctx context.Context, log *eventlog.Log, inbox Inbox) error {
	st, err := inbox.State(ctx, 0)
	if err != nil {
		return fmt.Errorf("read stream state of partition %q: %w", inbox.Name(), err)
	}
	return log.Restart(ctx, CheckpointName(inbox.Name()), st.Epoch)
}

// matches returns a *StreamChangedError when a checkpoint was not made on the inbox's stream.
func matches(ctx context.Context, inbox Inbox, cp eventlog.Checkpoint) error {
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

// look finds out whether the partition of another worker can be read, so that this one
// need not take what nobody will log. What cannot be found out is the owner's to say.
func (a *appender) look(ctx context.Context) {
	var changed *StreamChangedError
	switch _, err := CheckStream(ctx, a.log, a.inbox); {
	case errors.As(err, &changed):
		a.changed.Store(changed)
	case err == nil:
		a.changed.Store(nil)
	}
}

// logs refuses what waits for an event of a tenant whose partition stands still until an
// operator accepts its stream.
func (w *Worker) logs(tenant string) error {
	if a := w.appenderOf(tenant); a == nil || a.changed.Load() == nil {
		return nil
	}
	return &schemas.Error{Code: schemas.CodeStorage, Message: "events of this tenant are not logged: their stream is not the one that the log was read from; its operator finds more in satchel rollback --help"}
}

// logFails says why the event id of a tenant is not logged at present, because that fails again
// and again; nil when it does not. The id of an erasure's receipt is one as well.
func (w *Worker) logFails(tenant, id string, since time.Time) error {
	a := w.appenderOf(tenant)
	switch {
	case a != nil && (w.health.Fails(a.appending(), since) || w.health.Fails(a.erasing(), since)):
		return &schemas.Error{Code: schemas.CodeStorage, Message: "not logged yet: the log cannot be written at present, see /readyz or satchel doctor; what was accepted is logged, or erased, when it can"}
	case strings.HasSuffix(id, receiptSuffix) && w.erasures.Fails(follow.OfTenant(finishing, tenant), since):
		return &schemas.Error{Code: schemas.CodeStorage, Message: "the erasure is begun, and finishing it fails at present, see /readyz and the log output; it is finished when it can be"}
	}
	return nil
}

// indexFails says that a tenant's indexes take nothing at present, because that fails again and
// again, to a caller that has waited since a moment; nil when it does not.
func (w *Worker) indexFails(tenant string, since time.Time) error {
	if !w.health.Fails(follow.OfTenant(projecting, tenant), since) {
		return nil
	}
	return &schemas.Error{Code: schemas.CodeStorage, Message: "the indexes cannot be written at present, see /readyz or satchel doctor; they follow the log when they can"}
}

// appenderOf returns what logs a tenant's events, nil when that is not known.
func (w *Worker) appenderOf(tenant string) *appender {
	if w.partition == nil {
		return nil
	}
	at := w.partition(tenant)
	if at < 0 || at >= len(w.appenders) {
		return nil
	}
	return w.appenders[at]
}
