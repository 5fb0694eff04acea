package backup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/mod/sumdb/note"

	"satchel/cmd/internal/backup"
	"satchel/jetstream"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/sqlite"
	"satchel/schemas"
	"satchel/worker/transport"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is the log of the tenant acme, and what a backup needs beside it.
type world struct {
	log    *eventlog.Log
	driver eventlog.Driver
	source backup.Source
	public string
	scope  scope.Scope
}

// none are no artifacts.
type none struct{}

func (none) List(context.Context) ([]jetstream.StoredArtifact, error) { return nil, nil }

func (none) Open(context.Context, string, string) (io.ReadCloser, error) {
	return nil, transport.ErrNoArtifact
}

// newWorld returns an empty log, signed with a new key, or with that of a world.
func newWorld(t *testing.T, key *world) *world {
	t.Helper()
	w := &world{source: backup.Source{Dir: t.TempDir(), Artifacts: none{}}}
	var err error
	if key == nil {
		private, public, err := note.GenerateKey(nil, "satchel")
		must(t, err)
		w.public = public
		w.source.Signer, err = note.NewSigner(private)
		must(t, err)
	} else {
		w.public, w.source.Signer = key.public, key.source.Signer
	}
	w.source.Verifier, err = note.NewVerifier(w.public)
	must(t, err)
	w.scope, err = scope.System("acme")
	must(t, err)
	w.driver, err = sqlite.OpenLog(t.Context(), sqlite.LogConfig{Path: filepath.Join(w.source.Dir, "log.db")})
	must(t, err)
	w.log, err = eventlog.New(eventlog.Config{Driver: w.driver, Signer: w.source.Signer, VerifierKey: w.public,
		Keep: filepath.Join(w.source.Dir, "heads"), Erasures: filepath.Join(w.source.Dir, "erased")})
	must(t, err)
	w.source.Log = w.log
	t.Cleanup(func() { must(t, w.log.Close()) })
	return w
}

// add appends n memories, item 1 and so on.
func (w *world) add(t *testing.T, n int) {
	t.Helper()
	head, err := w.log.Head(t.Context(), w.scope)
	must(t, err)
	var drafts []eventlog.Draft
	for i := range n {
		at := int(head.Size) + 1 + i
		drafts = append(drafts, eventlog.Draft{Tenant: "acme", Type: schemas.TypeMemoryRecorded, Source: "test", ID: fmt.Sprint(at), Subject: fmt.Sprintf("item-%d", at),
			Data: fmt.Appendf(nil, `{"secret":"canary-%d"}`, at)})
	}
	_, err = w.log.Append(t.Context(), eventlog.Batch{Drafts: drafts})
	must(t, err)
}

// erase erases the memory at a position, as a worker does.
func (w *world) erase(t *testing.T, position int64) {
	t.Helper()
	item := fmt.Sprintf("item-%d", position)
	data, err := json.Marshal(schemas.MemoryErased{Items: []string{item}})
	must(t, err)
	d := eventlog.Draft{Tenant: "acme", Type: schemas.TypeMemoryErased, Source: "test", ID: "erase-" + item, Subject: eventlog.ErasureSubject, Data: data}
	out, err := w.log.AppendErasure(t.Context(), w.scope, d, []int64{position}, nil)
	must(t, err)
	entry, err := w.log.Entry(t.Context(), w.scope, out.Position)
	must(t, err)
	must(t, w.log.KeepErasures(w.scope, []eventlog.KeptErasure{eventlog.KeptErasureOf(&entry, []string{item})}))
}

// segments returns the segments of a backup, and all that is in them.
func segments(t *testing.T, dir string) (names []string, text string) {
	t.Helper()
	var all bytes.Buffer
	must(t, filepath.WalkDir(filepath.Join(dir, "log"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		names = append(names, d.Name())
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		r, err := zstd.NewReader(bytes.NewReader(raw))
		if err != nil {
			return err
		}
		defer r.Close()
		_, err = io.Copy(&all, r)
		return err
	}))
	slices.Sort(names)
	return names, all.String()
}

