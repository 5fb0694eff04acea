package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/terminal"
	"satchel/jetstream"
	"satchel/pipeline/scope"
	"satchel/worker/erasure"
)

// Rollback is satchel rollback.
type Rollback struct {
	Accept bool `help:"Go on from the log as it is; without it the command only says which log it is."`
	Stream bool `help:"Go on with another NATS, or a stream that was made anew, instead: say for which partitions that is so and what waits."`
}

// Run says what was rolled back, and accepts it.
func (c *Rollback) Run(ctx context.Context, a *app.App) (err error) {
	if err := errors.Join(a.RequireData(), a.RequireFolder()); err != nil {
		return err
	}
	logger := a.Logger(a.Err)
	n := &app.Node{Draining: make(chan struct{}), Done: make(chan error, 1)}
	defer func() { err = errors.Join(err, n.Stop(context.WithoutCancel(ctx))) }()
	if err := a.OpenTransport(ctx, n, app.NodeOptions{NoListen: true}, logger); err != nil {
		return a.ExplainStart(err)
	}
	conn, err := jetstream.Open(ctx, n.NC)
	if err != nil {
		return err
	}
	if err := refuseRunning(ctx, a, n.NC); err != nil {
		return err
	}
	if c.Stream {
		return c.runStream(ctx, a, n.NC, conn)
	}
	if n.Stores, err = a.OpenStores(ctx, app.Fixed{}, logger); err != nil {
		return err
	}
	found, err := a.RolledBack(ctx, n.Log)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(a.Out, "every log continues its kept head: nothing was rolled back")
		return err
	}
	for tenant, bad := range found {
		fmt.Fprintf(a.Out, "%s: %s\n", tenant, bad.Problem)
		if c.Accept {
			if err := acceptRollback(ctx, a, n, conn, tenant); err != nil {
				return err
			}
		}
	}
	if !c.Accept {
		return &FoundError{What: terminal.Plural(len(found), "log was", "logs were") + " rolled back"}
	}
	return nil
}

// acceptRollback makes everything around a tenant's log follow from it.
func acceptRollback(ctx context.Context, a *app.App, n *app.Node, conn js.JetStream, tenant string) error {
	sc, err := scope.System(tenant)
	if err != nil {
		return err
	}
	again, err := erasure.RepeatLost(ctx, n.Log, sc, nil, a.Logger(a.Err))
	if err != nil {
		return app.DamagedList(err)
	}
	if again > 0 {
		fmt.Fprintf(a.Out, "%s: %s repeated, as erased/%s says; satchel up finishes them and gives their receipts\n", tenant, terminal.Plural(again, "erasure", "erasures"), tenant)
	}
	if err := a.RebuildIndexes(ctx, n.Stores, sc); err != nil {
		return err
	}
	stream, err := conn.Stream(ctx, jetstream.LedgerStream)
	if err == nil {
		err = stream.Purge(ctx, js.WithPurgeSubject("prov.v1."+tenant+".>"))
	}
	if err != nil && !errors.Is(err, js.ErrStreamNotFound) {
		return fmt.Errorf("empty the ledger of tenant %q: %w", tenant, err)
	}
	kept := a.Path("heads", tenant+".checkpoint")
	aside := fmt.Sprintf("%s.rolled-back-%s", kept, time.Now().UTC().Format("20060102T150405Z"))
	if err := os.Rename(kept, aside); err != nil {
		return fmt.Errorf("put the kept head aside: %w", err)
	}
	head, err := n.Log.Head(ctx, sc)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "%s: goes on from %s; the kept head is in %s\n", tenant, terminal.Plural(int(head.Size), "entry", "entries"), aside)
	return err
}
