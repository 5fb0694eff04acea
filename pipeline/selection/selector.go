// Package selection chooses the items that a context pack may hold. It owns the order of
// the steps; its subpackages do them:
//
//	filter     the request's filters, for stores and as predicates
//	retrieve   keyword and vector retrievers side by side, links of what they found, and recency where
//	           nothing else can search; each has a deadline, and a late or failed one is named
//	(policy)   an Authorizer asks the policy about everything that was found, in one
//	           decision, and leaves of each item what the principal may see
//	rank       fuses, weighs and orders what may be seen
//	defend     drops what is expired, superseded or repeated; drops or fences what looks injected
//	(history)  knows what the session was shown before
//	(account)  says of a stored result why an item is in it, or not
//
// Find retrieves, the caller authorizes, Rank ranks. Selection promises that a verdict that
// is missing is a denial, that an item which the principal may not see moves nothing of
// what it sees, and that the same stores, query and time give the same ranking.
package selection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/vecmath"
	"satchel/pipeline/language"
	"satchel/pipeline/model"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection/filter"
	"satchel/pipeline/selection/rank"
	"satchel/pipeline/selection/retrieve"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// Config says what a Selector works with. Items is required; any other store may be
// nil, and what it would find is then not found.
type Config struct {
	Items    items.Store
	Keyword  keyword.Index
	Vector   vector.Index
	Graph    graph.Store
	Private  keyword.Index // whole texts of items that policy shows in part; see retrieve.Private
	Embedder model.Embedder
	Encoder  model.Embedder // of sentences; nil: there is none
	Encoded  vector.Index   // the vectors that Encoder made of items

	Weights  *rank.Weights     // nil: rank.DefaultWeights
	Disable  []string          // names of features that are switched off
	Profiles []rank.Profile    // besides the built-in ones; one of their name replaces them
	Standard string            // the profile of a query that names none; default "default"
	Tenants  map[string]string // the profile of a tenant's queries that name none, instead
	Limit    int               // hits a retriever is asked for, or more for a query's Limit; default 100
	Deadline time.Duration     // of each retriever; default: what the request has left
	Clock    func() time.Time
}

// Selector retrieves and ranks. It is safe for concurrent use.
type Selector struct {
	cfg     Config
	ranker  *rank.Ranker
	keyword retrieve.Retriever
	vector  retrieve.Retriever
	encoder retrieve.Retriever // nil: there is none
	graph   retrieve.Retriever
	recency retrieve.Retriever
	phrases questionPhrases
}

// Sizes of the steps.
const (
	linkedBest   = 80 // turns whose neighbourhoods are looked at
	linkedRadius = 3  // turns on each side, at most items.MaxRadius
	graphSeeds   = 5
	graphHops    = 2
	graphLimit   = 50
)