// restore restores a backup into an empty log and verifies that.
func restore(t *testing.T, dir string, to *world) backup.Restored {
	t.Helper()
	b, err := backup.Open(dir, to.source.Verifier)
	must(t, err)
	must(t, b.Check(t.Context(), nil))
	list, err := eventlog.New(eventlog.Config{Driver: to.driver, Signer: to.source.Signer, VerifierKey: to.public, Erasures: b.ErasedDir()})
	must(t, err)
	restored, err := b.Restore(t.Context(), backup.Target{Driver: to.driver, Log: to.log, Dir: to.source.Dir, Logger: slog.New(slog.DiscardHandler), Erasures: []*eventlog.Log{list}})
	must(t, err)
	must(t, to.log.Verify(t.Context(), to.scope, nil, nil))
	if len(restored) != 1 || restored[0].Behind != "" {
		t.Fatalf("restored %+v", restored)
	}
	return restored[0]
}

// TestIncrement: a full backup has segments of ten entries; an increment keeps those that did not
// change, byte for byte, and rewrites those of which something was erased.
func TestIncrement(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t, nil), filepath.Join(t.TempDir(), "backup")
	w.add(t, 35)
	o := backup.Options{Since: true, Rows: 10}
	_, err := backup.Write(t.Context(), dir, w.source, o)
	must(t, err)
	first, text := segments(t, dir)
	if len(first) != 4 || !strings.Contains(text, "canary-13") {
		t.Fatalf("segments %v", first)
	}
	w.erase(t, 13)
	w.add(t, 10)
	made, err := backup.Write(t.Context(), dir, w.source, o)
	must(t, err)
	second, text := segments(t, dir)
	if strings.Contains(text, "canary-13") || !strings.Contains(text, "canary-14") || !strings.Contains(text, "canary-46") {
		t.Error("the increment has what was erased, or lacks what was not")
	}
	kept := slices.DeleteFunc(slices.Clone(first), func(name string) bool { return !slices.Contains(second, name) })
	if len(second) != 5 || len(kept) != 2 {
		t.Errorf("%v became %v: two of these are to be kept, two rewritten", first, second)
	}
	if got := restore(t, dir, newWorld(t, w)); got.Head != made.Heads[0] || got.Erased != 0 {
		t.Errorf("restored %+v, want %+v", got, made.Heads)
	}
}

// TestErasedWhileItIsRead: a backup holds nothing that was erased before its head, and what is erased
// between its head and its end is erased again by a restore.
func TestErasedWhileItIsRead(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t, nil), filepath.Join(t.TempDir(), "backup")
	w.add(t, 25)
	calls := 0
	o := backup.Options{Rows: 10, Progress: func(string, int64, int64) {
		if calls++; calls <= 3 { // the rows that were read last are not written yet
			w.erase(t, int64(calls*7))
		}
	}}
	made, err := backup.Write(t.Context(), dir, w.source, o)
	must(t, err)
	_, text := segments(t, dir)
	for _, gone := range []string{"canary-7\"", "canary-14\"", "canary-21\""} {
		if strings.Contains(text, gone) {
			t.Errorf("the backup holds %s", gone)
		}
	}
	if calls < 4 || made.Heads[0].Size != 28 {
		t.Errorf("%d rounds, head %+v", calls, made.Heads)
	}
	if got := restore(t, dir, newWorld(t, w)); got.Head != made.Heads[0] {
		t.Errorf("restored %+v, want %+v", got, made.Heads)
	}
	w.erase(t, 3)
	list, err := os.ReadFile(filepath.Join(w.source.Dir, "erased", "acme"))
	must(t, err)
	to := newWorld(t, w)
	must(t, os.MkdirAll(filepath.Join(to.source.Dir, "erased"), 0o700))
	must(t, os.WriteFile(filepath.Join(to.source.Dir, "erased", "acme"), list, 0o600))
	if got := restore(t, dir, to); got.Erased != 1 {
		t.Errorf("restored %+v, and one erasure was newer", got)
	}
	if e, err := to.log.Entry(t.Context(), to.scope, 3); err != nil || !e.Erased {
		t.Errorf("position 3: %+v, %v", e, err)
	}
}

