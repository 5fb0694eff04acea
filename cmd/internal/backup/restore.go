package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/mod/sumdb/note"

	"satchel/pipeline/infra/files"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/worker/erasure"
)

// Backup is a backup that is read.
type Backup struct {
	*Manifest
	dir string
}

// Open opens the backup in a folder whose manifest key has signed. It returns a *DamagedError for
// another manifest, and ErrNone where there is none.
func Open(dir string, key note.Verifier) (*Backup, error) {
	m, err := readManifest(dir, key)
	if err != nil {
		return nil, err
	}
	return &Backup{m, dir}, nil
}

// HeadsDir is the folder of the signed heads that the logs of the backup lead to.
func (b *Backup) HeadsDir() string { return b.path(b.name() + "/heads") }

// ErasedDir returns the folder of the lists of erasures.
func (b *Backup) ErasedDir() string { return b.path(b.name() + "/erased") }

func (b *Backup) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

// Check reads every file and compares it with the manifest. The first that differs is a *DamagedError.
func (b *Backup) Check(ctx context.Context, progress func(what string, done, total int64)) error {
	for i, f := range b.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.checkFile(f); err != nil {
			return err
		}
		if progress != nil {
			progress("checking the backup", int64(i+1), int64(len(b.Files)))
		}
	}
	return nil
}

