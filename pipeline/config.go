package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"satchel/pipeline/compaction"
	"satchel/pipeline/embed"
	"satchel/pipeline/isolation/artifact"
	"satchel/pipeline/pack"
	"satchel/pipeline/pack/template"
	"satchel/pipeline/pii"
	"satchel/pipeline/relevance"
	"satchel/pipeline/rerank"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/pipeline/token"
	"satchel/policies"
	"satchel/schemas"
)

// Source is the CloudEvents source of what the engine writes to the log.
const Source = schemas.SourceEngine

// agent is the agent of the engine's log entries.
const agent = "satchel"

// Config says what an Engine works with. Log, Items and PDP are required. Of the other
// stores each may be nil: what it would find is then not found.
type Config struct {
	Log      eventlog.Appender
	Items    items.Store
	Keyword  keyword.Index
	Vector   vector.Index
	Graph    graph.Store
	PDP      policies.PDP
	Embedder embed.Embedder

	// Tokens returns the counter of a model's tokenizer; "" is the default model.
	// Default: token.Estimate for every model.
	Tokens func(model string) token.Counter
	// Relevance decides which context a turn needs; a relevance.Gate is one. Default:
	// everything.
	Relevance gate
	// Indexed waits until the indexes have applied a position. Default: the engine
	// asks the stores for their checkpoints.
	Indexed indexed
	// Prover proves entries of the log. Default: requests for proofs are refused.
	Prover prover
	// Leaves reads leaf hashes for provenance. Default: provenance has positions only.
	Leaves leaves

	// Sanitizer meets the obligations of policy decisions. Default: marks alone, so that
	// what policy lets be seen under pseudonyms is denied.
	Sanitizer *pii.Sanitizer

	// Handles makes the handles of heavy content. Default: none, so that it cannot be
	// opened.
	Handles *artifact.Sealer

	Weights  *selection.Weights
	Disable  []string            // names of ranking features that are switched off
	Profiles []selection.Profile // besides the built-in ones
	Standard string              // ranking profile of a request that names none; default "default"
	Tenants  map[string]string   // by tenant, the profile of its requests that name none
	MinScore float64             // of requests that name none
	Slice    Budget              // what a request is given at most
	Shares   *pack.Shares        // of the token budget; default as the pack has them
	Orders   pack.Orders         // of items within sections
	Rules    *pack.Rules         // of affordances; default the built-in ones
	// Summarizer writes the TL;DR where what it says holds. Default: extractive.
	Summarizer *pack.Summarizer
	TLDR       int  // sentences; default 5, negative: none
	Graphs     bool // include the causal graph of the shown items
	Defend     selection.DefendConfig
	Repeat     selection.RepeatConfig

	// Compaction is what a request without a word on it gets: schemas.CompactionAuto or
	// CompactionOff, the default.
	Compaction string
	Trigger    compaction.Trigger // when auto compacts

	Templates *template.Store // of the tenants; default: kept in memory only
	Rankers   []Ranker        // besides the built-in ones

	Reranker rerank.Reranker // of what policy left; nil: none
	Reranked int             // candidates it is asked about; default 50

	Retrieval time.Duration // deadline of each retriever; default: what the request has left
	Wait      time.Duration // longest wait for min_position; default 5 s

	Clock  func() time.Time
	IDs    func() string // UUIDv7
	Tracer trace.Tracer
	Meter  metric.Meter
	Logger *slog.Logger
}

// Budget limits what a request is given, whichever is reached first. A request may ask
// for less; what it asks above is cut, with a warning. Zero values are the defaults of
// the H4R document.
type Budget struct {
	Bytes  int // of content; default 122,880
	Tokens int // of the rendered pack; default 30,000
	Items  int // default 100
}

func (b *Budget) fill() {
	if b.Bytes <= 0 {
		b.Bytes = 120 << 10
	}
	if b.Tokens <= 0 {
		b.Tokens = 30_000
	}
	if b.Items <= 0 {
		b.Items = 100
	}
}

// gate decides which context a turn needs.
type gate interface {
	Decide(in relevance.Input) relevance.Decision
}

// indexed waits for projections.
type indexed interface {
	Await(ctx context.Context, s scope.Scope, position int64) error
}

