package rank

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection/retrieve"
	"satchel/schemas"
)

// Each of these holds the product against a plain restatement of what it promises.

// drawPool draws a pool of two channels with neighbourhoods and lengths.
func drawPool(t *rapid.T) *Pool {
	n := rapid.IntRange(1, 16).Draw(t, "n")
	p := newPool(n)
	number := rapid.Float64Range(0, 12)
	for _, name := range []string{retrieve.NameKeyword, retrieve.NameVector} {
		f := retrieve.Result{Complete: true, N: n, Mean: rapid.Float64Range(0, 3).Draw(t, "mean"), SD: rapid.SampledFrom([]float64{0, .5, 2}).Draw(t, "sd")}
		for i := range n {
			f.Hits = append(f.Hits, retrieve.Hit{ID: fmt.Sprintf("i%02d", i), Score: number.Draw(t, "score")})
		}
		p.Take(name, rapid.SampledFrom([]float64{0, .25, .3}).Draw(t, "weight"), f)
	}
	p.Grow()
	for i := range n {
		p.terms[i] = int32(rapid.IntRange(0, 200).Draw(t, "terms"))
		for _, d := range []int{-2, -1, 1, 2} {
			if j := i + d; j >= 0 && j < n && rapid.Bool().Draw(t, "near") {
				p.near[i] = append(p.near[i], neighbour{int32(j), int8(d)})
			}
		}
	}
	return p
}

// Fusion is Σ factor·weight·damped((K(S) − mean)/sd), term by term.
func TestPropertyFusion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t)
		k := kernel{near: .5, far: .3, damping: 40}
		q := weighing{keyword: rapid.Float64Range(1, 3).Draw(t, "long"), vector: rapid.Float64Range(0, 1).Draw(t, "read"), words: 1,
			knee: rapid.SampledFrom([]float64{0, 1, 4}).Draw(t, "knee")}
		p.fuseChannels(k, &q)
		g := func(i int32) float64 {
			if p.terms[i] <= 40 {
				return 1
			}
			return 40 / float64(p.terms[i])
		}
		for i := range p.ids {
			want := 0.0
			for _, c := range p.channels {
				sum := 0.0
				for _, n := range p.near[i] {
					w := .3
					if n.offset*n.offset == 1 {
						w = .5
					}
					sum += w * math.Sqrt(g(n.at)) * c.raw[n.at]
				}
				rho := .13
				if c.name == retrieve.NameVector {
					rho = .18
				}
				mean, sd := k.estimateMoments(p, rho, c.found.Mean, repairDeviation(c.found.SD))
				z := (c.raw[i] + g(int32(i))*sum - mean) / sd
				factor := q.vector
				if c.name == retrieve.NameKeyword {
					factor = q.keyword
					if q.knee > 0 && z > q.knee {
						z = q.knee + .4*(z-q.knee)
					}
				}
				want += factor * c.weight * z
			}
			if math.Abs(want-p.fused[i]) > 1e-9*(1+math.Abs(want)) {
				t.Fatalf("item %d is fused to %v, want %v", i, p.fused[i], want)
			}
		}
	})
}

// A better score of an item never makes it worse, whatever the query is like.
func TestPropertyFusionIsMonotone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t)
		q := weighing{keyword: 2, vector: .7, words: 1, knee: 2}
		k := kernel{near: .5, far: .3, damping: 40}
		p.fuseChannels(k, &q)
		before := slices.Clone(p.fused)
		i := rapid.IntRange(0, len(p.ids)-1).Draw(t, "item")
		c := p.channels[rapid.IntRange(0, 1).Draw(t, "channel")]
		c.raw[i] += rapid.Float64Range(0, 5).Draw(t, "more")
		p.fuseChannels(k, &q)
		for j := range p.fused {
			if p.fused[j] < before[j]-1e-9 {
				t.Fatalf("item %d fell from %v to %v when %d rose", j, before[j], p.fused[j], i)
			}
		}
	})
}

