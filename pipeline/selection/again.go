package selection

import (
	"context"

	"satchel/pipeline/candidate"
	"satchel/pipeline/scope"
)

// again adds to the candidates what the query names and nothing found, as it is now and
// where it passes the filters. It stands last and scores no more than what was found.
func (s *Selector) again(ctx context.Context, sc scope.Scope, a *analysis, p *pool, out *Ranking) error {
	has := make(map[string]bool, len(out.Candidates))
	for i := range out.Candidates {
		has[out.Candidates[i].Record.ID] = true
	}
	missing := make([]int32, 0, len(a.Again))
	for _, v := range a.Again {
		if !has[v.ID] {
			has[v.ID] = true
			missing = append(missing, p.add(v.ID))
		}
	}
	p.grow()
	if err := s.read(ctx, sc, p, missing); err != nil {
		return err
	}
	fused, score := 0., 1.
	if n := len(out.Candidates); n > 0 {
		fused, score = out.Candidates[n-1].Fused, out.Candidates[n-1].Score
	}
	for _, i := range missing {
		r := p.record[i]
		if r == nil || !a.sees(r) || !a.wants(r) {
			continue
		}
		v := measure(r, min(fused, p.fused[i]), int(p.distance[i]), a.Now, out.Profile.Lambda)
		c := candidate.Candidate{Record: *r, Fused: min(fused, p.fused[i]), Score: min(score, out.Profile.score(&v))}
		shown := show(&v)
		c.Signals = &shown
		p.evidence(&c, i, nil)
		out.Candidates = append(out.Candidates, c)
	}
	return nil
}
