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

	"satchel/test/must"
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
	machine
	URL, APIKey string
	CAFile      string   // with TLS: who signed its certificate
	StandIn     *StandIn // nil when it is Qdrant

	http, grpc int
	more       []string // settings, NAME=value
}

// machine is what a test does with a server.
type machine interface {
	Start()
	Stop()
	Kill()
	Pause()
	Resume()
	Backup() (restore func())
}

// standInMachine is the stand-in as a machine.
type standInMachine struct {
	*StandIn
	t     testing.TB
	block chan struct{}
}

// Start starts the stand-in again, on the same port.
func (m *standInMachine) Start() { m.StandIn.Start(m.t) }

// Kill is Stop.
func (m *standInMachine) Kill() { m.Stop() }

// Pause keeps calls waiting until Resume.
func (m *standInMachine) Pause() {
	block := make(chan struct{})
	m.block = block
	m.Set(Faults{Before: func(string, string) error { <-block; return nil }})
}

// Resume is the end of Pause.
func (m *standInMachine) Resume() {
	m.Set(Faults{})
	close(m.block)
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
	x := StartStandIn(t)
	return &Server{machine: &standInMachine{StandIn: x, t: t}, URL: x.URL, StandIn: x}
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
	p := process.NewServer(t, "qdrant", under, process.Own())
	s := &Server{machine: p}
	var err, err2 error
	s.http, err = testenv.FreePort()
	s.grpc, err2 = testenv.FreePort()
	must.Do(t, errors.Join(err, err2))
	s.URL = fmt.Sprintf("http://127.0.0.1:%d", s.grpc)
	p.Command, p.Ping = func() *exec.Cmd { return s.command(p) }, s.ping
	return s
}

func (s *Server) command(p *process.Server) *exec.Cmd {
	cmd := p.Account.Command(os.Getenv(BinaryVar), "--disable-telemetry")
	cmd.Dir = p.Dir
	cmd.Env = append(append(cmd.Env, "QDRANT__SERVICE__HOST=127.0.0.1", fmt.Sprint("QDRANT__SERVICE__HTTP_PORT=", s.http), fmt.Sprint("QDRANT__SERVICE__GRPC_PORT=", s.grpc),
		"QDRANT__STORAGE__STORAGE_PATH="+filepath.Join(p.Dir, "data"), "QDRANT__STORAGE__SNAPSHOTS_PATH="+filepath.Join(p.Dir, "snapshots"), "QDRANT__TELEMETRY_DISABLED=true"), s.more...)
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
