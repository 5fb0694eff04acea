package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/memory"
	"satchel/worker/projection"
)

// damage is an index that was found damaged and is made again from the log.
type damage struct {
	Index  string    `json:"index"`
	Tenant string    `json:"tenant,omitempty"` // ""; all of them
	Cause  string    `json:"cause"`
	Found  time.Time `json:"found"`
	Mended bool      `json:"mended"` // it has what the log had
}

// String says what happened, for people to read.
func (d *damage) String() string {
	of := ""
	if d.Tenant != "" {
		of = " of tenant " + d.Tenant
	}
	if !d.Mended {
		return d.Index + of + " was damaged and is being made anew from the log"
	}
	return d.Index + of + " was damaged and was made anew, found " + d.Found.UTC().Format(time.RFC3339)
}

// keptDamages is how many damages are told of; the oldest go.
const keptDamages = 64

// damages are those since the process began. It is safe for concurrent use.
type damages struct {
	logger *slog.Logger
	found  chan struct{} // capacity 1: there is something to mend

	mu   sync.Mutex
	list []damage
}

func newDamages(logger *slog.Logger) *damages {
	return &damages{logger: logger, found: make(chan struct{}, 1)}
}

// add notes a damage; one that is mended already has nothing to wait for.
func (d *damages) add(index, tenant string, cause error, mended bool) {
	d.logger.Error("an index is damaged and is made anew from the log", "index", index, "tenant", tenant, "cause", cause)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.list) == keptDamages {
		d.list = d.list[1:]
	}
	d.list = append(d.list, damage{Index: index, Tenant: tenant, Cause: cause.Error(), Found: time.Now().UTC(), Mended: mended})
	if mended {
		return
	}
	select {
	case d.found <- struct{}{}:
	default:
	}
}

// all lists the damages, the oldest first.
func (d *damages) all() []damage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]damage(nil), d.list...)
}

// err says what is being mended, nil when nothing is.
func (d *damages) err() error {
	for _, one := range d.all() {
		if !one.Mended {
			return errors.New(one.String())
		}
	}
	return nil
}

// mend brings what is damaged up to the log, until ctx is done.
func (d *damages) mend(ctx context.Context, p *projection.Projector, tenants func(context.Context) ([]string, error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.found:
		}
		for _, one := range d.all() {
			if one.Mended {
				continue
			}
			if err := mendOne(ctx, &one, p, tenants); err != nil {
				if ctx.Err() != nil {
					return
				}
				d.logger.Warn("make index anew", "index", one.Index, "tenant", one.Tenant, "error", err)
			}
			d.settle(&one)
		}
	}
}

// settle notes that a damage is mended, or that the projector goes on with it.
func (d *damages) settle(one *damage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.list {
		if d.list[i].Index == one.Index && d.list[i].Tenant == one.Tenant && d.list[i].Found.Equal(one.Found) {
			d.list[i].Mended = true
		}
	}
}

func mendOne(ctx context.Context, one *damage, p *projection.Projector, tenants func(context.Context) ([]string, error)) error {
	list := []string{one.Tenant}
	if one.Tenant == "" {
		var err error
		if list, err = tenants(ctx); err != nil {
			return err
		}
	}
	var errs []error
	for _, tenant := range list {
		s, err := scope.System(tenant)
		if err == nil {
			err = p.Recheck(ctx, s)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// snapshotDamage is told why a snapshot of an index could not be read or written. One that is
// damaged is made again.
func (d *damages) snapshotDamage(index string) func(tenant string, err error) {
	return func(tenant string, err error) {
		if errors.Is(err, memory.ErrDamaged) {
			d.add(index, tenant, err, false)
			return
		}
		d.logger.Warn("index snapshot", "index", index, "tenant", tenant, "error", err)
	}
}

// damagedError says that a file that is open turned out to be damaged: the process starts its
// parts again without it.
type damagedError struct {
	index, path string
	cause       error
}

// Error names the file.
func (e *damagedError) Error() string { return fmt.Sprintf("%s is damaged: %v", e.path, e.cause) }

// remove removes the file and those beside it. Nothing of it is kept: erasures would not reach
// a copy.
func (e *damagedError) remove() error {
	if err := removeDB(e.path); err != nil {
		return fmt.Errorf("remove damaged index: %w", err)
	}
	return nil
}

// removeDB removes a database, if it is there, and the files beside it.
func removeDB(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// openIndex opens a file that can be made again from the log. One that is damaged is removed
// first, and what shows as damaged later is told. Without stores it is only looked at.
func openIndex[T any](s *Stores, path string, corrupt error, open func(onCorrupt func(error)) (T, error)) (T, error) {
	if s == nil {
		return open(nil)
	}
	index := filepath.Base(path)
	var once sync.Once
	watch := func(err error) { once.Do(func() { s.tellLate(&damagedError{index, path, err}) }) }
	db, err := open(watch)
	if !errors.Is(err, corrupt) {
		return db, err
	}
	damaged := &damagedError{index, path, err}
	if err := damaged.remove(); err != nil {
		return db, err
	}
	s.damages.add(index, "", errors.New(firstLine(err)), false)
	return open(watch)
}

// firstLine is what an error says first.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
