package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"satchel/pipeline/isolation"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/schemas"
	"satchel/worker/follow"
	"satchel/worker/transport"
)

// partitionAppender moves one partition's events into the log: dead letters first, then one
// transaction with the checkpoint, the acknowledgement last.
type partitionAppender struct {
	cfg       *Config
	inbox     transport.Inbox
	partition int
	tenants   *tenants
	refusals  *refusals // ends the wait of the publishers
	retry     follow.Retry

	fence     int64
	resumed   atomic.Bool
	changed   atomic.Pointer[StreamChangedError] // why nothing is read until an operator accepts the stream
	committed atomic.Pointer[place]              // of the last committed message; nil until its stream was checked
	purged    uint64                             // what the stream was trimmed to
	heldBytes int                                // committed since then
	pace      pace
}

// place is a message of the stream that was created at epoch.
type place struct {
	epoch string
	seq   uint64
}

// A partition is trimmed when it has committed this much since the last time.
const (
	keepInStream = 1 << 14 // messages
	keepBytes    = 1 << 20
)

// runAppender appends until ctx is done. It retries what may pass and returns what may not.
func (a *partitionAppender) runAppender(ctx context.Context) error {
	err := a.retry.Do(ctx, a.cfg.Logger, a.describeResuming(), retryResume, func() error { return a.resumePartition(ctx) })
	var changed *StreamChangedError
	if errors.As(err, &changed) {
		a.changed.Store(changed)
	}
	if err != nil {
		return follow.IgnoreCanceled(ctx, err)
	}
	a.resumed.Store(true)
	for ctx.Err() == nil {
		var messages []transport.Message
		err := a.retry.Do(ctx, a.cfg.Logger, "fetch events of partition "+a.inbox.Name(), retryFetch, func() (err error) {
			messages, err = a.inbox.Fetch(ctx, a.cfg.BatchSize)
			return err
		})
		if errors.Is(err, transport.ErrRecreated) {
			return a.noteRecreated()
		}
		if err != nil {
			return follow.IgnoreCanceled(ctx, err)
		}
		if len(messages) == 0 {
			continue
		}
		if err := a.commitMessages(ctx, messages); err != nil {
			return follow.IgnoreCanceled(ctx, err)
		}
	}
	return nil
}

// resumePartition takes the fence, checks that the stream is the checkpoint's and seeks to it.
func (a *partitionAppender) resumePartition(ctx context.Context) error {
	if _, err := CheckStream(ctx, a.cfg.Log, a.inbox); err != nil { // who may read it is not fenced by who may not
		return err
	}
	fence, cp, err := a.cfg.Log.TakeFence(ctx, a.checkpointName())
	if err != nil {
		return fmt.Errorf("take fence of partition %q: %w", a.inbox.Name(), err)
	}
	a.fence = fence
	if err := checkStreamMatch(ctx, a.inbox, cp); err != nil {
		return err
	}
	a.changed.Store(nil)
	a.committed.Store(&place{cp.Epoch, cp.StreamSeq})
	a.purged = cp.StreamSeq
	if cp.StreamSeq > 1 { // an earlier run may have left much behind
		if err := a.inbox.Purge(ctx, cp.StreamSeq-1); err != nil {
			return fmt.Errorf("trim partition %q: %w", a.inbox.Name(), err)
		}
	}
	err = a.inbox.Seek(ctx, cp.StreamSeq+1)
	if errors.Is(err, transport.ErrRecreated) {
		return a.noteRecreated()
	}
	return err
}

func (a *partitionAppender) describeResuming() string { return "resume partition " + a.inbox.Name() }
func (a *partitionAppender) describeAppending() string {
	return "append events of partition " + a.inbox.Name()
}
func (a *partitionAppender) describeErasing() string {
	return "erase items of partition " + a.inbox.Name()
}

// noteRecreated is what stops a partition whose stream was made anew while it was read.
func (a *partitionAppender) noteRecreated() error {
	changed := &StreamChangedError{Partition: a.inbox.Name(), Problem: createdAnew}
	if at := a.committed.Swap(nil); at != nil {
		changed.Read = at.seq
	}
	a.changed.Store(changed)
	return changed
}

func (a *partitionAppender) checkpointName() string { return CheckpointName(a.inbox.Name()) }

