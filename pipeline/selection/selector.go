package selection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/embed"
	"satchel/pipeline/scope"
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
	Embedder embed.Embedder

	Weights  *Weights          // nil: DefaultWeights
	Disable  []string          // names of features that are switched off
	Profiles []Profile         // besides the built-in ones; one of their name replaces them
	Standard string            // the profile of a query that names none; default "default"
	Tenants  map[string]string // the profile of a tenant's queries that name none, instead
	Pool     int               // hits a retriever is asked for, or more for a query's Limit; default 100
	Deadline time.Duration     // of each retriever; default: what the request has left
	Clock    func() time.Time
}

// Selector retrieves and ranks. It is safe for concurrent use.
type Selector struct {
	cfg      Config
	weights  Weights
	profiles []Profile
	standard string
	tenants  map[string]string
	pool     int
	pools    sync.Pool // of *pool
	keyword  Retriever
	vector   Retriever
	graph    Retriever
	recency  Retriever
	lexicon  *lexicon
	askings  askings
	shares   *shares
	clock    func() time.Time
}

// Sizes of the stages of ranking.
const (
	defaultPool = 100
	linkedBest  = 80  // items whose neighbourhoods are looked at
	hydrated    = 140 // items that are read and get their cues
	wordBest    = 100 // items whose words are compared
	farther     = 5   // times as many hits, when those found do not pass
	farthest    = 10_000
	mostRounds  = 32 // of ranking without what is hidden
	graphSeeds  = 5
	graphHops   = 2
	graphLimit  = 50
)

// New returns a Selector.
func New(cfg Config) (*Selector, error) {
	if cfg.Items == nil {
		return nil, errors.New("new selector: no items store")
	}
	s := &Selector{cfg: cfg, askings: newAskings(), weights: DefaultWeights(), pool: cfg.Pool}
	if err := s.takeProfiles(cfg); err != nil {
		return nil, fmt.Errorf("new selector: %w", err)
	}
	if cfg.Weights != nil {
		s.weights = *cfg.Weights
	}
	if s.clock = cfg.Clock; s.clock == nil {
		s.clock = time.Now
	}
	if s.pool <= 0 {
		s.pool = defaultPool
	}
	s.pools.New = func() any { return newPool(4 * s.pool) }
	s.recency = recencyRetriever{cfg.Items}
	if cfg.Keyword != nil {
		s.keyword = keywordRetriever{cfg.Keyword}
		s.shares = newShares(cfg.Keyword)
	}
	if cfg.Vector != nil {
		s.vector = vectorRetriever{cfg.Vector}
	}
	if cfg.Graph != nil {
		s.graph = graphRetriever{cfg.Graph, graphHops}
	}
	if wv, ok := cfg.Embedder.(WordVectors); ok && cfg.Embedder != nil && !s.disabled(FeatureWords) {
		s.lexicon = newLexicon(wv)
	}
	return s, nil
}

// Learn reads the words of a tenant's items into the cache of them.
func (s *Selector) Learn(tenant string, records []schemas.Record) {
	if s.lexicon == nil {
		return
	}
	refs := make([]*schemas.Record, len(records))
	for i := range records {
		refs[i] = &records[i]
	}
	s.lexicon.look(tenant, nil, refs)
}

// Forget drops what the selector keeps of items in memory, after an erasure.
func (s *Selector) Forget() {
	if s.lexicon != nil {
		s.lexicon.forget()
	}
	if s.shares != nil {
		s.shares.forget()
	}
}

func (s *Selector) disabled(name string) bool { return slices.Contains(s.cfg.Disable, name) }

// Query is what is looked for.
type Query struct {
	Text   string
	Type   string // keyword, semantic, graph, hybrid; "" is hybrid
	Vector []float32
	Filter schemas.Filter // of the policy and of the request; the zero Filter finds nothing
	Where  []Predicate
	Again  []Version                   // are candidates too, after what was found
	Graph  *schemas.GraphQuery         // how links are followed; nil: as usual
	Skip   func(retriever string) bool // retrievers that are not to be asked; nil: none
	// Vouch returns those of the records that the asker may see whole and that nothing speaks
	// against. Other names are taken from these alone; nil: from none.
	Vouch    func(context.Context, []schemas.Record) []schemas.Record
	Now      time.Time
	AsOf     int64     // items recorded at a later position are not seen; 0: all
	AsOfTime time.Time // items recorded after it are not seen; the zero time: all
	Limit    int       // candidates returned, best first; default 100
	Depth    int       // items that are read and get their cues, at least Limit; default 140
	// Hides tells of each record whether it is to count as one that does not pass Where, since
	// the asker may not see it or what Where looks at in it; nil: none is.
	Hides func(context.Context, []schemas.Record) []bool
	// Enough is how many items that pass Where and the past are looked for: where the
	// nearest are fewer, further ones are, up to 10,000 of each retriever; 0: the nearest alone.
	Enough  int
	Profile string // "" is the tenant's, or the standard one

	Override Override // of the profile's weights
}

