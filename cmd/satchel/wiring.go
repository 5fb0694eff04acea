package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"golang.org/x/mod/sumdb/note"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
	"satchel/pipeline/token"
	"satchel/pipeline/write"
	"satchel/worker"
)

// fixed replaces what differs from run to run; the zero value leaves it to chance.
type fixed struct {
	clock func() time.Time
	newID func() string
	rand  io.Reader
}

// stores are the log and the indexes, open.
type stores struct {
	log      *eventlog.Log
	items    *items.Items
	keyword  keywordIndex
	vector   switched
	graph    *graph.Graph
	embedder *embedding
	tokens   *token.Registry
	scrub    []worker.Scrubber
	erase    struct{ graph erasable }
	shadow   func() *worker.Shadow // fills the next model's vectors; nil: none does
	shared   worker.Shared         // which of them are on servers

	verifierKey string
	closers     []func() error
}

func (s *stores) close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	return errors.Join(errs...)
}

// openLog opens the event log alone.
func (a *app) openLog(ctx context.Context, f fixed) (_ *eventlog.Log, verifierKey string, err error) {
	if err := os.MkdirAll(a.path("keys"), 0o700); err != nil {
		return nil, "", fmt.Errorf("open data folder: %w", err)
	}
	if a.DatabaseURL == "" {
		if err := a.checkKey(); err != nil {
			return nil, "", err
		}
	}
	driver, err := a.logDriver(ctx)
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, driver.Close())
		}
	}()
	if err := a.checkMigration(ctx, driver); err != nil {
		return nil, "", err
	}
	if a.DatabaseURL != "" {
		if err := a.checkSharedKey(ctx, driver); err != nil {
			return nil, "", err
		}
	}
	signer, key, err := a.logKey(f.rand)
	if err != nil {
		return nil, "", err
	}
	log, err := eventlog.New(eventlog.Config{Driver: driver, Clock: f.clock, Rand: f.rand, Signer: signer, VerifierKey: key, Keep: a.path("heads"), Tail: a.tailBytes()})
	if err != nil {
		return nil, "", fmt.Errorf("open event log: %w", err)
	}
	return log, key, nil
}

// checkKey refuses a log whose key is missing: another key could not continue its heads.
func (a *app) checkKey() error {
	private := a.path("keys", "log.key")
	if _, err := os.Stat(private); !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if _, there := os.Stat(a.path("log.db")); there == nil {
		return usagef("the key that signs the log is missing (%s): put it back, or remove the log with it", private)
	}
	return nil
}

// checkSharedKey is checkKey for a log in a database.
func (a *app) checkSharedKey(ctx context.Context, driver eventlog.Driver) error {
	private := a.path("keys", "log.key")
	if _, err := os.Stat(private); !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var tenants []string
	err := driver.View(ctx, func(r eventlog.Reader) (err error) {
		tenants, err = r.Tenants()
		return err
	})
	if err == nil && len(tenants) > 0 {
		err = usagef("the database holds a log, and the key that signs it is missing (%s): copy log.key and log.pub from the folder of the worker that made it", private)
	}
	return err
}

// logKey reads the key that signs heads, and makes it when there is none.
func (a *app) logKey(random io.Reader) (note.Signer, string, error) {
	private, public := a.path("keys", "log.key"), a.path("keys", "log.pub")
	raw, err := os.ReadFile(private)
	if errors.Is(err, os.ErrNotExist) {
		if random == nil {
			random = rand.Reader
		}
		skey, vkey, err := note.GenerateKey(random, "satchel")
		if err != nil {
			return nil, "", fmt.Errorf("make log key: %w", err)
		}
		if err := os.WriteFile(private, []byte(skey), 0o600); err != nil {
			return nil, "", fmt.Errorf("write log key: %w", err)
		}
		if err := os.WriteFile(public, []byte(vkey+"\n"), 0o644); err != nil {
			return nil, "", fmt.Errorf("write log key: %w", err)
		}
		raw = []byte(skey)
	} else if err != nil {
		return nil, "", fmt.Errorf("read log key: %w", err)
	}
	signer, err := note.NewSigner(string(raw))
	if err != nil {
		return nil, "", fmt.Errorf("read log key %s: %w", private, err)
	}
	vkey, err := os.ReadFile(public)
	if err != nil {
		return nil, "", fmt.Errorf("read log key: %w", err)
	}
	return signer, strings.TrimSpace(string(vkey)), nil
}

