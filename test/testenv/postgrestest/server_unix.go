//go:build unix

package postgrestest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"satchel/test/must"
	"satchel/test/parts"
	"satchel/test/testenv"
	"satchel/test/testenv/internal/process"
)

// part is what SATCHEL_TEST_REQUIRE calls Postgres.
const part = "postgres"

// user is the superuser of every server started here.
const user = "satchel"

// info is what a process needs to connect to a server.
type info struct {
	Port     int    `json:"port"`
	Password string `json:"password"`
	CA       string `json:"ca,omitempty"` // of a server that wants TLS
}

func (i info) url(database string) string {
	query := url.Values{"sslmode": {"disable"}}
	if i.CA != "" {
		query = url.Values{"sslmode": {"verify-full"}, "sslrootcert": {i.CA}}
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(user, i.Password), Host: fmt.Sprintf("127.0.0.1:%d", i.Port), Path: database, RawQuery: query.Encode()}
	return u.String()
}

func (i info) Ping() error { return i.exec("postgres", "SELECT 1") }

// exec runs a statement on a connection of its own.
func (i info) exec(database, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, i.url(database))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// Open returns the URL of a fresh, empty database on a Postgres server that the test
// packages share, with all rights. The database is dropped when the test ends. The server
// does not wait for its disk: see [Start] for one that does.
func Open(t testing.TB) string {
	t.Helper()
	bin, a := findRequired(t)
	var i info
	process.Share(t, "postgres", a, &i, func(dir string) (command []string, err error) {
		i, err = initCluster(bin, dir, a)
		return serverCommand(bin, dir, i.Port, "fsync=off", "full_page_writes=off"), err
	})
	return i.database(t)
}

// findRequired is findBinaries, or it skips the test.
func findRequired(t testing.TB) (bin string, a process.Account) {
	t.Helper()
	bin, a, err := findBinaries()
	if err != nil {
		parts.Missing(t, part, err.Error())
	}
	return bin, a
}

// database makes a database for the time of the test.
func (i info) database(t testing.TB) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	if err := i.exec("postgres", "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8'"); err != nil {
		t.Fatalf("create a database: %v", err)
	}
	t.Cleanup(func() {
		if err := i.exec("postgres", "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop a database: %v", err)
		}
	})
	return i.url(name)
}

// findBinaries returns the folder of the newest Postgres binaries and who runs them.
func findBinaries() (bin string, a process.Account, err error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", process.Account{}, err
	}
	slices.SortFunc(found, func(a, b string) int { return strings.Compare(fmt.Sprintf("%99s", a), fmt.Sprintf("%99s", b)) })
	if len(found) > 0 {
		bin = filepath.Dir(found[len(found)-1])
	} else if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "", process.Account{}, err
		}
		bin = filepath.Dir(path)
	} else {
		return "", process.Account{}, errors.New("no initdb on this machine (Debian: apt-get install postgresql)")
	}
	a, err = process.AccountFor("postgres")
	return bin, a, err
}

// initCluster makes the folder data in dir a database cluster.
func initCluster(bin, dir string, a process.Account) (info, error) {
	port, err := testenv.FreePort()
	if err != nil {
		return info{}, err
	}
	i := info{Port: port, Password: rand.Text()}
	secret := filepath.Join(dir, "password")
	if err := errors.Join(os.WriteFile(secret, []byte(i.Password), 0o600), os.Chown(secret, a.UID, a.GID)); err != nil {
		return info{}, err
	}
	cmd := a.Command(filepath.Join(bin, "initdb"), "--pgdata="+filepath.Join(dir, "data"), "--username="+user, "--pwfile="+secret,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return info{}, fmt.Errorf("initdb: %w: %s", err, out)
	}
	return i, nil
}

// serverCommand is the server's command; settings are name=value.
func serverCommand(bin, dir string, port int, settings ...string) []string {
	command := []string{filepath.Join(bin, "postgres"), "-D", filepath.Join(dir, "data"), "-p", fmt.Sprint(port)}
	for _, s := range append([]string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=600", "shared_buffers=64MB",
		"autovacuum_naptime=10s", "max_wal_size=512MB", "log_min_messages=fatal",
	}, settings...) {
		command = append(command, "-c", s)
	}
	return command
}

// Server is a server of one test's own, which it may stop and kill. Only one
// goroutine at a time may change its state.
type Server struct {
	*process.Server
	// URL is that of a database with all rights.
	URL string

	t    testing.TB
	info info
	more []string // settings, name=value
}

