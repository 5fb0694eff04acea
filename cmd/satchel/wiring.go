package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/goccy/go-yaml"

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
	if s.items, itemDB, err = a.openItems(ctx, memory); err != nil {
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
	keys, err := a.signingKeys()
	if err != nil {
		return nil, err
	}
	w, err := write.New(write.Config{Keys: keys, RequireSignature: a.Signed, Detector: detector, OnFound: write.OnFound(a.OnWrite)})
	if err != nil {
		return nil, &usageError{err}
	}
	return w, nil
}

// keyless says what is wrong when signatures are required and no key is known.
const keyless = "every memory is refused: SATCHEL_REQUIRE_SIGNATURE is set, and SATCHEL_SIGNING_KEYS names no key"

// signingKeys reads the agents' public keys, by key id.
func (a *app) signingKeys() (keys map[string]string, err error) {
	if a.Keys == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(a.Keys)
	if err != nil {
		return nil, usagef("read signing keys: %v", err)
	}
	if err := yaml.Unmarshal(raw, &keys); err != nil {
		return nil, usagef("read signing keys %s: %v", a.Keys, err)
	}
	return keys, nil
}

// checkSignatures says whose memories are taken; nothing where none is signed.
func (a *app) checkSignatures() []finding {
	if !a.Signed && a.Keys == "" {
		return nil
	}
	f := finding{Check: "signatures"}
	_, err := a.openWriter()
	keys, _ := a.signingKeys()
	switch {
	case err != nil:
		f.Detail = err.Error()
	case a.Signed && len(keys) == 0:
		f.Detail = keyless
	case a.Signed:
		f.OK, f.Detail = true, "a memory has to be signed by one of "+plural(len(keys), "key", "keys")
	default:
		f.OK, f.Detail = true, plural(len(keys), "key is", "keys are")+" known; memories need no signature"
	}
	return []finding{f}
}
