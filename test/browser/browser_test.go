// Package browser opens the console of the binary in Chromium. pages.mjs, which Node runs, says what it
// looks for; it stores hostile content first.
package browser

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"satchel/test/parts"
	"satchel/test/testenv"
)

// toolsVar names the folder with pages.mjs and its packages, which make browser fills. OUT is where the pictures
// go, CHROMIUM the browser.
const toolsVar = "SATCHEL_TEST_BROWSER"

func TestPages(t *testing.T) {
	tools := os.Getenv(toolsVar)
	if tools == "" {
		parts.Missing(t, "browser", toolsVar+" is not set; make browser installs the tools")
	}
	chromium, err := exec.LookPath(cmp.Or(os.Getenv("CHROMIUM"), "chromium"))
	if err != nil {
		parts.Missing(t, "browser", "there is no Chromium: install it, or name it with CHROMIUM")
	}
	bin, out := t.TempDir(), cmp.Or(os.Getenv("OUT"), t.TempDir())
	if err := os.MkdirAll(out, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := testenv.Build("../..", bin, "./cmd/satchel"); err != nil {
		t.Fatal(err)
	}
	s := testenv.Up(t, filepath.Join(bin, "satchel"), t.TempDir())
	for _, text := range []string{"The kiln is fired by Mara.", "A firing costs 40 euros.", "Jonas renewed the certificate."} {
		s.Must(t, "emit", "--text", text)
	}
	token := s.Token(t, "auditor", "--scope", "memory.read,memory.write,memory.erase,memory.audit")
	address, _ := s.Gateway(t)
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(tools, "pages.mjs"), address, out, chromium)
	cmd.Env = append(os.Environ(), "SATCHEL_TOKEN="+token)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("pages.mjs: %v", err)
	}
	t.Logf("%s", said)
}
