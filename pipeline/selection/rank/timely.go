package rank

import "slices"

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
		if !has[i] && p.items[i] != nil && int(i) < req.Found && req.wants(p.items[i]) {
			out, has[i] = append(out, i), true
		}
	}
	return out
}