func drawRecord(t *rapid.T, id string, now time.Time) *candidate.Visible {
	unit := rapid.Float64Range(0, 1)
	optional := func(label string) *float64 {
		if rapid.Bool().Draw(t, label+" given") {
			v := unit.Draw(t, label)
			return &v
		}
		return nil
	}
	r := &candidate.Visible{MemoryItem: schemas.MemoryItem{
		ID: id, Kind: schemas.KindMemory, CreatedAt: now.Add(-time.Duration(rapid.IntRange(-48, 4000).Draw(t, "age")) * time.Hour),
		Importance: optional("importance"), Trust: optional("trust"), Sensitivity: optional("sensitivity"), Novelty: optional("novelty"),
		Session: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "session"),
	}, AccessCount: int64(rapid.IntRange(0, 300).Draw(t, "accesses"))}
	switch rapid.IntRange(0, 5).Draw(t, "decay") {
	case 0:
		r.TTL = int64(rapid.IntRange(1, 1<<22).Draw(t, "ttl"))
	case 1:
		r.DecayFn = &schemas.DecayFn{Kind: rapid.SampledFrom([]string{"exponential", "linear", "step", "none"}).Draw(t, "kind"),
			Lambda: rapid.Float64Range(0, 2).Draw(t, "own lambda"), Days: rapid.Float64Range(0, 90).Draw(t, "days")}
	}
	return r
}

// A ranking is sorted by standing and then id (by relevance alone, by the fused score
// before the id), every score is the profile's sum of the
// signals, and every signal is within 0 and 1.
func TestPropertyRanking(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t)
		flat := evenWeights()
		p.fuseChannels(kernel{near: .5, far: .3, damping: 40}, &flat)
		p.items = make([]*candidate.Visible, len(p.ids))
		for i, id := range p.ids {
			p.items[i], p.distance[i] = drawRecord(t, id, now), int16(rapid.IntRange(-1, 3).Draw(t, "distance"))
		}
		profile := rapid.SampledFrom(Profiles()).Draw(t, "profile")
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		s := &Ranker{}
		cs := s.makeCandidates(p, &Request{Now: now, Limit: limit, Profile: profile}, p.sortByScore(p.All()), slices.Repeat([]*schemas.Verdict{{}}, len(p.ids)))
		if len(cs) != min(limit, len(p.ids)) {
			t.Fatalf("%d candidates of %d, limit %d", len(cs), len(p.ids), limit)
		}
		least := math.Inf(1)
		for i := range cs {
			sum := 0.0
			for name, w := range profile.Weights() {
				v, ok := cs[i].Signals.Map()[name]
				if !ok || v < 0 || v > 1 {
					t.Fatalf("%s of %s is %v", name, cs[i].ID, v)
				}
				sum += w * v
			}
			if math.Abs(sum-cs[i].Score) > 1e-4 {
				t.Fatalf("score %v, the signals sum to %v", cs[i].Score, sum)
			}
			if i > 0 {
				a, b := &cs[i-1], &cs[i]
				sameScore := 0 // a logistic saturates, the fused score does not
				if profile.byRelevance() {
					sameScore = cmp.Compare(p.fused[slices.Index(p.ids, b.ID)], p.fused[slices.Index(p.ids, a.ID)])
				}
				if cmp.Or(cmp.Compare(b.Standing, a.Standing), sameScore, cmp.Compare(a.ID, b.ID)) >= 0 {
					t.Fatalf("%s (%v) stands before %s (%v)", a.ID, a.Standing, b.ID, b.Standing)
				}
			}
			least = min(least, cs[i].Standing)
		}
		for i := range p.ids { // what was cut is no better
			if slices.ContainsFunc(cs, func(c candidate.Candidate) bool { return c.ID == p.ids[i] }) {
				continue
			}
			v := measureSignals(p.items[i], computeRelevance(p.fused[i]), int(p.distance[i]), now, profile.Lambda)
			if profile.scoreSignals(&v) > least {
				t.Fatalf("%s scores %v and was cut at %v", p.ids[i], profile.scoreSignals(&v), least)
			}
		}
	})
}

// Spreading keeps every item and the order within each session, and sorts by score.
func TestPropertySpread(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t)
		p.items = make([]*candidate.Visible, len(p.ids))
		for i, id := range p.ids {
			p.items[i] = drawRecord(t, id, time.Time{})
			p.fused[i] = float64(rapid.IntRange(-20, 30).Draw(t, "fused")) / 10
		}
		order := p.sortByScore(p.All())
		within := func() map[string][]int32 {
			out := map[string][]int32{}
			for _, i := range order {
				name := p.items[i].SessionID()
				out[name] = append(out[name], i)
			}
			return out
		}
		before, scores := within(), slices.Clone(p.fused)
		p.spreadSessions(order)
		after := within()
		for name := range before {
			if !slices.Equal(before[name], after[name]) {
				t.Fatalf("session %q is in another order: %v, was %v", name, after[name], before[name])
			}
			if p.fused[before[name][0]] != scores[before[name][0]] {
				t.Fatalf("the best of session %q pays", name)
			}
		}
		if !slices.IsSortedFunc(order, func(a, b int32) int { return cmp.Compare(p.fused[b], p.fused[a]) }) {
			t.Fatal("it is not sorted")
		}
	})
}
