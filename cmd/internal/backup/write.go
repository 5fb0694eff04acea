package backup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"satchel/jetstream"
	"satchel/pipeline/infra/files"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/worker/transport"
)

// ErrForeign is returned for a folder that holds other files than a backup's.
var ErrForeign = errors.New("the folder holds other files than a backup's")

// rounds is how often a backup reads what erasures changed while it read, before it gives up.
const rounds = 100

// Source is what is backed up.
type Source struct {
	Log       *eventlog.Log // signs the heads
	Artifacts interface {
		List(ctx context.Context) ([]jetstream.StoredArtifact, error)
		Open(ctx context.Context, tenant, sum string) (io.ReadCloser, error)
	}
	Dir      string // the data folder, for templates and lists of erasures
	Signer   note.Signer
	Verifier note.Verifier // of the signer
}

// Options steer Write.
type Options struct {
	// Since continues the backup that the folder has, if it has one: only what is new is written,
	// and the segments of which something was erased.
	Since bool
	// Replace are the roots of the folder's logs that the log need not continue: a backup of them is
	// replaced, whole.
	Replace []string
	// Clock says when the backup was made; nil is time.Now.
	Clock func() time.Time
	// Rows is how many entries a segment has at most; 0 is 10,000.
	Rows int64
	// Progress is told now and then what is done, and how far; nil tells no one.
	Progress func(what string, done, total int64)
}

// Summary says what a backup holds and what was written for it.
type Summary struct {
	Made    time.Time
	Heads   []eventlog.Head
	Files   int
	Bytes   int64 // of all files
	Written int64 // bytes of the files that the former backup did not have
}

// Write makes a backup in the folder dir, which is made when it is not there. It returns a
// *files.HeldError while another process writes there. Until it returns nil the former backup
// is there, whole. A log that is damaged is a *eventlog.VerifyError, and is not backed up.
func Write(ctx context.Context, dir string, src Source, o Options) (_ Summary, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Summary{}, fmt.Errorf("make backup: %w", err)
	}
	if err := checkOwn(dir); err != nil {
		return Summary{}, err
	}
	lock, err := files.TakeLock(dir, time.Now())
	if err != nil {
		return Summary{}, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.Rows = cmp.Or(o.Rows, segmentRows)
	w := &writer{src: src, o: o, dir: dir, former: &Manifest{}}
	former, err := readManifest(dir, src.Verifier) // what cannot be read may be the backup of another log
	if err != nil && !errors.Is(err, ErrNone) {
		return Summary{}, err
	}
	if err == nil {
		if err := w.continueFormer(ctx, former); err != nil {
			return Summary{}, err
		}
	}
	if err := w.run(ctx); err != nil {
		return Summary{}, errors.Join(err, prune(dir, w.standing()))
	}
	return w.summary(), prune(dir, &w.next)
}

// checkOwn refuses a folder with files that no backup makes.
func checkOwn(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("make backup: %w", err)
	}
	for _, e := range entries {
		known := slices.Contains([]string{manifestFile, "log", "artifacts", "satchel.lock"}, e.Name()) || strings.HasPrefix(e.Name(), "at-") ||
			strings.HasPrefix(e.Name(), manifestFile+"-") && strings.HasSuffix(e.Name(), ".tmp")
		if !known {
			return fmt.Errorf("make backup in %s: %w: %s", dir, ErrForeign, e.Name())
		}
	}
	return nil
}

// writer is one Write under way.
type writer struct {
	src    Source
	o      Options
	dir    string
	former *Manifest
	next   Manifest
}

func (w *writer) run(ctx context.Context) error {
	w.next.Made = w.o.Clock().UTC().Truncate(time.Millisecond)
	for { // a name of its own, also within a millisecond
		if _, err := os.Stat(filepath.Join(w.dir, w.next.name())); errors.Is(err, fs.ErrNotExist) {
			break
		}
		w.next.Made = w.next.Made.Add(time.Millisecond)
	}
	tenants, err := w.src.Log.Tenants(ctx)
	if err != nil {
		return fmt.Errorf("list tenants: %w", err)
	}
	for _, tenant := range tenants {
		if err := w.log(ctx, tenant); err != nil {
			return err
		}
	}
	if err := w.artifacts(ctx); err != nil { // behind the log: every artifact that an entry names is there by now
		return err
	}
	if err := w.templates(); err != nil {
		return err
	}
	if err := w.erasures(); err != nil { // behind the log: an erasure that the log does not have yet is in the list
		return err
	}
	raw, err := w.next.signed(w.src.Signer)
	if err != nil {
		return err
	}
	return w.replace(manifestFile, raw)
}

