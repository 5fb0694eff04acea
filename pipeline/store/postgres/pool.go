package postgres

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// oldest is the oldest server that is known to do, as server_version_num.
const oldest = 130000

// connectTimeout bounds one attempt to connect, unless the URL says otherwise.
const connectTimeout = 5 * time.Second

// PoolConfig says what to open. URL, Schema, Version and Tables are required.
type PoolConfig struct {
	// URL is a postgres:// URL or a key=value string, as libpq takes them.
	URL string
	// Schema holds the tables: lower-case letters, digits and underscores.
	Schema string
	// Version is that of Tables, above 0. A schema of any other is refused.
	Version int
	// Tables is the script that makes the tables.
	Tables string
	// MaxConns is the most connections of the pool; 0 is 8.
	MaxConns int
	// Settings are parameters of every session.
	Settings map[string]string
	// AfterConnect is run on every new connection; nil for nothing.
	AfterConnect func(context.Context, *pgx.Conn) error
}

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// OpenPool connects, checks the server and makes the tables when they are not there.
func OpenPool(ctx context.Context, cfg PoolConfig) (*pgxpool.Pool, error) {
	if !schemaName.MatchString(cfg.Schema) {
		return nil, &SetupError{Problem: fmt.Sprintf("schema name %q: letters a–z, digits and underscores only", cfg.Schema)}
	}
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil { // its text has the password masked, but a malformed one may not be seen as such
		return nil, errURL()
	}
	pc.MaxConns = int32(max(cfg.MaxConns, 0))
	pc.MaxConns = cmp.Or(pc.MaxConns, 8)
	pc.ConnConfig.ConnectTimeout = cmp.Or(pc.ConnConfig.ConnectTimeout, connectTimeout)
	pc.HealthCheckPeriod = 5 * time.Second
	if params := pc.ConnConfig.RuntimeParams; params["application_name"] == "" {
		params["application_name"] = "satchel"
	}
	settings := map[string]string{
		"search_path":                         cfg.Schema,
		"idle_in_transaction_session_timeout": "60000", // a lost worker must not hold a lock for ever
		"jit":                                 "off",   // every statement is short
	}
	maps.Copy(settings, cfg.Settings)
	var names, values []string
	for name, value := range settings {
		names = append(names, name)
		values = append(values, value)
	}
	pc.AfterConnect = func(ctx context.Context, c *pgx.Conn) error { // at the start of a connection a pooler knows few settings
		if _, err := c.Exec(ctx, "SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS s (name, value)", pgx.QueryExecModeExec, names, values); err != nil {
			return err
		}
		if cfg.AfterConnect != nil {
			return cfg.AfterConnect(ctx, c)
		}
		return nil
	}
	pc.ConnConfig.OnPgError = func(_ *pgconn.PgConn, e *pgconn.PgError) bool { return !isSessionUseless(e) }
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", CleanError(err))
	}
	if err := prepareTables(ctx, pool, cfg); err != nil {
		pool.Close()
		return nil, inWords(err, pc.ConnConfig)
	}
	return pool, nil
}

// DropSchemas removes schemas that are there, with every table in them.
func DropSchemas(ctx context.Context, url string, schemas ...string) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return errURL()
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return inWords(err, config)
	}
	for _, schema := range schemas {
		if _, e := conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{schema}.Sanitize()+" CASCADE"); e != nil {
			err = errors.Join(err, CleanError(e))
		}
	}
	return errors.Join(err, conn.Close(ctx))
}

func errURL() error {
	return &SetupError{Problem: "the database URL cannot be read: it has the form postgres://user:password@host:5432/database?sslmode=verify-full"}
}

// prepareTables checks the server and makes the tables.
func prepareTables(ctx context.Context, pool *pgxpool.Pool, cfg PoolConfig) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var version int
	var encoding string
	var standby bool
	err := pool.QueryRow(ctx, "SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), pg_is_in_recovery()").
		Scan(&version, &encoding, &standby)
	if err != nil {
		return err
	}
	if err := CheckServer(version, encoding, standby); err != nil {
		return err
	}
	if err := checkPooler(ctx, pool); err != nil {
		return err
	}
	return makeTables(ctx, pool, cfg)
}

// checkPooler refuses a pooler that gives two connections one session of the server: settings, and what is prepared, would
// be there for one transaction and not for the next.
func checkPooler(ctx context.Context, pool *pgxpool.Pool) error {
	if pool.Config().MaxConns < 2 {
		return nil
	}
	const session = "SELECT pg_backend_pid()"
	var one, other int
	first, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer first.Release()
	second, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer second.Release()
	if err := first.QueryRow(ctx, session, pgx.QueryExecModeExec).Scan(&one); err != nil {
		return err
	}
	if err := second.QueryRow(ctx, session, pgx.QueryExecModeExec).Scan(&other); err != nil {
		return err
	}
	if one == other {
		return &SetupError{Problem: "a pooler gives each transaction another session: set pool_mode=session for this database in pgbouncer, or give the URL of the server itself"}
	}
	return nil
}