// openStores opens the log and every index.
func (a *app) openStores(ctx context.Context, f fixed, logger *slog.Logger) (*stores, error) {
	s := &stores{tokens: &token.Registry{}, shared: worker.Shared{Items: a.DatabaseURL != "", Keyword: a.Keyword == "postgres", Vector: a.QdrantURL != "", Graph: a.Neo4jURL != ""}}
	fail := func(err error) (*stores, error) { return nil, errors.Join(err, s.close()) }
	if err := os.MkdirAll(a.path("index"), 0o700); err != nil {
		return nil, fmt.Errorf("open data folder: %w", err)
	}
	var err error
	if s.embedder, err = a.openEmbedding(ctx, logger); err != nil {
		return fail(err)
	}
	s.closers = append(s.closers, s.embedder.close)
	if s.log, s.verifierKey, err = a.openLog(ctx, f); err != nil {
		return fail(err)
	}
	s.closers = append(s.closers, s.log.Close)
	memory := int64(a.MemoryMB) << 20
	var itemDB itemStore
	if s.items, itemDB, err = a.openItems(ctx, memory/8); err != nil {
		return fail(err)
	}
	s.closers = append(s.closers, itemDB.Close)
	if err := a.openGraph(ctx, s, memory/8); err != nil {
		return fail(err)
	}
	warn := func(index string) func(string, error) {
		return func(tenant string, err error) {
			logger.Warn("index snapshot", "index", index, "tenant", tenant, "error", err)
		}
	}
	if s.keyword, err = a.openKeyword(ctx, memory/8*3, warn("keyword")); err != nil {
		return fail(err)
	}
	s.closers = append(s.closers, s.keyword.Close)
	if err := a.openSides(ctx, s, memory/8*3, warn("vector")); err != nil {
		return fail(err)
	}
	s.scrub = append(s.scrubbers(itemDB.Scrub), s.embedder.scrubbers()...)
	return s, nil
}

// scrubbers lists what an erasure has to clean, and how it is checked.
func (s *stores) scrubbers(items func(context.Context) error) []worker.Scrubber {
	whole := func(scrub func(context.Context) error) func(context.Context, scope.Scope) error {
		return func(ctx context.Context, _ scope.Scope) error { return scrub(ctx) }
	}
	graph := s.erase.graph.scrubber("graph")
	graph.Shared = s.shared.Graph
	shadow := func() *worker.Shadow {
		if s.shadow == nil {
			return nil
		}
		return s.shadow()
	}
	return append(s.scrubSides(shadow), []worker.Scrubber{
		{Store: "log", Scrub: whole(s.log.Scrub), Shared: s.shared.Items},
		{Store: "items", Scrub: whole(items), Shared: s.shared.Items,
			Remaining: func(ctx context.Context, sc scope.Scope, ids []string) (int, error) {
				left, err := s.items.Get(ctx, sc, ids)
				return len(left), err
			}},
		{Store: "keyword", Scrub: s.keyword.Scrub, Shared: s.shared.Keyword},
		graph,
	}...)
}

// projections are the indexes as the worker feeds them.
func (s *stores) projections() worker.Stores {
	return worker.Stores{Items: s.items, Tokens: s.items, Novelty: s.items, Keyword: s.keyword, Vector: s.embedder.now.Load().index, Graph: s.graph, Shared: s.shared}
}

// openWriter returns the first stage of the pipeline with the agents' keys.
func (a *app) openWriter() (*write.Writer, error) {
	detector, err := a.openDetector()
	if err != nil {
		return nil, err
	}
	cfg := write.Config{RequireSignature: a.Signed, Detector: detector, OnFound: write.OnFound(a.OnWrite)}
	if a.Keys != "" {
		raw, err := os.ReadFile(a.Keys)
		if err != nil {
			return nil, usagef("read signing keys: %v", err)
		}
		if err := yaml.Unmarshal(raw, &cfg.Keys); err != nil {
			return nil, usagef("read signing keys %s: %v", a.Keys, err)
		}
	}
	w, err := write.New(cfg)
	if err != nil {
		return nil, &usageError{err}
	}
	return w, nil
}
