package rank

import (
	"cmp"
	"slices"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection/retrieve"
	"satchel/pipeline/store/graph"
	"satchel/schemas"
)

// What links lend and take.
const (
	Lending     = .7  // of the relevance of the item at the other end of a link
	linkedEvery = 5   // one of so many places is for an item that links reach
	askedEvery  = 2   // the same, where the question or the query asks for such items
	linkFall    = .01 // deviations that such an item stands below the one before it
)

// step is a link that a walk took to an item.
type step struct {
	at, from int32
	via      schemas.Edge
}

// SetFrom notes that the client named an item as the start of a walk.
func (p *Pool) SetFrom(i int32) { p.from[i] = true }

// TakeLinks makes places for what links reach. rels are those that were followed, nil for all. With
// outward, links count only in the direction in which they are written. What lies behind a link that does not count, or behind an entity, is not
// taken. The hits are nearest first.
func (p *Pool) TakeLinks(f retrieve.Result, rels []schemas.Rel, outward bool) {
	p.rels = rels
	p.outward = outward
	for j, h := range f.Hits {
		via := f.Via[j]
		before := via.From
		if before == h.ID {
			before = via.To
		}
		from, known := p.index[before]
		if !known || outward && before != via.From {
			continue
		}
		at := p.Add(h.ID)
		p.distance[at] = int16(h.Distance)
		p.steps = append(p.steps, step{at, from, via})
	}
}

// withLinked gives items that links reach the relevance that is lent to them, and places in the
// order: every few places one, after the item at the other end of the link.
func (p *Pool) withLinked(order []int32, req *Request) []int32 {
	linked := p.lendRelevance(req)
	if len(linked) == 0 {
		return order
	}
	every := linkedEvery
	if req.Linked || req.Question.why {
		every = askedEvery
	}
	waits := make(map[int32]bool, len(order))
	done := make(map[int32]bool, len(order)+len(linked))
	for _, i := range order {
		waits[i] = true
	}
	out := make([]int32, 0, len(order)+len(linked))
	put := func(i int32) {
		if n := len(out); n > 0 {
			p.fused[i] = max(p.fused[i], p.fused[out[n-1]]-linkFall)
		}
		out = append(out, i)
		done[i] = true
	}
	for len(order)+len(linked) > 0 {
		next := slices.IndexFunc(linked, func(i int32) bool {
			from, has := p.lender[i]
			return !has || done[from] || !waits[from]
		})
		switch {
		case next >= 0 && ((len(out)+1)%every == 0 || len(order) == 0):
			if i := linked[next]; !done[i] {
				put(i)
			}
			linked = slices.Delete(linked, next, next+1)
		case len(order) == 0:
			linked = nil
		default:
			if i := order[0]; !done[i] {
				out = append(out, i)
				done[i] = true
			}
			order = order[1:]
		}
	}
	return out
}

// lendRelevance sets the relevance of the visible items that visible links reach, and where each of them was reached from, and returns
// those that pass the request's filters, best first.
func (p *Pool) lendRelevance(req *Request) (linked []int32) {
	steps := p.visibleSteps()
	if len(steps)+len(p.from) == 0 {
		return nil
	}
	has := make(map[int32]float64, len(steps))
	for _, s := range steps {
		if p.distance[s.from] == 0 {
			has[s.from] = p.relevant[s.from]
		}
	}
	for i := range p.from {
		if p.items[i] != nil {
			has[i] = 1
			p.lent[i] = 1
			linked = append(linked, i)
		}
	}
	for range graph.MaxHops {
		for _, s := range steps {
			v := Lending * has[s.from]
			if v <= has[s.at] || v <= p.relevant[s.at] && p.distance[s.at] == 0 {
				continue
			}
			if _, again := p.lender[s.at]; !again && !p.from[s.at] {
				linked = append(linked, s.at)
			}
			has[s.at] = v
			p.lender[s.at] = s.from
			p.lent[s.at] = v
			if p.distance[s.at] == 0 && !p.from[s.at] {
				p.distance[s.at] = p.distance[s.from] + 1
			}
		}
	}
	linked = slices.DeleteFunc(linked, func(i int32) bool { return int(i) >= req.Found || !req.isWantedItem(p.items[i]) })
	slices.SortFunc(linked, func(a, b int32) int {
		return cmp.Or(cmp.Compare(has[b], has[a]), p.compareByScore(a, b))
	})
	return linked
}

// linkedTo names the item by whose links another bears on the question, itself where the request names it, "" for none.
func (p *Pool) linkedTo(i int32) string {
	from, linked := p.lender[i]
	switch {
	case p.lent[i] <= p.relevant[i]:
		return ""
	case linked:
		return p.ids[from]
	}
	return p.ids[i]
}

// visibleSteps are the steps over links that the principal may see: first those between items that
// the walk began with, which it does not return.
func (p *Pool) visibleSteps() []step {
	var out []step
	for i, v := range p.items[:len(p.ids)] {
		if v == nil || p.distance[i] != 0 {
			continue
		}
		for _, l := range v.Links {
			to, known := p.index[l.To]
			if !known || p.items[to] == nil || p.distance[to] != 0 || len(p.rels) > 0 && !slices.Contains(p.rels, l.Rel) {
				continue
			}
			out = append(out, step{at: to, from: int32(i)})
			if !p.outward {
				out = append(out, step{at: int32(i), from: to})
			}
		}
	}
	for _, s := range p.steps {
		if p.items[s.at] != nil && p.items[s.from] != nil && p.showsLink(s.via) {
			out = append(out, s)
		}
	}
	return out
}

// showsLink reports whether the principal may see a link: it is a part of the item it comes from.
func (p *Pool) showsLink(e schemas.Edge) bool {
	from := p.itemOf(e.From)
	to := p.itemOf(e.To)
	if e.Rel == schemas.RelSupersedes && to != nil && to.SupersededBy == e.From {
		return true
	}
	return from != nil && slices.Contains(from.Links, schemas.Link{Rel: e.Rel, To: e.To})
}

func (p *Pool) itemOf(id string) *candidate.Visible {
	if i, ok := p.index[id]; ok {
		return p.items[i]
	}
	return nil
}
