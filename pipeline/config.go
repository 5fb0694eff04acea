package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"satchel/pipeline/compaction"
	"satchel/pipeline/isolation"
	"satchel/pipeline/meter"
	"satchel/pipeline/model"
	"satchel/pipeline/pack"
	"satchel/pipeline/pack/template"
	"satchel/pipeline/passage"
	"satchel/pipeline/pii"
	"satchel/pipeline/relevance"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/selection/defend"
	"satchel/pipeline/selection/rank"
	"satchel/pipeline/selection/retrieve"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/pipeline/token"
	"satchel/policies"
	"satchel/schemas"
)

// Source is the CloudEvents source of the engine's log entries.
const Source = schemas.SourceEngine

// agent is the agent of the engine's log entries.
const agent = "satchel"

// Config has the parts and settings of an Engine. Log, Items and PDP are required. Each other
// store may be nil: the engine then finds nothing by it.
type Config struct {
	Log     eventlog.Appender
	Items   items.Store
	Keyword keyword.Index
	Vector  vector.Index
	Graph   graph.Store
	// Private holds the whole texts of items that policy shows only in part to most readers.
	Private  keyword.Index
	PDP      policies.PDP
	Embedder model.Embedder
	Encoder  model.Embedder // of questions, by the sentence encoder; nil: there is none
	Encoded  vector.Index   // the vectors that it made of items

	Zone *time.Location // whose days a request means that names no zone; default UTC

	// Tokens returns the counter of a model's tokenizer; "" is the default model.
	// Default: token.Estimate for every model.
	Tokens func(model string) token.Counter
	// Relevance decides which context a request needs; a relevance.Gate is one. Default:
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
	// items that policy shows under pseudonyms are denied.
	Sanitizer *pii.Sanitizer
	Registry  *policies.Registry // grants trust and knows authors; nil: none does

	// Handles makes the handles of heavy content. Default: none, so that it cannot be
	// opened.
	Handles *isolation.Sealer

	Weights  *rank.Weights
	Disable  []string          // names of ranking features that are switched off
	Profiles []rank.Profile    // besides the built-in ones
	Standard string            // ranking profile of a request that names none; default "default"
	Tenants  map[string]string // by tenant, the profile of its requests that name none
	MinScore float64           // of requests that name none
	Slice    Budget            // what a request is given at most, of any operation that answers a question
	Shares   *pack.Shares      // of the token budget; default as the pack has them
	Orders   pack.Orders       // of items within sections
	Rules    *pack.Rules       // of affordances; default the built-in ones
	Cues     *passage.Cues     // of the wording of questions; default the built-in ones
	// Summarizer writes the TL;DR where what it says holds. Default: extractive.
	Summarizer *pack.Summarizer
	TLDR       int  // sentences; default 5, negative: none
	Graphs     bool // include the causal graph of the shown items
	Defend     defend.Config
	Repeat     selection.HistoryConfig

	// Compaction is the mode of a request that names none: schemas.CompactionAuto or
	// CompactionOff, the default.
	Compaction string
	Trigger    compaction.Trigger // when auto compacts
	// Background runs work that no request waits for, with a context that ends when the engine
	// must stop. Default: none is done, so sessions are compacted only when asked.
	Background func(work func(context.Context))

	Templates *template.Store // of the tenants; default: kept in memory only
	Rankers   []Ranker        // besides the built-in ones

	Reranker model.Reranker // of the candidates that policy allows; nil: none
	Reranked int            // candidates it is asked about; default 50

	Retrieval time.Duration // deadline of each retriever; default: that of the request
	Wait      time.Duration // longest wait for min_position; default 5 s

	Clock  func() time.Time
	IDs    func() string // UUIDv7
	Tracer trace.Tracer
	// TraceContent has the spans hold queries and what is shown; see genai.Tracer.
	TraceContent bool
	Meter        *meter.Set
	Logger       *slog.Logger
}

// gate decides which context a request needs.
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

// defaultWait is how long a request waits for its position.
const defaultWait = 5 * time.Second

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
	e, errs := &Engine{shown: selection.NewHistory(cfg.Repeat)}, make([]error, 5)
	e.selector, errs[0] = selection.New(selection.Config{
		Items: cfg.Items, Keyword: cfg.Keyword, Vector: cfg.Vector, Graph: cfg.Graph, Private: cfg.Private, Embedder: cfg.Embedder, Encoder: cfg.Encoder, Encoded: cfg.Encoded,
		Weights: cfg.Weights, Disable: cfg.Disable, Profiles: cfg.Profiles,
		Standard: cfg.Standard, Tenants: cfg.Tenants, Clock: cfg.Clock, Deadline: cfg.Retrieval,
	})
	e.builder, errs[1] = pack.New(pack.Config{Shares: cfg.Shares, Orders: cfg.Orders, Sentences: cfg.TLDR})
	e.defenses, errs[2] = defend.New(cfg.Defend)
	e.measures = meter.ByTenant(cfg.Meter, newMeasures)
	e.texts = compaction.NewTexts()
	e.passages, errs[3] = passage.New(passageConfig(&cfg))
	if cfg.Rules == nil {
		cfg.Rules, errs[4] = pack.NewRules("", nil)
	}
	if cfg.Sanitizer == nil {
		cfg.Sanitizer = pii.Marks(cfg.Tokens("").Count)
	}
	for i := range cfg.Rankers {
		errs = append(errs, cfg.Rankers[i].Validate())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("new engine: %w", err)
	}
	e.cfg = cfg
	return e, nil
}

// passageConfig uses the embedder's table of words, where it has one.
func passageConfig(cfg *Config) passage.Config {
	out := passage.Config{Cues: cfg.Cues}
	if cfg.Keyword != nil {
		out.Frequencies = cfg.Keyword
	}
	if cfg.Encoded != nil {
		out.Passages = timely{cfg.Encoded, cfg.Retrieval}
	}
	if v, ok := cfg.Embedder.(passage.Vectors); ok {
		out.Vectors = v
	}
	return out
}

// timely gives an index a retriever's time for passages.
type timely struct {
	vector.Index
	deadline time.Duration
}

// ScoreChunks implements [passage.Passages].
func (t timely) ScoreChunks(ctx context.Context, s scope.Scope, q vector.Query, ids []string) ([][]vector.ChunkScore, error) {
	ctx, cancel := retrieve.Within(ctx, t.deadline)
	defer cancel()
	return t.Index.ScoreChunks(ctx, s, q, ids)
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
		c.Meter = meter.New()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}