// New returns a Selector.
func New(cfg Config) (*Selector, error) {
	if cfg.Items == nil {
		return nil, errors.New("new selector: no items store")
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Limit <= 0 {
		cfg.Limit = retrieve.DefaultLimit
	}
	ranker, err := rank.New(rank.Config{Keyword: cfg.Keyword, Embedder: cfg.Embedder, Weights: cfg.Weights, Disable: cfg.Disable,
		Profiles: cfg.Profiles, Standard: cfg.Standard, Tenants: cfg.Tenants})
	if err != nil {
		return nil, fmt.Errorf("new selector: %w", err)
	}
	s := &Selector{cfg: cfg, ranker: ranker, recency: retrieve.Recency(cfg.Items), phrases: newQuestionPhrases()}
	if cfg.Keyword != nil {
		s.keyword = retrieve.Keyword(cfg.Keyword)
	}
	if cfg.Vector != nil {
		s.vector = retrieve.Vector(cfg.Vector)
	}
	if cfg.Encoder != nil && cfg.Encoded != nil {
		s.encoder = retrieve.Encoder(cfg.Encoded)
	}
	if cfg.Graph != nil {
		s.graph = retrieve.Graph(cfg.Graph, graphHops)
	}
	return s, nil
}

// Warm reads the words of a tenant's items into the cache of them, so that the first
// request that finds them need not. It changes no result.
func (s *Selector) Warm(tenant string, items []*candidate.Visible) { s.ranker.Warm(tenant, items) }

// Terms returns the hashes of the terms of a text, sorted, each once. They are remembered and MUST NOT be changed.
func (s *Selector) Terms(text string) []uint64 { return s.ranker.Terms(text) }

// InvalidateCaches drops what is kept of items in memory. Call it after an erasure.
func (s *Selector) InvalidateCaches() { s.ranker.InvalidateCaches() }

func (s *Selector) isDisabled(name string) bool { return slices.Contains(s.cfg.Disable, name) }

// Query is what is looked for.
type Query struct {
	// What is searched.
	Text   string
	Type   string // keyword, semantic, graph, hybrid; "" is hybrid
	Vector []float32
	// Questions are whose vectors are searched, where Vector is one of theirs; default: the selector asks.
	Questions model.QuestionForm
	Filter    schemas.Filter // of the policy and of the request; the zero Filter finds nothing
	// Population is the policy's part of Filter: the items that the principal may see.
	// Statistics are theirs alone. Default: Filter.
	Population schemas.Filter
	Known      schemas.Filter         // where a name of the query may be mentioned; default Population
	Exclude    []string               // ids to search as if they were not there
	Previous   []candidate.Version    // become candidates too, after what was found
	Graph      *schemas.GraphQuery    // how links are followed; nil: as usual
	Skip       func(name string) bool // retrievers that are not to be asked; nil: none
	// FilterVisible returns those of the records that the principal may see whole and that
	// no defense refuses. Only these may supply aliases; nil: there are no aliases.
	FilterVisible func(context.Context, []schemas.Record) []candidate.Visible
	// ShownWhole returns the ids of those of the records that the principal sees whole, in their
	// order. It is nil for a principal who sees no more than others; such a principal finds
	// nothing by words that are hidden from others.
	ShownWhole func(context.Context, []schemas.Record) []string
	AsOf       int64     // items recorded at a later position are not seen; 0: all
	AsOfTime   time.Time // items recorded after it are not seen; the zero time: all
	Reach      int       // hits that each retriever is asked for; default Config.Limit, or more for Limit

	// How it is ranked.
	Where    []filter.Predicate // of the request, on what the principal may see
	Now      time.Time
	Newest   bool          // the newest that bear on the question become candidates, too, whatever the profile weighs
	Profile  string        // "" is the tenant's, or the standard one
	Override rank.Override // of the profile's weights
	Limit    int           // candidates returned, best first; default 100
	Depth    int           // items that are ranked in full, at least Limit; default 140
	// Tools is how many tools are ranked in full, at most, unless other items are fewer. They are looked for
	// apart as well, and returned beyond Limit. 0: tools are items like others.
	Tools int
	// StandsFor is rank.Request.StandsFor.
	StandsFor func(v, older *candidate.Visible) bool
	// Cut reports whether an item is shown by its passages: such items are returned beyond Limit.
	Cut func(*candidate.Visible) bool
}

// Ranking is the candidates of a query, best first. Found counts them and the other items that
// the retrievers returned, the principal may see and the request's own filters let pass. Sources names the retrievers that
// answered.
type Ranking struct {
	Candidates []candidate.Candidate
	Unread     []candidate.Unread // found, and no candidates
	Found      int
	Counts     map[string]int // what each retriever returned
	Sources    []string
	Warnings   []string
	// Unmentioned are the names of the question that nothing has which the principal may see.
	Unmentioned []string
	Reranker    string       // the profile and what it fuses, for evidence
	Profile     rank.Profile // what the scores are made by
	Embedding   string       // the model whose vectors were searched; "" for none
	Vector      []float32    // of the question, where passages are stored with theirs by that model; else nil
	Times       Times
}

// Times are the durations of the steps.
type Times struct {
	Retrieve time.Duration
	Fuse     time.Duration
}

// Rank ranks the items of a pool that policy lets the principal see, and what of them it may
// see: the rest moves nothing. Errors are those of Find.
func (s *Selector) Rank(ctx context.Context, sc scope.Scope, p *Pool, by candidate.Authorized) (Ranking, error) {
	if p.columns == nil {
		return p.out, nil
	}
	start := s.cfg.Clock()
	var err error
	var warnings []string
	req := &rank.Request{
		Question: p.question, Profile: p.out.Profile, Where: p.query.Where, Filter: p.query.Filter, Population: p.query.Population, Exclude: p.query.Exclude,
		Found: p.found, Previous: p.previous, Linked: p.asked, Newest: p.query.Newest, Now: p.query.Now, Limit: p.query.Limit, Depth: p.query.Depth, Tools: p.query.Tools, StandsFor: p.query.StandsFor, Cut: p.query.Cut, Scorer: &scorer{s, sc, p},
	}
	p.out.Candidates, warnings, err = s.ranker.Rank(ctx, sc, p.columns, by, req)
	if err != nil {
		return Ranking{}, newStorageError(ctx, "item statistics could not be read")
	}
	p.out.Warnings = append(p.out.Warnings, warnings...)
	p.out.Unmentioned = s.findUnmentionedNames(ctx, sc, p, by.Visible)
	p.out.Unread = s.ranker.Unread(p.columns, req, p.out.Candidates)
	p.out.Found = len(p.out.Unread)
	for i := range p.out.Candidates {
		if at, ok := p.columns.Place(p.out.Candidates[i].ID); ok && int(at) < p.found { // no item of the last pack alone
			p.out.Found++
		}
	}
	p.out.Times.Fuse = s.cfg.Clock().Sub(start)
	return p.out, nil
}

// scorer asks the retrievers of a pool about single items.
type scorer struct {
	s     *Selector
	scope scope.Scope
	pool  *Pool
}

// Score returns a retriever's scores of items.
func (a *scorer) Score(ctx context.Context, name string, ids []string) ([]float64, error) {
	r := a.s.keyword
	switch name {
	case retrieve.NameVector:
		r = a.s.vector
	case retrieve.NameEncoder:
		r = a.s.encoder
	}
	if by, ok := r.(retrieve.Scorer); ok {
		return by.Score(ctx, a.scope, &a.pool.search, ids)
	}
	return nil, nil
}

// ScoreTexts returns the scores that items of these texts would get.
func (a *scorer) ScoreTexts(ctx context.Context, name string, texts []string) ([]float64, error) {
	q := &a.pool.search
	if name == retrieve.NameKeyword {
		return a.s.cfg.Keyword.ScoreTexts(ctx, a.scope, keyword.Query{Text: q.Text, Filter: q.Filter, Population: q.Population.Settled(), Exclude: q.Exclude}, texts)
	}
	if name == retrieve.NameEncoder || a.pool.questions.Here == nil { // no request waits for the encoder
		return nil, nil
	}
	vectors, err := a.pool.questions.Here.Embed(ctx, texts)
	if err != nil || len(vectors) != len(texts) {
		return nil, err
	}
	out := make([]float64, len(texts))
	for i, v := range vectors {
		out[i] = vecmath.Cosine(v, q.Vector)
	}
	return out, nil
}

// embedQuery embeds a query with other names of what it names. They may be of items that the principal alone is
// shown, so an endpoint gets the query without.
func embedQuery(ctx context.Context, by model.QuestionForm, about string, names []string) ([][]float32, error) {
	if by.Here != nil {
		about = appendNames(about, names)
	}
	return by.Embed(ctx, []string{about})
}

// Questions embeds for the vectors that a tenant's searches compare at present; no embedder: there are none.
func (s *Selector) Questions(ctx context.Context, sc scope.Scope) model.QuestionForm {
	by, ok := s.cfg.Embedder.(rank.Meanings)
	if !ok {
		return model.QuestionForm{Embedder: s.cfg.Embedder}
	}
	ctx, cancel := retrieve.Within(ctx, s.cfg.Deadline)
	defer cancel()
	return by.Questions(ctx, sc)
}

// Like returns the cosine of a text and of each item that passes a filter, as the index has it; nil where an endpoint would have to
// embed the text.
func (s *Selector) Like(ctx context.Context, sc scope.Scope, may schemas.Filter, text string, ids []string) ([]float64, error) {
	by := s.Questions(ctx, sc)
	index, ok := s.vector.(retrieve.Scorer)
	if !ok || by.Here == nil || len(ids) == 0 {
		return nil, nil
	}
	ctx, cancel := retrieve.Within(ctx, s.cfg.Deadline)
	defer cancel()
	vectors, err := by.Here.Embed(ctx, []string{text})
	if err != nil || len(vectors) != 1 || isZeroVector(vectors[0]) {
		return nil, err
	}
	return index.Score(ctx, sc, &retrieve.Query{Vector: vectors[0], Model: by.Model().String(), Filter: may}, ids)
}

// readQuery reads the query, with other names of what it names, and embeds it where the type wants
// a vector.
func (s *Selector) readQuery(ctx context.Context, sc scope.Scope, p *Pool, names []string) error {
	q := &p.query
	about := q.Text
	if !s.isDisabled(rank.FeatureSubject) {
		about = s.phrases.findSubject(q.Text)
	}
	byVector := q.Type != schemas.QueryKeyword && s.vector != nil
	p.questions = q.Questions
	if p.questions.Embedder == nil && byVector {
		p.questions = s.Questions(ctx, sc)
	}
	p.question = s.ranker.Read(q.Text, about, q.Type, names, p.questions.Here != nil, q.Now)
	asked := about
	about = appendNames(about, names)
	each := (q.Limit + 1) / 2 // of two indexes that rank all of it
	if q.Type == schemas.QueryKeyword || q.Type == schemas.QuerySemantic || s.vector == nil {
		each = q.Limit
	}
	p.search = retrieve.Query{Text: about, Vector: q.Vector, Filter: q.Filter, Population: q.Population, Exclude: q.Exclude,
		Limit: cmp.Or(q.Reach, max(s.cfg.Limit, each)), Graph: q.Graph, Entities: append(language.Entities(q.Text, ""), names...)}
	if !byVector {
		if q.Type == schemas.QuerySemantic {
			return &schemas.Error{Code: schemas.CodeEmbedding, Message: "a semantic query needs a vector index, and there is none"}
		}
		return nil
	}
	if p.questions.Embedder != nil {
		p.search.Model = p.questions.Model().String()
	}
	p.out.Embedding = p.search.Model
	wanted := q.Type == schemas.QuerySemantic || !q.isSkipped(retrieve.NameVector)
	if wanted && len(q.Vector) == 0 && q.Text != "" && p.questions.Embedder != nil {
		vectors, err := embedQuery(ctx, p.questions, asked, names)
		switch {
		case err == nil && len(vectors) == 1:
			p.search.Vector = vectors[0]
		case ctx.Err() != nil:
			return checkDeadline(ctx)
		default:
			p.out.Warnings = append(p.out.Warnings, "vector: the query could not be embedded")
		}
	}
	if isZeroVector(p.search.Vector) {
		p.search.Vector = nil
		if q.Type == schemas.QuerySemantic {
			return &schemas.Error{Code: schemas.CodeEmbedding, Message: "a semantic query needs a vector, and the query has none"}
		}
	}
	return s.encodeQuestion(ctx, p, asked, names)
}

// encodeQuestion embeds the question by the sentence encoder.
func (s *Selector) encodeQuestion(ctx context.Context, p *Pool, asked string, names []string) error {
	q := &p.query
	if s.encoder == nil || q.Text == "" || q.isSkipped(retrieve.NameVector) || q.isSkipped(retrieve.NameEncoder) {
		return nil
	}
	vectors, err := s.cfg.Encoder.Embed(ctx, []string{appendNames(asked, names)})
	switch {
	case err == nil && len(vectors) == 1 && !isZeroVector(vectors[0]):
		p.search.Encoded = vectors[0]
		p.out.Vector = vectors[0]
	case ctx.Err() != nil:
		return checkDeadline(ctx)
	case err != nil:
		p.out.Warnings = append(p.out.Warnings, "encoder: the query could not be encoded")
	}
	return nil
}

// Wants reports whether an item passes the request's own filters.
func (q *Query) Wants(v *candidate.Visible) bool {
	return !slices.ContainsFunc(q.Where, func(holds filter.Predicate) bool { return !holds(v) })
}

func (q *Query) isSkipped(name string) bool { return q.Skip != nil && q.Skip(name) }

func isZeroVector(v []float32) bool {
	return !slices.ContainsFunc(v, func(x float32) bool { return x != 0 })
}

func checkDeadline(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &schemas.Error{Code: schemas.CodeDeadlineExceeded, Message: "the request's time ran out"}
	}
	return nil
}

func newStorageError(ctx context.Context, message string) error {
	if err := checkDeadline(ctx); err != nil {
		return err
	}
	return &schemas.Error{Code: schemas.CodeStorage, Message: message}
}
