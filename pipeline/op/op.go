// Package op has the operations: what clients may ask for. Each is a file, and takes the stages of
// package pipeline; it says what is looked for, in which order it comes and what text is made of it:
//
//	operation       candidates from          order           text                 besides
//	Context         one query                the query's     pack builder         relevance, reranker, history, TL;DR
//	Search          one query, links         score           none                 results with relationships
//	Build, Preview  one query, links         ranker          template             Preview has the scores, too
//	Assemble        a query for each source  adjusted score  Markdown             duplicates between sources
//	Premortem       axes of experiences      adjusted score  Markdown             only items of the domain
//	Compact         a pack or a session      score           pack builder         extracts, summaries that are kept
//	Recover         ids                      the client's    pack builder         duplicates stay
//	Items           ids, or a filter         the ids, time   none                 pages
//
// A value serves one request and keeps what it alone knows between its stages. Status and Templates
// read no item and take no stage.
//
// Errors are [*schemas.Error]. Operations are safe for concurrent use. What outlives a call is run by
// Background of their Config alone.
package op

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/pipeline/pack"
	"satchel/pipeline/pack/template"
	"satchel/pipeline/passage"
	"satchel/pipeline/relevance"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/selection/retrieve"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// Config has the parts and settings of Operations.
type Config struct {
	pipeline.Config // of the engine
	Text
	Compaction
	Session
}

// Text is how texts are made.
type Text struct {
	Shares *pack.Shares  // of the token budget; default as the pack has them
	Orders pack.Orders   // of items within sections
	Rules  *pack.Rules   // of affordances; default the built-in ones
	Cues   *passage.Cues // of the wording of questions; default the built-in ones
	// Summarizer writes the TL;DR where what it says holds. Default: extractive.
	Summarizer *pack.Summarizer
	TLDR       int             // sentences; default 5, negative: none
	Graphs     bool            // include the causal graph of the shown items
	Templates  *template.Store // of the tenants; default: kept in memory only
	Rankers    []Ranker        // besides the built-in ones
}

// Compaction is when texts are shortened.
type Compaction struct {
	// Mode is that of a request that names none: schemas.CompactionAuto or CompactionOff, the default.
	Mode    string
	Trigger compaction.Trigger // when auto compacts
	// Background runs work that no request waits for, with a context that ends when the engine
	// must stop. Default: none is done, so sessions are compacted only when asked.
	Background func(work func(context.Context))
}

// Session is what a session needs and was shown.
type Session struct {
	// Relevance decides which context a request needs; a relevance.Gate is one. Default:
	// everything.
	Relevance gate
	Repeat    selection.HistoryConfig
}

// gate decides which context a request needs.
type gate interface {
	Decide(in relevance.Input) relevance.Decision
}

// Operations serve requests by the stages of an engine.
type Operations struct {
	*pipeline.Engine
	text       Text
	compaction Compaction
	session    Session
	builder    *pack.Builder
	passages   *passage.Reader
	texts      *compaction.Texts
	shown      *selection.History
	compacted  compactedSessions
}

// New returns the operations of a new engine.
func New(c Config) (*Operations, error) {
	engine, unusable := pipeline.New(c.Config)
	e := &Operations{Engine: engine, text: c.Text, compaction: c.Compaction, session: c.Session}
	errs := make([]error, 3)
	e.shown, e.texts = selection.NewHistory(c.Repeat), compaction.NewTexts()
	e.builder, errs[0] = pack.New(pack.Config{Shares: c.Shares, Orders: c.Orders, Sentences: c.TLDR})
	e.passages, errs[1] = passage.New(passageConfig(&c))
	if c.Rules == nil {
		e.text.Rules, errs[2] = pack.NewRules("", nil)
	}
	if c.Templates == nil {
		e.text.Templates = &template.Store{}
	}
	for i := range c.Rankers {
		errs = append(errs, c.Rankers[i].Validate())
	}
	err := errors.Join(errs...)
	if err != nil {
		err = fmt.Errorf("new engine: %w", err)
	}
	if err := errors.Join(unusable, err); err != nil {
		return nil, err
	}
	return e, nil
}

// base is an operation whose plan has no filter but that of policy.
type base struct{ e *Operations }

func (b base) Plan(ctx context.Context, _ *pipeline.Recorder, req pipeline.Request, snap pipeline.Snapshot) (pipeline.Plan, error) {
	return b.e.Plan.Begin(ctx, req, snap)
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

// InvalidateCaches drops the copies of items in memory. Call it after an erasure.
func (e *Operations) InvalidateCaches() {
	e.Engine.InvalidateCaches()
	e.passages.InvalidateCaches()
	e.texts.Clear()
}

// failure says in a warning's words why a search did not answer.
func failure(err error) string {
	var known *schemas.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.As(err, &known) && known.Code == schemas.CodeDeadlineExceeded {
		return "it was too late and is left out"
	}
	return "it did not answer and is left out"
}

// ofKinds matches items of the kinds, and nothing when there are none.
func ofKinds(kinds []schemas.Kind) schemas.Filter {
	values := make([]string, len(kinds))
	for i, k := range kinds {
		values[i] = string(k)
	}
	return oneOf(schemas.FieldKind, values)
}

// oneOf matches items whose field has one of the values, and nothing when there are none.
func oneOf(field schemas.Field, values []string) schemas.Filter {
	if len(values) == 0 {
		return schemas.MatchNone()
	}
	return schemas.Where(schemas.Cond{Field: field, Op: schemas.In, Values: values})
}

// byStanding sorts candidates by standing, best first, ties by id.
func byStanding(cs []candidate.Candidate) {
	slices.SortStableFunc(cs, func(a, b candidate.Candidate) int {
		return cmp.Or(cmp.Compare(b.Standing, a.Standing), cmp.Compare(a.ID, b.ID))
	})
}

// dropBelow drops the candidates that score less than the request wants.
func dropBelow(cs []candidate.Candidate, minScore float64) {
	for i := range cs {
		if cs[i].Kept() && cs[i].Score < minScore {
			cs[i].Drop = schemas.DropScore
		}
	}
}

// isReplay reports whether the request is about a past moment. The engine remembers no session
// of one.
func isReplay(r *pipeline.Request) bool {
	o := r.Options
	return o.AsOf > 0 || !o.AsOfTime.IsZero() || !o.Now.IsZero()
}