// commitMessages commits messages in order. An error is final for the partition.
func (a *partitionAppender) commitMessages(ctx context.Context, messages []transport.Message) error {
	var run batch
	for i, m := range messages {
		a.pace.countStep()
		if m.Padding {
			continue
		}
		d, err := a.prepareMessage(m)
		var refused *write.Rejection
		if err == nil {
			if err = a.admitWithRetries(ctx, m.Tenant); err != nil && !errors.As(err, &refused) {
				return err
			}
		}
		if err != nil {
			run.rejected = append(run.rejected, a.makeRejection(m, err))
			continue
		}
		if d.Type != schemas.TypeMemoryErased {
			run.drafts = append(run.drafts, d)
			run.sources = append(run.sources, m)
			entry, with, err := isolation.StoredArtifact(&d.Draft)
			if err != nil {
				return err // Prepare has read the item before
			}
			if with {
				run.drafts = append(run.drafts, write.Prepared{Draft: entry})
				run.sources = append(run.sources, m)
			}
			continue
		}
		// An erasure must see everything before it, and stands in a transaction of its own.
		if i > 0 {
			if err := a.commitBatch(ctx, &run, messages[i-1]); err != nil {
				return err
			}
		}
		if err := a.eraseOne(ctx, m, d); err != nil {
			return err
		}
	}
	last := messages[len(messages)-1]
	if err := a.commitBatch(ctx, &run, last); err != nil {
		return err
	}
	if err := a.inbox.Ack(ctx, last.Seq); err != nil {
		a.cfg.Logger.WarnContext(ctx, "acknowledge events", "partition", a.inbox.Name(), "seq", last.Seq, "error", err)
	}
	a.cfg.Failpoint("append.after_ack")
	for i := range messages {
		a.heldBytes += len(messages[i].Data) + len(messages[i].Subject)
	}
	a.trimStream(ctx, last.Seq)
	return nil
}

// batch is a run of messages that is committed together.
type batch struct {
	drafts   []write.Prepared
	sources  []transport.Message // of drafts
	rejected []transport.Rejected
}

// listDrafts returns the drafts as the log takes them.
func (b *batch) listDrafts() []eventlog.Draft {
	drafts := make([]eventlog.Draft, len(b.drafts))
	for i := range b.drafts {
		drafts[i] = b.drafts[i].Draft
	}
	return drafts
}

// trimStream removes from the stream what the log has, now and then, but for the message at
// the checkpoint, which the guard compares.
func (a *partitionAppender) trimStream(ctx context.Context, seq uint64) {
	if seq-a.purged < keepInStream && a.heldBytes < keepBytes {
		return
	}
	if err := a.inbox.Purge(ctx, seq-1); err != nil {
		a.cfg.Logger.WarnContext(ctx, "trim stream", "partition", a.inbox.Name(), "error", err)
		return
	}
	a.purged = seq
	a.heldBytes = 0
}

func (a *partitionAppender) prepareMessage(m transport.Message) (write.Prepared, error) {
	if m.Err != nil {
		return write.Prepared{}, &write.Rejection{Reason: write.Malformed, Cause: m.Err.Error()}
	}
	return a.cfg.Writer.Prepare(m.Tenant, m.Agent, m.Event)
}

func (a *partitionAppender) makeRejection(m transport.Message, err error) transport.Rejected {
	r := transport.Rejected{Message: m, Reason: string(write.Malformed), Cause: err.Error(), At: a.cfg.Clock()}
	var why *write.Rejection
	if errors.As(err, &why) {
		r.Reason, r.Pointer, r.Cause, r.Holds = why.DLQReason(), why.Pointer, causeOf(why), why.Holds
		if why.Reason == write.PersonalData {
			r.Message.Data = a.cfg.Writer.Mask(m.Data) // what is refused is not kept elsewhere
		}
	}
	return r
}

// causeOf says what is wrong at the pointer, which stands beside it, and what else is.
func causeOf(why *write.Rejection) string {
	const shown = 8
	cause := why.Cause
	others := 0
	for _, i := range why.Issues {
		if i.Pointer == why.Pointer && i.Message == why.Cause {
			continue
		}
		others += max(i.More, 1)
		if others <= shown {
			cause += "; " + i.Pointer + " " + i.Message
		}
	}
	if others > shown {
		cause += fmt.Sprintf("; and %d more", others-shown)
	}
	return cause
}