// prover proves that an entry stands in the log; an eventlog.Log with a signer is one.
type prover interface {
	SignedHead(ctx context.Context, s scope.Scope) (schemas.HeadReply, error)
	ProveInclusion(ctx context.Context, s scope.Scope, position, size int64) (schemas.InclusionProof, error)
}

// leaves reads the hex leaf hashes of positions, in order.
type leaves interface {
	Leaves(ctx context.Context, s scope.Scope, positions []int64) ([]string, error)
}

// Defaults of a request.
const (
	defaultBudget = 2000
	defaultWait   = 5 * time.Second
	fewest        = 100  // candidates the policy decides on at least
	many          = 400  // at most for the sake of the limit
	most          = 1000 // at most for a large budget
	leeway        = 3    // times the limit, unless many are denied
	// tokensOfShort is what a short item takes; a budget is filled from that many.
	tokensOfShort = 15
)

// Engine answers context requests.
type Engine struct {
	cfg      Config
	selector *selection.Selector
	builder  *pack.Builder
	rules    *pack.Rules
	defence  *selection.Defence
	shown    *selection.Shown
	measures measures
	counters counters // of the doors
}

// New returns an Engine.
func New(cfg Config) (*Engine, error) {
	switch {
	case cfg.Log == nil:
		return nil, errors.New("new engine: no log")
	case cfg.Items == nil:
		return nil, errors.New("new engine: no items store")
	case cfg.PDP == nil:
		return nil, errors.New("new engine: no policy decision point")
	}
	cfg.fill()
	sel, err := selection.New(selection.Config{
		Items: cfg.Items, Keyword: cfg.Keyword, Vector: cfg.Vector, Graph: cfg.Graph, Embedder: cfg.Embedder,
		Weights: cfg.Weights, Disable: cfg.Disable, Profiles: cfg.Profiles,
		Standard: cfg.Standard, Tenants: cfg.Tenants, Clock: cfg.Clock, Deadline: cfg.Retrieval,
	})
	if err != nil {
		return nil, fmt.Errorf("new engine: %w", err)
	}
	if cfg.Rules == nil {
		if cfg.Rules, err = pack.NewRules("", nil); err != nil {
			return nil, fmt.Errorf("new engine: %w", err)
		}
	}
	builder, err := pack.New(pack.Config{Shares: cfg.Shares, Orders: cfg.Orders, Sentences: cfg.TLDR})
	if err != nil {
		return nil, fmt.Errorf("new engine: %w", err)
	}
	defence, err := selection.NewDefence(cfg.Defend)
	if err != nil {
		return nil, fmt.Errorf("new engine: %w", err)
	}
	for i := range cfg.Rankers {
		if err := cfg.Rankers[i].Validate(); err != nil {
			return nil, fmt.Errorf("new engine: %w", err)
		}
	}
	if cfg.Sanitizer == nil {
		detector, err := pii.New(pii.Config{})
		if err != nil {
			return nil, fmt.Errorf("new engine: %w", err)
		}
		cfg.Sanitizer = pii.NewSanitizer(detector, pii.Pseudonyms{}, cfg.Tokens("").Count)
	}
	m, err := newMeasures(cfg.Meter)
	if err != nil {
		return nil, fmt.Errorf("new engine: %w", err)
	}
	return &Engine{cfg: cfg, selector: sel, builder: builder, rules: cfg.Rules, defence: defence, shown: selection.NewShown(cfg.Repeat), measures: m}, nil
}

func (c *Config) fill() {
	c.Slice.fill()
	if c.Reranked <= 0 {
		c.Reranked = defaultReranked
	}
	if c.Tokens == nil {
		c.Tokens = func(string) token.Counter { return token.Estimate{} }
	}
	if c.Templates == nil {
		c.Templates = &template.Store{}
	}
	if c.Wait <= 0 {
		c.Wait = defaultWait
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.IDs == nil {
		c.IDs = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if c.Tracer == nil {
		c.Tracer = tracenoop.NewTracerProvider().Tracer("")
	}
	if c.Meter == nil {
		c.Meter = metricnoop.NewMeterProvider().Meter("")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}
