package snapfile_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"satchel/pipeline/store/internal/snapfile"
)

func read(t *testing.T, f snapfile.Folder, tenant string) (string, bool, error) {
	t.Helper()
	var got []byte
	found, err := f.Read(tenant, func(r io.Reader, size int64) error {
		var err error
		if got, err = io.ReadAll(r); err == nil && int64(len(got)) != size {
			t.Errorf("%d bytes of %d", len(got), size)
		}
		return err
	})
	return string(got), found, err
}

func TestWriteReadDrop(t *testing.T) {
	t.Parallel()
	f := snapfile.Folder{Dir: filepath.Join(t.TempDir(), "x"), Ext: ".snap"}
	must(t, f.Prepare())
	if _, found, err := read(t, f, "acme"); found || err != nil {
		t.Errorf("nothing there: %v, %v", found, err)
	}
	for tenant, text := range map[string]string{"acme": "one", "Acme": "another"} {
		must(t, f.Write(tenant, func(w *bufio.Writer) error {
			_, err := w.WriteString(text)
			return err
		}))
	}
	if got, found, err := read(t, f, "acme"); got != "one" || !found || err != nil {
		t.Errorf("got %q, %v, %v", got, found, err)
	}
	failed := errors.New("no more")
	if err := f.Write("acme", func(w *bufio.Writer) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("a failing encoder: %v", err)
	}
	if got, _, err := read(t, f, "acme"); got != "one" || err != nil {
		t.Errorf("after a write that failed: %q, %v", got, err)
	}
	raw, err := os.ReadFile(f.Path("acme"))
	must(t, err)
	for i := range raw {
		damaged := bytes.Clone(raw)
		damaged[i] ^= 1
		must(t, os.WriteFile(f.Path("acme"), damaged, 0o600))
		if _, _, err := read(t, f, "acme"); !errors.Is(err, snapfile.ErrDamaged) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	must(t, os.WriteFile(f.Path("acme")+".tmp", raw, 0o600))
	must(t, f.Prepare())
	must(t, f.Drop("acme"))
	must(t, f.Drop("acme"))
	left, err := os.ReadDir(f.Dir)
	must(t, err)
	if len(left) != 1 {
		t.Errorf("%d files are left, want that of Acme", len(left))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