// commitBatch takes everything up to last into the log or the dead letters, and empties run.
// What may not enter the log is in the dead letters before the checkpoint passes it, so
// that none is lost to a crash in between.
func (a *partitionAppender) commitBatch(ctx context.Context, run *batch, last transport.Message) error {
	if err := a.reviewBatch(ctx, run); err != nil {
		return err
	}
	drafts := run.listDrafts()
	if err := a.rejectEvents(ctx, run.rejected); err != nil {
		return err
	}
	cp := &eventlog.Checkpoint{Name: a.checkpointName(), Fence: a.fence, Epoch: last.Epoch, StreamSeq: last.Seq, Hash: last.Hash}
	a.cfg.Failpoint("append.before_commit")
	outcomes, err := a.appendEvents(ctx, eventlog.Batch{Drafts: drafts, Checkpoint: cp})
	var late []transport.Rejected
	switch {
	case errors.Is(err, eventlog.ErrInvalid):
		late, err = a.commitEach(ctx, run)
	case err == nil:
		late = a.listReused(ctx, drafts, run.sources, outcomes)
	}
	if err != nil {
		return err
	}
	if len(late) > 0 {
		a.cfg.Failpoint("append.before_reject")
		if err := a.rejectEvents(ctx, late); err != nil {
			return err
		}
		if _, err := a.appendEvents(ctx, eventlog.Batch{Checkpoint: cp}); err != nil {
			return err
		}
	}
	a.cfg.Failpoint("append.after_commit")
	a.pace.countStep()
	for i, o := range outcomes {
		if o.Status == eventlog.Appended {
			a.cfg.Metrics.Stored(drafts[i].Tenant, o.Position, run.sources[i].Published)
		}
	}
	a.committed.Store(&place{last.Epoch, last.Seq})
	*run = batch{}
	return nil
}

// reviewBatch rejects the drafts of run that policy does not allow to change existing items. While
// policy gives no verdict, the partition waits.
func (a *partitionAppender) reviewBatch(ctx context.Context, run *batch) error {
	byTenant := map[string][]int{}
	for i := range run.drafts {
		byTenant[run.drafts[i].Tenant] = append(byTenant[run.drafts[i].Tenant], i)
	}
	refused := map[uint64]*write.Rejection{} // by message
	for _, tenant := range slices.Sorted(maps.Keys(byTenant)) {
		s, err := scope.System(tenant)
		if err != nil {
			return err // Prepare has looked at the tenant before
		}
		drafts := make([]*write.Prepared, len(byTenant[tenant]))
		for n, i := range byTenant[tenant] {
			drafts[n] = &run.drafts[i]
		}
		var why []*write.Rejection
		err = a.retry.Do(ctx, a.cfg.Logger, "decide on changes of partition "+a.inbox.Name(), retryAppend, func() (err error) {
			why, err = a.cfg.Reviewer.Review(ctx, s, drafts)
			return err
		})
		if err != nil {
			return fmt.Errorf("decide on changes of partition %q: %w", a.inbox.Name(), err)
		}
		for n, i := range byTenant[tenant] {
			if why[n] != nil {
				refused[run.sources[i].Seq] = why[n]
			}
		}
	}
	if len(refused) == 0 {
		return nil
	}
	kept := *run
	kept.drafts = nil
	kept.sources = nil
	for i, m := range run.sources {
		switch why := refused[m.Seq]; {
		case why == nil:
			kept.drafts = append(kept.drafts, run.drafts[i])
			kept.sources = append(kept.sources, m)
		case len(run.drafts[i].Touches) > 0: // not what goes with it
			kept.rejected = append(kept.rejected, a.makeRejection(m, why))
		}
	}
	*run = kept
	return nil
}

// commitEach appends a run draft by draft, without a checkpoint, and returns the drafts that
// the log does not take. It reviews each again, for an earlier one may not be in the log.
func (a *partitionAppender) commitEach(ctx context.Context, run *batch) ([]transport.Rejected, error) {
	var late []transport.Rejected
	refused := map[uint64]bool{} // by message
	for i, m := range run.sources {
		if refused[m.Seq] { // what goes with it
			continue
		}
		one := batch{drafts: run.drafts[i : i+1], sources: run.sources[i : i+1]}
		if err := a.reviewBatch(ctx, &one); err != nil {
			return nil, err
		}
		a.pace.countStep()
		late = append(late, one.rejected...)
		refused[m.Seq] = len(one.rejected) > 0
		drafts := one.listDrafts()
		if len(drafts) == 0 {
			continue
		}
		outcomes, err := a.appendEvents(ctx, eventlog.Batch{Drafts: drafts})
		switch {
		case errors.Is(err, eventlog.ErrInvalid):
			late = append(late, a.makeRejection(m, err))
			refused[m.Seq] = true
		case err != nil:
			return nil, err
		default:
			late = append(late, a.listReused(ctx, drafts, one.sources, outcomes)...)
		}
	}
	return late, nil
}

