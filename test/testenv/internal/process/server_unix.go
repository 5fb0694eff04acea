//go:build unix

package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"satchel/test/must"
)

// Server is a server of one test's own, which it may stop and kill. Only one goroutine at a time
// may change its state. Command and Ping MUST be set before Start.
type Server struct {
	Name, Dir string // of the server, and of the folder with its data and its log
	Account   Account
	Command   func() *exec.Cmd
	Ping      func() error   // whether it answers
	Last      syscall.Signal // ends it with the test

	t   testing.TB
	cmd *exec.Cmd // nil while it is stopped
}

// NewServer makes a server that was not started yet, in a folder under dir, "" for that of
// temporary files. Both go with the test.
func NewServer(t testing.TB, name, under string, a Account) *Server {
	t.Helper()
	dir := must.Get(os.MkdirTemp(under, "satchel-"+name+"-"))(t)
	s := &Server{Name: name, Dir: dir, Account: a, Last: syscall.SIGKILL, t: t}
	t.Cleanup(func() {
		if s.Running() {
			s.end(s.Last)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	must.Do(t, errors.Join(os.Chmod(dir, 0o755), a.folder(dir)))
	return s
}

// Start starts the server again, on the same port, and waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	path := filepath.Join(s.Dir, "server.log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd = s.Command()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := errors.Join(s.cmd.Start(), log.Close()); err != nil {
		s.t.Fatalf("start %s: %v", s.Name, err)
	}
	if err := Await(s.Ping); err != nil {
		s.t.Fatalf("start %s: %v; %s", s.Name, err, LastLines(path))
	}
}

// Running reports whether it was started and not ended.
func (s *Server) Running() bool { return s.cmd != nil }

// PID is the number of the running process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Stop stops the server as an administrator would.
func (s *Server) Stop() {
	s.t.Helper()
	s.end(syscall.SIGTERM)
}

// Kill kills the server, as a crash would.
func (s *Server) Kill() {
	s.t.Helper()
	s.end(syscall.SIGKILL)
}

// Pause stops the process without closing a connection, until Resume: it is there and does not
// answer.
func (s *Server) Pause() {
	s.t.Helper()
	s.Signal(syscall.SIGSTOP)
}

// Resume is the end of Pause.
func (s *Server) Resume() {
	s.t.Helper()
	s.Signal(syscall.SIGCONT)
}

// Signal signals the process.
func (s *Server) Signal(n syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(n); err != nil {
		s.t.Errorf("signal %s: %v", s.Name, err)
	}
}

func (s *Server) end(n syscall.Signal) {
	s.t.Helper()
	s.Signal(n)
	s.Wait()
}

// Wait waits for the end of the process.
func (s *Server) Wait() {
	s.t.Helper()
	var exit *exec.ExitError
	if err := s.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		s.t.Errorf("stop %s: %v", s.Name, err)
	}
	s.cmd = nil
}

// Backup copies the folder data of the stopped server, with its owners and rights; restore puts it
// back.
func (s *Server) Backup() (restore func()) {
	s.t.Helper()
	copyTree := func(from, to string) {
		s.t.Helper()
		if s.Running() {
			s.t.Fatal("the data of a running server is copied")
		}
		if err := os.RemoveAll(to); err != nil {
			s.t.Fatalf("remove %s: %v", to, err)
		}
		if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
			s.t.Fatalf("copy %s: %v %s", from, err, out)
		}
	}
	data, kept := filepath.Join(s.Dir, "data"), filepath.Join(s.Dir, "backup")
	copyTree(data, kept)
	return func() { copyTree(kept, data) }
}