// Start starts a Postgres server of the test's own, with the settings of a
// productive one, and ends it with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	return StartIn(t, "")
}

// StartIn is Start with its data in a folder under dir, "" for that of
// temporary files.
func StartIn(t testing.TB, dir string) *Server {
	t.Helper()
	p := newServer(t, dir)
	p.Start()
	return p
}

// StartTLS is Start with a certificate of its own, which the URL names the
// authority of. It takes no one without TLS.
func StartTLS(t testing.TB) *Server {
	t.Helper()
	p := newServer(t, "")
	ca := testenv.NewAuthority(t)
	cert, key := ca.Issue(t, "postgres")
	for name, from := range map[string]string{"server.crt": cert, "server.key": key} {
		raw, err := os.ReadFile(from)
		to := filepath.Join(p.Dir, "data", name)
		if err = errors.Join(err, os.WriteFile(to, raw, 0o600), os.Chown(to, p.Account.UID, p.Account.GID)); err != nil {
			t.Fatal(err)
		}
	}
	hba := []byte("hostssl all all 127.0.0.1/32 scram-sha-256\n")
	must.Do(t, os.WriteFile(filepath.Join(p.Dir, "data", "pg_hba.conf"), hba, 0o600))
	p.more, p.info.CA = []string{"ssl=on"}, ca.File
	p.URL = p.info.url("postgres")
	p.Start()
	return p
}

// newServer makes a server that was not started yet.
func newServer(t testing.TB, under string) *Server {
	t.Helper()
	bin, a := findRequired(t)
	p := &Server{Server: process.NewServer(t, "postgres", under, a), t: t}
	var err error
	if p.info, err = initCluster(bin, p.Dir, a); err != nil {
		t.Fatal(err)
	}
	p.URL = p.info.url("postgres")
	p.Last, p.Ping = syscall.SIGQUIT, func() error { return p.info.Ping() }
	p.Command = func() *exec.Cmd {
		command := serverCommand(bin, p.Dir, p.info.Port, p.more...)
		return a.Command(command[0], command[1:]...)
	}
	return p
}

// Stop stops the server as an administrator would: connections are closed at once,
// transactions under way are rolled back.
func (p *Server) Stop() {
	p.t.Helper()
	p.Signal(syscall.SIGINT)
	p.Wait()
}

// Kill kills every process of the server, as a crash would.
func (p *Server) Kill() {
	p.t.Helper()
	p.Signal(syscall.SIGSTOP) // it starts no more processes
	all := p.signalAll(syscall.SIGKILL)
	p.Wait()
	if err := process.Await(func() error { return anyRuns(all) }); err != nil { // they hold the shared memory until then
		p.t.Fatalf("kill Postgres: %v", err)
	}
}

// anyRuns returns an error while one of the processes runs.
func anyRuns(pids []int) error {
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && !strings.Contains(string(stat), ") Z ") {
			return fmt.Errorf("process %d still runs", pid)
		}
	}
	return nil
}

// Pause stops every process of the server without closing a connection, until Resume: it
// is there and does not answer.
func (p *Server) Pause() { p.t.Helper(); p.signalAll(syscall.SIGSTOP) }

// Resume is the end of Pause.
func (p *Server) Resume() { p.t.Helper(); p.signalAll(syscall.SIGCONT) }

// signalAll signals the server, then its children: each has a session of its own. It returns
// their process ids.
func (p *Server) signalAll(s syscall.Signal) (pids []int) {
	p.t.Helper()
	parent := fmt.Sprint(p.PID())
	children, err := exec.Command("pgrep", "-P", parent).Output()
	if err != nil {
		p.t.Fatalf("list the processes of Postgres: %v", err)
	}
	for _, pid := range append([]string{parent}, strings.Fields(string(children))...) {
		number, err := strconv.Atoi(pid)
		if err != nil {
			p.t.Fatalf("list the processes of Postgres: %v", err)
		}
		if err := syscall.Kill(number, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			p.t.Errorf("signal Postgres: %v", err)
		}
		pids = append(pids, number)
	}
	return pids
}

// Exec runs a statement with all rights.
func (p *Server) Exec(statement string) {
	p.t.Helper()
	if err := p.info.exec("postgres", statement); err != nil {
		p.t.Fatalf("run a statement: %v", err)
	}
}
