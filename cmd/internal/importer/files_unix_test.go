//go:build unix

package importer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/schemas"
)

// TestImportReadsNothingButFilesOfTheFolder: links, pipes and what is too large are left
// out and named, what was held of them stays, and a link that the user names is read.
func TestImportReadsNothingButFilesOfTheFolder(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"in/a.md": "# Kiln\nhot\n", "in/was.md": "# Was\nheld\n", "outside.md": "# Secret\nout of the folder\n"})
	in := filepath.Join(dir, "in")
	c := Files{Paths: []string{in}, Kind: "memory", Flags: Flags{Label: []string{"level:internal"}}}
	var said strings.Builder
	a := &app.App{Settings: &config.Settings{Tenant: "main"}, Err: &said}
	first, _, err := c.read(t.Context(), a)
	if err != nil || len(first.items) != 2 {
		t.Fatalf("%+v, %v", first, err)
	}
	before := first.items

	if err := os.Truncate(filepath.Join(in, "was.md"), mostDocument+1); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link.md": "../outside.md", "z.md": "/dev/zero", "self.md": "a.md"} {
		if err := os.Symlink(to, filepath.Join(in, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(in, "f.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	did, md, err := c.read(t.Context(), a)
	if err != nil || len(did.items) != 1 || did.items[0].ID != before[0].ID {
		t.Fatalf("%+v, %v", did, err)
	}
	if did.LeftOut["link"] != 3 || did.LeftOut["not a regular file"] != 1 || did.LeftOut["too large"] != 1 || len(did.LeftOut) != 3 {
		t.Errorf("left out %v", did.LeftOut)
	}
	contains(t, "stderr", said.String(), "link.md: left out: is a link", "f.md: left out: is not a regular file", "was.md: left out: is too large")
	if slices.ContainsFunc(before, func(item schemas.MemoryItem) bool { return md.had(&item) && item.ID != before[0].ID }) {
		t.Error("what is held of a file that was left out would end")
	}

	c.Paths = []string{filepath.Join(in, "link.md")}
	if did, _, err := c.read(t.Context(), a); err != nil || len(did.items) != 1 || !strings.Contains(did.items[0].Content.Text(), "out of the folder") {
		t.Errorf("a link that is named: %+v, %v", did, err)
	}
	c.Paths = []string{filepath.Join(in, "f.md")}
	if _, _, err := c.read(t.Context(), a); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("a pipe that is named: %v", err)
	}
}
