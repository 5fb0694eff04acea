package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"satchel/cmd/internal/config"
	"satchel/pipeline/infra/httpclient"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/memory"
	"satchel/pipeline/store/neo4j"
	"satchel/pipeline/store/postgres"
	"satchel/pipeline/store/qdrant"
	"satchel/pipeline/store/sqlite"
	"satchel/pipeline/store/vector"
)

// driver opens one store on one server.
type driver[P any] struct {
	shared bool // other processes write to it, too
	remote bool // it is asked over a network: retrieval has a deadline
	inDir  bool // its files are in the data folder: backed up, mended and restored there

	open  func(ctx context.Context, a *App, o opening) (P, kept, error)
	probe func(ctx context.Context, a *App) Finding // for doctor; nil: there is nothing to ask
}

// opening says how a store is opened. Each driver reads what it needs.
type opening struct {
	name    string // of the store: its schema, and its folder below index/
	memory  int64  // bytes that it may hold in the process
	stores  *Stores
	onError func(tenant string, err error) // is told of damage to a tenant's part

	contents   string // of vectors: what they are made of, how long they are
	dimensions int
	every      int // changes between snapshots; 0: the index's default
}

// kept is what the process does with an open store. A function that is nil has nothing to do there.
type kept struct {
	evict     func(ctx context.Context, s scope.Scope) error // puts a tenant out of memory
	check     func(ctx context.Context) error                // looks for damage in a whole file
	scrub     func(ctx context.Context, s scope.Scope) error // after an erasure
	remaining func(ctx context.Context, s scope.Scope, ids []string) (int, error)
	drop      func(ctx context.Context) error // removes all of it from the server
	close     func() error
}

// drivers are the drivers of a process, one a port.
type drivers struct {
	log     driver[eventlog.Driver]
	items   driver[items.Driver]
	keyword driver[keyword.Index]
	vector  driver[vector.Driver]
	graph   driver[graph.Driver]
}

// drivers returns those that the settings choose.
func (a *App) drivers() drivers {
	either := func(setting, server, own string) string {
		if setting == "" {
			return own
		}
		return server
	}
	database := either(a.DatabaseURL, "postgres", "sqlite")
	return drivers{
		log: map[string]driver[eventlog.Driver]{
			"sqlite":   {inDir: true, open: openLogFile, probe: probeLogFile},
			"postgres": {shared: true, remote: true, open: openLogDatabase, probe: probeLogDatabase},
		}[database],
		items: map[string]driver[items.Driver]{
			"sqlite":   {inDir: true, open: openItemsFile},
			"postgres": {shared: true, remote: true, open: openItemsDatabase},
		}[database],
		keyword: map[string]driver[keyword.Index]{
			"inproc":   {inDir: true, open: openKeywordMemory},
			"postgres": {shared: true, remote: true, open: openKeywordDatabase},
		}[cmp.Or(a.Keyword, "inproc")],
		vector: map[string]driver[vector.Driver]{
			"memory": {inDir: true, open: openVectorMemory},
			"qdrant": {shared: true, remote: true, open: openQdrant, probe: probeQdrant},
		}[either(a.QdrantURL, "qdrant", "memory")],
		graph: map[string]driver[graph.Driver]{
			"sqlite": {inDir: true, open: openGraphFile},
			"neo4j":  {shared: true, remote: true, open: openNeo4j, probe: probeNeo4j},
		}[either(a.Neo4jURL, "neo4j", "sqlite")],
	}
}

func openLogFile(ctx context.Context, a *App, _ opening) (eventlog.Driver, kept, error) {
	if a.restoring() && !a.Migrating {
		return nil, kept{}, &config.UsageError{Err: errRestore}
	}
	x, err := sqlite.OpenLog(ctx, sqlite.LogConfig{Path: a.Path("log.db")})
	if err != nil {
		return nil, kept{}, fmt.Errorf("open event log: %w", err)
	}
	return x, kept{}, nil
}

func openLogDatabase(ctx context.Context, a *App, _ opening) (eventlog.Driver, kept, error) {
	x, err := postgres.OpenLog(ctx, postgres.LogConfig{URL: a.DatabaseURL, Schema: a.schema("log"), MaxConns: a.DatabaseConns})
	return x, kept{}, unusable(err, postgres.ErrUnusable)
}

