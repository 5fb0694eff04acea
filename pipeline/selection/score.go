package selection

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"satchel/pipeline/candidate"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// score fuses the pool and returns the indexes of what is hydrated and passes the
// filters, best first.
func (s *Selector) score(ctx context.Context, sc scope.Scope, a *analysis, p *pool, out *Ranking) ([]int32, error) {
	if len(p.ids) == 0 {
		return nil, nil
	}
	rows, err := s.neighbours(ctx, sc, a, p, p.first(&a.weigh, linkedBest))
	if err != nil {
		return nil, storage(ctx, "items could not be read")
	}
	s.lookUp(ctx, sc, a, p, out)
	p.link(rows)
	k := kernel{near: s.weights.Near, far: s.weights.Far, damping: s.weights.Damping}
	p.fuse(k, &a.weigh)
	order, err := s.hydrate(ctx, sc, a, p, p.all(), out)
	if err != nil {
		return nil, storage(ctx, "items could not be read")
	}
	if err := s.cues(ctx, sc, a, p, order); err != nil {
		return nil, storage(ctx, "item statistics could not be read")
	}
	s.closeWords(ctx, sc, a, p, k, order, out)
	p.order(order)
	if a.order && !s.disabled(FeatureSpread) {
		p.spread(order)
	}
	return order, nil
}

func storage(ctx context.Context, message string) error {
	if err := deadline(ctx); err != nil {
		return err
	}
	return &schemas.Error{Code: schemas.CodeStorage, Message: message}
}

