package attack

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"satchel/test/parts"
	"satchel/test/testenv"
)

// Whatever is done to a file of the data folder, the next start heals it or names it: no
// item is missing, and none is there that was not written, without a word about it.
func TestDamageIsHealedOrNamed(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	whole := filepath.Join(t.TempDir(), "data")
	s, err := testenv.Start(binary, whole)
	must(t, err)
	for i := range 12 {
		s.Must(t, "emit", "--id", fmt.Sprint("item", i), "--text", fmt.Sprintf("The mill number %d grinds rye.", i))
	}
	s.Must(t, "forget", "item0", "--reason", "test")
	s.Must(t, "ask", "which mill grinds rye?")
	s.Stop()
	healed, named, n := 0, 0, 0
	for i, file := range filesOf(t, whole) {
		for j, kind := range []string{"half", "zeros", "flip", "gone"} {
			if n++; !share(i+5*j, 20) {
				continue
			}
			dir := filepath.Join(t.TempDir(), "data")
			must(t, os.CopyFS(dir, os.DirFS(whole)))
			must(t, os.Chmod(dir, 0o700))
			damage(t, filepath.Join(dir, file), kind)
			switch what := started(t, dir); what {
			case "":
				healed++
			case "silent":
				t.Errorf("%s of %s: an item is missing, and nothing says so", kind, file)
			default:
				named++
				if !strings.Contains(what, "rror") && !strings.Contains(what, "WARN") && !strings.Contains(what, ":") {
					t.Errorf("%s of %s ends with %q", kind, file, what)
				}
			}
		}
	}
	t.Logf("%d damages, %d tried: %d healed, %d named", n, healed+named, healed, named)
}

// filesOf lists the regular files of a folder, sorted.
func filesOf(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(dir, path)
			files = append(files, name)
		}
		return err
	}))
	slices.Sort(files)
	return files
}

func damage(t *testing.T, file, kind string) {
	t.Helper()
	if kind == "gone" {
		must(t, os.Remove(file))
		return
	}
	raw, err := os.ReadFile(file)
	must(t, err)
	switch kind {
	case "half":
		raw = raw[:len(raw)/2]
	case "zeros":
		clear(raw[len(raw)/2:])
	case "flip":
		for i := len(raw) / 3; i < len(raw); i += max(64, len(raw)/16) {
			raw[i] ^= 0x55
		}
	}
	must(t, os.WriteFile(file, raw, 0o600))
}

// started returns "" when all is there after a start, what names the damage, or "silent".
func started(t *testing.T, dir string) string {
	t.Helper()
	s, err := testenv.Start(binary, dir)
	if err != nil {
		return err.Error()
	}
	defer s.Stop()
	shown, code := s.Run(t, "ask", "which mill grinds rye?", "--budget", "4000")
	missing := code != 0 || strings.Contains(shown, "mill number 0")
	for i := 1; i < 12; i++ {
		missing = missing || !strings.Contains(shown, fmt.Sprintf("mill number %d grinds", i))
	}
	checked, code := s.Run(t, "verify")
	if code != 0 {
		return checked
	}
	if !missing {
		return ""
	}
	if out, code := s.Run(t, "doctor"); code != 0 {
		return out
	}
	if said := s.Stderr.String(); strings.Contains(said, "level=WARN") || strings.Contains(said, "level=ERROR") {
		return said
	}
	return "silent"
}