// ForkedError says that the log of a tenant does not continue the one that the folder has.
type ForkedError struct {
	Tenant string
	Former eventlog.Head // of the folder
	Now    eventlog.Head // of the log
}

// Error says which log differs, and its root in the folder.
func (e *ForkedError) Error() string {
	return fmt.Sprintf("the log of tenant %q, %d entries, does not continue that of the folder, %d entries, root %s", e.Tenant, e.Now.Size, e.Former.Size, e.Former.Root)
}

// continueFormer makes sure that the log continues all that the folder has, but for the roots that are
// to be replaced. The former backup is kept to be continued when all of it is and Since asks for that.
func (w *writer) continueFormer(ctx context.Context, former *Manifest) error {
	forked := false
	for _, h := range former.Heads {
		err := w.checkContinues(ctx, h)
		var differs *ForkedError
		if errors.As(err, &differs) && slices.Contains(w.o.Replace, h.Root.String()) {
			forked = true
			continue
		}
		if err != nil {
			return err
		}
	}
	if w.o.Since && !forked {
		w.former = former
	}
	return nil
}

// checkContinues returns a *ForkedError unless the log begins with the entries of a head.
func (w *writer) checkContinues(ctx context.Context, h eventlog.Head) error {
	s, err := scope.System(h.Tenant)
	if err != nil {
		return err
	}
	now, err := w.src.Log.Head(ctx, s)
	if err != nil {
		return fmt.Errorf("read head of tenant %q: %w", h.Tenant, err)
	}
	root := ""
	if now.Size >= h.Size {
		proof, err := w.src.Log.ProveConsistencyAt(ctx, s, h.Size, 0)
		if err != nil {
			return fmt.Errorf("compare tenant %q with its backup: %w", h.Tenant, err)
		}
		root = proof.OldRoot
	}
	if root != hex.EncodeToString(h.Root[:]) {
		return &ForkedError{Tenant: h.Tenant, Former: h, Now: now}
	}
	return nil
}

// replace writes a file as a whole.
func (w *writer) replace(name string, data []byte) error {
	if err := writeFile(filepath.Join(w.dir, filepath.FromSlash(name)), data); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// small writes a file of this backup alone.
func (w *writer) small(name string, data []byte) error {
	name = w.next.name() + "/" + name
	sum := sha256.Sum256(data)
	w.next.Files = append(w.next.Files, File{Path: name, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])})
	return w.replace(name, data)
}

// log writes a tenant's log and the head that it leads to.
func (w *writer) log(ctx context.Context, tenant string) error {
	s, err := scope.System(tenant)
	if err != nil {
		return err
	}
	t := &tenantLog{writer: w, scope: s, head: w.former.head(tenant)}
	for _, f := range w.former.Files {
		if seg, ok := segmentOf(tenant, f); ok {
			t.segments = append(t.segments, seg)
		}
	}
	if err := t.checkSegments(); err != nil {
		return err
	}
	for again := true; again; {
		t.round++
		if t.round > rounds {
			return fmt.Errorf("back up tenant %q: erasures go on faster than the log is read", tenant)
		}
		if again, err = t.extend(ctx); err != nil {
			return err
		}
	}
	signed, err := w.src.Log.SignHead(t.head)
	if err != nil {
		return err
	}
	w.next.Heads = append(w.next.Heads, t.head)
	for _, seg := range t.segments {
		w.next.Files = append(w.next.Files, seg.File)
	}
	return w.small("heads/"+tenant+".checkpoint", signed)
}