func openItemsFile(ctx context.Context, a *App, o opening) (items.Driver, kept, error) {
	path := a.Path("index", "items.db")
	x, err := openIndex(o.stores, path, items.ErrCorrupt, func(onCorrupt func(error)) (*sqlite.Items, error) {
		return sqlite.OpenItems(ctx, sqlite.IndexConfig{Path: path, MemoryBytes: o.memory, OnCorrupt: onCorrupt})
	})
	if err != nil {
		return nil, kept{}, fmt.Errorf("open items: %w", err)
	}
	return x, kept{evict: x.Evict, check: x.Check, scrub: wholly(x.Scrub), close: x.Close}, nil
}

func openItemsDatabase(ctx context.Context, a *App, _ opening) (items.Driver, kept, error) {
	x, err := postgres.OpenItems(ctx, postgres.ItemsConfig{URL: a.DatabaseURL, Schema: a.schema("items"), MaxConns: a.DatabaseConns})
	return x, kept{scrub: wholly(x.Scrub), close: x.Close}, unusable(err, postgres.ErrUnusable)
}

func openKeywordMemory(_ context.Context, a *App, o opening) (keyword.Index, kept, error) {
	if a.KeywordLang != "" {
		return nil, kept{}, config.Usagef("KEYWORD_LANGUAGE needs KEYWORD=postgres: the index in the process has its own analysis")
	}
	x, err := memory.OpenKeyword(memory.KeywordConfig{Dir: a.Path("index", o.name), MemoryBytes: o.memory, OnError: o.onError})
	if err != nil {
		return nil, kept{}, fmt.Errorf("open keyword index: %w", err)
	}
	return x, kept{evict: x.Evict, scrub: x.Scrub, remaining: x.Remaining, close: x.Close}, nil
}

func openKeywordDatabase(ctx context.Context, a *App, o opening) (keyword.Index, kept, error) {
	if a.DatabaseURL == "" {
		return nil, kept{}, config.Usagef("KEYWORD=postgres needs DATABASE_URL")
	}
	x, err := postgres.OpenKeyword(ctx, postgres.KeywordConfig{URL: a.DatabaseURL, Schema: a.schema(o.name), MaxConns: a.DatabaseConns, Language: a.KeywordLang})
	return x, kept{scrub: x.Scrub, remaining: x.Remaining, close: x.Close}, unusable(err, postgres.ErrUnusable)
}

func openVectorMemory(_ context.Context, a *App, o opening) (vector.Driver, kept, error) {
	x, err := memory.OpenVector(memory.VectorConfig{Dir: a.Path("index", o.name), MemoryBytes: o.memory, SnapshotEvery: o.every, Model: o.contents, Dimensions: o.dimensions, OnError: o.onError})
	if err != nil {
		return nil, kept{}, fmt.Errorf("open vector index: %w", err)
	}
	return x, kept{evict: x.Evict, scrub: x.Scrub, remaining: x.Remaining, close: x.Close}, nil
}

func openQdrant(ctx context.Context, a *App, o opening) (vector.Driver, kept, error) {
	x, err := qdrant.Open(ctx, a.qdrant(o.contents, o.dimensions))
	return x, kept{scrub: nothing, remaining: x.Remaining, drop: x.Drop, close: x.Close}, unusable(err, qdrant.ErrUnusable)
}

func openGraphFile(ctx context.Context, a *App, o opening) (graph.Driver, kept, error) {
	path := a.Path("index", "graph.db")
	x, err := openIndex(o.stores, path, graph.ErrCorrupt, func(onCorrupt func(error)) (*sqlite.Graph, error) {
		return sqlite.OpenGraph(ctx, sqlite.IndexConfig{Path: path, MemoryBytes: o.memory, OnCorrupt: onCorrupt})
	})
	if err != nil {
		return nil, kept{}, fmt.Errorf("open graph: %w", err)
	}
	return x, kept{evict: x.Evict, check: x.Check, scrub: wholly(x.Scrub), remaining: ofTenant(x.Remaining), close: x.Close}, nil
}

func openNeo4j(ctx context.Context, a *App, _ opening) (graph.Driver, kept, error) {
	x, err := neo4j.Open(ctx, a.neo4j())
	return x, kept{scrub: nothing, remaining: ofTenant(x.Remaining), drop: x.Drop, close: func() error { return x.Close(context.WithoutCancel(ctx)) }}, unusable(err, neo4j.ErrUnusable)
}

// nothing is the scrub of a server: what is left there of what was deleted is its own.
func nothing(context.Context, scope.Scope) error { return nil }

