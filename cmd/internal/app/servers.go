package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"satchel/cmd/internal/config"
	"satchel/pipeline/infra/httpclient"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/graph"
	vectormem "satchel/pipeline/store/memory"
	"satchel/pipeline/store/neo4j"
	"satchel/pipeline/store/qdrant"
	"satchel/pipeline/store/sqlite"
	"satchel/pipeline/store/vector"
	"satchel/worker/erasure"
)

// retrieval is how long a retriever may take: as long as the request has, when none waits
// for a server.
func (a *App) retrieval() time.Duration {
	if a.Neo4jURL == "" && a.QdrantURL == "" && a.Keyword != "postgres" {
		return 0
	}
	return time.Duration(a.RetrievalMS) * time.Millisecond
}

// erasable is how an index is cleaned after an erasure, and checked.
type erasable struct {
	scrub     func(ctx context.Context, s scope.Scope) error
	remaining func(ctx context.Context, s scope.Scope, ids []string) (int, error)
}

func (e erasable) scrubber(store string) erasure.Scrubber {
	return erasure.Scrubber{Store: store, Scrub: e.scrub, Remaining: e.remaining}
}

// nothing is the Scrub of a server: what is left there of what was deleted is its own.
func nothing(context.Context, scope.Scope) error { return nil }

// openGraph opens the graph where the settings say; memory is what it may hold in the
// process.
func (a *App) openGraph(ctx context.Context, s *Stores, memory int64) error {
	if a.Neo4jURL == "" {
		path := a.Path("index", "graph.db")
		db, err := openIndex(s.damages, "graph.db", path, graph.ErrCorrupt, s.tellLate, func(onCorrupt func(error)) (*sqlite.Graph, error) {
			return sqlite.OpenGraph(ctx, sqlite.GraphConfig{Path: path, MemoryBytes: memory, OnCorrupt: onCorrupt})
		})
		if err != nil {
			return fmt.Errorf("open graph: %w", err)
		}
		s.closers = append(s.closers, db.Close)
		s.Graph = graph.New(db)
		s.evict, s.checks = append(s.evict, db.Evict), append(s.checks, db.Check)
		s.erase.graph = erasable{func(ctx context.Context, _ scope.Scope) error { return db.Scrub(ctx) },
			func(ctx context.Context, sc scope.Scope, ids []string) (int, error) {
				return db.Remaining(ctx, sc.Tenant(), ids)
			}}
		return nil
	}
	db, err := neo4j.Open(ctx, a.neo4j())
	if err != nil {
		return unusable(err, neo4j.ErrUnusable)
	}
	s.closers = append(s.closers, func() error { return db.Close(context.WithoutCancel(ctx)) })
	s.Graph = graph.New(db)
	s.erase.graph = erasable{nothing, func(ctx context.Context, sc scope.Scope, ids []string) (int, error) {
		return db.Remaining(ctx, sc.Tenant(), ids)
	}}
	return nil
}

func (a *App) neo4j() neo4j.Config {
	return neo4j.Config{URL: a.Neo4jURL, User: a.Neo4jUser, Password: a.Neo4jPassword, Database: a.Neo4jDatabase,
		CAFile: a.Neo4jCA, Namespace: a.Neo4jNamespace}
}

// openVector opens a model's vectors where the settings say; memory is what they may hold
// in the process, folder where under index/ they are kept then, and every how many changes; 0: the index's default.
func (a *App) openVector(ctx context.Context, s *Stores, side *VectorTarget, folder string, memory int64, every int, onError func(string, error)) error {
	contents, dimensions := side.contents(), side.Model().Dimensions
	if a.QdrantURL == "" {
		x, err := vectormem.OpenVector(vectormem.VectorConfig{Dir: a.Path("index", folder), MemoryBytes: memory, SnapshotEvery: every, Model: contents, Dimensions: dimensions, OnError: onError})
		if err != nil {
			return fmt.Errorf("open vector index: %w", err)
		}
		s.closers = append(s.closers, x.Close)
		side.index, side.erase = vector.New(x), erasable{x.Scrub, x.Remaining}
		s.evict = append(s.evict, x.Evict)
		return nil
	}
	x, err := qdrant.Open(ctx, a.qdrant(contents, dimensions))
	if err != nil {
		return unusable(err, qdrant.ErrUnusable)
	}
	s.closers = append(s.closers, x.Close)
	side.index, side.erase = vector.New(x), erasable{nothing, x.Remaining}
	return nil
}

func (a *App) qdrant(model string, dimensions int) qdrant.Config {
	return qdrant.Config{URL: a.QdrantURL, APIKey: a.QdrantKey, CAFile: a.QdrantCA, Collection: a.QdrantCollection, Model: model,
		Dimensions: dimensions, Quantisation: a.QdrantQuantisation, Replicas: a.QdrantReplicas, Batch: a.QdrantBatch}
}

// dropIndexes removes what a run of its own has made on the servers of graph and vectors.
func (a *App) dropIndexes(ctx context.Context) (err error) {
	if a.Neo4jURL != "" {
		db, err := neo4j.Open(ctx, a.neo4j())
		if err != nil {
			return err
		}
		if err := errors.Join(db.Drop(ctx), db.Close(ctx)); err != nil {
			return err
		}
	}
	if a.QdrantURL == "" {
		return nil
	}
	e, err := a.openEmbedding(ctx, a.Logger(a.Err))
	if err != nil {
		return err
	}
	if err := e.close(); err != nil {
		return err
	}
	for _, side := range e.sides() {
		x, err := qdrant.Open(ctx, a.qdrant(side.Model().String(), side.Model().Dimensions))
		if err != nil {
			return err
		}
		if err := errors.Join(x.Drop(ctx), x.Close()); err != nil {
			return err
		}
	}
	return nil
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
	if a.Neo4jURL != "" {
		f := Finding{Check: "graph"}
		db, err := neo4j.Open(ctx, a.neo4j())
		if err != nil {
			f.Detail = err.Error()
		} else {
			f = a.reached(f, "Neo4j", a.Neo4jURL, db.Encrypted())
			if err := db.Close(ctx); err != nil {
				f.OK, f.Detail = false, err.Error()
			}
		}
		list = append(list, f)
	}
	if a.QdrantURL != "" {
		list = append(list, a.checkQdrant(ctx))
	}
	return list
}

func (a *App) checkQdrant(ctx context.Context) Finding {
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
