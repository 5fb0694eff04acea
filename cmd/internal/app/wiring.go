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
	Keyword   keywordIndex
	Private   keywordIndex // whole texts of items that policy shows in part
	Vector    servingIndex
	Graph     *graph.Graph
	Embedder  *embedding
	tokens    *token.Registry
	public    *pii.Sanitizer     // takes from an item what only some readers may see
	grants    *policies.Registry // of trust
	scrub     []erasure.Scrubber
	evict     []func(ctx context.Context, s scope.Scope) error // put a tenant out of memory
	erase     struct{ graph erasable }
	reindexer func() *projection.Reindexer // fills the next model's vectors; nil: none does
	shared    projection.Shared            // which of them are on servers

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
	default: // another is, and the process starts its parts anew already
	}
}

// OpenStores opens the log and every index.
func (a *App) OpenStores(ctx context.Context, f Fixed, logger *slog.Logger) (*Stores, error) {
	s := &Stores{tokens: &token.Registry{}, damages: newDamages(logger), late: make(chan *damagedError, 1), shared: projection.Shared{Items: a.DatabaseURL != "", Keyword: a.Keyword == "postgres", Vector: a.QdrantURL != "", Graph: a.Neo4jURL != ""}}
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
	itemDB, err := a.openItems(ctx, s, memory)
	if err != nil {
		return fail(err)
	}
	s.closers = append(s.closers, itemDB.Close)
	if err := a.openGraph(ctx, s, memory/8); err != nil {
		return fail(err)
	}
	for _, one := range []struct {
		index  *keywordIndex
		name   string
		memory int64
	}{{&s.Keyword, "keyword", memory / 16 * 5}, {&s.Private, "private", memory / 16}} {
		if *one.index, err = a.openKeyword(ctx, s, one.name, one.memory); err != nil {
			return fail(err)
		}
		s.closers = append(s.closers, (*one.index).Close)
	}
	if err := a.openSides(ctx, s, memory/8*3, logger); err != nil {
		return fail(err)
	}
	s.scrub = append(s.scrubbers(itemDB.Scrub), s.Embedder.scrubbers()...)
	return s, nil
}

// scrubbers lists what an erasure has to clean, and how it is checked.
func (s *Stores) scrubbers(items func(context.Context) error) []erasure.Scrubber {
	whole := func(scrub func(context.Context) error) func(context.Context, scope.Scope) error {
		return func(ctx context.Context, _ scope.Scope) error { return scrub(ctx) }
	}
	graph := s.erase.graph.scrubber("graph")
	graph.Shared = s.shared.Graph
	reindexer := func() *projection.Reindexer {
		if s.reindexer == nil {
			return nil
		}
		return s.reindexer()
	}
	return append(s.scrubSides(reindexer), []erasure.Scrubber{
		{Store: "log", Scrub: whole(s.Log.Scrub), Shared: s.shared.Items},
		{Store: "items", Scrub: whole(items), Shared: s.shared.Items,
			Remaining: func(ctx context.Context, sc scope.Scope, ids []string) (int, error) {
				left, err := s.Items.Get(ctx, sc, ids)
				return len(left), err
			}},
		{Store: "keyword", Scrub: s.Keyword.Scrub, Remaining: s.Keyword.Remaining, Shared: s.shared.Keyword},
		{Store: "private keyword", Scrub: s.Private.Scrub, Remaining: s.Private.Remaining, Shared: s.shared.Keyword},
		graph,
	}...)
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
