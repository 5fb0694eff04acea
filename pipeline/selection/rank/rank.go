// Package rank orders the items that a principal may see by how much they bear on a
// question. It fuses what the retrievers say by weighted z-scores, lets turns of a
// conversation speak for each other, adds cues of question and item, and measures the eight
// H4R signals that a profile weighs into the final score.
//
// It takes candidate.Visible only: an item that the principal may not see, and the hidden
// part of one that it may, moves nothing. The same items, question and time give the same
// order: ties are broken by id. Every ingredient does nothing where the data lack what it
// needs: no sessions, no speakers, no dates, no vectors, one item.
package rank

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/cache"
	"satchel/pipeline/model"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection/filter"
	"satchel/pipeline/selection/retrieve"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

// Config says what a Ranker works with. The zero value works.
type Config struct {
	Keyword  keyword.Index  // says how common words are; nil: words are not compared by closeness
	Embedder model.Embedder // makes the vectors of the vector retriever; nil: none

	Weights  *Weights          // nil: DefaultWeights
	Disable  []string          // names of features that are switched off
	Profiles []Profile         // besides the built-in ones; one of their name replaces them
	Standard string            // the profile of a query that names none; default "default"
	Tenants  map[string]string // the profile of a tenant's queries that name none, instead
}

// Ranker ranks. It is safe for concurrent use.
type Ranker struct {
	cfg      Config
	weights  Weights
	profiles []Profile
	standard string
	tenants  map[string]string
	lexicon  *lexicon
	words    *docFrequency
	pools    sync.Pool             // of *Pool
	hashes   *cache.Memo[[]uint64] // of what is read of texts: their words, and their terms
	days     *cache.Memo[named]

	both, byWords, byMeaning Calibration
	bothEncoded, byEncoded   Calibration
}

// Sizes of the steps.
const (
	ranked   = 140 // items that get their cues
	wordBest = 100 // items whose words are compared
)

// Bytes of a generation of what is remembered of texts.
const (
	hashBytes = 8 << 20
	dayBytes  = 1 << 20
)

// What is remembered of texts as hashes, by variant.
const (
	sortedWords uint8 = iota
	distinctTerms
)

// New returns a Ranker.
func New(cfg Config) (*Ranker, error) {
	r := &Ranker{cfg: cfg, weights: DefaultWeights(), hashes: cache.NewMemo[[]uint64](hashBytes), days: cache.NewMemo[named](dayBytes)}
	r.both, r.byWords, r.byMeaning = makeCalibrations()
	r.bothEncoded, r.byEncoded = encoderCalibrations()
	if err := r.takeProfiles(cfg); err != nil {
		return nil, fmt.Errorf("new ranker: %w", err)
	}
	if cfg.Weights != nil {
		r.weights = *cfg.Weights
	}
	r.pools.New = func() any { return newPool(4 * retrieve.DefaultLimit) }
	if cfg.Keyword != nil {
		r.words = newDocFrequency(cfg.Keyword)
	}
	if wv, ok := cfg.Embedder.(WordVectors); ok && cfg.Embedder != nil && !r.isDisabled(FeatureWords) {
		r.lexicon = newLexicon(wv)
	}
	return r, nil
}

// Warm reads the words of a tenant's items into the cache of them, so that the first
// request that finds them need not. It changes no result.
func (r *Ranker) Warm(tenant string, items []*candidate.Visible) {
	if r.lexicon != nil {
		r.lexicon.lookUpWords(tenant, nil, items)
	}
}

// InvalidateCaches drops what the ranker keeps of items in memory. Call it after an erasure.
func (r *Ranker) InvalidateCaches() {
	if r.lexicon != nil {
		r.lexicon.forgetWords()
	}
	if r.words != nil {
		r.words.forgetFrequencies()
	}
	r.hashes.Clear()
	r.days.Clear()
}

func (r *Ranker) isDisabled(name string) bool { return slices.Contains(r.cfg.Disable, name) }