// artifacts copies the contents that the folder does not have yet.
func (w *writer) artifacts(ctx context.Context) error {
	list, err := w.src.Artifacts.List(ctx)
	if err != nil {
		return fmt.Errorf("list artifacts: %w", err)
	}
	for _, one := range list {
		name := "artifacts/" + one.Tenant + "/" + one.SHA256
		at := slices.IndexFunc(w.former.Files, func(f File) bool { return f.Path == name })
		if at >= 0 && w.there(w.former.Files[at]) {
			w.next.Files = append(w.next.Files, w.former.Files[at])
			continue
		}
		size, err := w.artifact(ctx, one, name)
		if errors.Is(err, transport.ErrNoArtifact) { // it was erased meanwhile
			continue
		}
		if err != nil {
			return fmt.Errorf("copy artifact %s of tenant %q: %w", one.SHA256, one.Tenant, err)
		}
		w.next.Files = append(w.next.Files, File{Path: name, Size: size, SHA256: one.SHA256})
	}
	return nil
}

func (w *writer) artifact(ctx context.Context, one jetstream.StoredArtifact, name string) (size int64, err error) {
	content, err := w.src.Artifacts.Open(ctx, one.Tenant, one.SHA256)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return 0, err
	}
	return size, files.Write(path, func(out io.Writer) error {
		sum := sha256.New()
		size, err = io.Copy(io.MultiWriter(out, sum), content)
		if err == nil && hex.EncodeToString(sum.Sum(nil)) != one.SHA256 {
			err = errors.New("its content is another")
		}
		return err
	})
}

// there reports whether a file of the former backup can be kept.
func (w *writer) there(f File) bool {
	info, err := os.Stat(filepath.Join(w.dir, filepath.FromSlash(f.Path)))
	return err == nil && info.Size() == f.Size
}

func (w *writer) templates() error {
	files, err := os.ReadDir(filepath.Join(w.src.Dir, "templates"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list templates: %w", err)
	}
	for _, f := range files {
		if tenant, ok := strings.CutSuffix(f.Name(), ".json"); !ok || !scope.ValidTenant(tenant) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(w.src.Dir, "templates", f.Name()))
		if err != nil {
			return fmt.Errorf("read templates: %w", err)
		}
		if err := w.small("templates/"+f.Name(), data); err != nil {
			return err
		}
	}
	return nil
}

// erasures copies the lists of erasures record by record, so that none ends in half of one.
func (w *writer) erasures() error {
	tenants, err := w.src.Log.ErasureTenants()
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		s, err := scope.System(tenant)
		if err != nil {
			return err
		}
		list, err := w.src.Log.EncodedErasures(s)
		if err != nil {
			return err
		}
		if err := w.small("erased/"+tenant, list); err != nil {
			return err
		}
	}
	return nil
}

// standing is the manifest that the folder has after a failure; nil for one that cannot be read.
func (w *writer) standing() *Manifest {
	m, err := readManifest(w.dir, w.src.Verifier)
	if errors.Is(err, ErrNone) {
		return &Manifest{}
	}
	return m
}

func (w *writer) summary() Summary {
	s := Summary{Made: w.next.Made, Heads: w.next.Heads, Files: len(w.next.Files)}
	for _, f := range w.next.Files {
		s.Bytes += f.Size
		if !slices.ContainsFunc(w.former.Files, func(old File) bool { return old.Path == f.Path }) {
			s.Written += f.Size
		}
	}
	return s
}

// prune removes the files that the manifest does not name, among those that a backup makes. nil
// removes none: who cannot read the manifest does not know.
func prune(dir string, m *Manifest) error {
	if m == nil {
		return nil
	}
	named := map[string]bool{}
	for _, f := range m.Files {
		for p := f.Path; p != "."; p = filepath.ToSlash(filepath.Dir(filepath.FromSlash(p))) {
			named[p] = true
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("prune backup: %w", err)
	}
	for _, top := range entries {
		switch name := top.Name(); {
		case name == "log", name == "artifacts", strings.HasPrefix(name, "at-"), strings.HasSuffix(name, ".tmp"):
		default:
			continue
		}
		err := filepath.WalkDir(filepath.Join(dir, top.Name()), func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(dir, p)
			if err != nil || named[filepath.ToSlash(rel)] {
				return err
			}
			if err := os.RemoveAll(p); err != nil {
				return err
			}
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("prune backup: %w", err)
		}
	}
	return nil
}

// erasureType is the type of the entries after which content is missing.
const erasureType = schemas.TypeMemoryErased
