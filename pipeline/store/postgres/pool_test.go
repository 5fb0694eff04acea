package postgres_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"satchel/pipeline/store/postgres"
	"satchel/test/testenv"
	"satchel/test/testenv/postgrestest"
)

// TestManyOpenAtOnce: however many open a schema at the same time, its tables are made once.
// A program of another version leaves them alone.
func TestManyOpenAtOnce(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Open(t)
	cfg := postgres.PoolConfig{URL: dsn, Schema: "many", Version: 2, Tables: "CREATE TABLE a (x int); INSERT INTO a VALUES (1)", MaxConns: 2}
	var wait sync.WaitGroup
	for range 12 {
		wait.Go(func() {
			pool, err := postgres.OpenPool(t.Context(), cfg)
			if err != nil {
				t.Error(err)
				return
			}
			defer pool.Close()
			var n int
			if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM a").Scan(&n); err != nil || n != 1 {
				t.Errorf("the tables were made %d times (%v)", n, err)
			}
		})
	}
	wait.Wait()
	for _, version := range []int{1, 3} {
		other := cfg
		other.Version, other.Tables = version, "CREATE TABLE b (x int)"
		var setup *postgres.SetupError
		_, err := postgres.OpenPool(t.Context(), other)
		if want := fmt.Sprintf("has version 2, this program reads %d only", version); !errors.As(err, &setup) || !errors.Is(err, postgres.ErrUnusable) || !strings.Contains(err.Error(), want) {
			t.Errorf("a program of version %d: %v", version, err)
		}
	}
}

// TestFailedTablesLeaveNothing: a script that fails is not half done.
func TestFailedTablesLeaveNothing(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Open(t)
	if _, err := postgres.OpenPool(t.Context(), postgres.PoolConfig{URL: dsn, Schema: "half", Version: 1, Tables: "CREATE TABLE a (x int); SELECT nonsense"}); err == nil {
		t.Fatal("a script of nonsense was taken")
	}
	pool, err := postgres.OpenPool(t.Context(), postgres.PoolConfig{URL: dsn, Schema: "half", Version: 1, Tables: "CREATE TABLE a (x int)"})
	if err != nil {
		t.Fatal(err)
	}
	pool.Close()
}

// TestSetupErrors: what an operator gets wrong is told in one sentence without a secret.
func TestSetupErrors(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Open(t)
	change := func(f func(*url.URL)) string {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		f(u)
		return u.String()
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	role := strings.TrimPrefix(strings.ToLower(conn.Config().Database), "test_")
	role = "reader_" + role
	if _, err := conn.Exec(t.Context(), "CREATE ROLE "+role+" LOGIN PASSWORD 'hunter2-reader'"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c, err := pgx.Connect(t.Context(), dsn)
		if err == nil {
			_, err = c.Exec(t.Context(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		}
		if err != nil && !errors.Is(err, t.Context().Err()) {
			t.Log(err)
		}
	})
	free, err := testenv.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ url, want string }{
		"password":   {change(func(u *url.URL) { u.User = url.UserPassword("satchel", "hunter2-wrong") }), "refuses user \"satchel\""},
		"user":       {change(func(u *url.URL) { u.User = url.UserPassword("nobody", "hunter2-wrong") }), "refuses user \"nobody\""},
		"database":   {change(func(u *url.URL) { u.Path = "absent" }), "has no database \"absent\""},
		"permission": {change(func(u *url.URL) { u.User = url.UserPassword(role, "hunter2-reader") }), "GRANT CREATE ON DATABASE"},
		"port":       {change(func(u *url.URL) { u.Host = fmt.Sprintf("127.0.0.1:%d", free) }), "no Postgres answers"},
		"read only":  {change(func(u *url.URL) { u.RawQuery += "&default_transaction_read_only=on" }), "read only"},
		"no tls":     {change(func(u *url.URL) { u.RawQuery = "sslmode=require" }), "has no TLS"},
		"malformed":  {"postgres://satchel:hunter2-%zz@host/db", "cannot be read"},
	} {
		_, err := postgres.OpenPool(t.Context(), postgres.PoolConfig{URL: c.url, Schema: "setup_" + strings.ReplaceAll(name, " ", "_"), Version: 1, Tables: "CREATE TABLE a (x int)"})
		var setup *postgres.SetupError
		if !errors.As(err, &setup) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if lasting := name != "port"; errors.Is(err, postgres.ErrUnusable) != lasting {
			t.Errorf("%s: is unusable %t, want %t", name, !lasting, lasting)
		}
		if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: the error holds a secret or more than a line: %v", name, err)
		}
	}
}

func TestCheckServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version  int
		encoding string
		standby  bool
		want     string
	}{
		{150018, "UTF8", false, ""}, {130000, "UTF8", false, ""}, {120022, "UTF8", false, "Postgres 12.22"},
		{150018, "SQL_ASCII", false, "encoding"}, {150018, "UTF8", true, "standby"},
	} {
		err := postgres.CheckServer(c.version, c.encoding, c.standby)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]postgres.ErrorClass{
		"40001": postgres.Retry, "40P01": postgres.Retry, "53100": postgres.Full, "XX001": postgres.Damaged, "57P01": postgres.Unreachable, "08006": postgres.Unreachable, "42601": postgres.Other,
	} {
		if got := postgres.Classify(fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code})); got != want {
			t.Errorf("%s is %v, want %v", code, got, want)
		}
	}
	quoted := &pgconn.PgError{Severity: "ERROR", Code: "22P02", Message: "invalid input: \"secret text\"", Detail: "secret"}
	if text := postgres.CleanError(quoted).Error(); strings.Contains(text, "secret") {
		t.Errorf("the error quotes data: %s", text)
	}
}

// TestTLS: a server that wants TLS is used when its certificate is trusted, and what is
// missing otherwise is told.
func TestTLS(t *testing.T) {
	t.Parallel()
	server := postgrestest.StartTLS(t)
	open := func(query string) error {
		u, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if query != "" {
			u.RawQuery = query
		}
		pool, err := postgres.OpenPool(t.Context(), postgres.PoolConfig{URL: u.String(), Schema: "tls", Version: 1, Tables: "CREATE TABLE a (x int)"})
		if err != nil {
			return err
		}
		defer pool.Close()
		var encrypted bool
		if err := pool.QueryRow(t.Context(), "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").Scan(&encrypted); err != nil || !encrypted {
			t.Errorf("encrypted: %t, %v", encrypted, err)
		}
		return nil
	}
	if err := open(""); err != nil {
		t.Errorf("with its authority: %v", err)
	}
	for query, says := range map[string]string{
		"sslmode=verify-full": "is not trusted for that name: see sslrootcert",
		"sslmode=verify-full&sslrootcert=" + url.QueryEscape(testenv.NewAuthority(t).File): "is not trusted for that name: see sslrootcert",
		"sslmode=disable": "only with TLS: set sslmode=verify-full",
	} {
		var setup *postgres.SetupError
		if err := open(query); !errors.As(err, &setup) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// TestASessionThatTakesNoWritesIsLeft: what a server refuses as read only is refused once by a session that stays so.
func TestASessionThatTakesNoWritesIsLeft(t *testing.T) {
	t.Parallel()
	pool, err := postgres.OpenPool(t.Context(), postgres.PoolConfig{URL: postgrestest.Open(t), Schema: "turns", Version: 1, Tables: "CREATE TABLE a (x int)", MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(t.Context(), "SET default_transaction_read_only = on"); err != nil {
		t.Fatal(err)
	}
	const insert = "INSERT INTO a VALUES (1)"
	if _, err := pool.Exec(t.Context(), insert); postgres.Classify(err) != postgres.Unreachable {
		t.Fatalf("a session that takes no writes answers %v", err)
	}
	if _, err := pool.Exec(t.Context(), insert); err != nil {
		t.Errorf("the same session is asked again: %v", err)
	}
}

// TestPoolers: a pooler that keeps a session for each connection serves; one that does not is refused with what to set.
func TestPoolers(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Open(t)
	cfg := postgres.PoolConfig{URL: postgrestest.Bouncer(t, dsn, "session"), Schema: "pooled", Version: 1, Tables: "CREATE TABLE a (x int)", MaxConns: 4}
	pool, err := postgres.OpenPool(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		if _, err := pool.Exec(t.Context(), "INSERT INTO a VALUES (1)"); err != nil {
			t.Error(err)
		}
	}
	pool.Close()
	cfg.URL = postgrestest.Bouncer(t, dsn, "transaction")
	if _, err := postgres.OpenPool(t.Context(), cfg); !errors.Is(err, postgres.ErrUnusable) || !strings.Contains(err.Error(), "pool_mode=session") {
		t.Errorf("a pooler of transactions: %v", err)
	}
}
