package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/graph"
	graphneo4j "satchel/pipeline/store/graph/neo4j"
	graphsqlite "satchel/pipeline/store/graph/sqlite"
	"satchel/pipeline/store/vector"
	vectormem "satchel/pipeline/store/vector/inproc"
	vectorqdrant "satchel/pipeline/store/vector/qdrant"
	"satchel/worker"
)

// ServerSettings name the servers that indexes may be moved to.
type ServerSettings struct {
	Neo4jURL       string `name:"neo4j-url" help:"Neo4j that keeps the graph, as neo4j+s://host:7687; empty: SQLite in the data folder." env:"NEO4J_URL"`
	Neo4jUser      string `name:"neo4j-user" help:"Its user." default:"neo4j" env:"NEO4J_USER"`
	Neo4jPassword  string `name:"neo4j-password" help:"The user's password." env:"NEO4J_PASSWORD" secret:"true"`
	Neo4jDatabase  string `name:"neo4j-database" help:"Its database." default:"neo4j" env:"NEO4J_DATABASE"`
	Neo4jCA        string `name:"neo4j-ca" help:"PEM file of the certificates to trust of it; empty: the system's." env:"NEO4J_CA" type:"path"`
	Neo4jNamespace string `name:"neo4j-namespace" help:"Stands before every tenant's name, so that installations can share a database." env:"NEO4J_NAMESPACE"`

	QdrantURL          string `name:"qdrant-url" help:"Qdrant that keeps the vectors, as https://host:6334, the port of gRPC; empty: memory and the data folder." env:"QDRANT_URL"`
	QdrantKey          string `name:"qdrant-api-key" help:"Its API key." env:"QDRANT_API_KEY" secret:"true"`
	QdrantCA           string `name:"qdrant-ca" help:"PEM file of the certificates to trust of it; empty: the system's." env:"QDRANT_CA" type:"path"`
	QdrantCollection   string `name:"qdrant-collection" help:"Beginning of the names of its collections, one for each embedding model." default:"satchel" env:"QDRANT_COLLECTION"`
	QdrantQuantisation string `name:"qdrant-quantization" help:"How a new collection keeps the vectors it searches first: int8 or none." default:"int8" enum:"int8,none" env:"QDRANT_QUANTIZATION"`
	QdrantReplicas     int    `name:"qdrant-replicas" help:"Copies of a new collection in a cluster." default:"1" env:"QDRANT_REPLICAS" min:"1" max:"1000"`
	RetrievalMS        int    `name:"retrieval-ms" help:"Milliseconds that a search on such a server may take before a request goes on without it." default:"2000" env:"SATCHEL_RETRIEVAL_MS" min:"1" max:"86400000"`

	QdrantBatch int `name:"qdrant-batch" help:"Points that a request writes." default:"256" env:"QDRANT_BATCH" min:"1" max:"65536"`
}

