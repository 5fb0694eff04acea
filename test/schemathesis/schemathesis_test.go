// Package schemathesis holds satchel gateway to its OpenAPI document. Schemathesis makes requests from the
// document, valid ones and others, and judges the replies of the binary. schemathesis.toml has the
// exceptions, each with its reason.
package schemathesis

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"satchel/test/parts"
	"satchel/test/testenv"
)

// toolVar names the program, which make schemathesis installs.
const toolVar = "SATCHEL_TEST_SCHEMATHESIS"

func TestRepliesFitTheDocument(t *testing.T) {
	tool := os.Getenv(toolVar)
	if tool == "" {
		parts.Missing(t, "schemathesis", toolVar+" is not set; make schemathesis installs it")
	}
	bin := t.TempDir()
	if err := testenv.Build("../..", bin, "./cmd/satchel"); err != nil {
		t.Fatal(err)
	}
	s := testenv.Up(t, filepath.Join(bin, "satchel"), t.TempDir())
	for _, text := range []string{"The build turned green.", "Jonas renewed the certificate.", "The kiln is hot."} {
		s.Must(t, "emit", "--text", text)
	}
	token := s.Token(t, "tester", "--scope", "memory.read,memory.write,memory.erase,memory.audit")
	address, _ := s.Gateway(t)
	cmd := exec.CommandContext(t.Context(), tool, "--config-file", "schemathesis.toml", "run", address+"/openapi.json",
		"--header", "Authorization: Bearer "+token, "--seed", cmp.Or(os.Getenv("SEED"), "1"), "--no-color",
		"--max-examples", "60", "--request-timeout", "30", "--report-dir", t.TempDir(), "--generation-database", "none")
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("schemathesis: %v", err)
	}
	if !regexp.MustCompile(`[0-9]{4,} generated`).Match(said) {
		t.Error("schemathesis made fewer than 1,000 requests")
	}
	t.Logf("%s", said)
}
