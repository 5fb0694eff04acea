// Package e2e runs the real binary as a user does and talks to it from outside.
package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"satchel/test/testenv"
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
	if err := testenv.Build("../..", dir, "./cmd/satchel", "./cmd/satchel-hook", "./test/e2e/client"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// binary returns the path of a program.
func binary(name string) string { return filepath.Join(binDir, name) }

func TestIndependentClient(t *testing.T) {
	t.Parallel()
	i := testenv.Up(t, binary("satchel"), t.TempDir())
	client := binary("client")
	out, err := exec.Command(client, i.URL).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "proved: position 1 of") {
		t.Fatalf("client: %v\n%s", err, out)
	}
}

func TestWriteAskForgetVerifyRebuild(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	i := testenv.Up(t, binary("satchel"), data)
	const canary = "xylophone-canary-4711"
	i.Must(t, "emit", "--id", "n1", "--text", "the boat of the lake house is called "+canary)
	i.Must(t, "emit", "--id", "n2", "--text", "the lake house has a red door", "--speaker", "Ann")
	if out := i.Must(t, "ask", "what is the boat of the lake house called?"); !strings.Contains(out, canary) {
		t.Fatalf("the pack does not show what was remembered:\n%s", out)
	}
	if out, code := i.Run(t, "ask", "--as", "guest", "--level", "public", "what is the boat of the lake house called?"); code != 0 || strings.Contains(out, canary) {
		t.Fatalf("exit code %d; a public principal is shown an internal item:\n%s", code, out)
	}
	out := i.Must(t, "forget", "n1", "--reason", "test")
	if !strings.Contains(out, "erased n1: ") || strings.Contains(out, "NOT CONFIRMED") {
		t.Fatalf("forget printed:\n%s", out)
	}
	if out := i.Must(t, "ask", "what is the boat of the lake house called?"); strings.Contains(out, canary) {
		t.Fatalf("an erased item is still shown:\n%s", out)
	}
	if where := testenv.Holding(t, data, canary); len(where) > 0 {
		t.Errorf("erased content is still in %s", strings.Join(where, ", "))
	}
	i.Must(t, "verify")
	var first, second struct{ Digest string }
	for _, into := range []any{&first, &second} {
		if err := json.Unmarshal([]byte(i.Must(t, "rebuild", "--json")), into); err != nil {
			t.Fatal(err)
		}
	}
	if first.Digest == "" || first != second {
		t.Errorf("two rebuilds have digests %q and %q", first.Digest, second.Digest)
	}
	i.Must(t, "ledger", "--verify")
	i.Must(t, "doctor")
}

func TestCtrlCDrainsAndTheDataStays(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	i := testenv.Up(t, binary("satchel"), data)
	i.Must(t, "emit", "--id", "n1", "--text", "the lake house has a red door")
	before := i.Must(t, "verify")
	if err := i.Process.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := i.Process.Wait(); err != nil {
		t.Fatalf("after Ctrl-C: %v", err)
	}
	if c, err := net.Dial("tcp", strings.TrimPrefix(i.URL, "nats://")); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
	again := testenv.Up(t, binary("satchel"), data)
	if out := again.Must(t, "verify"); out != before {
		t.Errorf("after the restart verify says\n%s, before\n%s", out, before)
	}
	if out := again.Must(t, "ask", "what colour is the door of the lake house?"); !strings.Contains(out, "red door") {
		t.Errorf("after the restart:\n%s", out)
	}
}

func TestKilledAndStartedAgain(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	i := testenv.Up(t, binary("satchel"), data)
	i.Must(t, "emit", "--id", "n1", "--text", "the lake house has a red door", "--wait", "accepted")
	if err := i.Process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := i.Process.Wait(); err == nil {
		t.Fatal("a killed process exits with 0")
	}
	again := testenv.Up(t, binary("satchel"), data)
	again.Must(t, "emit", "--id", "n2", "--text", "the boat is blue")
	if out := again.Must(t, "ask", "what colour is the door of the lake house?"); !strings.Contains(out, "red door") {
		t.Errorf("what was accepted is lost:\n%s", out)
	}
	again.Must(t, "verify")
}

// A command that names a data folder does not write into another's.
func TestAFolderWithoutAServerIsNamed(t *testing.T) {
	t.Parallel()
	testenv.Up(t, binary("satchel"), t.TempDir())
	for _, args := range [][]string{{"emit", "--text", "x"}, {"ask", "x"}, {"forget", "x"}} {
		cmd := exec.Command(binary("satchel"), append(args, "--dir", t.TempDir())...)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "no process serves the data folder") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	i := testenv.Up(t, binary("satchel"), data)
	out, err := exec.Command(i.Binary, "up", "--dir", data, "--nats-port", "0", "--http-addr", "").CombinedOutput()
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
