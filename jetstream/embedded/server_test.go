package embedded_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/jetstream/embedded"
	"satchel/pipeline/infra/files"
)

// childDir makes the test binary hold the lock of a folder until its input closes.
const childDir = "SATCHEL_TEST_EMBEDDED_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		s, err := embedded.Start(embedded.Config{Dir: dir, NoListen: true})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("ready")
		bufio.NewScanner(os.Stdin).Scan()
		if err := s.Stop(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func start(t *testing.T, cfg embedded.Config) *embedded.Server {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	s, err := embedded.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStartAndConnect(t *testing.T) {
	t.Parallel()
	began := time.Now()
	s := start(t, embedded.Config{Port: embedded.RandomPort})
	t.Logf("started in %s", time.Since(began))
	if !s.SyncAlways() {
		t.Error("the server does not sync before it acknowledges")
	}
	for name, connect := range map[string]func() (*nats.Conn, error){
		"tcp":        func() (*nats.Conn, error) { return nats.Connect(s.ClientURL()) },
		"in process": func() (*nats.Conn, error) { return nats.Connect("", s.InProcess()) },
	} {
		nc, err := connect()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := nc.Flush(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		nc.Close()
	}
	if quiet := start(t, embedded.Config{NoListen: true}); quiet.ClientURL() != "" {
		t.Errorf("ClientURL = %q for a server that does not listen", quiet.ClientURL())
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	_, err = embedded.Start(embedded.Config{Dir: dir, Port: taken.Addr().(*net.TCPAddr).Port})
	if !errors.Is(err, embedded.ErrStart) {
		t.Fatalf("error = %v, want ErrStart", err)
	}
	start(t, embedded.Config{Dir: dir, NoListen: true}) // the lock was given back
}

func TestSecondHolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line := bufio.NewScanner(stdout)
	if !line.Scan() || line.Text() != "ready" {
		t.Fatalf("child said %q", line.Text())
	}
	_, err = embedded.Start(embedded.Config{Dir: dir, NoListen: true})
	var locked *files.HeldError
	if !errors.Is(err, files.ErrHeld) || !errors.As(err, &locked) {
		t.Fatalf("error = %v, want ErrHeld", err)
	}
	if locked.PID != child.Process.Pid || locked.Since.IsZero() {
		t.Errorf("holder = %d since %s, want %d", locked.PID, locked.Since, child.Process.Pid)
	}
	if err := child.Process.Kill(); err != nil { // a killed holder leaves no lock behind
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		t.Error("the child was not killed")
	}
	if err := stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	s := start(t, embedded.Config{Dir: dir, NoListen: true})
	if _, err := embedded.Start(embedded.Config{Dir: dir, NoListen: true}); !errors.Is(err, files.ErrHeld) {
		t.Errorf("error = %v, want ErrHeld within one process too", err)
	}
	for range 2 {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]embedded.Config{
		"no dir": {}, "port": {Dir: "x", Port: 70000}, "store": {Dir: "x", MaxStore: -1},
	} {
		if _, err := embedded.Start(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := embedded.Start(embedded.Config{Dir: b.TempDir(), NoListen: true})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Stop(); err != nil {
			b.Fatal(err)
		}
	}
}
