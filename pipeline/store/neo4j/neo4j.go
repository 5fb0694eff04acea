// Package neo4j keeps the graph in a Neo4j database, 5.23 or newer; the Community edition
// will do.
//
// What it owns there:
//
//	(:SatchelTenant {name, checkpoint, items, wiping})
//	(:SatchelItem {tenant, id})     also as the far end of a link, without its item
//	    data, position              what graph.Row encodes; the facets beside it are for
//	    kind, level, labels …       conditions
//	(:SatchelEntity {tenant, name})
//	[:SATCHEL_LINK {rel, at, ord, own}]  from an item to an item or an entity: the log
//	                                position that wrote it, its order there, and whether
//	                                it goes when its item is replaced
//
// with a uniqueness constraint for each kind of node. Every statement names the tenant;
// ids, labels and conditions travel as parameters, never as text.
//
// A batch is one transaction that begins with the lock on its tenant's node and ends with
// the checkpoint there, so it may be repeated: an acknowledged batch is whole, one that
// was not acknowledged is there or not. What is read waits, on whichever member of a
// cluster, for what this process wrote of the tenant last, or saw in its checkpoint.
package neo4j

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
	"github.com/neo4j/neo4j-go-driver/v5/neo4j/config"

	"satchel/pipeline/infra/httpclient"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/internal/columns"
)

// ErrWentBack is returned by Apply when the stored checkpoint is older than the one this
// process saw last: the database was restored, or reset by someone else. Reading the
// checkpoint again says from where to go on.
var ErrWentBack = errors.New("graph went back in the log")

// Config says which database. Only URL is required.
type Config struct {
	URL      string // bolt://, neo4j:// (a cluster), and with +s TLS, with +ssc TLS to whoever answers
	User     string // default "neo4j"
	Password string
	Database string // default "neo4j"
	// Namespace lets several installations share a database, of which the Community edition
	// has one: it is before the name of every tenant.
	Namespace string
	CAFile    string // PEM file of the certificates to trust with +s; default: the system's

	Timeout     time.Duration // of one call; default 30 s
	ConnectWait time.Duration // how long Open waits for the server to answer; default 15 s
}

// DB is a Driver. It is safe for concurrent use, by any number of processes.
type DB struct {
	driver   neo4j.DriverWithContext
	cfg      Config
	marks    sync.Map // by tenant: the neo4j.Bookmarks of its last write
	rollback columns.RollbackCheck
	crowds   crowds
}

var _ graph.Driver = (*DB)(nil)

// Open connects, checks the server's version and creates the constraints.
func Open(ctx context.Context, c Config) (*DB, error) {
	c.User = cmp.Or(c.User, "neo4j")
	c.Database = cmp.Or(c.Database, "neo4j")
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	if c.ConnectWait <= 0 {
		c.ConnectWait = 15 * time.Second
	}
	at, err := url.Parse(c.URL)
	if err != nil || at.Host == "" {
		return nil, fmt.Errorf("open graph store: %w: the URL must be like bolt://host:7687 or neo4j+s://host:7687", ErrUnusable)
	}
	if at.User != nil {
		return nil, fmt.Errorf("open graph store: %w: the URL holds a user; name user and password apart from it", ErrUnusable)
	}
	trust, err := c.readCertificates()
	if err != nil {
		return nil, err
	}
	driver, err := neo4j.NewDriverWithContext(c.URL, neo4j.BasicAuth(c.User, c.Password, ""), func(d *config.Config) {
		d.TlsConfig = trust
		d.MaxTransactionRetryTime = 2 * time.Second // the worker tries again; a request has no time
		d.SocketConnectTimeout = 3 * time.Second
		d.ConnectionAcquisitionTimeout = 5 * time.Second
		d.UserAgent = "satchel"
	})
	if err != nil {
		return nil, fmt.Errorf("open graph store: %w: %w", ErrUnusable, err)
	}
	db := &DB{driver: driver, cfg: c}
	if err := db.prepareServer(ctx, at.Host); err != nil {
		return nil, errors.Join(err, db.Close(ctx))
	}
	return db, nil
}

// readCertificates reads the certificates to trust, nil for the system's.
func (c *Config) readCertificates() (*tls.Config, error) {
	if c.CAFile == "" {
		return nil, nil
	}
	pool, err := httpclient.Roots(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("open graph store: %w: %w", ErrUnusable, err)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// Encrypted reports whether the connection is.
func (db *DB) Encrypted() bool { return db.driver.IsEncrypted() }

// Close closes the connections.
func (db *DB) Close(ctx context.Context) error { return db.driver.Close(ctx) }
