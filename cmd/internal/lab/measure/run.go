package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"satchel/pipeline/language"
)

// Ranked is one place of a ranking.
type Ranked struct {
	ID    string  `json:"id"`
	Score float64 `json:"score"`
}

// Packed is a pack of a token budget.
type Packed struct {
	IDs     []string
	Dropped []string // items that the drop report names
	Tokens  int
	Shares  map[string]float64 // by id, the part of the item's text that is shown
	Account Account
	Text    string        // as rendered
	Took    time.Duration // making it, without holding it against the labels
}

// Lost returns the ids of what was found that the pack neither shows nor names as dropped.
func (p *Packed) Lost(found []Ranked) []string {
	var lost []string
	for _, r := range found {
		if !slices.Contains(p.IDs, r.ID) && !slices.Contains(p.Dropped, r.ID) {
			lost = append(lost, r.ID)
		}
	}
	return lost
}

// System is what is evaluated.
type System interface {
	// Rank returns the ranking before any budget, best first, at most 200 places.
	Rank(ctx context.Context, q *Query) ([]Ranked, error)
	// Found returns the items that a pack of the budget is made from, best first, at most 200.
	Found(ctx context.Context, q *Query, budget int) ([]Ranked, error)
	// Pack returns what a pack of the budget shows.
	Pack(ctx context.Context, q *Query, budget int) (Packed, error)
}

// Row is one query of the raw run.
type Row struct {
	Set    string              `json:"set"`
	Tenant string              `json:"tenant"`
	Query  string              `json:"query"`
	Ranked []Ranked            `json:"ranked"`
	Packs  map[string][]string `json:"packs"`
	Tokens map[string]int      `json:"tokens"`
	MS     float64             `json:"ms"`

	Category string  `json:"-"`
	Bins     Bins    `json:"-"`
	Score    Score   `json:"-"`
	Scored   bool    `json:"-"`
	Account  Account `json:"-"`
	Over     int     `json:"-"` // tokens of packs beyond their budgets
}

// Options steer a run.
type Options struct {
	Budgets  []int
	Out      io.Writer // one JSON line a query; nil: none
	Progress func(done, total int)
}

// Run asks every query of the set and scores the answers.
func Run(ctx context.Context, set Set, sys System, opts Options) ([]Row, error) {
	of := make(map[string]*Memory, len(set.Memories))
	for i := range set.Memories {
		of[set.Memories[i].Tenant+"\x00"+set.Memories[i].ID] = &set.Memories[i]
	}
	var enc *json.Encoder
	if opts.Out != nil {
		enc = json.NewEncoder(opts.Out)
	}
	rows := make([]Row, 0, len(set.Queries))
	for i := range set.Queries {
		row, err := askQuery(ctx, set.Name, &set.Queries[i], sys, opts.Budgets, of)
		if err != nil {
			return nil, fmt.Errorf("query %q of set %q: %w", set.Queries[i].ID, set.Name, err)
		}
		if enc != nil {
			if err := enc.Encode(row); err != nil {
				return nil, fmt.Errorf("write raw run: %w", err)
			}
		}
		rows = append(rows, row)
		if opts.Progress != nil {
			opts.Progress(i+1, len(set.Queries))
		}
	}
	return rows, nil
}

func askQuery(ctx context.Context, set string, q *Query, sys System, budgets []int, memories map[string]*Memory) (Row, error) {
	row := Row{Set: set, Tenant: q.Tenant, Query: q.ID, Category: q.Category, Scored: q.Scored(),
		Packs: map[string][]string{}, Tokens: map[string]int{}}
	var err error
	if row.Ranked, err = sys.Rank(ctx, q); err != nil {
		return row, err
	}
	ids := make([]string, len(row.Ranked))
	for i, r := range row.Ranked {
		ids[i] = r.ID
	}
	bySession := func(ids []string) (out []string) {
		for _, id := range ids {
			if m := memories[q.Tenant+"\x00"+id]; m != nil && !slices.Contains(out, m.Session) {
				out = append(out, m.Session)
			}
		}
		return out
	}
	collapse := func(ids []string) []string {
		if q.BySession() {
			return bySession(ids)
		}
		return ids
	}
	labels := q.Labels()
	row.Score = Rank(collapse(ids), labels)
	right := bySession(q.Relevant)
	ranked := bySession(ids)
	if q.BySession() {
		right = q.RelevantSessions
	}
	if slices.ContainsFunc(ranked[:min(5, len(ranked))], func(s string) bool { return slices.Contains(right, s) }) {
		row.Score.Session5 = 1
	}
	row.Score.Common = common(q, memories)
	if !q.BySession() {
		row.Bins.add(row.Ranked, labels)
	}
	row.Score.Evidence = map[int]float64{}
	row.Score.Shown = map[int]float64{}
	row.Score.Answered = map[int]float64{}
	row.Score.Tokens = map[int]float64{}
	for _, budget := range budgets {
		p, err := sys.Pack(ctx, q, budget)
		if err != nil {
			return row, err
		}
		row.MS = float64(p.Took.Microseconds()) / 1000
		key := fmt.Sprint(budget)
		row.Packs[key] = p.IDs
		row.Tokens[key] = p.Tokens
		row.Score.Evidence[budget] = recall(collapse(p.IDs), labels, len(p.IDs))
		row.Score.Shown[budget] = shown(p, q)
		row.Score.Answered[budget] = Answered(p.Text, q)
		row.Account.Add(p.Account)
		row.Score.Tokens[budget] = float64(p.Tokens)
		row.Over += max(0, p.Tokens-budget)
	}
	row.Score.MS = row.MS
	return row, nil
}

