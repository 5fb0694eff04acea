package rank

import (
	"satchel/pipeline/candidate"
	"satchel/schemas"
)

// withPrevious adds to the candidates what the session's previous pack showed and is not among
// them, where it passes the filters. Such an item stands last and scores no more than what was
// found.
func (p *Pool) withPrevious(out []candidate.Candidate, req *Request, verdicts []*schemas.Verdict) []candidate.Candidate {
	fused := 0.
	standing := 1.
	score := 1.
	if n := len(out); n > 0 {
		fused = out[n-1].Fused
		standing = out[n-1].Standing
		score = out[n-1].Score
	}
	has := make(map[string]bool, len(out))
	for i := range out {
		has[out[i].ID] = true
	}
	for _, i := range req.Previous {
		v := p.items[i]
		if v == nil || has[v.ID] || !req.isWantedItem(v) {
			continue
		}
		c := candidate.New(v, *verdicts[i])
		c.Fused = min(fused, p.fused[i])
		m := measureSignals(v, p.relevant[i], int(p.distance[i]), req.Now, req.Profile.Lambda)
		c.Score = min(score, req.Profile.scoreSignals(&m))
		c.Standing = min(standing, computeRelevance(c.Fused))
		shown := roundSignals(&m)
		c.Signals = &shown
		p.channelsOf(&c, i, nil)
		out = append(out, c)
	}
	return out
}
