//go:build unix

package opatest

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"satchel/test/must"
	"satchel/test/parts"
	"satchel/test/testenv"
	"satchel/test/testenv/internal/process"
)

const (
	// part is what SATCHEL_TEST_REQUIRE calls OPA.
	part   = "opa"
	module = "github.com/open-policy-agent/opa"
)

// Server is an OPA server in a process of its own, over one test's bundle.
type Server struct {
	*process.Server
	URL string
}

// Start starts an OPA server over a bundle, under the revision, with env besides in its
// environment, and ends it with the test. The binary is built from the module that go.mod
// names, once, and kept in the user's cache; a test that does not require it uses it only
// from there.
func Start(t testing.TB, bundle fs.FS, revision string, env ...string) *Server {
	t.Helper()
	binary := findBinary(t)
	dir := t.TempDir()
	if err := errors.Join(os.CopyFS(dir, bundle),
		os.WriteFile(filepath.Join(dir, ".manifest"), fmt.Appendf(nil, `{"revision": %q}`, revision), 0o600)); err != nil {
		t.Fatal(err)
	}
	port := must.Get(testenv.FreePort())(t)
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	o := &Server{URL: "http://" + addr, Server: process.NewServer(t, "opa", "", process.Own())}
	o.Command = func() *exec.Cmd {
		cmd := o.Account.Command(binary, "run", "--server", "--disable-telemetry", "--log-level", "error", "--addr", addr, "--bundle", dir)
		cmd.Env = append(cmd.Env, env...)
		return cmd
	}
	o.Ping = func() error {
		res, err := http.Get(o.URL + "/health?bundles")
		if err != nil {
			return err
		}
		if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("it answers %s, %w", res.Status, err)
		}
		return nil
	}
	o.Start()
	return o
}

// findBinary returns the server's binary, which it builds when the server is required.
func findBinary(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", module).Output()
	if err != nil {
		t.Fatalf("find the module of OPA: %v", err)
	}
	dir, version, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "satchel-testenv")
	binary := filepath.Join(cache, "opa-"+version)
	if _, err := os.Stat(binary); err == nil {
		return binary
	}
	if !parts.Required(part) {
		parts.Missing(t, part, "it is not in "+cache+"; "+parts.RequireVar+"=opa builds it")
	}
	must.Do(t, os.MkdirAll(cache, 0o755))
	part := must.Get(os.MkdirTemp(cache, "opa-"))(t)
	defer func() {
		if err := os.RemoveAll(part); err != nil {
			t.Error(err)
		}
	}()
	build := exec.Command("go", "build", "-C", dir, "-o", filepath.Join(part, "opa"), ".")
	build.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build OPA: %v: %s", err, out[:min(len(out), 600)])
	}
	if err := os.Rename(filepath.Join(part, "opa"), binary); err != nil { // whole or not at all, where others build it too
		t.Fatal(err)
	}
	return binary
}