// Ranking is what was found, best first. Found counts the distinct items that any
// retriever returned. Sources names the retrievers that answered.
type Ranking struct {
	Candidates []candidate.Candidate
	Hidden     []candidate.Candidate // those that the query hides; no score of the others knows of them
	// Replaced are those that were recorded again after the moment the query is about: what
	// they were then is in the log, and not among the candidates. Where the moment is a time,
	// some may not have been there yet at all.
	Replaced []schemas.Record
	Found    int
	Counts   map[string]int // what each retriever returned
	Sources  []string
	Warnings []string
	Reranker string  // the profile and what it fuses, for evidence
	Profile  Profile // what the scores are made by
	Times    Times
}

// Times are the durations of the steps.
type Times struct {
	Retrieve time.Duration
	Fuse     time.Duration
}

// Rank retrieves, fuses and ranks. Errors are *schemas.Error: validation_error for an
// unknown profile or weights that do not sum, embedding_error when a vector is required and there is none,
// search_error when no retriever answered, storage_error when items cannot be read.
func (s *Selector) Rank(ctx context.Context, sc scope.Scope, q Query) (Ranking, error) {
	r, err := s.begin(ctx, sc, &q)
	if err != nil {
		return Ranking{}, err
	}
	began := r.out
	if err := s.run(ctx, sc, r, began); err != nil {
		return Ranking{}, err
	}
	if r.analysis != nil {
		s.reach(ctx, sc, r, began)
	}
	return r.out, nil
}

// run asks and ranks, from how the ranking stood when it had begun.
func (s *Selector) run(ctx context.Context, sc scope.Scope, r *ranking, began Ranking) error {
	s.ask(ctx, sc, r.analysis, r.answers)
	return s.rank(ctx, sc, r, began)
}

// rank ranks what was found without what is hidden.
func (s *Selector) rank(ctx context.Context, sc scope.Scope, r *ranking, began Ranking) error {
	hidden := r.out.Hidden
	r.out = began
	r.out.Counts, r.out.Sources, r.out.Warnings, r.out.Hidden, r.out.Replaced = map[string]int{}, []string{}, slices.Clone(began.Warnings), hidden, nil
	return s.finish(ctx, sc, r)
}

// reach takes out what is hidden and looks further off, until enough is found that passes
// and that the asker may see, or there is no more: what is hidden must neither end the
// search nor take the places of the rest, nor show in their scores. What was found stays
// when the further look fails. It has half of the time that is left.
func (s *Selector) reach(ctx context.Context, sc scope.Scope, r *ranking, began Ranking) {
	if r.Enough == 0 && r.Hides == nil {
		return
	}
	visible := ctx
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	for rounds := 0; ; {
		if r.hide(visible) {
			if rounds++; rounds > mostRounds || s.rank(ctx, sc, r, began) != nil {
				r.keep()
				return
			}
			continue
		}
		if len(r.out.Candidates) >= min(r.Enough, r.Limit) || !r.more() && len(r.out.Candidates) < r.Limit {
			return
		}
		if r.probe.Limit >= farthest {
			r.out.Warnings = append(r.out.Warnings, "filters: only the nearest "+strconv.Itoa(farthest)+" items were held against them, there may be more that pass")
			return
		}
		near := r.out
		r.probe.Limit = min(farther*r.probe.Limit, farthest)
		r.answers = s.plan(r.analysis)
		if err := s.run(ctx, sc, r, began); err != nil || len(r.out.Sources) < len(near.Sources) {
			r.out = near
			r.out.Warnings = append(r.out.Warnings, "filters: only the nearest items were held against them, the indexes did not answer for more")
			return
		}
	}
}

// hide notes the candidates that the query hides, and reports whether there are any.
func (r *ranking) hide(ctx context.Context) bool {
	if r.Hides == nil || len(r.out.Candidates) == 0 {
		return false
	}
	records := make([]schemas.Record, len(r.out.Candidates))
	for i := range records {
		records[i] = r.out.Candidates[i].Record
	}
	before := len(r.out.Hidden)
	for i, hidden := range r.Hides(ctx, records) {
		if hidden {
			r.out.Hidden = append(r.out.Hidden, r.out.Candidates[i])
		}
	}
	if r.hidden == nil {
		r.hidden = map[string]bool{}
	}
	for _, c := range r.out.Hidden[before:] {
		r.hidden[c.Record.ID] = true
	}
	return len(r.out.Hidden) > before
}

// keep leaves of the candidates those that are not hidden.
func (r *ranking) keep() {
	r.out.Candidates = slices.DeleteFunc(r.out.Candidates, func(c candidate.Candidate) bool { return r.hidden[c.Record.ID] })
}

// more reports whether a retriever may find more than it was asked for.
func (r *ranking) more() bool {
	return slices.ContainsFunc(r.answers, func(a answer) bool { return len(a.found.Hits) >= r.probe.Limit })
}

// ranking is a query on its way: it is analysed, and answers are to be filled.
type ranking struct {
	*analysis // nil where nothing can be found
	out       Ranking
	answers   []answer
	start     time.Time
}

