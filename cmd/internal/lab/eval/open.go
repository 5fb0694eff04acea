package eval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/lab/measure"
	"satchel/emitters"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// System is a node of its own, in a temporary folder, for measurements that bring their own items: one tenant, one
// principal who may see level internal. The caller MUST call Close.
type System struct {
	*app.Node
	sys    *system
	stop   func() error
	stored int64 // items so far
}

// Tenant is whose the items of a System are.
const Tenant = "eval"

// Open starts a node for the caller's items. Where the settings name no model it has the table alone: to encode many histories
// takes long.
func Open(ctx context.Context, a *app.App) (*System, error) {
	with := *a
	if with.EmbedURL == "" && with.EmbedModel == "" {
		with.EmbedModel = app.TableName
	}
	_, n, stop, err := startApart(ctx, &with, false, app.NodeOptions{NoListen: true})
	if err != nil {
		return nil, err
	}
	s := &System{Node: n, stop: stop, sys: newSystem(n, &measure.Set{})}
	s.sys.tenants[Tenant] = Tenant
	return s, nil
}

// startApart starts a node in a temporary folder. The caller MUST call stop, which removes all that it made, whatever became
// of ctx.
func startApart(ctx context.Context, a *app.App, servers bool, options app.NodeOptions) (own *app.App, n *app.Node, stop func() error, err error) {
	dir, err := os.MkdirTemp("", "satchel-eval-")
	if err != nil {
		return nil, nil, nil, fmt.Errorf("make a data folder: %w", err)
	}
	if own, err = a.Apart(dir, servers); err == nil {
		own.Tenant = Tenant
		own.NATSPort = 0
		own.PortGiven = false
		own.EncoderPercent = 100 * max(1, runtime.GOMAXPROCS(0)/2) // nobody asks meanwhile
		n, err = own.Start(ctx, options)
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return own, n, func() error {
		last := context.WithoutCancel(ctx)
		return errors.Join(n.Stop(last), own.DropSchemas(last), os.RemoveAll(dir))
	}, nil
}

// Close stops the node and removes its folder.
func (s *System) Close() error { return s.stop() }

// Scope is that of the principal who asks.
func (s *System) Scope() (scope.Scope, error) {
	sc, _, err := s.sys.request(&measure.Query{Tenant: Tenant}, 1)
	return sc, err
}

// Remember publishes items over JetStream, in order, and returns when all of them are logged, indexed and counted, so that
// what is asked then does not depend on when.
func (s *System) Remember(ctx context.Context, items []schemas.MemoryItem, progress func(done, total int64)) error {
	e, err := emitters.New(s.NC, emitters.Config{Tenant: Tenant, Agent: "eval"})
	if err != nil {
		return err
	}
	all, err := scope.System(Tenant)
	if err != nil {
		return err
	}
	head, err := s.Log.Head(ctx, all)
	if err != nil {
		return fmt.Errorf("read the head: %w", err)
	}
	const batch = 2000
	for from := 0; from < len(items); from += batch {
		part := items[from:min(from+batch, len(items))]
		if _, err := e.RememberAll(ctx, part); err != nil {
			return err
		}
		for i := range part {
			s.sys.ids[part[i].ID], s.sys.texts[part[i].ID] = part[i].ID, part[i].Content.Text()
		}
		s.stored += int64(len(part))
		progress(int64(from+len(part)), int64(len(items)))
	}
	return s.settle(ctx, all, head.Size+int64(len(items)))
}

// settle waits until the log has so many entries, every item is indexed and encoded, and every item's tokens are counted.
func (s *System) settle(ctx context.Context, all scope.Scope, size int64) error {
	for ; ; size++ { // an entry that is no item is one more to wait for
		if _, err := s.AwaitIndexed(ctx, Tenant, size); err != nil {
			return err
		}
		stats, err := s.Items.Stats(ctx, all)
		if err != nil {
			return fmt.Errorf("count items: %w", err)
		}
		if int64(stats.Items) >= s.stored {
			break
		}
	}
	if err := s.AwaitEncoded(ctx, Tenant); err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		left, err := s.Items.Uncounted(ctx, all, 1)
		if err != nil || len(left) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Ask returns the pack of a budget.
func (s *System) Ask(ctx context.Context, q *measure.Query, budget int) (measure.Packed, error) {
	q.Tenant = Tenant
	return s.sys.Pack(ctx, q, budget)
}

// Lost ranks once more and returns which items that p was made from are neither shown nor in its drop report.
func (s *System) Lost(ctx context.Context, q *measure.Query, budget int, p *measure.Packed) ([]string, error) {
	q.Tenant = Tenant
	found, err := s.sys.Found(ctx, q, budget)
	return p.Lost(found), err
}
