// Package e2e runs the real binary as a user does and talks to it from outside.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// binDir holds the programs, which TestMain builds once.
var binDir string

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "satchel-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binDir = dir
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./cmd/satchel", "./test/e2e/client")
	build.Dir = "../.."
	if msg, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, msg)
		return 1
	}
	return m.Run()
}

// binary returns the path of a program.
func binary(name string) string { return filepath.Join(binDir, name) }

// instance is a running satchel up.
type instance struct {
	bin, data, url, http string
	cmd                  *exec.Cmd
}

var upLine = regexp.MustCompile(`NATS (nats://\S+), health http://(\S+)/readyz`)

// up starts satchel up on data and waits until it says that it is up.
func up(t *testing.T, bin, data string) *instance {
	t.Helper()
	cmd := exec.Command(bin, "up", "--dir", data, "--nats-port", "0", "--http-addr", "127.0.0.1:0")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	found := upLine.FindStringSubmatch(line)
	if err != nil || found == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("satchel up said %q (%v)\n%s", line, err, stderr.String())
	}
	i := &instance{bin: bin, data: data, url: found[1], http: found[2], cmd: cmd}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	return i
}

// run runs a command of the binary against the instance and returns what it printed;
// its errors, too, when it failed.
func (i *instance) run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, i.bin, args...)
	cmd.Env = append(os.Environ(), "NATS_PORT="+i.url[strings.LastIndex(i.url, ":")+1:], "SATCHEL_DIR="+i.data, "HTTP_ADDR="+i.http)
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		if cmd.ProcessState == nil {
			t.Fatalf("satchel %s: %v", strings.Join(args, " "), err)
		}
		out.WriteString(errOut.String())
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func (i *instance) must(t *testing.T, args ...string) string {
	t.Helper()
	out, code := i.run(t, args...)
	if code != 0 {
		t.Fatalf("satchel %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

func TestIndependentClient(t *testing.T) {
	t.Parallel()
	i := up(t, binary("satchel"), t.TempDir())
	client := binary("client")
	out, err := exec.Command(client, i.url).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "proved: position 1 of") {
		t.Fatalf("client: %v\n%s", err, out)
	}
}

func TestWriteAskForgetVerifyRebuild(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	i := up(t, binary("satchel"), data)
	const canary = "xylophone-canary-4711"
	i.must(t, "emit", "--id", "n1", "--text", "the password of the lake house is "+canary)
	i.must(t, "emit", "--id", "n2", "--text", "the lake house has a red door", "--speaker", "Ann")
	if out := i.must(t, "ask", "what is the password of the lake house?"); !strings.Contains(out, canary) {
		t.Fatalf("the pack does not show what was remembered:\n%s", out)
	}
	if out, code := i.run(t, "ask", "--as", "guest", "--level", "public", "what is the password of the lake house?"); code != 0 || strings.Contains(out, canary) {
		t.Fatalf("exit code %d; a public principal is shown an internal item:\n%s", code, out)
	}
	out := i.must(t, "forget", "n1", "--reason", "test")
	if !strings.Contains(out, "erased n1: ") || strings.Contains(out, "NOT CONFIRMED") {
		t.Fatalf("forget printed:\n%s", out)
	}
	if out := i.must(t, "ask", "what is the password of the lake house?"); strings.Contains(out, canary) {
		t.Fatalf("an erased item is still shown:\n%s", out)
	}
	if where := findBytes(t, data, canary); len(where) > 0 {
		t.Errorf("erased content is still in %s", strings.Join(where, ", "))
	}
	i.must(t, "verify")
	var first, second struct{ Digest string }
	for _, into := range []any{&first, &second} {
		if err := json.Unmarshal([]byte(i.must(t, "rebuild", "--json")), into); err != nil {
			t.Fatal(err)
		}
	}
	if first.Digest == "" || first != second {
		t.Errorf("two rebuilds have digests %q and %q", first.Digest, second.Digest)
	}
	i.must(t, "ledger", "--verify")
	i.must(t, "doctor")
}

func TestCtrlCDrainsAndTheDataStays(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	i := up(t, binary("satchel"), data)
	i.must(t, "emit", "--id", "n1", "--text", "the lake house has a red door")
	before := i.must(t, "verify")
	if err := i.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := i.cmd.Wait(); err != nil {
		t.Fatalf("after Ctrl-C: %v", err)
	}
	if c, err := net.Dial("tcp", strings.TrimPrefix(i.url, "nats://")); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
	again := up(t, binary("satchel"), data)
	if out := again.must(t, "verify"); out != before {
		t.Errorf("after the restart verify says\n%s, before\n%s", out, before)
	}
	if out := again.must(t, "ask", "what colour is the door of the lake house?"); !strings.Contains(out, "red door") {
		t.Errorf("after the restart:\n%s", out)
	}
}

func TestKilledAndStartedAgain(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	i := up(t, binary("satchel"), data)
	i.must(t, "emit", "--id", "n1", "--text", "the lake house has a red door", "--wait", "accepted")
	if err := i.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := i.cmd.Wait(); err == nil {
		t.Fatal("a killed process exits with 0")
	}
	again := up(t, binary("satchel"), data)
	again.must(t, "emit", "--id", "n2", "--text", "the boat is blue")
	if out := again.must(t, "ask", "what colour is the door of the lake house?"); !strings.Contains(out, "red door") {
		t.Errorf("what was accepted is lost:\n%s", out)
	}
	again.must(t, "verify")
}

func TestSecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	i := up(t, binary("satchel"), data)
	out, err := exec.Command(i.bin, "up", "--dir", data, "--nats-port", "0", "--http-addr", "").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "process") {
		t.Fatalf("a second process on the folder: %v\n%s", err, out)
	}
}

func TestDemoIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	bin := binary("satchel")
	var outs [2][]byte
	for n := range outs {
		out, err := exec.Command(bin, "demo").CombinedOutput()
		if err != nil {
			t.Fatalf("demo: %v\n%s", err, out)
		}
		outs[n] = out
	}
	if !bytes.Equal(outs[0], outs[1]) {
		t.Errorf("two runs differ:\n%s\n----\n%s", outs[0], outs[1])
	}
	if !bytes.Contains(outs[0], []byte("VERIFY")) {
		t.Errorf("demo printed:\n%s", outs[0])
	}
}

// findBytes lists the files below dir that hold text.
func findBytes(t *testing.T, dir, text string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if bytes.Contains(raw, []byte(text)) {
			found = append(found, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