// Weight returns the weight of a retriever's scores.
func (r *Ranker) Weight(retriever string) float64 {
	switch retriever {
	case retrieve.NameKeyword:
		return r.weights.Keyword
	case retrieve.NameVector:
		return r.weights.Vector
	case retrieve.NameEncoder:
		return r.weights.Encoder
	}
	return 0
}

// Request says how a pool is ranked.
type Request struct {
	Question *Question
	Profile  Profile
	Where    []filter.Predicate // the request's own filters
	Filter   schemas.Filter     // what was searched
	// Population are the items that the principal may see: statistics are theirs alone.
	Population schemas.Filter
	Exclude    []string // items that policy denied: no statistic counts them
	Found      int      // places that retrievers found; the places after them are of Previous alone
	Previous   []int32  // places of what the session's previous pack showed
	Linked     bool     // it asks for what links reach
	Newest     bool     // what AddTimely made places for is returned beyond Limit
	Now        time.Time
	Limit      int // candidates returned, best first
	Depth      int // items that get their cues, at least Limit; default 140
	// Tools is how many tools get their cues, at most, unless the others are fewer. They are returned
	// beyond Limit. 0: tools are items like others.
	Tools  int
	Scorer Scorer // what the retrievers say of single items
	// StandsFor reports whether an item may stand for an older one, which says nearly the same. The newest that does is
	// returned beyond Limit, too. nil: none does.
	StandsFor func(v, older *candidate.Visible) bool
	// Cut reports whether an item is shown by its passages, which have an order of their own. Such
	// items are returned beyond Limit and Depth. nil: no item is.
	Cut func(*candidate.Visible) bool
}

// Scorer asks the retrievers about single items.
type Scorer interface {
	// Score returns a retriever's scores of items, nil when it cannot say.
	Score(ctx context.Context, retriever string, ids []string) ([]float64, error)
	// ScoreTexts returns the scores that items of these texts would get, nil when it cannot say.
	ScoreTexts(ctx context.Context, retriever string, texts []string) ([]float64, error)
}

// Rank returns the candidates, best first, and warnings. seen is in the order of the pool's
// places. An error means that a store did not answer.
func (r *Ranker) Rank(ctx context.Context, s scope.Scope, p *Pool, seen candidate.Authorized, req *Request) ([]candidate.Candidate, []string, error) {
	p.items = append(p.items[:0], seen.Visible...)
	if err := p.rescoreItems(ctx, req.Scorer, seen.Own); err != nil {
		return nil, nil, err
	}
	order, warnings, err := r.orderPlaces(ctx, s, p, req)
	if err != nil {
		return nil, nil, err
	}
	if lack := p.countUnencoded(order, seen.Own); lack > 0 {
		warnings = append(warnings, fmt.Sprintf("%s: %d of %d items have no vector of it yet; their cosine by the table takes its place", retrieve.NameEncoder, lack, len(order)))
	}
	out := r.makeCandidates(p, req, order, seen.Verdicts)
	return p.withPrevious(out, req, seen.Verdicts), warnings, nil
}

