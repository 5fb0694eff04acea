package rot

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"satchel/cmd/internal/lab/eval"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// The ways to make a context. All but the first take whole texts in their order until the budget is used, and cut the last;
// the last one has no budget.
const (
	lineSatchel = "satchel"
	lineBM25    = "BM25"
	lineVectors = "vectors"
	lineNewest  = "newest first"
	lineAll     = "all"
)

func lineNames() []string {
	return []string{lineSatchel, lineBM25, lineVectors, lineNewest, lineAll}
}

// hits is how many items a plain search returns.
const hits = 200

// plain makes the contexts that need no Satchel, over the indexes of the same node.
type plain struct {
	sys     *eval.System
	h       *history
	scope   scope.Scope
	counter token.Counter
	counts  []int // tokens of the entries
	newest  []int // entries, the newest first
	every   everything
	stated  [][]int // by question: the entries that state its answer
}

// everything is the context that has the whole history.
type everything struct {
	tokens int
	before []int // by entry: tokens of what comes before it
	shares shares
}

// newPlain looks over a history as it stands.
func newPlain(sys *eval.System, h *history, counter token.Counter, counts []int) (*plain, error) {
	sc, err := sys.Scope()
	if err != nil {
		return nil, err
	}
	p := &plain{sys: sys, h: h, scope: sc, counter: counter, counts: counts, newest: make([]int, len(h.entries)), stated: make([][]int, len(h.questions))}
	for i := range p.newest {
		p.newest[i] = i
	}
	slices.SortFunc(p.newest, func(a, b int) int {
		x := &h.entries[a].item
		y := &h.entries[b].item
		return cmp.Or(y.CreatedAt.Compare(x.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	p.every.before = make([]int, len(h.entries))
	sums := map[role]float64{}
	for _, i := range slices.Backward(p.newest) { // as it was said
		for n := range h.questions {
			if h.questions[n].states(&h.entries[i]) {
				p.stated[n] = append(p.stated[n], i)
			}
		}
		p.every.before[i] = p.every.tokens
		p.every.tokens += counts[i]
		sums[h.entries[i].role] += float64(counts[i])
	}
	total := float64(max(1, p.every.tokens))
	p.every.shares = shares{Distractors: sums[distractor] / total, Superseded: sums[superseded] / total, Outdated: sums[outdated] / total, Injections: sums[injection] / total}
	return p, nil
}

// rows asks a question, by its number, in every plain way.
func (p *plain) rows(ctx context.Context, row Row, number int, budgets []int) ([]Row, error) {
	q := &p.h.questions[number]
	words, err := p.sys.Keyword.Search(ctx, p.scope, keyword.Query{Text: q.text, Limit: hits, Filter: schemas.MatchAll(), Population: schemas.MatchAll()})
	if err != nil {
		return nil, fmt.Errorf("search by BM25: %w", err)
	}
	byWords := make([]int, len(words.Hits))
	for i := range words.Hits {
		byWords[i] = p.h.byID[words.Hits[i].ID]
	}
	vectors, err := p.sys.Embedder.Embed(ctx, []string{q.text})
	if err != nil {
		return nil, fmt.Errorf("embed the question: %w", err)
	}
	near, err := p.sys.Vector.Search(ctx, p.scope, vector.Query{Vector: vectors[0], Model: p.sys.Embedder.Model().String(), Limit: hits, Filter: schemas.MatchAll()})
	if err != nil {
		return nil, fmt.Errorf("search by vector: %w", err)
	}
	byVector := make([]int, len(near.Hits))
	for i := range near.Hits {
		byVector[i] = p.h.byID[near.Hits[i].ID]
	}
	var rows []Row
	for _, budget := range budgets {
		row.Budget = budget
		for _, way := range []struct {
			name  string
			order []int
		}{{lineBM25, byWords}, {lineVectors, byVector}, {lineNewest, p.newest}} {
			row.Line = way.name
			rows = append(rows, p.fill(row, q, way.order))
		}
	}
	return append(rows, p.all(row, q, p.stated[number])), nil
}

// fill takes entries in an order until the budget is used.
func (p *plain) fill(row Row, q *question, order []int) Row {
	var text strings.Builder
	var parts []shown
	left := row.Budget
	for _, i := range order {
		whole := p.h.entries[i].text
		n := p.counts[i]
		if n > left {
			whole = token.Truncate(p.counter, whole, left)
			n = p.counter.Count(whole)
		}
		if n == 0 {
			break
		}
		text.WriteString(whole + "\n")
		parts = append(parts, shown{entry: i, tokens: float64(n)})
		row.Tokens += n
		left -= n
		if left <= 0 {
			break
		}
	}
	row.Abstained = len(parts) == 0
	p.h.judge(&row, q, text.String(), parts, p.counter)
	return row
}

// all judges the whole history, in which stated are the entries that state the answer, or parts of it.
func (p *plain) all(row Row, q *question, stated []int) Row {
	row.Line = lineAll
	row.Budget = 0
	row.Tokens = p.every.tokens
	row.Shares = p.every.shares
	row.about(q)
	if len(stated) == 0 {
		return row
	}
	first := slices.MinFunc(stated, func(a, b int) int { return cmp.Compare(p.every.before[a], p.every.before[b]) })
	total := float64(max(1, row.Tokens))
	row.Evidence = 1
	row.placed = true
	row.Place = float64(p.every.before[first]) / total
	if q.labels == nil || q.labels.Answer != nil {
		row.Answered = 1
	}
	for _, i := range stated {
		if share := float64(p.counts[i]) / total; i == first || q.labels != nil {
			row.Density += share
		} else {
			row.Shares.Duplicates += share
		}
	}
	return row
}
