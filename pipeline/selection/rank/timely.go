package rank

import (
	"slices"
	"time"

	"satchel/pipeline/language"
)

// AddTimely makes a place for an item that is new and fits the question. It is ranked whatever its
// place among the others.
func (p *Pool) AddTimely(id string) { p.newest = append(p.newest, p.Add(id)) }

// withNewest adds to the order what AddTimely made places for, as far as the principal may see it and it
// passes the request's filters.
func (p *Pool) withNewest(order []int32, req *Request) []int32 {
	if len(p.newest) == 0 {
		return order
	}
	has := make(map[int32]bool, len(order))
	for _, i := range order {
		has[i] = true
	}
	out := slices.Clip(order)
	for _, i := range p.newest {
		if !has[i] && p.items[i] != nil && int(i) < req.Found && req.isWantedItem(p.items[i]) {
			out = append(out, i)
			has[i] = true
		}
	}
	return out
}

// withNewer adds to the order what was found and may stand for an item of it.
func (p *Pool) withNewer(order []int32, req *Request) []int32 {
	if req.StandsFor == nil {
		return order
	}
	has := make([]bool, len(p.items))
	for _, i := range order {
		has[i] = true
	}
	var others []int32
	for i, v := range p.items[:min(req.Found, len(p.items))] {
		if v != nil && !has[i] && !p.onlyBeside(i) && req.isWantedItem(v) {
			others = append(others, int32(i))
		}
	}
	return append(order, p.findNewerItems(order, others, req)...)
}

// findNewerItems is those of others that may stand for one of the items: for each the newest, and none twice.
func (p *Pool) findNewerItems(of, others []int32, req *Request) (out []int32) {
	if req.StandsFor == nil {
		return nil
	}
	slices.SortStableFunc(others, func(a, b int32) int { return p.items[b].CreatedAt.Compare(p.items[a].CreatedAt) })
	stood := make([]bool, len(of))
	for _, i := range others {
		stands := false
		for n, old := range of {
			if !stood[n] && p.scoresLike(i, old) && req.StandsFor(p.items[i], p.items[old]) {
				stood[n] = true
				stands = true
			}
		}
		if stands {
			out = append(out, i)
		}
	}
	return out
}

// scoresLike reports whether an item has about the scores of another, as it has where both say nearly the same.
func (p *Pool) scoresLike(i, other int32) bool {
	for _, c := range p.channels {
		if c.raw[i] < alikeRaw*c.raw[other] {
			return false
		}
	}
	return true
}

// newestDay is the day of the newest item that AddTimely made a place for: it is what a question for the newest is about.
func (p *Pool) newestDay(req *Request) (d language.Interval, ok bool) {
	var newest time.Time
	for _, i := range p.newest {
		if v := p.items[i]; v != nil && int(i) < req.Found && req.isWantedItem(v) && v.CreatedAt.After(newest) {
			newest = v.CreatedAt
		}
	}
	return language.IntervalOf(newest.In(req.Question.zone)), !newest.IsZero()
}