// orderPlaces fuses the pool and returns the places that pass the request's filters, best first.
func (r *Ranker) orderPlaces(ctx context.Context, s scope.Scope, p *Pool, req *Request) ([]int32, []string, error) {
	if len(p.ids) == 0 {
		return nil, nil, nil
	}
	for i := range p.rows {
		p.rows[i] = p.keepVisiblePlaces(p.rows[i])
	}
	if !p.takesTurns(p.rows) {
		p.rows = nil
	}
	warnings := p.completeChannels(ctx, req.Scorer)
	p.linkNeighbours(p.rows)
	k := kernel{near: r.weights.Near, far: r.weights.Far, damping: r.weights.Damping}
	p.fuseChannels(k, &req.Question.weigh)
	order := p.withNewer(p.withNewest(p.selectPassing(req), req), req)
	if d, ok := p.newestDay(req); ok && req.Question.newest {
		req.Question.days = append(req.Question.days, d)
	}
	req.Question.told = r.toldOf(req.Question, p, order)
	for _, f := range r.chooseFeatures(req.Question, p) {
		for _, i := range order {
			p.cues[i] += f.Weight * f.Value(p.items[i])
		}
	}
	for _, i := range order {
		p.fused[i] += p.cues[i]
	}
	p.sortByScore(order)
	judged := p.listJudgedPlaces(order, req)
	warning, err := r.closeWords(ctx, s, p, req, k, order, judged)
	if err != nil {
		warnings = append(warnings, warning)
	}
	r.judgeItems(p, req.Question, judged)
	r.weighMeaning(p, req.Question, judged)
	for _, i := range judged {
		if f := writersFactor(p.items[i], req.Now, req.Profile.Lambda); f < 1 {
			p.fused[i] += lowering * math.Log(f)
			p.relevant[i] *= f
		}
	}
	r.weighChance(p, judged)
	p.sortByScore(order)
	if req.Profile.byRelevance() {
		p.preferBetter(order, req, r.hashes)
	}
	if req.Question.order && !r.isDisabled(FeatureSpread) {
		p.spreadSessions(order)
	}
	return p.withLinked(order, req), warnings, nil
}

// selectPassing returns the best visible items that pass the request's filters. Tools take no place of the
// request's limit that another item would have.
func (p *Pool) selectPassing(req *Request) []int32 {
	of := slices.DeleteFunc(p.All(), func(i int32) bool {
		return p.items[i] == nil || int(i) >= req.Found || !req.isWantedItem(p.items[i])
	})
	depth := max(cmp.Or(req.Depth, ranked), req.Limit)
	room := min(depth, req.Limit)
	if req.Tools <= 0 || len(of) <= room {
		return p.bestOrCut(req, of, depth)
	}
	tools, others := p.byTool(of)
	best := p.selectBest(others, depth)
	others = p.bestOrCut(req, others, depth)
	return append(others, p.selectBest(tools, max(req.Tools, room-len(best)))...)
}

// bestOrCut returns the n best of the places, and the others that are cut.
func (p *Pool) bestOrCut(req *Request, of []int32, n int) []int32 {
	out := slices.Clone(p.selectBest(of, n))
	if req.Cut == nil {
		return out
	}
	for _, i := range of[len(out):] {
		if req.Cut(p.items[i]) {
			out = append(out, i)
		}
	}
	return out
}

// byTool splits places into those of tools and the others.
func (p *Pool) byTool(of []int32) (tools, others []int32) {
	for _, i := range of {
		if p.items[i].Kind == schemas.KindTool {
			tools = append(tools, i)
		} else {
			others = append(others, i)
		}
	}
	return tools, others
}

// isWantedItem reports whether an item passes the request's own filters.
func (req *Request) isWantedItem(v *candidate.Visible) bool {
	for _, holds := range req.Where {
		if !holds(v) {
			return false
		}
	}
	return true
}

// completeChannels asks every channel, all at once, for the scores that its hits left open. A channel
// that cannot say counts its mean for them. It returns warnings.
func (p *Pool) completeChannels(ctx context.Context, by Scorer) []string {
	failed := make([]error, len(p.channels))
	last := -1
	var wait sync.WaitGroup
	for i, c := range p.channels {
		if c.found.Complete {
			continue
		}
		if before := last; before >= 0 {
			wait.Go(func() { failed[before] = p.channels[before].completeScores(ctx, p, by) })
		}
		last = i
	}
	if last >= 0 {
		failed[last] = p.channels[last].completeScores(ctx, p, by)
	}
	wait.Wait()
	p.estimateCosines()
	var warnings []string
	for i, err := range failed {
		if err != nil {
			warnings = append(warnings, p.channels[i].name+": "+retrieve.Failure(err))
		}
	}
	return warnings
}

