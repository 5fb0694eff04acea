package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/items"
)

// The states of a tenant.
const (
	TenantReady      = "ready"       // the items have every entry of the log
	TenantIndexing   = "indexing"    // the items lack the newest entries
	TenantRolledBack = "rolled_back" // the log contradicts the head that was kept of it
	TenantDamaged    = "damaged"     // the log or the items cannot be read
)

// Tenant is what is known of a tenant without a running process.
type Tenant struct {
	Tenant  string    `json:"tenant"`
	Size    int64     `json:"size"`                // entries of its log
	Last    time.Time `json:"last_event,omitzero"` // when the last of them was recorded
	Items   int       `json:"items"`               // that are stored, superseded and ended ones too
	Indexed int64     `json:"indexed"`             // entries of the log that the items have
	State   string    `json:"state"`               // ready, indexing, rolled_back or damaged
	Problem string    `json:"problem,omitempty"`   // why it is rolled back or damaged
}

// ReadTenants reads every tenant's log and counts its items. It makes nothing, and may run beside a process that has
// the folder.
func (a *App) ReadTenants(ctx context.Context, log *eventlog.Log) (list []Tenant, err error) {
	names, err := a.Tenants(ctx, log)
	if err != nil {
		return nil, err
	}
	look := func(stored *items.Items) error {
		list = make([]Tenant, len(names))
		for i, name := range names {
			list[i].Tenant = name
			s, err := scope.System(name)
			if err != nil {
				return err
			}
			if err := list[i].read(ctx, s, log, stored); err != nil {
				return fmt.Errorf("read tenant %q: %w", name, err)
			}
		}
		return nil
	}
	if errors.Is(a.noItems(), fs.ErrNotExist) {
		return list, look(nil)
	}
	return list, a.readItems(ctx, look)
}

// read fills in what log and items say; damage is a state, not an error.
func (t *Tenant) read(ctx context.Context, s scope.Scope, log *eventlog.Log, stored *items.Items) error {
	damaged := func(err error) error {
		if !errors.Is(err, eventlog.ErrCorrupt) && !errors.Is(err, items.ErrCorrupt) {
			return err
		}
		t.State, t.Problem = TenantDamaged, err.Error()
		return nil
	}
	head, err := log.Head(ctx, s)
	if err != nil {
		return damaged(err)
	}
	t.Size = head.Size
	if t.Size > 0 {
		last, err := log.Read(ctx, s, t.Size-1, 1)
		if err != nil {
			return damaged(err)
		}
		t.Last = last[0].RecordedAt
	}
	if stored != nil {
		counted, err := stored.Stats(ctx, s)
		if err == nil {
			t.Items = counted.Items
			t.Indexed, err = stored.Checkpoint(ctx, s)
		}
		if err != nil {
			return damaged(err)
		}
	}
	var bad *eventlog.VerifyError
	switch err := log.CheckTrustedHead(ctx, s); {
	case errors.As(err, &bad):
		t.State = TenantRolledBack
		t.Problem = bad.Problem
	case errors.Is(err, eventlog.ErrOtherKey):
		return otherKey(err)
	case err != nil:
		return err
	case t.Indexed < t.Size:
		t.State = TenantIndexing
	default:
		t.State = TenantReady
	}
	return nil
}

// noItems says why there are no items to look at in the data folder, nil when there are, or on a server.
func (a *App) noItems() error {
	if !a.drivers().items.inDir {
		return nil
	}
	_, err := os.Stat(a.Path("index", "items.db"))
	return err
}

// readItems calls look with the items, as they are.
func (a *App) readItems(ctx context.Context, look func(*items.Items) error) error {
	db, k, err := a.drivers().items.open(ctx, a, opening{memory: int64(a.MemoryMB) << 20 / 8})
	if err != nil {
		return err
	}
	return errors.Join(look(items.NewShared(db)), k.close())
}

// AwaitIndexed waits until a tenant's log has at least so many entries and the indexes have all that it has then. It
// returns how many that are.
func (n *Node) AwaitIndexed(ctx context.Context, tenant string, least int64) (int64, error) {
	s, err := scope.System(tenant)
	if err != nil {
		return 0, err
	}
	head, err := n.Log.Head(ctx, s)
	for err == nil && head.Size < least {
		head.Size, err = n.Log.Await(ctx, s, head.Size)
	}
	if err != nil {
		return 0, err
	}
	return head.Size, n.Worker.Projector.Await(ctx, s, head.Size)
}