func (b *Backup) checkFile(f File) (err error) {
	file, err := os.Open(b.path(f.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return &DamagedError{f.Path, "it is missing"}
	}
	if err != nil {
		return fmt.Errorf("read backup: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	switch {
	case err != nil:
		return fmt.Errorf("read backup: %w", err)
	case size != f.Size:
		return &DamagedError{f.Path, fmt.Sprintf("it has %d bytes instead of %d", size, f.Size)}
	case hex.EncodeToString(sum.Sum(nil)) != f.SHA256:
		return &DamagedError{f.Path, "its SHA-256 is another"}
	}
	return nil
}

// Target is where a backup is restored to.
type Target struct {
	Driver eventlog.Driver // holds no log
	Log    *eventlog.Log   // over Driver; it keeps heads and erasures in Dir
	Dir    string          // the data folder
	// Artifacts takes contents. It is required when the backup has some.
	Artifacts interface {
		Put(ctx context.Context, tenant, owner string, r io.Reader) (sum string, size int, err error)
	}
	// Erasures are the lists of erasures that are newer than the backup's, each over a folder.
	Erasures []*eventlog.Log
	// Heads is a folder of known heads, "" for none but those of Dir.
	Heads string
	// Confirm is asked whether a log may have the head that was restored; nil: it may. With its error the
	// restore fails.
	Confirm  func(ctx context.Context, head eventlog.Head) error
	Logger   *slog.Logger
	Progress func(what string, done, total int64) // nil tells no one
}

// Restored says what was restored of a tenant.
type Restored struct {
	eventlog.Head        // of the backup
	Erased        int    // erasures that are newer than the backup and were repeated
	Known         int64  // the size of the largest head that is known
	Behind        string // how the log contradicts that head; "" when it does not
}

// Restore writes the backup into an empty target: logs, heads, erasures, artifacts, templates. The
// caller has called Check. The indexes are not made: the next start makes them from the log.
func (b *Backup) Restore(ctx context.Context, t Target) ([]Restored, error) {
	for _, h := range b.Heads {
		if err := b.restoreLog(ctx, t, h); err != nil {
			return nil, err
		}
		if t.Confirm != nil {
			if err := t.Confirm(ctx, h); err != nil {
				return nil, err
			}
		}
	}
	restored, err := b.knownHeads(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := b.eraseAgain(ctx, t, restored); err != nil {
		return nil, err
	}
	if err := b.restoreArtifacts(ctx, t); err != nil {
		return nil, err
	}
	return restored, b.restoreTemplates(t)
}

// restoreLog writes a tenant's log. What is read was signed, so damage here is the signer's.
func (b *Backup) restoreLog(ctx context.Context, t Target, want eventlog.Head) error {
	s, err := scope.System(want.Tenant)
	if err != nil {
		return err
	}
	name := b.name() + "/heads/" + want.Tenant + ".checkpoint"
	signed, err := os.ReadFile(b.path(name))
	if err != nil {
		return fmt.Errorf("read backup: %w", err)
	}
	if head, err := t.Log.OpenCheckpoint(s, signed); err != nil || head != want {
		return &DamagedError{name, "it is not the head that the manifest names"}
	}
	in := eventlog.NewImport(t.Driver, want.Tenant)
	for _, f := range b.Files {
		seg, ok := segmentOf(want.Tenant, f)
		if !ok {
			continue
		}
		if err := b.restoreSegment(ctx, in, want.Tenant, seg); err != nil {
			return err
		}
		if t.Progress != nil {
			t.Progress("restoring "+want.Tenant, in.Head().Size, want.Size)
		}
	}
	if in.Head() != want {
		return &DamagedError{name, fmt.Sprintf("the segments lead to another head, of %d entries", in.Head().Size)}
	}
	return nil
}

// importRows is how many entries one transaction takes.
const importRows = 500

func (b *Backup) restoreSegment(ctx context.Context, in *eventlog.Import, tenant string, seg segment) (err error) {
	file, err := os.Open(b.path(seg.Path))
	if err != nil {
		return fmt.Errorf("read backup: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	plain, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("read backup: %w", err)
	}
	defer plain.Close()
	r, err := newRowReader(plain, tenant)
	var rows []eventlog.Row
	for err == nil {
		var row eventlog.Row
		if row, err = r.row(); err == nil {
			rows = append(rows, row)
		}
		if len(rows) == importRows || errors.Is(err, io.EOF) && len(rows) > 0 {
			if failed := errors.Join(in.Add(ctx, rows), ctx.Err()); failed != nil {
				return ofFile(seg.Path, failed)
			}
			rows = rows[:0]
		}
	}
	if !errors.Is(err, io.EOF) {
		return &DamagedError{seg.Path, err.Error()}
	}
	return nil
}

// ofFile names the file in which an entry is damaged.
func ofFile(path string, err error) error {
	var bad *eventlog.VerifyError
	if errors.As(err, &bad) {
		return &DamagedError{path, bad.Error()}
	}
	return err
}

// eraseAgain repeats the erasures that any list has and the log does not.
func (b *Backup) eraseAgain(ctx context.Context, t Target, restored []Restored) error {
	again := false
	for i := range restored {
		r := &restored[i]
		s, err := scope.System(r.Tenant)
		if err != nil {
			return err
		}
		for _, from := range t.Erasures {
			list, err := from.KeptErasures(s)
			if err != nil {
				return err
			}
			if err := t.Log.KeepErasures(s, list); err != nil {
				return err
			}
		}
		if r.Size == 0 { // the backup has no log of the tenant
			continue
		}
		if r.Erased, err = erasure.RepeatLost(ctx, t.Log, s, nil, t.Logger); err != nil {
			return err
		}
		again = again || r.Erased > 0
	}
	if !again {
		return nil
	}
	return t.Log.Scrub(ctx)
}

// knownHeads makes the largest head that is known of each tenant the kept one.
func (b *Backup) knownHeads(ctx context.Context, t Target) ([]Restored, error) {
	largest := map[string]eventlog.Head{}
	signed := map[string][]byte{}
	for _, dir := range []string{b.HeadsDir(), filepath.Join(t.Dir, "heads"), t.Heads} {
		files, err := os.ReadDir(dir)
		missing := errors.Is(err, fs.ErrNotExist) && (dir == "" || dir != t.Heads)
		if err != nil && !missing {
			return nil, fmt.Errorf("read known heads: %w", err)
		}
		for _, f := range files {
			tenant, ok := strings.CutSuffix(f.Name(), ".checkpoint")
			if !ok || !scope.ValidTenant(tenant) {
				continue
			}
			s, err := scope.System(tenant)
			if err != nil {
				return nil, err
			}
			raw, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				return nil, fmt.Errorf("read known heads: %w", err)
			}
			head, err := t.Log.OpenCheckpoint(s, raw)
			if err != nil {
				return nil, fmt.Errorf("read known head %s: %w", filepath.Join(dir, f.Name()), err)
			}
			if head.Size > largest[tenant].Size {
				largest[tenant] = head
				signed[tenant] = raw
			}
		}
	}
	var restored []Restored
	for tenant, known := range largest {
		path := filepath.Join(t.Dir, "heads", tenant+".checkpoint")
		if err := writeFile(path, signed[tenant]); err != nil {
			return nil, fmt.Errorf("keep known head: %w", err)
		}
		r := Restored{Head: b.head(tenant), Known: known.Size}
		r.Tenant = tenant
		if err := r.compare(ctx, t.Log); err != nil {
			return nil, err
		}
		restored = append(restored, r)
	}
	slices.SortFunc(restored, func(a, b Restored) int { return strings.Compare(a.Tenant, b.Tenant) })
	return restored, nil
}

// compare says how the log contradicts the kept head.
func (r *Restored) compare(ctx context.Context, log *eventlog.Log) error {
	if r.Known > r.Size {
		r.Behind = fmt.Sprintf("%d of %d positions are missing", r.Known-r.Size, r.Known)
		return nil
	}
	s, err := scope.System(r.Tenant)
	if err != nil {
		return err
	}
	var bad *eventlog.VerifyError
	if err := log.CheckTrustedHead(ctx, s); errors.As(err, &bad) {
		r.Behind = bad.Problem
	} else if err != nil {
		return err
	}
	return nil
}

// writeFile writes a file as a whole, in a folder that it makes.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return files.Write(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// restoreArtifacts stores the contents but those whose items were all erased since.
func (b *Backup) restoreArtifacts(ctx context.Context, t Target) error {
	for _, f := range b.Files {
		name, ok := strings.CutPrefix(f.Path, "artifacts/")
		tenant, sum, whole := strings.Cut(name, "/")
		if !ok || !whole {
			continue
		}
		s, err := scope.System(tenant)
		if err != nil {
			return err
		}
		erased, err := erasure.ArtifactErased(ctx, t.Log, s, sum)
		if err != nil {
			return err
		}
		if !erased {
			if err := b.restoreArtifact(ctx, t, tenant, f); err != nil {
				return fmt.Errorf("restore artifact %s of tenant %q: %w", sum, tenant, err)
			}
		}
	}
	return nil
}

func (b *Backup) restoreArtifact(ctx context.Context, t Target, tenant string, f File) (err error) {
	file, err := os.Open(b.path(f.Path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, _, err = t.Artifacts.Put(ctx, tenant, "", file)
	return err
}

// HasArtifacts reports whether Restore needs Target.Artifacts.
func (b *Backup) HasArtifacts() bool {
	return slices.ContainsFunc(b.Files, func(f File) bool { return strings.HasPrefix(f.Path, "artifacts/") })
}

func (b *Backup) restoreTemplates(t Target) error {
	for _, f := range b.Files {
		name, ok := strings.CutPrefix(f.Path, b.name()+"/templates/")
		if !ok {
			continue
		}
		data, err := os.ReadFile(b.path(f.Path))
		if err == nil {
			err = writeFile(filepath.Join(t.Dir, "templates", name), data)
		}
		if err != nil {
			return fmt.Errorf("restore templates: %w", err)
		}
	}
	return nil
}
