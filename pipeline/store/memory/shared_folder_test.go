package memory

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func readFolder(t *testing.T, f snapshotFolder, tenant string) (string, bool, error) {
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
	f := snapshotFolder{Dir: filepath.Join(t.TempDir(), "x"), Ext: ".snap", Kind: "test 1"}
	must(t, f.Prepare())
	if _, found, err := readFolder(t, f, "acme"); found || err != nil {
		t.Errorf("nothing there: %v, %v", found, err)
	}
	for tenant, text := range map[string]string{"acme": "one", "Acme": "another"} {
		must(t, f.Write(tenant, 7, tenant == "acme", func(w *bufio.Writer) error {
			_, err := w.WriteString(text)
			return err
		}))
	}
	if got, found, err := readFolder(t, f, "acme"); got != "one" || !found || err != nil {
		t.Errorf("got %q, %v, %v", got, found, err)
	}
	peek := func(kind, tenant string, want int64, wantOK bool) {
		t.Helper()
		other := f
		other.Kind = kind
		if at, ok := other.Peek(tenant); ok != wantOK || ok && at != want {
			t.Errorf("peek at %s of %s: %d, %v", kind, tenant, at, ok)
		}
	}
	peek("test 1", "acme", 7, true)
	peek("test 1", "nobody", 0, true)
	peek("test 2", "acme", 0, false)
	failed := errors.New("no more")
	if err := f.Write("acme", 8, true, func(w *bufio.Writer) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("a failing encoder: %v", err)
	}
	if got, _, err := readFolder(t, f, "acme"); got != "one" || err != nil {
		t.Errorf("after a write that failed: %q, %v", got, err)
	}
	raw, err := os.ReadFile(f.Path("acme"))
	must(t, err)
	for i := range raw {
		damaged := bytes.Clone(raw)
		damaged[i] ^= 1
		must(t, os.WriteFile(f.Path("acme"), damaged, 0o600))
		if _, _, err := readFolder(t, f, "acme"); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		peek("test 1", "acme", 7, i >= 12)
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