// neighbours finds what was said around the best items.
func (s *Selector) neighbours(ctx context.Context, sc scope.Scope, a *analysis, p *pool, best []int32) ([][]place, error) {
	if s.disabled(FeatureNear) || len(p.channels) == 0 || !mayPassTurns(a.Filter) {
		return nil, nil
	}
	if err := s.read(ctx, sc, p, best); err != nil {
		return nil, err
	}
	turns := make([]int32, 0, len(best))
	ids := make([]string, 0, len(best))
	for _, i := range best {
		if r := p.record[i]; r != nil && isTurn(r) {
			p.terms[i] = int32(r.Terms)
			turns = append(turns, i)
			ids = append(ids, p.ids[i])
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	near, err := s.cfg.Items.Neighbours(ctx, sc, ids, 4)
	if err != nil {
		return nil, err
	}
	rows := p.around(near, turns)
	if !p.takesTurns(rows) {
		return nil, nil
	}
	return rows, nil
}

// references is an items.Store that can lend records instead of copying them.
type references interface {
	Refs(ctx context.Context, s scope.Scope, ids []string) ([]*schemas.Record, error)
}

// read hydrates the indexes that are not yet.
func (s *Selector) read(ctx context.Context, sc scope.Scope, p *pool, of []int32) error {
	ids := make([]string, 0, len(of))
	missing := make([]int32, 0, len(of))
	for _, i := range of {
		if p.record[i] == nil {
			ids, missing = append(ids, p.ids[i]), append(missing, i)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if kept, ok := s.cfg.Items.(references); ok {
		records, err := kept.Refs(ctx, sc, ids)
		for j, i := range missing[:len(records)] {
			p.record[i] = records[j]
		}
		return err
	}
	records, err := s.cfg.Items.Get(ctx, sc, ids)
	if err != nil {
		return err
	}
	for j := range records {
		if i, ok := p.index[records[j].ID]; ok {
			p.record[i] = &records[j]
		}
	}
	return nil
}

// lookUp asks every channel, all at once, for the scores its hits left open. A channel
// that cannot say counts its mean for them.
func (s *Selector) lookUp(ctx context.Context, sc scope.Scope, a *analysis, p *pool, out *Ranking) {
	failed := make([]error, len(p.channels))
	last := -1
	var wait sync.WaitGroup
	for i, c := range p.channels {
		if c.found.Complete {
			continue
		}
		if before := last; before >= 0 {
			wait.Go(func() { failed[before] = s.complete(ctx, sc, a, p, p.channels[before]) })
		}
		last = i
	}
	if last >= 0 {
		failed[last] = s.complete(ctx, sc, a, p, p.channels[last])
	}
	wait.Wait()
	for i, err := range failed {
		if err != nil {
			out.Warnings = append(out.Warnings, p.channels[i].name+": "+reason(err))
		}
	}
}

// complete sets the scores of one channel that are not known.
func (s *Selector) complete(ctx context.Context, sc scope.Scope, a *analysis, p *pool, c *channel) error {
	at := make([]int32, 0, len(p.ids))
	ids := make([]string, 0, len(p.ids))
	for i, known := range c.known {
		if !known && i < len(p.ids) {
			at = append(at, int32(i))
			ids = append(ids, p.ids[i])
		}
	}
	if len(ids) == 0 {
		return nil
	}
	scores, err := s.scores(ctx, sc, a, c.name, ids)
	for j, i := range at {
		c.raw[i] = c.found.Mean
		if j < len(scores) {
			c.raw[i] = scores[j]
		}
	}
	return err
}

func (s *Selector) scores(ctx context.Context, sc scope.Scope, a *analysis, channel string, ids []string) ([]float64, error) {
	r := s.keyword
	if channel == NameVector {
		r = s.vector
	}
	scorer, ok := r.(Scorer)
	if !ok {
		return nil, nil
	}
	return scorer.Score(ctx, sc, &a.probe, ids)
}

// hydrate reads the best of the items, best first, and leaves out what does not pass the filters, what is
// not there any more and what was recorded after the position that is asked for. The
// filter is held against the record again, because an index may lag behind it.
func (s *Selector) hydrate(ctx context.Context, sc scope.Scope, a *analysis, p *pool, of []int32, out *Ranking) ([]int32, error) {
	want := max(cmp.Or(a.Depth, hydrated), a.Limit)
	kept := make([]int32, 0, want)
	for from := 0; from < len(of) && len(kept) < want; from += want {
		part := p.best(of[from:], want)
		if err := s.read(ctx, sc, p, part); err != nil {
			return nil, err
		}
		for _, i := range part {
			switch r := p.record[i]; {
			case r == nil || len(kept) >= want || !a.wants(r):
			case a.sees(r):
				kept = append(kept, i)
			case a.saw(r):
				out.Replaced = append(out.Replaced, *r)
			}
		}
	}
	return kept, nil
}

// wants reports whether an item passes all but the query's past.
func (a *analysis) wants(r *schemas.Record) bool {
	if !a.Filter.Match(&r.Facets) || a.hidden[r.ID] {
		return false
	}
	for _, holds := range a.Where {
		if !holds(r) {
			return false
		}
	}
	return true
}

// cues adds every feature to the fused score.
func (s *Selector) cues(ctx context.Context, sc scope.Scope, a *analysis, p *pool, order []int32) error {
	stats, err := s.cfg.Items.Stats(ctx, sc)
	if err != nil {
		return err
	}
	features := s.features(a, stats)
	for _, i := range order {
		for j := range features {
			p.cues[i] += features[j].Weight * features[j].Value(p.record[i])
		}
		p.fused[i] += p.cues[i]
	}
	return nil
}

// comparesWords reports whether a query's words are compared by closeness.
func (s *Selector) comparesWords(a *analysis) bool {
	return s.lexicon != nil && s.shares != nil && len(a.content) > 0 && s.weights.Words*a.weigh.words != 0 && a.Type != schemas.QueryKeyword
}

// closeWords adds the word channel for the best items: the closeness of single words
// finds what neither equal words nor the whole text do.
func (s *Selector) closeWords(ctx context.Context, sc scope.Scope, a *analysis, p *pool, k kernel, order []int32, out *Ranking) {
	if len(order) == 0 || !s.comparesWords(a) {
		return
	}
	n := 0
	for _, c := range p.channels {
		n = max(n, c.found.N)
	}
	var err error
	var wait sync.WaitGroup
	df, known := s.shares.known(sc, a.Filter, n, a.content)
	if !known {
		wait.Go(func() { df, err = s.shares.of(ctx, sc, a.Filter, n, a.content) })
	}
	p.order(order)
	best := order[:min(wordBest, len(order))]
	look := s.lexicon.look(sc.Tenant(), a.content, p.records(best))
	if wait.Wait(); err != nil {
		out.Warnings = append(out.Warnings, NameWords+": "+reason(err))
		return
	}
	c := p.open(NameWords, s.weights.Words, Found{})
	p.grow()
	sims := maxSim(&look, df, float64(max(n, len(best))))
	for j, i := range best {
		c.raw[i] = sims[j]
	}
	smoothed := k.smooth(p, c.raw)
	mean, sd := moments(smoothed, best)
	for _, i := range best {
		c.z[i] = (smoothed[i] - mean) / sd
		p.fused[i] += a.weigh.words * c.weight * c.z[i]
	}
	c.rankBy(p, best)
}

// rankBy ranks the channel's raw scores.
func (c *channel) rankBy(p *pool, of []int32) {
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

// moments of the values at the indexes.
func moments(values []float64, of []int32) (mean, sd float64) {
	for _, i := range of {
		mean += values[i]
	}
	n := float64(max(1, len(of)))
	mean /= n
	for _, i := range of {
		d := values[i] - mean
		sd += d * d
	}
	return mean, deviation(math.Sqrt(sd / n))
}

// candidates makes the ranked candidates of the profile, best first, ties by id.
func (s *Selector) candidates(a *analysis, p *pool, order []int32, profile *Profile) []candidate.Candidate {
	type scored struct {
		at    int32
		v     candidate.Signals
		score float64
	}
	all := make([]scored, len(order))
	for j, i := range order {
		v := measure(p.record[i], p.fused[i], int(p.distance[i]), a.Now, profile.Lambda)
		all[j] = scored{i, v, profile.score(&v)}
	}
	if !profile.byRelevance() {
		slices.SortStableFunc(all, func(x, y scored) int {
			if c := cmp.Compare(y.score, x.score); c != 0 {
				return c
			}
			return cmp.Compare(p.ids[x.at], p.ids[y.at])
		})
	}
	out := make([]candidate.Candidate, min(len(all), a.Limit))
	shown := make([]candidate.Signals, len(out))
	channels := make(candidate.Channels, 0, len(out)*(len(p.channels)+otherChannels))
	for j := range out {
		c, i := &out[j], all[j].at
		c.Record = *p.record[i]
		c.Fused, c.Score = p.fused[i], all[j].score
		shown[j] = show(&all[j].v)
		c.Signals = &shown[j]
		channels = p.evidence(c, i, channels)
	}
	return out
}

// otherChannels is how many channels an item mostly has, at most, besides those of the pool.
const otherChannels = 1

// evidence shows what each channel says of an item; the list gets room in channels, whose
// rest it returns.
func (p *pool) evidence(c *candidate.Candidate, i int32, channels candidate.Channels) candidate.Channels {
	out := channels[len(channels):]
	for _, ch := range p.channels {
		out = append(out, candidate.Channel{Name: ch.name, Channel: schemas.Channel{Rank: int(ch.rank[i]), Score: round(ch.raw[i]), Z: round(ch.z[i])}})
	}
	if d := p.distance[i]; d > 0 {
		out = append(out, candidate.Channel{Name: NameGraph, Channel: schemas.Channel{Rank: int(d), Score: round(1 / (1 + float64(d)))}})
	}
	if p.recent[i] {
		out = append(out, candidate.Channel{Name: NameRecency, Channel: schemas.Channel{Rank: 1}})
	}
	if p.cues[i] != 0 {
		out = append(out, candidate.Channel{Name: "cues", Channel: schemas.Channel{Score: round(p.cues[i])}})
	}
	c.Channels = slices.Clip(out)
	if span, ok := p.spans[i]; ok {
		c.Span = &span
	}
	return out[len(out):]
}
