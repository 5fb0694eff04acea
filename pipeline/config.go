package pipeline

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"satchel/pipeline/isolation"
	"satchel/pipeline/meter"
	"satchel/pipeline/model"
	"satchel/pipeline/pii"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection/defend"
	"satchel/pipeline/selection/rank"
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

// Config has the parts and settings of an Engine, in groups. Log, Items and PDP are required. Each
// other store may be nil: the engine then finds nothing by it.
type Config struct {
	Stores
	Policy
	Models
	Ranking
	Proofs
	Bounds
	Process
}

// Stores are read by requests. Log takes what becomes of them, too.
type Stores struct {
	Log     eventlog.Appender
	Items   items.Store
	Keyword keyword.Index
	Vector  vector.Index
	Graph   graph.Store
	Private keyword.Index // the whole texts of items that policy shows only in part to most readers
	Encoded vector.Index  // the vectors that the encoder made of items
	// Indexed waits until the indexes have applied a position. Default: the engine
	// asks the stores for their checkpoints.
	Indexed indexed
}

// Policy says what a principal may see.
type Policy struct {
	PDP policies.PDP
	// Sanitizer meets the obligations of policy decisions. Default: marks alone, so that
	// items that policy shows under pseudonyms are denied.
	Sanitizer *pii.Sanitizer
	Registry  *policies.Registry // grants trust and knows authors; nil: none does
}

// Models embed, count and order texts.
type Models struct {
	Embedder model.Embedder
	Encoder  model.Embedder // of questions, by the sentence encoder; nil: there is none
	// Tokens returns the counter of a model's tokenizer; "" is the default model.
	// Default: token.Estimate for every model.
	Tokens   func(model string) token.Counter
	Reranker model.Reranker // of the candidates that policy allows; nil: none
	Reranked int            // candidates it is asked about; default 50
}

// Ranking orders what was found, and leaves out what does harm.
type Ranking struct {
	Weights  *rank.Weights
	Disable  []string          // names of ranking features that are switched off
	Profiles []rank.Profile    // besides the built-in ones
	Standard string            // ranking profile of a request that names none; default "default"
	Tenants  map[string]string // by tenant, the profile of its requests that name none
	Defend   defend.Config
}

// Proofs show that the log has an item or a pack, and that a principal may open heavy content.
type Proofs struct {
	// Prover proves entries of the log. Default: requests for proofs are refused.
	Prover prover
	// Leaves reads leaf hashes for provenance. Default: provenance has positions only.
	Leaves leaves
	// Handles makes the handles of heavy content. Default: none, so that it cannot be
	// opened.
	Handles *isolation.Sealer
}

// Bounds are of every request.
type Bounds struct {
	Slice     Budget        // what a request is given at most, of any operation that answers a question
	MinScore  float64       // of requests that name none
	Retrieval time.Duration // deadline of each retriever; default: that of the request
	Wait      time.Duration // longest wait for min_position; default 5 s
}

// Process is what surrounds the engine.
type Process struct {
	Zone   *time.Location // whose days a request means that names no zone; default UTC
	Clock  func() time.Time
	IDs    func() string // UUIDv7
	Tracer trace.Tracer
	// TraceContent has the spans hold queries and what is shown; see meter.Tracer.
	TraceContent bool
	Meter        *meter.Set
	Logger       *slog.Logger
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

func (c *Config) fill() {
	c.Slice.fill()
	if c.Reranked <= 0 {
		c.Reranked = defaultReranked
	}
	if c.Tokens == nil {
		c.Tokens = func(string) token.Counter { return token.Estimate{} }
	}
	if c.Sanitizer == nil {
		c.Sanitizer = pii.Marks(c.Tokens("").Count)
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
