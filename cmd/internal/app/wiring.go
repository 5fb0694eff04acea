package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/goccy/go-yaml"

	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/pii"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/token"
	"satchel/pipeline/write"
	"satchel/policies"
	"satchel/worker"
	"satchel/worker/erasure"
	"satchel/worker/projection"
)

// Fixed replaces what differs from run to run; the zero value leaves it to chance.
type Fixed struct {
	Clock func() time.Time
	NewID func() string
	Rand  io.Reader
}

// Stores are the log and the indexes, open.
type Stores struct {
	Log       *eventlog.Log
	Items     *items.Items
	Keyword   keyword.Index
	Private   keyword.Index // whole texts of items that policy shows in part
	Vector    servingIndex
	Graph     *graph.Graph
	Embedder  *embedding
	tokens    *token.Registry
	public    *pii.Sanitizer     // takes from an item what only some readers may see
	grants    *policies.Registry // of trust
	scrub     []erasure.Scrubber
	evict     []func(ctx context.Context, s scope.Scope) error // put a tenant out of memory
	reindexer func() *projection.Reindexer                     // fills the next model's vectors; nil: none does
	shared    projection.Shared                                // which of them are on servers

	damages *damages
	checks  []func(ctx context.Context) error // look for damage in a whole file
	late    chan *damagedError                // a file that is open turned out to be damaged

	verifierKey string
	closers     []func() error
}

// Close closes it.
func (s *Stores) Close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	return errors.Join(errs...)
}

// tellLate notes that a file that is open is damaged.
func (s *Stores) tellLate(damaged *damagedError) {
	select {
	case s.late <- damaged:
	default: // another is, and the process starts its parts again already
	}
}

// OpenStores opens the log and every index.
func (a *App) OpenStores(ctx context.Context, f Fixed, logger *slog.Logger) (*Stores, error) {
	d := a.drivers()
	s := &Stores{tokens: &token.Registry{}, damages: newDamages(logger), late: make(chan *damagedError, 1),
		shared: projection.Shared{Items: d.items.shared, Keyword: d.keyword.shared, Vector: d.vector.shared, Graph: d.graph.shared}}
	fail := func(err error) (*Stores, error) { return nil, errors.Join(err, s.Close()) }
	if err := os.MkdirAll(a.Path("index"), 0o700); err != nil {
		return nil, fmt.Errorf("open data folder: %w", err)
	}
	var err error
	if s.Embedder, err = a.openEmbedding(ctx, logger); err != nil {
		return fail(err)
	}
	s.closers = append(s.closers, s.Embedder.close)
	if s.Log, s.verifierKey, err = a.OpenLog(ctx, f); err != nil {
		return fail(err)
	}
	s.closers = append(s.closers, s.Log.Close)
	if s.public, err = a.OpenSanitizer(); err != nil {
		return fail(err)
	}
	if s.grants, err = a.OpenRegistry(); err != nil {
		return fail(err)
	}
	memory := int64(a.MemoryMB) << 20
	itemDB, keptItems, err := openStore(ctx, a, d.items, opening{stores: s, memory: memory / 8})
	if err != nil {
		return fail(err)
	}
	s.Items = items.NewWithCache(itemDB, memory/10)
	if d.items.shared {
		s.Items = items.NewShared(itemDB)
	}
	graphs, keptGraph, err := openStore(ctx, a, d.graph, opening{stores: s, memory: memory / 8})
	if err != nil {
		return fail(err)
	}
	s.Graph = graph.New(graphs)
	openKeyword := func(name string, memory int64) (keyword.Index, kept, error) {
		return openStore(ctx, a, d.keyword, opening{stores: s, name: name, memory: memory, onError: s.damages.snapshotDamage(name)})
	}
	var keptKeyword, keptPrivate kept
	if s.Keyword, keptKeyword, err = openKeyword("keyword", memory/16*5); err != nil {
		return fail(err)
	}
	if s.Private, keptPrivate, err = openKeyword("private", memory/16); err != nil {
		return fail(err)
	}
	if err := a.openSides(ctx, s, memory/8*3, logger); err != nil {
		return fail(err)
	}
	keptItems.remaining = func(ctx context.Context, sc scope.Scope, ids []string) (int, error) {
		left, err := s.Items.Get(ctx, sc, ids)
		return len(left), err
	}
	s.scrub = append(s.scrubSides(),
		erasure.Scrubber{Store: "log", Scrub: wholly(s.Log.Scrub), Shared: d.log.shared},
		keptItems.scrubber("items", d.items.shared),
		keptKeyword.scrubber("keyword", d.keyword.shared),
		keptPrivate.scrubber("private keyword", d.keyword.shared),
		keptGraph.scrubber("graph", d.graph.shared))
	s.scrub = append(s.scrub, s.Embedder.scrubbers()...)
	return s, nil
}