// begin reads the query and picks whom to ask.
func (s *Selector) begin(ctx context.Context, sc scope.Scope, q *Query) (*ranking, error) {
	if err := sc.Check(); err != nil {
		return nil, fmt.Errorf("rank: %w", err)
	}
	profile, note, err := s.profile(sc.Tenant(), q)
	if err != nil {
		return nil, err
	}
	if q.Limit <= 0 {
		q.Limit = 100
	}
	r := &ranking{out: Ranking{Reranker: "z-fusion/" + profile.Name, Profile: profile, Counts: map[string]int{}, Sources: []string{}, Warnings: []string{}}}
	if note != "" {
		r.out.Warnings = append(r.out.Warnings, "weights: "+note)
	}
	if q.Filter.IsNone() {
		return r, nil
	}
	r.start = s.clock()
	names := s.resolve(ctx, sc, q)
	if n := len(names); n > 0 { // not which: policy may keep from the asker what the filter lets through
		r.out.Warnings = append(r.out.Warnings, "names: what the query names was looked for under "+strconv.Itoa(n)+" more")
	}
	if r.analysis, err = s.analyse(ctx, q, names, &r.out); err != nil {
		return nil, err
	}
	r.answers = s.plan(r.analysis)
	return r, nil
}

// finish ranks what the answers hold.
func (s *Selector) finish(ctx context.Context, sc scope.Scope, r *ranking) error {
	if r.analysis == nil {
		return nil
	}
	p := s.pools.Get().(*pool)
	defer func() {
		p.reset()
		s.pools.Put(p)
	}()
	if err := s.gather(ctx, sc, r.analysis, p, r.answers, &r.out); err != nil {
		return err
	}
	r.out.Found = len(p.ids)
	r.out.Times.Retrieve = s.clock().Sub(r.start)
	start := s.clock()
	order, err := s.score(ctx, sc, r.analysis, p, &r.out)
	if err != nil {
		return err
	}
	r.out.Candidates = s.candidates(r.analysis, p, order, &r.out.Profile)
	if len(r.Again) > 0 {
		if err := s.again(ctx, sc, r.analysis, p, &r.out); err != nil {
			return storage(ctx, "items could not be read")
		}
	}
	r.out.Times.Fuse = s.clock().Sub(start)
	return nil
}

// analysis is a query with what its text says.
type analysis struct {
	*Query
	probe    Probe
	words    []string
	content  []string
	distinct int // words that are no stop words
	moments  []moment
	when     bool
	order    bool
	weigh    weighing
	hidden   map[string]bool // ids of what the query hides
}

// analyse reads the query, with other names of what it names, and embeds it where the type
// wants a vector.
func (s *Selector) analyse(ctx context.Context, q *Query, names []string, out *Ranking) (*analysis, error) {
	a := &analysis{Query: q, words: words(q.Text)}
	about := q.Text
	if !s.disabled(FeatureSubject) {
		about = s.askings.subject(q.Text)
	}
	a.content, a.distinct = contentWords(words(about))
	a.moments, a.when, a.order = momentsOf(a.words), asksWhen(a.words), asksOrder(a.words)
	a.weigh = s.weighings(a)
	about = with(about, names)
	each := (q.Limit + 1) / 2 // of two indexes that rank all of it
	if q.Type == schemas.QueryKeyword || q.Type == schemas.QuerySemantic || s.vector == nil {
		each = q.Limit
	}
	a.probe = Probe{Text: about, Vector: q.Vector, Filter: q.Filter, Limit: max(s.pool, each), Graph: q.Graph, Entities: append(graph.Entities(q.Text, ""), names...)}
	if q.Type == schemas.QueryKeyword || s.vector == nil {
		if q.Type == schemas.QuerySemantic {
			return nil, &schemas.Error{Code: schemas.CodeEmbedding, Message: "a semantic query needs a vector index, and there is none"}
		}
		return a, nil
	}
	wanted := q.Type == schemas.QuerySemantic || !a.skips(NameVector)
	if wanted && len(q.Vector) == 0 && q.Text != "" && s.cfg.Embedder != nil {
		vectors, err := s.cfg.Embedder.Embed(ctx, []string{about})
		switch {
		case err == nil && len(vectors) == 1:
			a.probe.Vector = vectors[0]
		case ctx.Err() != nil:
			return nil, deadline(ctx)
		default:
			out.Warnings = append(out.Warnings, "vector: the query could not be embedded")
		}
	}
	if zero(a.probe.Vector) {
		a.probe.Vector = nil
		if q.Type == schemas.QuerySemantic {
			return nil, &schemas.Error{Code: schemas.CodeEmbedding, Message: "a semantic query needs a vector, and the query has none"}
		}
	}
	return a, nil
}

func zero(v []float32) bool {
	for _, x := range v {
		if x != 0 {
			return false
		}
	}
	return true
}

func deadline(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &schemas.Error{Code: schemas.CodeDeadlineExceeded, Message: "the request's time ran out"}
	}
	return nil
}