// retrieval is how long a retriever may take: as long as the request has, when none waits
// for a server.
func (a *app) retrieval() time.Duration {
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

func (e erasable) scrubber(store string) worker.Scrubber {
	return worker.Scrubber{Store: store, Scrub: e.scrub, Remaining: e.remaining}
}

// nothing is the Scrub of a server: what is left there of what was deleted is its own.
func nothing(context.Context, scope.Scope) error { return nil }

// openGraph opens the graph where the settings say; memory is what it may hold in the
// process.
func (a *app) openGraph(ctx context.Context, s *stores, memory int64) error {
	if a.Neo4jURL == "" {
		db, err := graphsqlite.Open(ctx, graphsqlite.Config{Path: a.path("index", "graph.db"), MemoryBytes: memory})
		if err != nil {
			return fmt.Errorf("open graph: %w", err)
		}
		s.closers = append(s.closers, db.Close)
		s.graph = graph.New(db)
		s.erase.graph.scrub = func(ctx context.Context, _ scope.Scope) error { return db.Scrub(ctx) }
		return nil
	}
	db, err := graphneo4j.Open(ctx, a.neo4j())
	if err != nil {
		return unusable(err, graphneo4j.ErrUnusable)
	}
	s.closers = append(s.closers, func() error { return db.Close(context.WithoutCancel(ctx)) })
	s.graph = graph.New(db)
	s.erase.graph = erasable{nothing, func(ctx context.Context, sc scope.Scope, ids []string) (int, error) {
		return db.Remaining(ctx, sc.Tenant(), ids)
	}}
	return nil
}

func (a *app) neo4j() graphneo4j.Config {
	return graphneo4j.Config{URL: a.Neo4jURL, User: a.Neo4jUser, Password: a.Neo4jPassword, Database: a.Neo4jDatabase,
		CAFile: a.Neo4jCA, Namespace: a.Neo4jNamespace}
}

// openVector opens a model's vectors where the settings say; memory is what they may hold
// in the process, and folder where under index/ they are kept then.
func (a *app) openVector(ctx context.Context, s *stores, side *side, folder string, memory int64, onError func(string, error)) error {
	model := side.Model()
	if a.QdrantURL == "" {
		x, err := vectormem.Open(vectormem.Config{Dir: a.path("index", folder), MemoryBytes: memory, Model: model.String(), Dimensions: model.Dimensions, OnError: onError})
		if err != nil {
			return fmt.Errorf("open vector index: %w", err)
		}
		s.closers = append(s.closers, x.Close)
		side.index, side.erase.scrub = vector.New(x), x.Scrub
		return nil
	}
	x, err := vectorqdrant.Open(ctx, a.qdrant(model.String(), model.Dimensions))
	if err != nil {
		return unusable(err, vectorqdrant.ErrUnusable)
	}
	s.closers = append(s.closers, x.Close)
	side.index, side.erase = vector.New(x), erasable{nothing, x.Remaining}
	return nil
}

func (a *app) qdrant(model string, dimensions int) vectorqdrant.Config {
	return vectorqdrant.Config{URL: a.QdrantURL, APIKey: a.QdrantKey, CAFile: a.QdrantCA, Collection: a.QdrantCollection, Model: model,
		Dimensions: dimensions, Quantisation: a.QdrantQuantisation, Replicas: a.QdrantReplicas, Batch: a.QdrantBatch}
}

// dropIndexes removes what a run of its own has made on the servers of graph and vectors.
func (a *app) dropIndexes(ctx context.Context) (err error) {
	if a.Neo4jURL != "" {
		db, err := graphneo4j.Open(ctx, a.neo4j())
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
	e, err := a.openEmbedding(ctx, a.logger(a.err))
	if err != nil {
		return err
	}
	model := e.Model()
	if err := e.close(); err != nil {
		return err
	}
	x, err := vectorqdrant.Open(ctx, a.qdrant(model.String(), model.Dimensions))
	if err != nil {
		return err
	}
	return errors.Join(x.Drop(ctx), x.Close())
}

// unusable marks an error as one of the settings when it is kind.
func unusable(err, kind error) error {
	if errors.Is(err, kind) {
		return &usageError{err}
	}
	return err
}

// checkServers says of each index server whether it answers and is spoken to in secret.
func (a *app) checkServers(ctx context.Context) []finding {
	var list []finding
	if a.Neo4jURL != "" {
		f := finding{Check: "graph"}
		db, err := graphneo4j.Open(ctx, a.neo4j())
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

func (a *app) checkQdrant(ctx context.Context) finding {
	f := finding{Check: "vectors"}
	e, err := a.openEmbedding(ctx, a.logger(a.err))
	if err != nil {
		f.Detail = "the embedding model is not known: " + err.Error()
		return f
	}
	model := e.Model()
	if err := e.close(); err != nil {
		f.Detail = err.Error()
		return f
	}
	x, err := vectorqdrant.Open(ctx, a.qdrant(model.String(), model.Dimensions))
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
func (a *app) reached(f finding, name, address string, encrypted bool) finding {
	f.OK, f.Detail = true, name+" at "+mask(address)+" answers"
	if !encrypted && !onThisMachine(address) {
		f.OK = false
		f.Detail += ", and credentials and memories travel there unencrypted"
	}
	return f
}

func onThisMachine(address string) bool {
	at, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(at.Hostname())
	return at.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