// openStore opens a store by its driver and notes what the process does with it.
func openStore[P any](ctx context.Context, a *App, d driver[P], o opening) (P, kept, error) {
	x, k, err := d.open(ctx, a, o)
	if err != nil {
		return x, k, err
	}
	o.stores.closers = append(o.stores.closers, k.close)
	if k.evict != nil {
		o.stores.evict = append(o.stores.evict, k.evict)
	}
	if k.check != nil {
		o.stores.checks = append(o.stores.checks, k.check)
	}
	return x, k, nil
}

// scrubber is how a store is cleaned after an erasure.
func (k kept) scrubber(store string, shared bool) erasure.Scrubber {
	return erasure.Scrubber{Store: store, Scrub: k.scrub, Remaining: k.remaining, Shared: shared}
}

// Projector brings the indexes up to the log outside a running worker.
func (s *Stores) Projector() *projection.Projector {
	return worker.NewProjector(worker.Config{Log: s.Log, Stores: s.projections(), Embedder: s.Embedder.now.Load(), Sanitizer: s.public, Registry: s.grants})
}

// projections are the indexes as the worker feeds them.
func (s *Stores) projections() projection.Stores {
	return projection.Stores{Items: s.Items, Tokens: s.Items, Novelty: s.Items, Keyword: s.Keyword, Private: s.Private, Vector: s.Embedder.projected(s.Embedder.now.Load()), Graph: s.Graph, Shared: s.shared}
}

// openWriter returns the first stage of the pipeline with the agents' keys.
func (a *App) openWriter() (*write.Writer, error) {
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
		return nil, &config.UsageError{Err: err}
	}
	return w, nil
}

// Keyless says what is wrong when signatures are required and no key is known.
const Keyless = "every memory is refused: SATCHEL_REQUIRE_SIGNATURE is set, and SATCHEL_SIGNING_KEYS names no key"

// signingKeys reads the agents' public keys, by key id.
func (a *App) signingKeys() (keys map[string]string, err error) {
	if a.Keys == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(a.Keys)
	if err != nil {
		return nil, config.Usagef("read signing keys: %v", err)
	}
	if err := yaml.Unmarshal(raw, &keys); err != nil {
		return nil, config.Usagef("read signing keys %s: %v", a.Keys, err)
	}
	return keys, nil
}

// CheckSignatures says whose memories are taken; nothing where none is signed.
func (a *App) CheckSignatures() []Finding {
	if !a.Signed && a.Keys == "" {
		return nil
	}
	f := Finding{Check: "signatures"}
	_, err := a.openWriter()
	keys, _ := a.signingKeys()
	switch {
	case err != nil:
		f.Detail = err.Error()
	case a.Signed && len(keys) == 0:
		f.Detail = Keyless
	case a.Signed:
		f.OK, f.Detail = true, "a memory has to be signed by one of "+terminal.Plural(len(keys), "key", "keys")
	default:
		f.OK, f.Detail = true, terminal.Plural(len(keys), "key is", "keys are")+" known; memories need no signature"
	}
	return []Finding{f}
}