func (a *partitionAppender) appendEvents(ctx context.Context, b eventlog.Batch) ([]eventlog.Outcome, error) {
	var outcomes []eventlog.Outcome
	err := a.retry.Do(ctx, a.cfg.Logger, a.describeAppending(), retryAppend, func() (err error) {
		began := time.Now()
		if outcomes, err = a.cfg.Log.Append(ctx, b); err == nil {
			a.cfg.Metrics.Appended(began)
			a.countEvents(b.Drafts, outcomes)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("append events of partition %q: %w", a.inbox.Name(), err)
	}
	return outcomes, nil
}

// listReused lists the drafts whose key the log holds for another event. What was erased and came again goes from the stream.
func (a *partitionAppender) listReused(ctx context.Context, drafts []eventlog.Draft, sources []transport.Message, outcomes []eventlog.Outcome) []transport.Rejected {
	var reused []transport.Rejected
	for i, o := range outcomes {
		if drafts[i].Source == isolation.ArtifactSource {
			continue // the event that it goes with is dead-lettered
		}
		switch o.Status {
		case eventlog.IDConflict:
			reused = append(reused, transport.Rejected{Message: sources[i], Reason: string(write.IDReuse), Pointer: "/id", At: a.cfg.Clock(),
				Cause: fmt.Sprintf("source and id were used at position %d for another event", o.Position)})
		case eventlog.Erased:
			a.cfg.Logger.InfoContext(ctx, "event was erased before, not taken again", "tenant", drafts[i].Tenant, "position", o.Position)
			if err := a.inbox.Erase(ctx, sources[i].Seq); err != nil {
				a.cfg.Logger.WarnContext(ctx, "erase an event that came again from the stream", "partition", a.inbox.Name(), "seq", sources[i].Seq, "error", err)
			}
		}
	}
	return reused
}

func (a *partitionAppender) rejectEvents(ctx context.Context, rejected []transport.Rejected) error {
	if len(rejected) == 0 {
		return nil
	}
	first := &rejected[0] // one line a batch: whoever publishes rubbish must not flood the logs
	a.cfg.Logger.WarnContext(ctx, "events rejected", "partition", a.inbox.Name(), "count", len(rejected),
		"first", first.Message.Seq, "tenant", first.Message.Tenant, "reason", first.Reason, "pointer", first.Pointer)
	err := a.retry.Do(ctx, a.cfg.Logger, "publish dead letters of partition "+a.inbox.Name(), func(error) bool { return true }, func() error {
		return a.cfg.DeadLetters.Reject(ctx, rejected)
	})
	if err != nil {
		return fmt.Errorf("publish dead letters of partition %q: %w", a.inbox.Name(), err)
	}
	a.cfg.Metrics.Rejected(rejected)
	a.refusals.passRefusals(rejected)
	return nil
}

// eraseOne carries out one memory.erased event; a refused one becomes a dead letter.
func (a *partitionAppender) eraseOne(ctx context.Context, m transport.Message, d write.Prepared) error {
	s, err := scope.System(m.Tenant)
	if err != nil {
		return a.rejectEvents(ctx, []transport.Rejected{a.makeRejection(m, err)})
	}
	var refused *write.Rejection
	err = a.retry.Do(ctx, a.cfg.Logger, a.describeErasing(), retryAppend, func() (err error) {
		refused, err = a.cfg.Eraser.Begin(ctx, s, d)
		return err
	})
	if errors.Is(err, eventlog.ErrInvalid) {
		return a.rejectEvents(ctx, []transport.Rejected{a.makeRejection(m, err)})
	}
	if err != nil {
		return fmt.Errorf("erase items of partition %q: %w", a.inbox.Name(), err)
	}
	if refused == nil {
		a.cfg.Metrics.Logged(m.Tenant)
		return nil
	}
	a.cfg.Metrics.Refused(m.Tenant, len(refused.Holds) > 0)
	return a.rejectEvents(ctx, []transport.Rejected{a.makeRejection(m, refused)})
}

// retryResume reports whether a partition may be resumed later: not when its stream is
// not the checkpoint's, or the log is damaged.
func retryResume(err error) bool {
	var changed *StreamChangedError
	return !errors.As(err, &changed) && !errors.Is(err, eventlog.ErrCorrupt)
}

// retryFetch reports whether there may be events later: not when the stream is another.
func retryFetch(err error) bool { return !errors.Is(err, transport.ErrRecreated) }

// retryAppend reports whether an append may succeed later: not when another owner
// has taken over, when the log is damaged, or when it can't hold the event.
func retryAppend(err error) bool {
	return !errors.Is(err, eventlog.ErrFenced) && !errors.Is(err, eventlog.ErrCorrupt) && !errors.Is(err, eventlog.ErrInvalid)
}

// countEvents counts the events of a transaction. What is stored with an event does not count.
func (a *partitionAppender) countEvents(drafts []eventlog.Draft, outcomes []eventlog.Outcome) {
	for i, o := range outcomes {
		if drafts[i].Source == isolation.ArtifactSource {
			continue
		}
		switch o.Status {
		case eventlog.Appended:
			a.cfg.Metrics.Logged(drafts[i].Tenant)
		case eventlog.Duplicate:
			a.cfg.Metrics.Duplicate(drafts[i].Tenant)
		}
	}
}
