//go:build unix

package qdranttest

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
	"testing"
	"time"

	"github.com/qdrant/go-client/qdrant"

	"satchel/test/parts"
	"satchel/test/testenv"
	"satchel/test/testenv/internal/process"
)

// BinaryVar names the variable with the path of a Qdrant binary to run, for tests
// that stop and kill the server.
const BinaryVar = "SATCHEL_TEST_QDRANT"

// Server is a server for vectors of the test's own, which it may stop and kill: a
// Qdrant process, or the stand-in.
type Server struct {
	*process.Server
	URL, APIKey string
	CAFile      string   // with TLS: who signed its certificate
	StandIn     *StandIn // nil when it is Qdrant

	t          testing.TB
	http, grpc int
	more       []string // settings, NAME=value
	block      chan struct{}
}

// Start starts the Qdrant that SATCHEL_TEST_QDRANT names, or the stand-in, and says
// so. It ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	if os.Getenv(BinaryVar) != "" {
		return StartIn(t, "")
	}
	if parts.Required("qdrant") {
		parts.Missing(t, "qdrant", BinaryVar+" names no binary; none comes from a package registry")
	}
	t.Log("Qdrant itself was NOT run: this is the stand-in for the methods the driver calls; " + BinaryVar + " names the binary of the real one")
	s := &Server{t: t, StandIn: StartStandIn(t)}
	s.URL = s.StandIn.URL
	return s
}

// StartIn starts a Qdrant process with its data in a folder under dir, "" for that of
// temporary files, or skips the test.
func StartIn(t testing.TB, dir string) *Server {
	t.Helper()
	s := newServer(t, dir)
	s.Start()
	return s
}

// StartSecure starts a Qdrant process that wants TLS and an API key, or skips the
// test: the stand-in knows no TLS. The second key may only read.
func StartSecure(t testing.TB) (s *Server, readOnly string) {
	t.Helper()
	s = newServer(t, "")
	ca := testenv.NewAuthority(t)
	cert, key := ca.Issue(t, "qdrant")
	s.CAFile, s.APIKey, readOnly = ca.File, "the-key-that-may-write", "the-key-that-may-read"
	s.more = []string{"QDRANT__SERVICE__ENABLE_TLS=true", "QDRANT__TLS__CERT=" + cert, "QDRANT__TLS__KEY=" + key, "QDRANT__TLS__CA_CERT=" + ca.File,
		"QDRANT__SERVICE__API_KEY=" + s.APIKey, "QDRANT__SERVICE__READ_ONLY_API_KEY=" + readOnly}
	s.URL = strings.Replace(s.URL, "http:", "https:", 1)
	s.Start()
	return s, readOnly
}

// newServer is a server that was not started yet.
func newServer(t testing.TB, under string) *Server {
	t.Helper()
	if os.Getenv(BinaryVar) == "" {
		parts.Missing(t, "qdrant", BinaryVar+" names no binary; none comes from a package registry")
	}
	s := &Server{Server: process.NewServer(t, "qdrant", under, process.Own()), t: t}
	var err, err2 error
	s.http, err = testenv.FreePort()
	s.grpc, err2 = testenv.FreePort()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	s.URL = fmt.Sprintf("http://127.0.0.1:%d", s.grpc)
	s.Command, s.Ping = s.command, s.ping
	return s
}

func (s *Server) command() *exec.Cmd {
	cmd := s.Account.Command(os.Getenv(BinaryVar), "--disable-telemetry")
	cmd.Dir = s.Dir
	cmd.Env = append(append(cmd.Env, "QDRANT__SERVICE__HOST=127.0.0.1", fmt.Sprint("QDRANT__SERVICE__HTTP_PORT=", s.http), fmt.Sprint("QDRANT__SERVICE__GRPC_PORT=", s.grpc),
		"QDRANT__STORAGE__STORAGE_PATH="+filepath.Join(s.Dir, "data"), "QDRANT__STORAGE__SNAPSHOTS_PATH="+filepath.Join(s.Dir, "snapshots"), "QDRANT__TELEMETRY_DISABLED=true"), s.more...)
	return cmd
}

func (s *Server) ping() error {
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

// Start starts the server again, on the same port, and waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	if s.StandIn == nil {
		s.Server.Start()
		return
	}
	s.StandIn.Start(s.t)
}

// Stop stops the server as an administrator would.
func (s *Server) Stop() {
	s.t.Helper()
	if s.StandIn == nil {
		s.Server.Stop()
		return
	}
	s.StandIn.Stop()
}

// Kill kills the server, as a crash would.
func (s *Server) Kill() {
	s.t.Helper()
	if s.StandIn == nil {
		s.Server.Kill()
		return
	}
	s.StandIn.Stop()
}

// Pause stops the server without closing a connection, until Resume: it is there and does
// not answer.
func (s *Server) Pause() {
	s.t.Helper()
	if s.StandIn == nil {
		s.Server.Pause()
		return
	}
	block := make(chan struct{})
	s.block = block
	s.StandIn.Set(Faults{Before: func(string, string) error { <-block; return nil }})
}

// Resume is the end of Pause.
func (s *Server) Resume() {
	s.t.Helper()
	if s.StandIn == nil {
		s.Server.Resume()
		return
	}
	s.StandIn.Set(Faults{})
	close(s.block)
}

// Backup copies the stopped server's data; restore puts it back.
func (s *Server) Backup() (restore func()) {
	s.t.Helper()
	if s.StandIn == nil {
		return s.Server.Backup()
	}
	return s.StandIn.Backup()
}
