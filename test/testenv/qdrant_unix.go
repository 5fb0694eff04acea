//go:build unix

package testenv

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/qdrant/go-client/qdrant"

	"satchel/test/parts"
)

// QdrantBinaryVar names the variable with the path of a Qdrant binary to run, for tests
// that stop and kill the server.
const QdrantBinaryVar = "SATCHEL_TEST_QDRANT"

// QdrantServer is a server for vectors of the test's own, which it may stop and kill: a
// Qdrant process, or the stand-in.
type QdrantServer struct {
	URL, APIKey string
	CAFile      string         // with TLS: who signed its certificate
	StandIn     *QdrantStandIn // nil when it is Qdrant

	t          testing.TB
	dir        string
	http, grpc int
	more       []string  // settings, NAME=value
	cmd        *exec.Cmd // nil while it is stopped
	block      chan struct{}
}

// StartQdrant starts the Qdrant that SATCHEL_TEST_QDRANT names, or the stand-in, and says
// so. It ends with the test.
func StartQdrant(t testing.TB) *QdrantServer {
	t.Helper()
	if os.Getenv(QdrantBinaryVar) != "" {
		return StartQdrantIn(t, "")
	}
	if parts.Required("qdrant") {
		parts.Missing(t, "qdrant", QdrantBinaryVar+" names no binary; none comes from a package registry")
	}
	t.Log("Qdrant itself was NOT run: this is the stand-in for the methods the driver calls; " + QdrantBinaryVar + " names the binary of the real one")
	s := &QdrantServer{t: t, StandIn: StartQdrantStandIn(t)}
	s.URL = s.StandIn.URL
	return s
}

// StartQdrantIn starts a Qdrant process with its data in a folder under dir, "" for that of
// temporary files, or skips the test.
func StartQdrantIn(t testing.TB, dir string) *QdrantServer {
	t.Helper()
	s := newQdrant(t, dir)
	s.Start()
	return s
}

// StartQdrantSecure starts a Qdrant process that wants TLS and an API key, or skips the
// test: the stand-in knows no TLS. The second key may only read.
func StartQdrantSecure(t testing.TB) (s *QdrantServer, readOnly string) {
	t.Helper()
	s = newQdrant(t, "")
	ca := NewAuthority(t)
	cert, key := ca.Issue(t, "qdrant")
	s.CAFile, s.APIKey, readOnly = ca.File, "the-key-that-may-write", "the-key-that-may-read"
	s.more = []string{"QDRANT__SERVICE__ENABLE_TLS=true", "QDRANT__TLS__CERT=" + cert, "QDRANT__TLS__KEY=" + key, "QDRANT__TLS__CA_CERT=" + ca.File,
		"QDRANT__SERVICE__API_KEY=" + s.APIKey, "QDRANT__SERVICE__READ_ONLY_API_KEY=" + readOnly}
	s.URL = strings.Replace(s.URL, "http:", "https:", 1)
	s.Start()
	return s, readOnly
}

// newQdrant is a server that was not started yet.
func newQdrant(t testing.TB, under string) *QdrantServer {
	t.Helper()
	if os.Getenv(QdrantBinaryVar) == "" {
		parts.Missing(t, "qdrant", QdrantBinaryVar+" names no binary; none comes from a package registry")
	}
	dir, err := os.MkdirTemp(under, "satchel-qdrant-")
	if err != nil {
		t.Fatal(err)
	}
	s := &QdrantServer{t: t, dir: dir}
	t.Cleanup(func() {
		if s.cmd != nil {
			s.Kill()
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	var err2 error
	s.http, err = FreePort()
	s.grpc, err2 = FreePort()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	s.URL = fmt.Sprintf("http://127.0.0.1:%d", s.grpc)
	return s
}

// Start starts the server again, on the same port, and waits until it answers.
func (s *QdrantServer) Start() {
	s.t.Helper()
	if s.StandIn != nil {
		s.StandIn.Start(s.t)
		return
	}
	s.cmd = account{uid: os.Geteuid(), gid: os.Getegid()}.command(os.Getenv(QdrantBinaryVar), "--disable-telemetry")
	s.cmd.Dir = s.dir
	s.cmd.Env = append(append(s.cmd.Env, "QDRANT__SERVICE__HOST=127.0.0.1", fmt.Sprint("QDRANT__SERVICE__HTTP_PORT=", s.http), fmt.Sprint("QDRANT__SERVICE__GRPC_PORT=", s.grpc),
		"QDRANT__STORAGE__STORAGE_PATH="+filepath.Join(s.dir, "data"), "QDRANT__STORAGE__SNAPSHOTS_PATH="+filepath.Join(s.dir, "snapshots"), "QDRANT__TELEMETRY_DISABLED=true"), s.more...)
	log, err := os.OpenFile(filepath.Join(s.dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := errors.Join(s.cmd.Start(), log.Close()); err != nil {
		s.t.Fatalf("start Qdrant: %v", err)
	}
	if err := await(s.ping); err != nil {
		s.t.Fatalf("start Qdrant: %v; %s", err, lastLines(filepath.Join(s.dir, "server.log")))
	}
}

func (s *QdrantServer) ping() error {
	cfg := &qdrant.Config{Host: "127.0.0.1", Port: s.grpc, APIKey: s.APIKey, SkipCompatibilityCheck: true, PoolSize: 1}
	if s.CAFile != "" {
		raw, err := os.ReadFile(s.CAFile)
		if err != nil {
			return err
		}
		cfg.UseTLS, cfg.TLSConfig = true, &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		cfg.TLSConfig.RootCAs.AppendCertsFromPEM(raw)
	}
	c, err := qdrant.NewClient(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, err = c.HealthCheck(ctx)
	return errors.Join(err, c.Close())
}

// Stop stops the server as an administrator would.
func (s *QdrantServer) Stop() { s.t.Helper(); s.end(syscall.SIGTERM) }

// Kill kills the server, as a crash would.
func (s *QdrantServer) Kill() { s.t.Helper(); s.end(syscall.SIGKILL) }

// Pause stops the server without closing a connection, until Resume: it is there and does
// not answer.
func (s *QdrantServer) Pause() {
	s.t.Helper()
	if s.StandIn == nil {
		s.signal(syscall.SIGSTOP)
		return
	}
	block := make(chan struct{})
	s.block = block
	s.StandIn.Set(StandInFaults{Before: func(string, string) error { <-block; return nil }})
}

// Resume is the end of Pause.
func (s *QdrantServer) Resume() {
	s.t.Helper()
	if s.StandIn == nil {
		s.signal(syscall.SIGCONT)
		return
	}
	s.StandIn.Set(StandInFaults{})
	close(s.block)
}

// Backup copies the stopped server's data; restore puts it back.
func (s *QdrantServer) Backup() (restore func()) {
	s.t.Helper()
	if s.StandIn != nil {
		return s.StandIn.Backup()
	}
	return backup(s.t, s.dir, func() bool { return s.cmd != nil })
}

func (s *QdrantServer) signal(n syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(n); err != nil {
		s.t.Errorf("signal Qdrant: %v", err)
	}
}

func (s *QdrantServer) end(n syscall.Signal) {
	s.t.Helper()
	if s.StandIn != nil {
		s.StandIn.Stop()
		return
	}
	s.signal(n)
	var exit *exec.ExitError
	if err := s.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		s.t.Errorf("stop Qdrant: %v", err)
	}
	s.cmd = nil
}
