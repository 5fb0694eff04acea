package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/policies"
	"satchel/schemas"
	"satchel/worker/follow"
	"satchel/worker/metrics"
	"satchel/worker/transport"
)

// Eraser begins erasures: an erasure.Eraser.
type Eraser interface {
	// Begin appends the erasure and deletes the content, or says why it is refused.
	Begin(ctx context.Context, s scope.Scope, d write.Prepared) (refused *write.Rejection, err error)
}

// Reviewer decides on events that touch existing items: an authorship.Reviewer.
type Reviewer interface {
	// Review returns a rejection for each draft that policy does not allow, nil for the others.
	Review(ctx context.Context, s scope.Scope, drafts []*write.Prepared) ([]*write.Rejection, error)
}

// Config is what an Appender is made of. Without Inboxes nothing is read, and only Log and Clock
// are required.
type Config struct {
	Inboxes []transport.Inbox
	// PartitionOf returns the place in Inboxes of a tenant's events; nil: that is not known.
	PartitionOf func(tenant string) int
	Log         *eventlog.Log
	Writer      *write.Writer
	DeadLetters transport.DeadLetters
	Eraser      Eraser
	Reviewer    Reviewer
	Registry    *policies.Registry // says which tenants there may be; nil: admits all
	MaxTenants  int                // that may have a log; 0: any number
	BatchSize   int                // events a transaction at most
	Health      *follow.Health     // is told of what fails
	Failpoint   func(point string)
	Clock       func() time.Time
	Logger      *slog.Logger
	Share       follow.Share
	Metrics     *metrics.Metrics
}

// Appender moves the events of every partition into the log. It knows what the log does not take:
// events that are refused, tenants that are not admitted, partitions that stand still. Safe for
// concurrent use.
type Appender struct {
	cfg        Config
	partitions []*partitionAppender
	tenants    tenants
	refusals   refusals
}

// New returns an Appender; nothing is read before Run.
func New(cfg Config) *Appender {
	p := &Appender{cfg: cfg, tenants: tenants{log: cfg.Log, registry: cfg.Registry, limit: cfg.MaxTenants, now: cfg.Clock}}
	for partition, inbox := range cfg.Inboxes {
		p.partitions = append(p.partitions, &partitionAppender{cfg: &p.cfg, inbox: inbox, partition: partition,
			tenants: &p.tenants, refusals: &p.refusals, retry: follow.Retry{Health: cfg.Health}})
	}
	return p
}

// Run appends until ctx is done. It tells stopped of each partition that has ended, with its error
// or nil; an error that stopped returns ends the others.
func (p *Appender) Run(ctx context.Context, stopped func(error) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, a := range p.partitions {
		g.Go(func() error {
			err := a.servePartition(ctx)
			if err != nil {
				p.cfg.Metrics.Stopped.Inc()
			}
			return stopped(err)
		})
	}
	if len(p.partitions) > 0 {
		g.Go(func() error {
			p.watchPartitions(ctx)
			return nil
		})
	}
	return g.Wait()
}

// Admit returns why nothing may be written for a tenant, nil when it may, and err when that
// cannot be found out. A tenant without a log that is admitted counts from then on.
func (p *Appender) Admit(ctx context.Context, tenant string) (refused *write.Rejection, err error) {
	return p.tenants.admitTenant(ctx, tenant)
}

// Refusal returns a channel that gets the refusal of an event, if there is one before ctx ends.
func (p *Appender) Refusal(ctx context.Context, tenant, source, id string, data []byte) <-chan *schemas.Error {
	return p.refusals.expectRefusal(ctx, tenant, source, id, data)
}

// Stopped refuses what waits for an event of a tenant whose partition stands still until an
// operator accepts its stream; nil when it does not.
func (p *Appender) Stopped(tenant string) error {
	if a := p.findAppender(tenant); a == nil || a.changed.Load() == nil {
		return nil
	}
	return &schemas.Error{Code: schemas.CodeStorage, Message: "events of this tenant are not logged: their stream is not the one that the log was read from; its operator finds more in satchel rollback --help"}
}

// Delayed says that a tenant's events are not logged at present, because that fails again and
// again, to a caller that has waited since a moment; nil when it does not.
func (p *Appender) Delayed(tenant string, since time.Time) error {
	a := p.findAppender(tenant)
	if a == nil {
		return nil
	}
	if !p.cfg.Health.Fails(a.describeAppending(), since) && !p.cfg.Health.Fails(a.describeErasing(), since) {
		return a.checkStanding()
	}
	return &schemas.Error{Code: schemas.CodeStorage, Message: "not logged yet: the log cannot be written at present, see /readyz or satchel doctor; what was accepted is logged, or erased, when it can"}
}

// Waits reports whether an event of a tenant may be published that the log does not have yet.
func (p *Appender) Waits(ctx context.Context, tenant string) (bool, error) {
	a := p.findAppender(tenant)
	if a == nil {
		return true, nil
	}
	cp, err := p.cfg.Log.Checkpoint(ctx, a.checkpointName())
	if err != nil {
		return false, fmt.Errorf("read checkpoint of partition %q: %w", a.inbox.Name(), err)
	}
	return a.inbox.Waits(ctx, cp.StreamSeq)
}

// findAppender returns what logs a tenant's events, nil when that is not known.
func (p *Appender) findAppender(tenant string) *partitionAppender {
	if p.cfg.PartitionOf == nil {
		return nil
	}
	at := p.cfg.PartitionOf(tenant)
	if at < 0 || at >= len(p.partitions) {
		return nil
	}
	return p.partitions[at]
}

// Committed returns, by partition, the sequence up to which the log holds all of the stream
// that was created at epoch; no partition whose checkpoint is on another stream.
func (p *Appender) Committed(ctx context.Context, epoch string) (map[string]uint64, error) {
	m := make(map[string]uint64, len(p.partitions))
	for _, a := range p.partitions {
		if !p.cfg.Share.Shared() {
			if at := a.committed.Load(); at != nil && at.epoch == epoch {
				m[a.inbox.Name()] = at.seq
			}
			continue
		}
		cp, err := p.cfg.Log.Checkpoint(ctx, a.checkpointName())
		if err != nil {
			return nil, fmt.Errorf("read checkpoint of partition %q: %w", a.inbox.Name(), err)
		}
		if cp.Epoch == epoch {
			m[a.inbox.Name()] = cp.StreamSeq
		}
	}
	return m, nil
}

// Ready returns an error that wraps [transport.ErrStarting] while a partition of this process is not
// resumed yet.
func (p *Appender) Ready() error {
	for _, a := range p.partitions {
		if p.cfg.Share.Shared() {
			if mine, _ := p.cfg.Share.OwnsPartition(a.partition); !mine {
				continue
			}
		}
		if !a.resumed.Load() {
			return p.cfg.Health.Of(a.describeResuming(), transport.ErrStarting)
		}
	}
	return nil
}
