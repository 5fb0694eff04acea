//go:build unix

package testenv

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

	"satchel/test/parts"
)

// postgresPart is what SATCHEL_TEST_REQUIRE calls Postgres.
const postgresPart = "postgres"

// postgresUser is the superuser of every server started here.
const postgresUser = "satchel"

// postgresInfo is what a process needs to connect to a server.
type postgresInfo struct {
	Port     int    `json:"port"`
	Password string `json:"password"`
	CA       string `json:"ca,omitempty"` // of a server that wants TLS
}

func (i postgresInfo) url(database string) string {
	query := url.Values{"sslmode": {"disable"}}
	if i.CA != "" {
		query = url.Values{"sslmode": {"verify-full"}, "sslrootcert": {i.CA}}
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(postgresUser, i.Password), Host: fmt.Sprintf("127.0.0.1:%d", i.Port), Path: database, RawQuery: query.Encode()}
	return u.String()
}

func (i postgresInfo) ping() error { return i.exec("postgres", "SELECT 1") }

// exec runs a statement on a connection of its own.
func (i postgresInfo) exec(database, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, i.url(database))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// Postgres returns the URL of a fresh, empty database on a Postgres server that the test
// packages share, with all rights. The database is dropped when the test ends. The server
// does not wait for its disk: see [StartPostgres] for one that does.
func Postgres(t testing.TB) string {
	t.Helper()
	bin, a, err := findPostgres()
	if err != nil {
		parts.Missing(t, postgresPart, err.Error())
	}
	s, err := openShared(t, "postgres", a)
	if err != nil {
		t.Fatalf("share a Postgres server: %v", err)
	}
	var info postgresInfo
	err = s.run(&info, func() error { return info.ping() }, func() error {
		var err error
		if info, err = initPostgres(bin, s.dir, a); err != nil {
			return err
		}
		if err := s.keep(postgresCommand(bin, s.dir, info.Port, "fsync=off", "full_page_writes=off")...); err != nil {
			return err
		}
		return await(info.ping)
	})
	if err != nil {
		t.Fatalf("start a Postgres server: %v; %s", err, lastLines(filepath.Join(s.dir, "server.log")))
	}
	return info.database(t)
}

// database makes a database for the time of the test.
func (i postgresInfo) database(t testing.TB) string {
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

// findPostgres returns the folder of the newest Postgres binaries and who runs them.
func findPostgres() (bin string, a account, err error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", account{}, err
	}
	slices.SortFunc(found, func(a, b string) int { return strings.Compare(fmt.Sprintf("%99s", a), fmt.Sprintf("%99s", b)) })
	if len(found) > 0 {
		bin = filepath.Dir(found[len(found)-1])
	} else if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "", account{}, err
		}
		bin = filepath.Dir(path)
	} else {
		return "", account{}, errors.New("no initdb on this machine (Debian: apt-get install postgresql)")
	}
	a, err = accountFor("postgres")
	return bin, a, err
}

// initPostgres makes the folder data in dir a database cluster.
func initPostgres(bin, dir string, a account) (postgresInfo, error) {
	port, err := FreePort()
	if err != nil {
		return postgresInfo{}, err
	}
	info := postgresInfo{Port: port, Password: rand.Text()}
	secret := filepath.Join(dir, "password")
	if err := errors.Join(os.WriteFile(secret, []byte(info.Password), 0o600), os.Chown(secret, a.uid, a.gid)); err != nil {
		return postgresInfo{}, err
	}
	cmd := a.command(filepath.Join(bin, "initdb"), "--pgdata="+filepath.Join(dir, "data"), "--username="+postgresUser, "--pwfile="+secret,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return postgresInfo{}, fmt.Errorf("initdb: %w: %s", err, out)
	}
	return info, nil
}

// postgresCommand is the server's command; settings are name=value.
func postgresCommand(bin, dir string, port int, settings ...string) []string {
	command := []string{filepath.Join(bin, "postgres"), "-D", filepath.Join(dir, "data"), "-p", fmt.Sprint(port)}
	for _, s := range append([]string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=600", "shared_buffers=64MB",
		"autovacuum_naptime=10s", "max_wal_size=512MB", "log_min_messages=fatal",
	}, settings...) {
		command = append(command, "-c", s)
	}
	return command
}

// PostgresServer is a server of one test's own, which it may stop and kill. Only one
// goroutine at a time may change its state.
type PostgresServer struct {
	// URL is that of a database with all rights.
	URL string

	t       testing.TB
	bin     string
	dir     string
	info    postgresInfo
	account account
	more    []string  // settings, name=value
	cmd     *exec.Cmd // nil while it is stopped
}

