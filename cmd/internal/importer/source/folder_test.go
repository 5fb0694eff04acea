package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestReadKeepsToRegularFilesOfTheFolder(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "in")
	for _, d := range []string{dir, filepath.Join(dir, "sub"), filepath.Join(top, "out")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"in/whole": "12345", "in/sub/whole": "abc", "in/long": "123456", "out/secret": "s"} {
		if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"out": "../out", "secret": "../out/secret", "near": "whole", "absolute": filepath.Join(top, "out", "secret"), "zero": os.DevNull} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			if runtime.GOOS == "windows" {
				t.Skip(err)
			}
			t.Fatal(err)
		}
	}
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, want := range map[string]string{"whole": "12345", "sub/whole": "abc"} {
		text, info, err := f.Read(name, 5)
		if err != nil || string(text) != want || info.Size() != int64(len(want)) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for name, want := range map[string]error{"long": TooLarge, "sub": Special, "secret": Link, "near": Link, "absolute": Link, "zero": Link, "none": fs.ErrNotExist} {
		if text, _, err := f.Read(name, 5); !errors.Is(err, want) || text != nil {
			t.Errorf("%s: %q, %v, want %v", name, text, err, want)
		}
	}
	for _, name := range []string{"out/secret", "../out/secret", "sub/../../out/secret", filepath.Join(top, "out", "secret")} {
		if text, _, err := f.Read(name, 5); err == nil || text != nil {
			t.Errorf("%s was read out of the folder: %q", name, text)
		}
	}
}