// completeScores sets the scores of the channel that are not known.
func (c *channel) completeScores(ctx context.Context, p *Pool, by Scorer) error {
	at := make([]int32, 0, len(p.ids))
	ids := make([]string, 0, len(p.ids))
	for i, known := range c.known[:len(p.ids)] {
		if !known && p.items[i] != nil {
			at = append(at, int32(i))
			ids = append(ids, p.ids[i])
		}
	}
	if len(ids) == 0 {
		return nil
	}
	scores, err := by.Score(ctx, c.name, ids)
	for j, i := range at {
		c.raw[i] = c.found.Mean
		if j < len(scores) {
			c.raw[i] = scores[j]
		}
	}
	return err
}

// comparesWords reports whether a question's words are compared by closeness.
func (r *Ranker) comparesWords(q *Question) bool {
	return r.lexicon != nil && r.words != nil && len(q.content) > 0 && r.weights.Words*q.weigh.words != 0 && q.kind != schemas.QueryKeyword
}

// closeWords adds the word channel for the best items: the closeness of single words finds
// what neither equal words nor the whole text do. Besides, it measures how much of the question
// the words of each judged item cover. The order comes first among these. An error comes with a warning that says it.
func (r *Ranker) closeWords(ctx context.Context, s scope.Scope, p *Pool, req *Request, k kernel, order, judged []int32) (string, error) {
	q := req.Question
	if len(judged) == 0 || len(q.content) == 0 {
		return "", nil
	}
	if r.lexicon == nil || q.unread {
		p.coverExactly(q, judged, r.Terms)
		return "", nil
	}
	n := 0
	for _, c := range p.channels {
		n = max(n, c.found.N)
	}
	var df []float64
	var err error
	var wait sync.WaitGroup
	compares := r.comparesWords(q)
	known := false
	if among := (keyword.Query{Filter: req.Filter, Population: req.Population.Settled(), Exclude: req.Exclude}); compares {
		df, known = r.words.recallFrequencies(s, among, n, q.content)
		if !known {
			wait.Go(func() { df, err = r.words.findFrequencies(ctx, s, among, n, q.content) })
		}
	}
	best := order[:min(wordBest, len(order))]
	look := r.lexicon.lookUpWords(s.Tenant(), q.content, p.itemsAt(judged))
	rows, equal := findClosestWords(&look)
	p.noteCoverage(q, judged, rows)
	p.coverEqually(q, judged, equal)
	wait.Wait()
	if err != nil {
		return NameWords + ": " + retrieve.Failure(err), err
	}
	if !compares || len(best) == 0 {
		return "", nil
	}
	c := p.openChannel(NameWords, r.weights.Words, retrieve.Result{})
	p.Grow()
	look.docs = look.docs[:len(best)]
	sims := maxSim(&look, rows[:min(len(rows), len(best)*len(q.content))], df, float64(max(n, len(best))))
	for j, i := range best {
		c.raw[i] = sims[j]
	}
	smoothed := k.smoothScores(p, c.raw)
	mean, sd := computeMoments(smoothed, best)
	for _, i := range best {
		c.z[i] = (smoothed[i] - mean) / sd
		p.fused[i] += q.weigh.words * c.weight * c.z[i]
	}
	c.rankBy(p, best)
	return "", nil
}

// rankBy ranks the channel's raw scores.
func (c *channel) rankBy(p *Pool, of []int32) {
	by := slices.Clone(of)
	slices.SortFunc(by, func(a, b int32) int {
		if c := cmp.Compare(c.raw[b], c.raw[a]); c != 0 {
			return c
		}
		return cmp.Compare(p.ids[a], p.ids[b])
	})
	for rank, i := range by {
		c.rank[i] = int32(rank + 1)
	}
}

// computeMoments of the values at the places.
func computeMoments(values []float64, of []int32) (mean, sd float64) {
	for _, i := range of {
		mean += values[i]
	}
	n := float64(max(1, len(of)))
	mean /= n
	for _, i := range of {
		d := values[i] - mean
		sd += d * d
	}
	return mean, repairDeviation(math.Sqrt(sd / n))
}