// CheckServer returns a SetupError for a server that cannot serve; version is its
// server_version_num.
func CheckServer(version int, encoding string, standby bool) error {
	switch {
	case version < oldest:
		return &SetupError{Problem: fmt.Sprintf("the server is Postgres %d.%d, Satchel needs %d or newer", version/10000, version%10000, oldest/10000)}
	case encoding != "UTF8":
		return &SetupError{Problem: fmt.Sprintf("the database's encoding is %s, Satchel needs UTF8: CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8'", encoding)}
	case standby:
		return &SetupError{Problem: "the server is a standby and takes no writes: give the URL of the primary"}
	}
	return nil
}

// makeTables makes the tables in a schema that is not there. The process that comes second waits for
// the first and finds nothing to do.
func makeTables(ctx context.Context, pool *pgxpool.Pool, cfg PoolConfig) error {
	if there, err := hasTables(ctx, pool, cfg); there || err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('satchel schema ' || $1, 0))", cfg.Schema); err != nil {
			return err
		}
		if there, err := hasTables(ctx, tx, cfg); there || err != nil {
			return err
		}
		const script = `CREATE SCHEMA IF NOT EXISTS %[1]s; CREATE TABLE %[1]s.migrations (version int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`
		if _, err := tx.Exec(ctx, fmt.Sprintf(script, cfg.Schema)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, cfg.Tables); err != nil {
			return fmt.Errorf("make the tables of schema %s: %w", cfg.Schema, err)
		}
		_, err := tx.Exec(ctx, "INSERT INTO migrations (version) VALUES ($1)", cfg.Version)
		return err
	})
}

// hasTables reports whether the tables are there. Those of another version are a SetupError.
func hasTables(ctx context.Context, q querier, cfg PoolConfig) (bool, error) {
	version, err := versionOf(ctx, q, cfg.Schema)
	if err == nil && version != 0 && version != cfg.Version {
		err = &SetupError{Problem: fmt.Sprintf("the schema %s has version %d, this program reads %d only: use the program that made it", cfg.Schema, version, cfg.Version)}
	}
	return version != 0, err
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// versionOf returns the schema's version, 0 for a schema that is not there.
func versionOf(ctx context.Context, q querier, schema string) (int, error) {
	// to_regclass would look into a cache that the wait for the lock does not refresh.
	const table = "SELECT count(*) > 0 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'migrations'"
	var there bool
	if err := q.QueryRow(ctx, table, schema).Scan(&there); err != nil || !there {
		return 0, err
	}
	var version int
	err := q.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM "+schema+".migrations").Scan(&version)
	return version, err
}

// ErrUnusable is what a SetupError is that no waiting mends: the settings or the server have
// to be changed.
var ErrUnusable = errors.New("the Postgres database cannot be used")

// SetupError says in one sentence why a database cannot serve, and what to do.
type SetupError struct {
	Problem string
	cause   error
	passing bool // it may work a moment later, with nothing changed
}

// Error returns the sentence.
func (e *SetupError) Error() string { return e.Problem }

// Is reports whether target is ErrUnusable and the problem stays until something is changed.
func (e *SetupError) Is(target error) bool { return target == ErrUnusable && !e.passing }

// Unwrap returns what the server or the network said.
func (e *SetupError) Unwrap() error { return e.cause }

// inWords turns what fails at Open into a SetupError, where the cause is known.
func inWords(err error, c *pgx.ConnConfig) error {
	var known *SetupError
	if errors.As(err, &known) {
		return known
	}
	where := fmt.Sprintf("%s:%d", c.Host, c.Port)
	passing := func(format string, args ...any) error {
		return &SetupError{Problem: fmt.Sprintf(format, args...), cause: CleanError(err), passing: true}
	}
	setup := func(format string, args ...any) error {
		return &SetupError{Problem: fmt.Sprintf(format, args...), cause: CleanError(err)}
	}
	var server *pgconn.PgError
	if errors.As(err, &server) {
		switch server.Code {
		case "28P01", "28000":
			if strings.Contains(server.Message, "no encryption") {
				return setup("Postgres at %s takes user %q for database %q only with TLS: set sslmode=verify-full, and sslrootcert for an authority of your own", where, c.User, c.Database)
			}
			return setup("Postgres at %s refuses user %q for database %q: check the user, the password and pg_hba.conf", where, c.User, c.Database)
		case "3D000":
			return setup("Postgres at %s has no database %q: create it first", where, c.Database)
		case "42501":
			return setup("user %q may not make its tables in database %q at %s: GRANT CREATE ON DATABASE %q TO %q", c.User, c.Database, where, c.Database, c.User)
		case "25006":
			return setup("database %q at %s is read only", c.Database, where)
		case "53300":
			return passing("Postgres at %s has no connection left for user %q: raise max_connections", where, c.User)
		}
		return fmt.Errorf("open database %q at %s: %w", c.Database, where, CleanError(err))
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return setup("the certificate of Postgres at %s is not trusted for that name: see sslrootcert and sslmode in the database URL", where)
	}
	if strings.Contains(err.Error(), "server refused TLS connection") {
		return setup("Postgres at %s has no TLS, and sslmode in the database URL asks for it: switch it on there, or set sslmode=disable in a network you trust", where)
	}
	if Classify(err) == Unreachable {
		return passing("no Postgres answers at %s: is it running, and is TLS as the server wants it?", where)
	}
	return fmt.Errorf("open database %q at %s: %w", c.Database, where, CleanError(err))
}
