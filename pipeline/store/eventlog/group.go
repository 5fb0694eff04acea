package eventlog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"satchel/pipeline/scope"
)

// request is one batch on its way through group commit.
type request struct {
	drafts     []prepared
	checkpoint *Checkpoint
	erasure    *erasure
	quiet      bool

	lead    chan struct{} // closed when the request's own goroutine is to commit next
	leading bool          // under queueMu
	done    chan struct{} // closed when outcomes or err are set

	outcomes []Outcome
	erased   int
	err      error
}

// erasure is what a request erases beside appending.
type erasure struct {
	tenant      string
	content     []int64
	attachments []int64
	unless      []Unless
}

// Unless is a condition of an erasure: it fails with ErrOvertaken when the log has an entry of Type
// about Subject behind the position After. With Fence, and no Type, it fails when someone has taken a
// higher fence of the checkpoint that is named as Subject.
type Unless struct {
	Subject, Type string
	After         int64
	Fence         int64
}

// Append commits b durably, all or nothing, and returns what became of each draft, in
// order. Callers that wait at the same time share a transaction: while one commits, the
// others queue, and the first of them commits the whole queue; a lone caller waits for
// no one. An error concerns b alone: ErrFenced, ErrInvalid, ErrFull and ErrCorrupt mean
// that nothing of it was written; it is ErrCorrupt for a tenant whose log Examine found
// damaged. ctx is honoured until the commit begins.
//
// Append takes tenants from the drafts: a caller vouches for them.
func (l *Log) Append(ctx context.Context, b Batch) ([]Outcome, error) {
	if len(b.Drafts) == 0 && b.Checkpoint == nil {
		return nil, nil
	}
	if b.Checkpoint != nil && b.Checkpoint.Name == "" {
		return nil, errors.New("append: checkpoint has no name")
	}
	if b.Existing && (b.Checkpoint != nil || slices.ContainsFunc(b.Drafts, func(d Draft) bool { return d.Tenant != b.Drafts[0].Tenant })) {
		return nil, errors.New("append: what begins no log is of one tenant and has no checkpoint")
	}
	for i := range b.Drafts {
		if err := l.Damaged(b.Drafts[i].Tenant); err != nil {
			return nil, fmt.Errorf("append: %w", err)
		}
	}
	if b.Existing {
		if ok, err := l.hasTenantLog(ctx, b.Drafts[0].Tenant); err != nil || !ok {
			return makeAbsentOutcomes(len(b.Drafts)), err
		}
	}
	drafts, err := l.prepareDrafts(b.Drafts)
	if err != nil {
		return nil, err
	}
	r := &request{drafts: drafts, checkpoint: b.Checkpoint, quiet: b.Quiet}
	if err := l.submitRequest(ctx, r); err != nil {
		return nil, err
	}
	return r.outcomes, nil
}

// submitRequest queues r and returns when it is committed, refused or withdrawn.
func (l *Log) submitRequest(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.lead = make(chan struct{})
	r.done = make(chan struct{})
	l.queueMu.Lock()
	if l.closed {
		l.queueMu.Unlock()
		return ErrClosed
	}
	l.waiting = append(l.waiting, r)
	first := !l.busy
	l.busy = true
	l.queueMu.Unlock()
	if first {
		l.commitQueue(ctx)
		return r.err
	}
	select {
	case <-r.lead:
		l.commitQueue(ctx)
	case <-r.done:
	case <-ctx.Done():
		if l.withdrawRequest(r) {
			return ctx.Err()
		}
		select {
		case <-r.lead:
			l.commitQueue(ctx)
		case <-r.done:
		}
	}
	return r.err
}

