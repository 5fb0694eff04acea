package rank

import "satchel/pipeline/candidate"

// Unread returns the items of the pool that the principal may see, that were found, pass the request's filters and are
// none of the candidates. A turn that is only beside one that was found was not found. Call it after Rank.
func (r *Ranker) Unread(p *Pool, req *Request, cs []candidate.Candidate) []candidate.Unread {
	taken := make([]bool, len(p.items))
	for i := range cs {
		if at, ok := p.index[cs[i].ID]; ok && int(at) < len(taken) {
			taken[at] = true
		}
	}
	most := max(0, min(req.Found, len(p.items))-len(cs))
	out := make([]candidate.Unread, 0, most)
	signals := make([]candidate.Signals, 0, most)
	for i := range min(req.Found, len(p.items)) {
		v := p.items[i]
		if v == nil || taken[i] || p.onlyBeside(i) || !req.isWantedItem(v) {
			continue
		}
		s := measureSignals(v, p.fused[i], int(p.distance[i]), req.Now, req.Profile.Lambda)
		s.Relevance = computeRelevance(p.fused[i])
		signals = append(signals, roundSignals(&s))
		out = append(out, candidate.Unread{ID: v.ID, Signals: &signals[len(signals)-1]})
	}
	return out
}

// onlyBeside reports whether a place is there only for the turns beside it.
func (p *Pool) onlyBeside(i int) bool { return i >= int(p.beside[0]) && i < int(p.beside[1]) }