// wholly is the scrub of a store that is cleaned as a whole.
func wholly(scrub func(context.Context) error) func(context.Context, scope.Scope) error {
	return func(ctx context.Context, _ scope.Scope) error { return scrub(ctx) }
}

func ofTenant(remaining func(context.Context, string, []string) (int, error)) func(context.Context, scope.Scope, []string) (int, error) {
	return func(ctx context.Context, s scope.Scope, ids []string) (int, error) {
		return remaining(ctx, s.Tenant(), ids)
	}
}

func (a *App) neo4j() neo4j.Config {
	return neo4j.Config{URL: a.Neo4jURL, User: a.Neo4jUser, Password: a.Neo4jPassword, Database: a.Neo4jDatabase,
		CAFile: a.Neo4jCA, Namespace: a.Neo4jNamespace}
}

func (a *App) qdrant(model string, dimensions int) qdrant.Config {
	return qdrant.Config{URL: a.QdrantURL, APIKey: a.QdrantKey, CAFile: a.QdrantCA, Collection: a.QdrantCollection, Model: model,
		Dimensions: dimensions, Quantisation: a.QdrantQuantisation, Replicas: a.QdrantReplicas, Batch: a.QdrantBatch}
}

// unusable marks an error as one of the settings when it is kind.
func unusable(err, kind error) error {
	if errors.Is(err, kind) {
		return &config.UsageError{Err: err}
	}
	return err
}

// CheckServers says of each index server whether it answers and is spoken to in secret.
func (a *App) CheckServers(ctx context.Context) []Finding {
	var list []Finding
	d := a.drivers()
	for _, probe := range []func(context.Context, *App) Finding{d.graph.probe, d.vector.probe} {
		if probe != nil {
			list = append(list, probe(ctx, a))
		}
	}
	return list
}

// CheckLogged says whether the log keeps what it has committed.
func (a *App) CheckLogged(ctx context.Context) Finding { return a.drivers().log.probe(ctx, a) }

func probeLogFile(context.Context, *App) Finding {
	return Finding{Check: "logged survives", OK: true, Detail: "the log commits with synchronous=FULL; a receipt of level logged stands on this disk"}
}

func probeLogDatabase(ctx context.Context, a *App) Finding {
	f := Finding{Check: "logged survives"}
	db, err := postgres.OpenLog(ctx, postgres.LogConfig{URL: a.DatabaseURL, Schema: a.schema("log"), MaxConns: 1})
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	risks, err := db.Risks(ctx)
	if err := errors.Join(err, db.Close()); err != nil {
		f.Detail = err.Error()
		return f
	}
	if len(risks) > 0 {
		f.Detail = strings.Join(risks, "; ")
		return f
	}
	f.OK = true
	f.Detail = "Postgres commits with fsync and synchronous_commit on; standbys and backups are its administrator's"
	return f
}

func probeNeo4j(ctx context.Context, a *App) Finding {
	f := Finding{Check: "graph"}
	db, err := neo4j.Open(ctx, a.neo4j())
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	f = a.reached(f, "Neo4j", a.Neo4jURL, db.Encrypted())
	if err := db.Close(ctx); err != nil {
		f.OK, f.Detail = false, err.Error()
	}
	return f
}

func probeQdrant(ctx context.Context, a *App) Finding {
	f := Finding{Check: "vectors"}
	e, err := a.openEmbedding(ctx, a.Logger(a.Err))
	if err != nil {
		f.Detail = "the embedding model is not known: " + err.Error()
		return f
	}
	model := e.Model()
	if err := e.close(); err != nil {
		f.Detail = err.Error()
		return f
	}
	x, err := qdrant.Open(ctx, a.qdrant(model.String(), model.Dimensions))
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	at, err := url.Parse(a.QdrantURL)
	f = a.reached(f, "Qdrant", a.QdrantURL, err == nil && at.Scheme == "https")
	f.Detail += ", collection " + x.Collection()
	if err := x.Close(); err != nil {
		f.OK, f.Detail = false, err.Error()
	}
	return f
}

// reached is the finding about a server that answers: it does not hold when what is
// remembered crosses a network for all to read.
func (a *App) reached(f Finding, name, address string, encrypted bool) Finding {
	f.OK, f.Detail = true, name+" at "+config.Mask(address)+" answers"
	if !encrypted && !onThisMachine(address) {
		f.OK = false
		f.Detail += ", and credentials and memories travel there unencrypted"
	}
	return f
}

func onThisMachine(address string) bool {
	at, err := url.Parse(address)
	return err == nil && httpclient.OnThisMachine(at.Hostname())
}