// withdrawRequest takes r out of the queue; false when it is being committed or leads.
func (l *Log) withdrawRequest(r *request) bool {
	l.queueMu.Lock()
	defer l.queueMu.Unlock()
	i := slices.Index(l.waiting, r)
	if i < 0 || r.leading {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

// commitQueue commits what waits, hands the lead to the next in the queue and tells
// those it committed for. The caller's request is the first of the queue.
func (l *Log) commitQueue(ctx context.Context) {
	group := l.takeGroup()
	if group[0].err == nil {
		l.commitGroup(context.WithoutCancel(ctx), group)
	}
	l.queueMu.Lock()
	if len(l.waiting) > 0 {
		l.waiting[0].leading = true
		close(l.waiting[0].lead)
	} else {
		l.busy = false
	}
	l.queueMu.Unlock()
	for _, r := range group {
		close(r.done)
	}
}

func (l *Log) takeGroup() []*request {
	l.queueMu.Lock()
	defer l.queueMu.Unlock()
	n := 0
	drafts := 0
	for n < len(l.waiting) && (n == 0 || drafts+len(l.waiting[n].drafts) <= l.group) {
		drafts += len(l.waiting[n].drafts)
		n++
	}
	group := slices.Clone(l.waiting[:n])
	l.waiting = slices.Delete(l.waiting, 0, n)
	if l.closed {
		for _, r := range group {
			r.err = ErrClosed
		}
	}
	return group
}

// commitGroup commits the group in one transaction. When that fails, each request is
// tried on its own, so that one that cannot be written does not fail the others.
func (l *Log) commitGroup(ctx context.Context, group []*request) {
	err := l.commitRequests(ctx, group)
	if err == nil {
		return
	}
	switch {
	case len(group) == 1, errors.Is(err, ErrFull), errors.Is(err, ErrClosed), errors.Is(err, ErrUnavailable):
		for _, r := range group {
			r.err = err
			r.outcomes = nil
		}
		return
	}
	for _, r := range group {
		if err := l.commitRequests(ctx, []*request{r}); err != nil {
			r.err = err
			r.outcomes = nil
		}
	}
}

// ErasureOutcome is what became of an erasure.
type ErasureOutcome struct {
	Outcome
	Removed int // contents and attachments that were there
}

// AppendErasure appends d, the memory.erased event that names the items or positions,
// and in the same transaction erases the content of positions (with their attachments)
// and the attachments of attachments. When d was refused (IDConflict, Erased) nothing is
// erased; for a Duplicate the erasure is repeated. Scrub then removes what is left.
func (l *Log) AppendErasure(ctx context.Context, s scope.Scope, d Draft, positions, attachments []int64) (ErasureOutcome, error) {
	return l.AppendErasureUnless(ctx, s, d, positions, attachments)
}

// AppendErasureUnless is AppendErasure on conditions, which are looked at in the transaction: with
// ErrOvertaken nothing is appended and nothing erased.
func (l *Log) AppendErasureUnless(ctx context.Context, s scope.Scope, d Draft, positions, attachments []int64, unless ...Unless) (ErasureOutcome, error) {
	if err := s.Check(); err != nil {
		return ErasureOutcome{}, err
	}
	if d.Tenant != s.Tenant() {
		return ErasureOutcome{}, errors.New("append erasure: the draft is another tenant's")
	}
	if err := l.Damaged(d.Tenant); err != nil {
		return ErasureOutcome{}, fmt.Errorf("append erasure: %w", err)
	}
	drafts, err := l.prepareDrafts([]Draft{d})
	if err != nil {
		return ErasureOutcome{}, err
	}
	r := &request{drafts: drafts, erasure: &erasure{s.Tenant(), positions, attachments, unless}}
	if err := l.submitRequest(ctx, r); err != nil {
		return ErasureOutcome{}, err
	}
	return ErasureOutcome{Outcome: r.outcomes[0], Removed: r.erased}, nil
}

// Erase erases the content, salts and attachments of positions and returns how many
// of them were there. Verify demands a memory.erased entry that names them: see AppendErasure.
func (l *Log) Erase(ctx context.Context, s scope.Scope, positions []int64) (int, error) {
	return l.eraseEntries(ctx, s, positions, nil)
}

// EraseAttachments erases the attachments of positions and returns how many there were.
func (l *Log) EraseAttachments(ctx context.Context, s scope.Scope, positions []int64) (int, error) {
	return l.eraseEntries(ctx, s, nil, positions)
}

func (l *Log) eraseEntries(ctx context.Context, s scope.Scope, positions, attachments []int64) (int, error) {
	if err := s.Check(); err != nil {
		return 0, err
	}
	if err := l.Damaged(s.Tenant()); err != nil {
		return 0, fmt.Errorf("erase: %w", err)
	}
	r := &request{erasure: &erasure{s.Tenant(), positions, attachments, nil}}
	if err := l.submitRequest(ctx, r); err != nil {
		return 0, err
	}
	return r.erased, nil
}

// Scrub removes what erased content has left in journals. After it, erased bytes are
// found nowhere in the database's files.
func (l *Log) Scrub(ctx context.Context) error { return l.driver.Scrub(ctx) }