// TestAnotherLog: a backup is not continued with a log that does not continue it, and stays what it was.
func TestAnotherLog(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t, nil), filepath.Join(t.TempDir(), "backup")
	w.add(t, 12)
	made, err := backup.Write(t.Context(), dir, w.source, backup.Options{})
	must(t, err)
	for _, n := range []int{0, 3, 12, 20} {
		other := newWorld(t, w)
		other.add(t, n)
		for _, o := range []backup.Options{{}, {Since: true}, {Replace: []string{"of another"}}} {
			var forked *backup.ForkedError
			if _, err := backup.Write(t.Context(), dir, other.source, o); !errors.As(err, &forked) || forked.Former != made.Heads[0] {
				t.Errorf("with another log of %d entries, %+v: %v", n, o, err)
			}
		}
	}
	var damaged *backup.DamagedError
	if _, err := backup.Write(t.Context(), dir, newWorld(t, nil).source, backup.Options{}); !errors.As(err, &damaged) {
		t.Errorf("with another key: %v", err)
	}
	if got := restore(t, dir, newWorld(t, w)); got.Head != made.Heads[0] {
		t.Errorf("restored %+v, want %+v", got, made.Heads)
	}
	other := newWorld(t, w)
	other.add(t, 3)
	replaced, err := backup.Write(t.Context(), dir, other.source, backup.Options{Since: true, Replace: []string{made.Heads[0].Root.String()}})
	must(t, err)
	if got := restore(t, dir, newWorld(t, w)); got.Head != replaced.Heads[0] || got.Head.Size != 3 {
		t.Errorf("restored %+v, want %+v", got, replaced.Heads)
	}
}

// TestKeys: a file of keys gives them back to who has the passphrase, and shows none of them.
func TestKeys(t *testing.T) {
	t.Parallel()
	from, file := t.TempDir(), filepath.Join(t.TempDir(), "keys.age")
	must(t, os.Mkdir(filepath.Join(from, "principals"), 0o700))
	must(t, os.WriteFile(filepath.Join(from, "log.key"), []byte("PRIVATE"), 0o600))
	must(t, os.WriteFile(filepath.Join(from, "principals", "ann.nk"), []byte("SEED"), 0o600))
	must(t, backup.WriteKeys(file, from, "eight words"))
	raw, err := os.ReadFile(file)
	must(t, err)
	if bytes.Contains(raw, []byte("PRIVATE")) || bytes.Contains(raw, []byte("SEED")) {
		t.Error("a key can be read")
	}
	to := filepath.Join(t.TempDir(), "keys")
	if err := backup.ReadKeys(file, to, "other words"); !errors.Is(err, backup.ErrPassphrase) {
		t.Errorf("with another passphrase: %v", err)
	}
	raw[len(raw)-1] ^= 1
	damaged := filepath.Join(t.TempDir(), "damaged.age")
	must(t, os.WriteFile(damaged, raw, 0o600))
	if err := backup.ReadKeys(damaged, to, "eight words"); err == nil {
		t.Error("a damaged file is taken")
	}
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
	must(t, backup.ReadKeys(file, to, "eight words"))
	for name, want := range map[string]string{"log.key": "PRIVATE", "principals/ann.nk": "SEED"} {
		if got, err := os.ReadFile(filepath.Join(to, filepath.FromSlash(name))); string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if err := backup.ReadKeys(file, to, "eight words"); err == nil {
		t.Error("keys were replaced")
	}
}
