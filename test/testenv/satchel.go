package testenv

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"satchel/test/must"
)

// Build builds programs of this module, such as "./cmd/satchel", into dir. root is the module's folder.
func Build(root, dir string, packages ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-o", dir + string(filepath.Separator)}, packages...)...)
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %v: %w\n%s", packages, err, said)
	}
	return nil
}

// Satchel is a running satchel up with servers of its own.
type Satchel struct {
	Binary, Dir string
	URL, HTTP   string // where NATS and the probes are
	Stderr      *bytes.Buffer
	Process     *exec.Cmd
}

var upLine = regexp.MustCompile(`NATS (nats://\S+), health http://(\S+)/readyz`)

// Up starts satchel up on the data folder and waits until it says that it is up. Its end is the test's. Unless args say otherwise
// it has no sentence encoder, which changes scores while it encodes.
func Up(t testing.TB, binary, dir string, args ...string) *Satchel {
	t.Helper()
	s := must.Get(Start(binary, dir, args...))(t)
	t.Cleanup(s.Stop)
	return s
}

// Start is Up for one who expects that the start fails.
func Start(binary, dir string, args ...string) (*Satchel, error) {
	s := &Satchel{Binary: binary, Dir: dir, Stderr: new(bytes.Buffer)}
	s.Process = exec.Command(binary, append([]string{"up", "--dir", dir, "--nats-port", "0", "--http-addr", "127.0.0.1:0", "--embeddings-model", "table"}, args...)...)
	stdout, err := s.Process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.Process.Stderr = s.Stderr
	if err := s.Process.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	found := upLine.FindStringSubmatch(line)
	if err != nil || found == nil {
		s.Kill()
		return nil, fmt.Errorf("satchel up said %q (%v)\n%s", line, err, s.Stderr.String())
	}
	s.URL, s.HTTP = found[1], found[2]
	return s, nil
}

// Stop lets the process drain.
func (s *Satchel) Stop() { s.end(os.Interrupt) }

// Kill ends the process with SIGKILL.
func (s *Satchel) Kill() { s.end(os.Kill) }

func (s *Satchel) end(sig os.Signal) {
	_ = s.Process.Process.Signal(sig) // it may have ended by itself
	_ = s.Process.Wait()
}

// Run runs a command of the binary beside the process and returns what it printed; its
// errors, too, when it failed.
func (s *Satchel) Run(t testing.TB, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Binary, args...)
	cmd.Env = append(os.Environ(), "NATS_PORT="+s.URL[strings.LastIndex(s.URL, ":")+1:], "SATCHEL_DIR="+s.Dir, "HTTP_ADDR="+s.HTTP)
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

// Must is Run for a command that has to end with 0.
func (s *Satchel) Must(t testing.TB, args ...string) string {
	t.Helper()
	out, code := s.Run(t, args...)
	if code != 0 {
		t.Fatalf("satchel %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// Gateway starts satchel gateway beside the process, until the test ends. It returns its address.
func (s *Satchel) Gateway(t testing.TB, args ...string) (string, *os.Process) {
	t.Helper()
	cmd := exec.Command(s.Binary, append([]string{"gateway", "--dir", s.Dir, "--addr", "127.0.0.1:0"}, args...)...)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended by itself
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	found := gatewayLine.FindStringSubmatch(line)
	if err != nil || found == nil {
		t.Fatalf("satchel gateway said %q (%v)", line, err)
	}
	return found[1], cmd.Process
}

var gatewayLine = regexp.MustCompile(`gateway (http://\S+)/openapi.json`)

// Token makes a token of the gateway.
func (s *Satchel) Token(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command(s.Binary, append([]string{"token", "add", "--dir", s.Dir}, args...)...).Output()
	if err != nil {
		t.Fatalf("token add: %v", err)
	}
	return strings.TrimSpace(string(out))
}