// common is the share of the question's words, but for those that every text has, that stand in what is relevant.
func common(q *Query, memories map[string]*Memory) float64 {
	var texts strings.Builder
	for _, id := range q.Relevant {
		if m := memories[q.Tenant+"\x00"+id]; m != nil {
			fmt.Fprintln(&texts, m.Name, m.Text)
		}
	}
	asked, _ := language.ContentWords(language.Words(q.Text))
	if len(asked) == 0 || texts.Len() == 0 {
		return 0
	}
	there := language.Analyze(texts.String())
	n := 0
	for _, w := range asked {
		if slices.ContainsFunc(language.Analyze(w), func(term string) bool { return slices.Contains(there, term) }) {
			n++
		}
	}
	return float64(n) / float64(len(asked))
}

// shown is the share of the text of the relevant items that a pack shows.
func shown(p Packed, q *Query) float64 {
	if len(q.Relevant) == 0 {
		return 0
	}
	sum := 0.0
	for _, id := range q.Relevant {
		sum += p.Shares[id]
	}
	return sum / float64(len(q.Relevant))
}

// Answered is the share of the terms of the question's answer that a text holds.
func Answered(text string, q *Query) float64 {
	want := language.Analyze(fmt.Sprint(q.Answer))
	if q.Answer == nil || len(want) == 0 {
		return 0
	}
	there := map[string]bool{}
	for _, t := range language.Analyze(text) {
		there[t] = true
	}
	n := 0
	for _, t := range want {
		if there[t] {
			n++
		}
	}
	return float64(n) / float64(len(want))
}

// Line is one line of a report: a category, or all of them.
type Line struct {
	Category string
	Queries  int
	Mean     Score
	P50, P95 float64 // ms a request
	Account  Account
	Over     int // tokens of packs beyond their budgets
	Bins     Bins
	Empty    int // packs of the largest budget that show nothing
}

// Unlabelled are the questions without labels, which nothing answers, and what their packs of the largest budget have.
type Unlabelled struct {
	Queries, Empty int
	Tokens         float64 // on average
}

// CountUnlabelled counts them.
func CountUnlabelled(rows []Row) (u Unlabelled) {
	for i := range rows {
		if rows[i].Scored {
			continue
		}
		ids, tokens, _ := rows[i].largest()
		u.Queries++
		u.Tokens += float64(tokens)
		if len(ids) == 0 {
			u.Empty++
		}
	}
	u.Tokens /= float64(max(1, u.Queries))
	return u
}

// largest is the pack of the largest budget.
func (r *Row) largest() (ids []string, tokens int, ok bool) {
	most := 0
	for budget := range r.Packs {
		if b, err := strconv.Atoi(budget); err == nil && b > most {
			most = b
			ids = r.Packs[budget]
			tokens = r.Tokens[budget]
			ok = true
		}
	}
	return ids, tokens, ok
}

// Report averages rows by category; the lines named all but leave adversarial
// questions out, whose labels point at the other speaker, and all comes last.
func Report(rows []Row) []Line {
	groups := map[string][]Row{}
	for _, r := range rows {
		if r.Scored {
			groups[r.Category] = append(groups[r.Category], r)
		}
	}
	var names []string
	for name := range groups {
		names = append(names, name)
	}
	slices.Sort(names)
	var lines, byWords []Line
	var all []Row
	for _, name := range names {
		if len(names) > 1 {
			lines = append(lines, line(name, groups[name]))
		}
		if name != "adversarial" {
			all = append(all, groups[name]...)
		}
	}
	for _, shares := range []bool{true, false} {
		some := slices.DeleteFunc(slices.Clone(all), func(r Row) bool { return (r.Score.Common > 0) != shares })
		if name := map[bool]string{true: "words in common", false: "no word in common"}[shares]; len(some) > 0 && len(some) < len(all) {
			byWords = append(byWords, line(name, some))
		}
	}
	title := "all"
	if _, ok := groups["adversarial"]; ok {
		title = "all but adversarial"
	}
	return append(append(lines, byWords...), line(title, all))
}

func line(name string, rows []Row) Line {
	scores := make([]Score, len(rows))
	ms := make([]float64, len(rows))
	for i, r := range rows {
		scores[i] = r.Score
		ms[i] = r.MS
	}
	l := Line{Category: name, Queries: len(rows), Mean: mean(scores)}
	for i := range rows {
		l.Account.Add(rows[i].Account)
		l.Over += rows[i].Over
		l.Bins.sum(&rows[i].Bins)
		if ids, _, ok := rows[i].largest(); ok && len(ids) == 0 {
			l.Empty++
		}
	}
	l.P50, l.P95 = Percentiles(ms)
	return l
}