// makeCandidates makes the ranked candidates of the profile, best first, ties by id.
func (r *Ranker) makeCandidates(p *Pool, req *Request, order []int32, verdicts []*schemas.Verdict) []candidate.Candidate {
	type scored struct {
		at       int32
		v        candidate.Signals
		standing float64
	}
	all := make([]scored, len(order))
	for j, i := range order {
		v := measureSignals(p.items[i], computeRelevance(p.fused[i]), int(p.distance[i]), req.Now, req.Profile.Lambda)
		standing := req.Profile.scoreSignals(&v)
		v.Relevance = r.estimateChance(p, i)
		v.Evidence = p.evidence[i]
		v.Evidence.Bears = fourPlaces(max(p.relevant[i], p.lent[i]))
		all[j] = scored{i, v, standing}
	}
	if !req.Profile.byRelevance() {
		slices.SortStableFunc(all, func(x, y scored) int {
			if c := cmp.Compare(y.standing, x.standing); c != 0 {
				return c
			}
			return cmp.Compare(p.ids[x.at], p.ids[y.at])
		})
	}
	if len(all) > req.Limit {
		places := req.Limit
		left := make([]bool, len(p.items))
		var taken, others []int32
		for _, x := range all {
			v := p.items[x.at]
			free := req.Tools > 0 && v.Kind == schemas.KindTool || req.Newest && slices.Contains(p.newest, x.at) // they take no place of the limit
			if !free {
				places--
			}
			if free || places >= 0 || req.Cut != nil && req.Cut(v) {
				taken = append(taken, x.at)
			} else {
				others = append(others, x.at)
				left[x.at] = true
			}
		}
		for _, i := range p.findNewerItems(taken, others, req) {
			left[i] = false
		}
		all = slices.DeleteFunc(all, func(x scored) bool { return left[x.at] })
	}
	out := make([]candidate.Candidate, len(all))
	shown := make([]candidate.Signals, len(out))
	channels := make(candidate.Channels, 0, len(out)*(len(p.channels)+otherChannels))
	for j := range out {
		i := all[j].at
		out[j] = candidate.New(p.items[i], *verdicts[i])
		c := &out[j]
		c.Fused, c.Standing, c.Score = p.sums[i], all[j].standing, req.Profile.scoreSignals(&all[j].v)
		c.Linked = p.linkedTo(i)
		shown[j] = roundSignals(&all[j].v)
		c.Signals = &shown[j]
		channels = p.channelsOf(c, i, channels)
	}
	return out
}

// otherChannels is how many channels an item mostly has, at most, besides those of the pool.
const otherChannels = 1

// channelsOf shows what each channel says of an item; the list gets room in channels, whose
// rest it returns.
func (p *Pool) channelsOf(c *candidate.Candidate, i int32, channels candidate.Channels) candidate.Channels {
	out := channels[len(channels):]
	for _, ch := range p.channels {
		out = append(out, candidate.Channel{Name: ch.name, Channel: schemas.Channel{Rank: int(ch.rank[i]), Score: fourPlaces(ch.raw[i]), Z: fourPlaces(ch.z[i])}})
	}
	if d := p.distance[i]; d > 0 {
		out = append(out, candidate.Channel{Name: retrieve.NameGraph, Channel: schemas.Channel{Rank: int(d), Score: fourPlaces(1 / (1 + float64(d)))}})
	}
	if p.recent[i] {
		out = append(out, candidate.Channel{Name: retrieve.NameRecency, Channel: schemas.Channel{Rank: 1}})
	}
	if p.cues[i] != 0 {
		out = append(out, candidate.Channel{Name: "cues", Channel: schemas.Channel{Score: fourPlaces(p.cues[i])}})
	}
	c.Channels = slices.Clip(out)
	if span, ok := p.spans[i]; ok && !c.Masked {
		c.Span = &span
	}
	return out[len(out):]
}
