//go:build unix

package source

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestReadWaitsForNoPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, _, err := f.Read("pipe", 5); err != Special {
		t.Errorf("a pipe: %v", err)
	}
}

// TestReadOfAFileThatIsSwapped has a file, a link out of the folder, a link within it and
// a pipe take turns at one name: only the file's own text is ever returned.
func TestReadOfAFileThatIsSwapped(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "in")
	other := filepath.Join(top, "secret")
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	must(os.Mkdir(dir, 0o755))
	must(os.WriteFile(other, []byte("secret"), 0o644))
	must(os.WriteFile(filepath.Join(dir, "name"), []byte("own"), 0o644)) // it is there before it is swapped
	must(os.WriteFile(filepath.Join(dir, "other"), []byte("other"), 0o644))
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		next, name := filepath.Join(dir, "next"), filepath.Join(dir, "name")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			switch i % 4 {
			case 0:
				must(os.WriteFile(next, []byte("own"), 0o644))
			case 1:
				must(os.Symlink("../secret", next))
			case 2:
				must(os.Symlink("other", next))
			case 3:
				must(syscall.Mkfifo(next, 0o600))
			}
			must(os.Rename(next, name))
		}
	}()
	read := 0
	for i := 0; i < 20000; i++ {
		if text, _, err := f.Read("name", 100); err == nil && string(text) != "own" {
			t.Errorf("read %q", text)
			break
		} else if err == nil {
			read++
		}
	}
	close(stop)
	<-done
	if read == 0 {
		t.Error("the file was never read")
	}
}
