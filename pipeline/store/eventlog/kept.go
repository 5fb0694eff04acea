package eventlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"satchel/pipeline/scope"
)

const keptSuffix = ".checkpoint"

// CheckKept compares the log with its kept checkpoint: a *VerifyError says that the log
// was rolled back or rewritten since. It reads no entries. No kept checkpoint is no error.
func (l *Log) CheckKept(ctx context.Context, s scope.Scope) error {
	if err := s.Check(); err != nil || l.keep == "" {
		return err
	}
	known, err := l.readKept(s.Tenant())
	if err != nil || known == nil {
		return err
	}
	return l.driver.View(ctx, func(r Reader) error {
		h, err := headOf(r, s.Tenant())
		if err != nil {
			return err
		}
		return extends(r, h, *known)
	})
}

// CheckKey returns ErrOtherKey when a kept checkpoint bears no signature of the log's key.
// It reads the kept checkpoints alone and says nothing of damaged ones.
func (l *Log) CheckKey() error {
	tenants, err := l.keptTenants()
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		if _, err := l.readKept(tenant); errors.Is(err, ErrOtherKey) {
			return err
		}
	}
	return nil
}

// extends returns a *VerifyError unless the head h continues the head known.
func extends(r Reader, h, known Head) error {
	if h.Size < known.Size {
		return rolledBack(h, known)
	}
	if known.Size == 0 {
		return nil
	}
	root, err := tlog.TreeHash(known.Size, hashReader(r, h.Tenant))
	if err != nil {
		return err
	}
	if root != known.Root {
		return rewritten(known)
	}
	return nil
}

func rolledBack(h, known Head) error {
	return &VerifyError{h.Tenant, h.Size + 1, fmt.Sprintf("the log was rolled back: a kept checkpoint has %d entries, the log %d", known.Size, h.Size)}
}

func rewritten(known Head) error {
	return &VerifyError{known.Tenant, known.Size, fmt.Sprintf("history was rewritten: the first %d entries are not those of a kept checkpoint", known.Size)}
}

// keepHead makes signed, the checkpoint of h, the kept one, unless a later one is or h is empty. A log
// that does not continue the kept one is a *VerifyError.
func (l *Log) keepHead(ctx context.Context, h Head, signed []byte) error {
	l.keepMu.Lock()
	defer l.keepMu.Unlock()
	known, ok := l.kept[h.Tenant]
	if !ok {
		onDisk, err := l.readKept(h.Tenant)
		if err != nil {
			return err
		}
		if onDisk != nil {
			known, ok = *onDisk, true
		}
	}
	err := l.driver.View(ctx, func(r Reader) error {
		now, err := headOf(r, h.Tenant)
		if err != nil {
			return err
		}
		return extends(r, now, known)
	})
	if err != nil || h.Size == 0 || (ok && h.Size <= known.Size) {
		return err
	}
	if err := writeFile(filepath.Join(l.keep, h.Tenant+keptSuffix), signed); err != nil {
		return fmt.Errorf("keep checkpoint of tenant %q: %w", h.Tenant, err)
	}
	l.kept[h.Tenant] = h
	return nil
}

// readKept returns the kept head of a tenant, nil when there is none.
func (l *Log) readKept(tenant string) (*Head, error) {
	signed, err := os.ReadFile(filepath.Join(l.keep, tenant+keptSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read kept checkpoint of tenant %q: %w", tenant, err)
	}
	h, err := l.openCheckpoint(tenant, signed)
	var unverified *note.UnverifiedNoteError
	if errors.As(err, &unverified) {
		return nil, fmt.Errorf("%w %s", ErrOtherKey, filepath.Join(l.keep, tenant+keptSuffix))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the kept checkpoint: %w", ErrCorrupt, err)
	}
	return &h, nil
}

// keptTenants returns the tenants that have a kept checkpoint.
func (l *Log) keptTenants() ([]string, error) {
	if l.keep == "" {
		return nil, nil
	}
	files, err := os.ReadDir(l.keep)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list kept checkpoints: %w", err)
	}
	var tenants []string
	for _, f := range files {
		if tenant, ok := strings.CutSuffix(f.Name(), keptSuffix); ok && scope.ValidTenant(tenant) {
			tenants = append(tenants, tenant)
		}
	}
	return tenants, nil
}

// writeFile replaces a file so that a crash leaves the old or the new one.
func writeFile(path string, data []byte) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, ".checkpoint-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
