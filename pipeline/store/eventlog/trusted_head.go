package eventlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"satchel/pipeline/infra/files"
	"satchel/pipeline/scope"
)

const headSuffix = ".checkpoint"

// CheckTrustedHead compares the log with its kept checkpoint: a *VerifyError says that the log
// was rolled back or rewritten since. It reads no entries. No kept checkpoint is no error.
func (l *Log) CheckTrustedHead(ctx context.Context, s scope.Scope) error {
	if err := s.Check(); err != nil || l.keep == "" {
		return err
	}
	known, err := l.readTrustedHead(s.Tenant())
	if err != nil || known == nil {
		return err
	}
	return l.driver.View(ctx, func(r Reader) error {
		h, err := headOf(r, s.Tenant())
		if err != nil {
			return err
		}
		return checkExtension(r, h, *known)
	})
}

// CheckKey returns ErrOtherKey when a kept checkpoint, or a list of erasures, bears no signature
// of the log's key. It reads these alone and says nothing of damaged ones.
func (l *Log) CheckKey() error {
	tenants, err := l.trustedTenants()
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		if _, err := l.readTrustedHead(tenant); errors.Is(err, ErrOtherKey) {
			return err
		}
	}
	if tenants, err = l.ErasureTenants(); err != nil {
		return err
	}
	for _, tenant := range tenants {
		if _, err := l.readErasures(tenant); errors.Is(err, ErrOtherKey) {
			return err
		}
	}
	return nil
}

// checkExtension returns a *VerifyError unless the head h continues the head known.
func checkExtension(r Reader, h, known Head) error {
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
		return makeRewriteError(known)
	}
	return nil
}

func rolledBack(h, known Head) error {
	return &VerifyError{h.Tenant, h.Size + 1, fmt.Sprintf("the log was rolled back: a kept checkpoint has %d entries, the log %d", known.Size, h.Size)}
}

func makeRewriteError(known Head) error {
	return &VerifyError{known.Tenant, known.Size, fmt.Sprintf("history was rewritten: the first %d entries are not those of a kept checkpoint", known.Size)}
}

// trustHead makes signed, the checkpoint of h, the kept one, unless a later one is or h is empty. A log
// that does not continue the kept one is a *VerifyError.
func (l *Log) trustHead(ctx context.Context, h Head, signed []byte) error {
	l.trustMu.Lock()
	defer l.trustMu.Unlock()
	known, ok := l.trusted[h.Tenant]
	if !ok {
		onDisk, err := l.readTrustedHead(h.Tenant)
		if err != nil {
			return err
		}
		if onDisk != nil {
			known = *onDisk
			ok = true
		}
	}
	err := l.driver.View(ctx, func(r Reader) error {
		now, err := headOf(r, h.Tenant)
		if err != nil {
			return err
		}
		return checkExtension(r, now, known)
	})
	old := ok && h.Size <= known.Size
	if err != nil || h.Size == 0 || old {
		return err
	}
	err = os.MkdirAll(l.keep, 0o700)
	if err == nil {
		err = files.Write(filepath.Join(l.keep, h.Tenant+headSuffix), func(w io.Writer) error {
			_, err := w.Write(signed)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("keep checkpoint of tenant %q: %w", h.Tenant, err)
	}
	l.trusted[h.Tenant] = h
	return nil
}

// readTrustedHead returns the kept head of a tenant, nil when there is none.
func (l *Log) readTrustedHead(tenant string) (*Head, error) {
	signed, err := os.ReadFile(filepath.Join(l.keep, tenant+headSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read kept checkpoint of tenant %q: %w", tenant, err)
	}
	h, err := l.openCheckpoint(tenant, signed)
	var unverified *note.UnverifiedNoteError
	if errors.As(err, &unverified) {
		return nil, fmt.Errorf("%w %s", ErrOtherKey, filepath.Join(l.keep, tenant+headSuffix))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the kept checkpoint: %w", ErrCorrupt, err)
	}
	return &h, nil
}

// trustedTenants returns the tenants that have a kept checkpoint.
func (l *Log) trustedTenants() ([]string, error) {
	if l.keep == "" {
		return nil, nil
	}
	files, err := os.ReadDir(l.keep)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list kept checkpoints: %w", err)
	}
	var tenants []string
	for _, f := range files {
		if tenant, ok := strings.CutSuffix(f.Name(), headSuffix); ok && scope.ValidTenant(tenant) {
			tenants = append(tenants, tenant)
		}
	}
	return tenants, nil
}
