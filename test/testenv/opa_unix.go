//go:build unix

package testenv

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"satchel/test/parts"
)

const (
	// opaPart is what SATCHEL_TEST_REQUIRE calls OPA.
	opaPart   = "opa"
	opaModule = "github.com/open-policy-agent/opa"
)

// OPAServer is an OPA server in a process of its own, over one test's bundle.
type OPAServer struct {
	URL string

	t   testing.TB
	cmd *exec.Cmd // nil once it was killed
}

// StartOPA starts an OPA server over a bundle, under the revision, with env besides in its
// environment, and ends it with the test. The binary is built from the module that go.mod
// names, once, and kept in the user's cache; a test that does not require it uses it only
// from there.
func StartOPA(t testing.TB, bundle fs.FS, revision string, env ...string) *OPAServer {
	t.Helper()
	binary := findOPA(t)
	dir := t.TempDir()
	if err := errors.Join(os.CopyFS(dir, bundle),
		os.WriteFile(filepath.Join(dir, ".manifest"), fmt.Appendf(nil, `{"revision": %q}`, revision), 0o600)); err != nil {
		t.Fatal(err)
	}
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	o := &OPAServer{URL: "http://" + addr, t: t}
	o.cmd = account{uid: os.Geteuid(), gid: os.Getegid()}.command(binary, "run", "--server", "--disable-telemetry", "--log-level", "error", "--addr", addr, "--bundle", dir)
	o.cmd.Env = append(o.cmd.Env, env...)
	if err := o.cmd.Start(); err != nil {
		t.Fatalf("start OPA: %v", err)
	}
	t.Cleanup(o.Kill)
	err = await(func() error {
		res, err := http.Get(o.URL + "/health?bundles")
		if err != nil {
			return err
		}
		if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("it answers %s, %w", res.Status, err)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("start OPA: %v", err)
	}
	return o
}

// Kill kills the server, as a crash would.
func (o *OPAServer) Kill() {
	if o.cmd == nil {
		return
	}
	var exit *exec.ExitError
	if err := o.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		o.t.Errorf("kill OPA: %v", err)
	}
	if err := o.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		o.t.Errorf("kill OPA: %v", err)
	}
	o.cmd = nil
}

// findOPA returns the server's binary, which it builds when the server is required.
func findOPA(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", opaModule).Output()
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
	if !parts.Required(opaPart) {
		parts.Missing(t, opaPart, "it is not in "+cache+"; "+parts.RequireVar+"=opa builds it")
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	part, err := os.MkdirTemp(cache, "opa-")
	if err != nil {
		t.Fatal(err)
	}
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
	if err := os.Rename(filepath.Join(part, "opa"), binary); err != nil { // whole or not at all, whoever else builds it
		t.Fatal(err)
	}
	return binary
}
