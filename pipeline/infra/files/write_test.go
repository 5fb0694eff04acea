package files_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"satchel/pipeline/infra/files"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.txt")
	write := func(text string, fail error) error {
		return files.Write(path, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return errors.Join(err, fail)
		})
	}
	failed := errors.New("no more")
	for _, step := range []struct {
		text string
		fail error
		want string
	}{{"one", nil, "one"}, {"half", failed, "one"}, {"two", nil, "two"}} {
		if err := write(step.text, step.fail); !errors.Is(err, step.fail) {
			t.Errorf("write %q: %v", step.text, err)
		}
		if got, err := os.ReadFile(path); string(got) != step.want || err != nil {
			t.Errorf("after %q the file holds %q, %v", step.text, got, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, err := filepath.Glob(files.Leftovers(path)); len(left) != 0 || err != nil {
		t.Errorf("left %q, %v", left, err)
	}
	if err := files.Write(filepath.Join(path, "none", "a"), func(io.Writer) error { return nil }); err == nil {
		t.Error("there is no such folder")
	}
}
