package sqlite

import (
	"context"
	"errors"
	"fmt"

	"satchel/pipeline/scope"
)

// IndexConfig says where items or a graph are kept, and how. Only Path is required.
type IndexConfig struct {
	Path        string // the file; its folder must exist
	MemoryBytes int64  // cap of what is kept of all tenants in memory; default 512 MiB. The tenant in use is kept even above it
	Readers     int    // connections that read; default 2 per CPU, at least 4

	// OnCorrupt is told once of the first sign of damage after Open; nil: no one is. It MUST
	// NOT close the index.
	OnCorrupt func(error)
}

// index is a file of rows, with a value of every loaded tenant in memory.
type index[V Value] struct {
	store, rows string // what errors call the file and what is in it
	file        *File
	tenants     *TenantCache[V]
}

// open opens the file and then prepares statements, or closes it again.
func (x *index[V]) open(ctx context.Context, c IndexConfig, f FileConfig, load func(context.Context, string) (V, error), prepare func(*File) error) (err error) {
	if c.MemoryBytes <= 0 {
		c.MemoryBytes = 512 << 20
	}
	f.Path = c.Path
	f.Readers = c.Readers
	f.OnCorrupt = c.OnCorrupt
	if x.file, err = OpenFile(ctx, f); err != nil {
		return fmt.Errorf("open %s: %w", x.store, err)
	}
	x.tenants = NewTenantCache(c.MemoryBytes, load)
	if err := prepare(x.file); err != nil {
		return errors.Join(fmt.Errorf("open %s: %w", x.store, err), x.Close())
	}
	return nil
}

// Close closes the file. Calls under way fail.
func (x *index[V]) Close() error { return x.file.Close() }

// Evict puts what is kept of a tenant out of memory; it is loaded again when it is asked for.
func (x *index[V]) Evict(_ context.Context, s scope.Scope) error {
	x.tenants.Drop(s.Tenant())
	return s.Check()
}

// Check looks for damage in the whole file: ErrCorrupt.
func (x *index[V]) Check(ctx context.Context) error { return x.file.Check(ctx) }

// Scrub empties the write-ahead log, so that what was erased is in no file any more. It
// waits for readers, up to ten seconds.
func (x *index[V]) Scrub(ctx context.Context) error {
	if err := x.file.Scrub(ctx); err != nil {
		return fmt.Errorf("scrub %s: %w", x.store, err)
	}
	return nil
}

// Checkpoint returns the position up to which a tenant's log is folded, 0 for none.
func (x *index[V]) Checkpoint(ctx context.Context, tenant string) (int64, error) {
	at, err := x.file.Checkpoint(ctx, tenant)
	if err != nil {
		return 0, fmt.Errorf("read %s checkpoint: %w", x.rows, err)
	}
	return at, nil
}

// reset removes a tenant's rows of tables and its checkpoint.
func (x *index[V]) reset(ctx context.Context, tenant string, tables ...string) error {
	err := x.tenants.Replace(tenant, func() error { return x.file.Clear(ctx, tenant, tables...) })
	if err != nil {
		return fmt.Errorf("reset %s: %w", x.rows, x.file.Named(err))
	}
	return nil
}
