package measure

import (
	"context"
	"fmt"
)

// Account is how packs answer for what they left out and for what they cite.
type Account struct {
	Removed  int // characters of what was found that are not shown
	Named    int // of those, the characters that the drop report names
	Parts    int // items that are shown in part
	Cited    int // citations: references, spans, sentences of the TL;DR
	Resolved int // of those, the ones that are there
}

// Add adds b to a.
func (a *Account) Add(b Account) {
	a.Removed += b.Removed
	a.Named += b.Named
	a.Parts += b.Parts
	a.Cited += b.Cited
	a.Resolved += b.Resolved
}

// Coverage is the share of the removed characters that is named, 1 when none is.
func (a Account) Coverage() float64 { return share(a.Named, a.Removed) }

// Citations is the share of the citations that resolve, 1 when there is none.
func (a Account) Citations() float64 { return share(a.Resolved, a.Cited) }

// Whole reports whether everything is named and every citation resolves.
func (a Account) Whole() bool { return a.Named == a.Removed && a.Resolved == a.Cited }

func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

// Accounts are those of all packs of a set at one budget.
type Accounts struct {
	Set     string  `json:"set"`
	Budget  int     `json:"budget"`
	Packs   int     `json:"packs"`
	Account Account `json:"account"`
	Over    int     `json:"over"`             // packs beyond the budget
	Lost    int     `json:"lost"`             // items that were found, and are neither shown nor in the drop report
	Failed  string  `json:"failed,omitempty"` // the first query whose pack is over or does not account for itself
}

// Ledger holds every pack of every query of the set, labelled or not, to account: one line
// a budget.
func Ledger(ctx context.Context, set Set, sys System, budgets []int, progress func(done, total int)) ([]Accounts, error) {
	lines := make([]Accounts, len(budgets))
	for i, b := range budgets {
		lines[i] = Accounts{Set: set.Name, Budget: b}
	}
	for n := range set.Queries {
		q := &set.Queries[n]
		for i := range lines {
			l := &lines[i]
			found, err := sys.Found(ctx, q, l.Budget)
			if err != nil {
				return nil, fmt.Errorf("query %q of set %q: %w", q.ID, set.Name, err)
			}
			p, err := sys.Pack(ctx, q, l.Budget)
			if err != nil {
				return nil, fmt.Errorf("query %q of set %q: %w", q.ID, set.Name, err)
			}
			l.Packs++
			l.Account.Add(p.Account)
			over := p.Tokens > l.Budget
			if over {
				l.Over++
			}
			lost := len(p.Lost(found))
			l.Lost += lost
			if l.Failed == "" && (over || lost > 0 || !p.Account.Whole()) {
				l.Failed = q.ID
			}
		}
		progress(n+1, len(set.Queries))
	}
	return lines, nil
}
