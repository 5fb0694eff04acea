package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/worker"
)

type rollbackCmd struct {
	Accept bool `help:"Go on from the log as it is; without it the command only says which log it is."`
	Stream bool `help:"Go on with another NATS, or a stream that was made anew, instead: say for which partitions that is so and what waits."`
}

// Help shows how it is called.
func (rollbackCmd) Help() string {
	return `For a log that was restored from an older backup: it ends before a head that was signed and
kept, and satchel up refuses it. Restoring a newer backup is better. Where there is none,
rollback --accept puts the kept heads of such tenants aside (beside the others, under
another name: they prove what was lost), rebuilds their indexes from the log, and has the
ledger published anew from its beginning. What the streams still hold behind the log's
checkpoints is read again by satchel up; events that they no longer hold are lost, and
so are packs and decisions of that time.

For another NATS than the log was read from, or a stream MEMORY that was recreated, restored
or truncated (stream does not match the checkpoint): rollback --stream says which partitions
that concerns, rollback --stream --accept has them read the stream from its beginning. What
the log has is not stored again. What the former stream acknowledged and the log does not
have is lost: with the settings of the former NATS, rollback --stream says whether anything
waits there. It makes streams that are missing, as satchel up does.

Stop satchel up, and every other worker, first; a worker on another NATS is not seen, and is
fenced. Exit code 3 when a log was rolled back, or a stream is another one, and --accept is
not given.

Example:
  NATS_URL=nats://nats:4222 satchel rollback --stream --accept`
}

// rolledBack returns, by tenant, how the log contradicts its kept head.
func (a *app) rolledBack(ctx context.Context, log *eventlog.Log) (map[string]*eventlog.VerifyError, error) {
	tenants, err := a.tenants(ctx, log)
	if err != nil {
		return nil, err
	}
	found := map[string]*eventlog.VerifyError{}
	for _, tenant := range tenants {
		s, err := scope.System(tenant)
		if err != nil {
			return nil, err
		}
		var bad *eventlog.VerifyError
		switch err := log.CheckKept(ctx, s); {
		case errors.As(err, &bad):
			found[tenant] = bad
		case errors.Is(err, eventlog.ErrOtherKey):
			return nil, otherKey(err)
		case err != nil:
			return nil, err
		}
	}
	return found, nil
}

// refuseRolledBack refuses to go on with a log that was rolled back.
func (a *app) refuseRolledBack(ctx context.Context, log *eventlog.Log) error {
	found, err := a.rolledBack(ctx, log)
	if err != nil {
		return err
	}
	for _, bad := range found {
		return fmt.Errorf("%w; restore a newer backup, or see satchel rollback --help", bad)
	}
	return nil
}

// Run says what was rolled back, and accepts it.
func (c *rollbackCmd) Run(ctx context.Context, a *app) (err error) {
	if err := errors.Join(a.requireData(), a.requireFolder()); err != nil {
		return err
	}
	logger := a.logger(a.err)
	n := &node{draining: make(chan struct{}), done: make(chan error, 1)}
	defer func() { err = errors.Join(err, n.stop(context.WithoutCancel(ctx))) }()
	if err := a.openTransport(ctx, n, nodeOptions{noListen: true}, logger); err != nil {
		return a.explainStart(err)
	}
	conn, err := jetstream.Open(ctx, n.nc)
	if err != nil {
		return err
	}
	if err := a.refuseRunning(ctx, n.nc); err != nil {
		return err
	}
	if c.Stream {
		return c.runStream(ctx, a, n.nc, conn)
	}
	if n.stores, err = a.openStores(ctx, fixed{}, logger); err != nil {
		return err
	}
	found, err := a.rolledBack(ctx, n.log)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(a.out, "every log continues its kept head: nothing was rolled back")
		return err
	}
	for tenant, bad := range found {
		fmt.Fprintf(a.out, "%s: %s\n", tenant, bad.Problem)
		if c.Accept {
			if err := a.acceptRollback(ctx, n, conn, tenant); err != nil {
				return err
			}
		}
	}
	if !c.Accept {
		return &foundError{plural(len(found), "log was", "logs were") + " rolled back"}
	}
	return nil
}

// acceptRollback makes everything around a tenant's log follow from it.
func (a *app) acceptRollback(ctx context.Context, n *node, conn js.JetStream, tenant string) error {
	sc, err := scope.System(tenant)
	if err != nil {
		return err
	}
	bar := a.bar("rebuilding " + tenant)
	err = worker.NewProjector(worker.Config{Log: n.log, Stores: n.projections(), Embedder: n.embedder}).Rebuild(ctx, sc, bar.set)
	bar.end()
	if err != nil {
		return err
	}
	stream, err := conn.Stream(ctx, jetstream.LedgerStream)
	if err == nil {
		err = stream.Purge(ctx, js.WithPurgeSubject("prov.v1."+tenant+".>"))
	}
	if err != nil && !errors.Is(err, js.ErrStreamNotFound) {
		return fmt.Errorf("empty the ledger of tenant %q: %w", tenant, err)
	}
	kept := a.path("heads", tenant+".checkpoint")
	aside := fmt.Sprintf("%s.rolled-back-%s", kept, time.Now().UTC().Format("20060102T150405Z"))
	if err := os.Rename(kept, aside); err != nil {
		return fmt.Errorf("put the kept head aside: %w", err)
	}
	head, err := n.log.Head(ctx, sc)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s: goes on from %s; the kept head is in %s\n", tenant, plural(int(head.Size), "entry", "entries"), aside)
	return err
}