// StartPostgres starts a Postgres server of the test's own, with the settings of a
// productive one, and ends it with the test.
func StartPostgres(t testing.TB) *PostgresServer {
	t.Helper()
	return StartPostgresIn(t, "")
}

// StartPostgresIn is StartPostgres with its data in a folder under dir, "" for that of
// temporary files.
func StartPostgresIn(t testing.TB, dir string) *PostgresServer {
	t.Helper()
	p := newPostgres(t, dir)
	p.Start()
	return p
}

// StartPostgresTLS is StartPostgres with a certificate of its own, which the URL names the
// authority of. It takes nobody without TLS.
func StartPostgresTLS(t testing.TB) *PostgresServer {
	t.Helper()
	p := newPostgres(t, "")
	ca := NewAuthority(t)
	cert, key := ca.Issue(t, "postgres")
	for name, from := range map[string]string{"server.crt": cert, "server.key": key} {
		raw, err := os.ReadFile(from)
		to := filepath.Join(p.dir, "data", name)
		if err = errors.Join(err, os.WriteFile(to, raw, 0o600), os.Chown(to, p.account.uid, p.account.gid)); err != nil {
			t.Fatal(err)
		}
	}
	hba := []byte("hostssl all all 127.0.0.1/32 scram-sha-256\n")
	if err := os.WriteFile(filepath.Join(p.dir, "data", "pg_hba.conf"), hba, 0o600); err != nil {
		t.Fatal(err)
	}
	p.more, p.info.CA = []string{"ssl=on"}, ca.File
	p.URL = p.info.url("postgres")
	p.Start()
	return p
}

// newPostgres makes a server that was not started yet.
func newPostgres(t testing.TB, under string) *PostgresServer {
	t.Helper()
	bin, a, err := findPostgres()
	if err != nil {
		parts.Missing(t, postgresPart, err.Error())
	}
	dir, err := os.MkdirTemp(under, "satchel-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	p := &PostgresServer{t: t, bin: bin, dir: dir, account: a}
	t.Cleanup(func() {
		if p.cmd != nil {
			p.end(syscall.SIGQUIT)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(os.Chmod(dir, 0o755), a.folder(dir)); err != nil {
		t.Fatal(err)
	}
	if p.info, err = initPostgres(bin, dir, a); err != nil {
		t.Fatal(err)
	}
	p.URL = p.info.url("postgres")
	return p
}

// Start starts the server again, on the same port, and waits until it takes connections.
func (p *PostgresServer) Start() {
	p.t.Helper()
	command := postgresCommand(p.bin, p.dir, p.info.Port, p.more...)
	p.cmd = p.account.command(command[0], command[1:]...)
	log, err := os.OpenFile(filepath.Join(p.dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := errors.Join(p.cmd.Start(), log.Close()); err != nil {
		p.t.Fatalf("start Postgres: %v", err)
	}
	if err := await(p.info.ping); err != nil {
		p.t.Fatalf("start Postgres: %v; %s", err, lastLines(filepath.Join(p.dir, "server.log")))
	}
}

// Stop stops the server as an administrator would: connections are closed at once,
// transactions under way are rolled back.
func (p *PostgresServer) Stop() { p.end(syscall.SIGINT) }

// Kill kills every process of the server, as a crash would.
func (p *PostgresServer) Kill() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil { // it starts no more processes
		p.t.Fatalf("stop Postgres: %v", err)
	}
	all := p.signalAll(syscall.SIGKILL)
	p.wait()
	if err := await(func() error { return anyRuns(all) }); err != nil { // they hold the shared memory until then
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
func (p *PostgresServer) Pause() { p.t.Helper(); p.signalAll(syscall.SIGSTOP) }

// Resume is the end of Pause.
func (p *PostgresServer) Resume() { p.t.Helper(); p.signalAll(syscall.SIGCONT) }

// signalAll signals the server, then its children: each has a session of its own. It returns
// their process ids.
func (p *PostgresServer) signalAll(s syscall.Signal) (pids []int) {
	p.t.Helper()
	parent := fmt.Sprint(p.cmd.Process.Pid)
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

// Backup copies the stopped server's data; Restore puts it back.
func (p *PostgresServer) Backup() (restore func()) {
	p.t.Helper()
	return backup(p.t, p.dir, func() bool { return p.cmd != nil })
}

// Exec runs a statement with all rights.
func (p *PostgresServer) Exec(statement string) {
	p.t.Helper()
	if err := p.info.exec("postgres", statement); err != nil {
		p.t.Fatalf("run a statement: %v", err)
	}
}

func (p *PostgresServer) end(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("stop Postgres: %v", err)
	}
	p.wait()
}

func (p *PostgresServer) wait() {
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		p.t.Errorf("stop Postgres: %v", err)
	}
	p.cmd = nil
}
