package roles

import (
	"cmp"
	"context"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"satchel/pipeline/infra/days"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

// quotes are the quotations of an answer and how well each answers each step.
type quotes struct {
	plan   []schemas.PlanStep
	list   []quotation
	words  [][]string // of each step
	scores [][]float64
	near   [][]bool // half of the words of a step and its meaning are there
	clear  bool     // a quotation clearly answers
	told   bool     // a note bears on the task
	now    time.Time
}

// read takes in the words and vectors of quotations and steps, and scores them.
func (c *quotes) read(ctx context.Context, st *step) error {
	texts := make([]string, 0, len(c.plan)+len(c.list))
	for _, s := range c.plan {
		texts, c.words = append(texts, s.Question), append(c.words, keyword.Analyze(s.Question))
	}
	for i := range c.list {
		texts = append(texts, c.list[i].text)
	}
	vectors, err := st.cfg.Embedder.Embed(ctx, texts)
	if err != nil || len(vectors) != len(texts) {
		return &schemas.Error{Code: schemas.CodeEmbedding, Message: "the question and the context could not be embedded"}
	}
	c.told = slices.ContainsFunc(c.list, func(q quotation) bool { return q.note && q.relevance >= leastRelevance })
	seen := map[string]float64{}
	for i := range c.list {
		q := &c.list[i]
		q.vector, q.words = vectors[len(c.plan)+i], map[string]bool{}
		for _, w := range keyword.Analyze(q.speaker + " " + q.text) {
			if !q.words[w] {
				seen[w]++
			}
			q.words[w] = true
		}
	}
	rarity := func(w string) float64 { return math.Log(1 + float64(len(c.list)+1)/(seen[w]+1)) }
	c.scores, c.near = make([][]float64, len(c.plan)), make([][]bool, len(c.plan))
	for s := range c.plan {
		c.scores[s], c.near[s] = make([]float64, len(c.list)), make([]bool, len(c.list))
		asked := mentions(c.plan[s].Question)
		if len(asked) == 0 {
			asked = mentions(st.req.Task)
		}
		named := slices.ContainsFunc(c.list, func(q quotation) bool { return fits(asked, q.text) == fitNamed })
		for i := range c.list {
			q := &c.list[i]
			common, meaning := overlap(c.words[s], q.words, rarity), max(0, cosine(vectors[s], q.vector))
			c.near[s][i] = common >= leastAlone && meaning >= leastMeaning
			c.clear = c.clear || q.relevance >= leastRelevance && (!q.note || common >= clearWords)
			switch {
			case fits(asked, q.text) == fitRival, named && fits(asked, q.text) == fitOther:
				c.scores[s][i] = -1
			case len(c.plan) == 1:
				c.scores[s][i] = q.relevance
			default:
				c.scores[s][i] = (common + meaning) / 2
			}
		}
	}
	return nil
}

// overlap is the share of the words, by rarity, that a quotation holds.
func overlap(words []string, held map[string]bool, rarity func(string) float64) float64 {
	whole, part := 0.0, 0.0
	for _, w := range words {
		whole += rarity(w)
		if held[w] {
			part += rarity(w)
		}
	}
	return part / max(whole, math.SmallestNonzeroFloat64)
}

func cosine(a, b []float32) float64 {
	sum := 0.0
	for i := range min(len(a), len(b)) {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// dropFar leaves out what hardly bears on the question, unless it is about the same thing as the best, or links name it
// as a cause of what is quoted. Where no note bears on it, all of documents, code and commits stays.
func (c *quotes) dropFar(causes map[string][]string) {
	if len(c.list) == 0 {
		return
	}
	best, linked := c.list[0], map[string]bool{}
	keep := func(i int) bool {
		q := &c.list[i]
		near := q.relevance >= leastRelevance || !q.note && !c.told || linked[q.id]
		return near || q.part && c.near[0][i] || q.note && best.note && best.relevance >= leastRelevance && cosine(best.vector, q.vector) >= leastSame
	}
	for i := range c.list { // a cause stands behind what it is the cause of
		if c.scores[0][i] >= 0 && keep(i) {
			for _, id := range causes[c.list[i].id] {
				linked[id] = true
			}
			continue
		}
		c.scores[0][i] = -1
	}
}

// assign gives each step its quotations, best first: the first ones so that the sum of their scores is the greatest, each
// other one to the step that it answers best.
func (c *quotes) assign() [][]int {
	out := make([][]int, len(c.plan))
	least := leastScore
	if len(c.plan) == 1 {
		least = 0
	}
	first := c.heads(least)
	for i := range c.list {
		of := slices.Index(first, i)
		if of < 0 {
			of = 0
			for s := range c.plan {
				if c.scores[s][i] > c.scores[of][i] {
					of = s
				}
			}
		}
		if score := c.scores[of][i]; score >= least || score >= 0 && !c.list[i].note && !c.told {
			out[of] = append(out[of], i)
		}
	}
	for s := range out {
		slices.SortStableFunc(out[s], func(a, b int) int {
			switch first[s] {
			case a:
				return -1
			case b:
				return 1
			}
			return cmp.Compare(c.scores[s][b], c.scores[s][a])
		})
	}
	return out
}

// heads returns the quotation that each step begins with, −1 for none: those with the greatest sum of scores, by the
// Hungarian method with potentials (Kuhn 1955, Munkres 1957), in time that grows with steps² · quotations.
func (c *quotes) heads(least float64) []int {
	rows, columns := len(c.plan), len(c.list)+len(c.plan) // the last columns are for steps without one
	const never = 1e6
	cost := func(row, column int) float64 {
		switch {
		case column > len(c.list):
			return 0
		case c.scores[row-1][column-1] < least:
			return never
		}
		return -c.scores[row-1][column-1]
	}
	byRow, byColumn := make([]float64, rows+1), make([]float64, columns+1)
	of, from := make([]int, columns+1), make([]int, columns+1) // the row of a column, and the column before it on a path
	for row := 1; row <= rows; row++ {
		slack, used := slices.Repeat([]float64{math.Inf(1)}, columns+1), make([]bool, columns+1)
		at := 0
		for of[0] = row; of[at] != 0; {
			used[at] = true
			next, step := 0, math.Inf(1)
			for j := 1; j <= columns; j++ {
				if used[j] {
					continue
				}
				if left := cost(of[at], j) - byRow[of[at]] - byColumn[j]; left < slack[j] {
					slack[j], from[j] = left, at
				}
				if slack[j] < step {
					next, step = j, slack[j]
				}
			}
			for j := range slack {
				if used[j] {
					byRow[of[j]] += step
					byColumn[j] -= step
				} else {
					slack[j] -= step
				}
			}
			at = next
		}
		for at != 0 {
			of[at] = of[from[at]]
			at = from[at]
		}
	}
	heads := slices.Repeat([]int{-1}, rows)
	for j := 1; j <= len(c.list); j++ {
		if of[j] > 0 {
			heads[of[j]-1] = j - 1
		}
	}
	return heads
}

// newest puts the later notes that are about the same thing as the first quotation of a step before it: the newest of those
// that bear on the step first. Where the question names a day, none is.
func (c *quotes) newest(s int, of []int) []int {
	if len(of) == 0 || len(days.Find(c.plan[s].Question, c.now)) > 0 {
		return of
	}
	first, best := of[0], 0.0
	var later, rest []int
	for _, i := range of {
		q := &c.list[i]
		if c.replaces(q, &c.list[first]) && c.scores[s][i] >= leastLater*c.scores[s][first] && c.shares(s, q, &c.list[first]) {
			later, best = append(later, i), max(best, c.scores[s][i])
		} else {
			rest = append(rest, i)
		}
	}
	slices.SortStableFunc(later, func(a, b int) int {
		near := func(i int) bool { return c.scores[s][i] >= closeLater*best }
		if near(a) != near(b) {
			return cmp.Compare(c.scores[s][b], c.scores[s][a])
		}
		return c.list[b].made.Compare(c.list[a].made)
	})
	return append(later, rest...)
}

// replaces reports whether a note is later than another about the same thing, of the same writer, and is trusted no less.
func (c *quotes) replaces(q, other *quotation) bool {
	return q.note && other.note && q.writer == other.writer && q.made.After(other.made) && q.trust >= other.trust && cosine(q.vector, other.vector) >= leastSame
}

// shares reports whether a quotation has the names of a question that another has, and enough of its words.
func (c *quotes) shares(s int, q, other *quotation) bool {
	both, there := 0, 0
	for _, w := range c.words[s] {
		if other.words[w] {
			there++
			if q.words[w] {
				both++
			}
		}
	}
	names := slices.ContainsFunc(namesIn(c.plan[s].Question), func(w string) bool { return other.words[w] && !q.words[w] })
	return !names && float64(both) >= leastShared*float64(there)
}

// namesIn returns the words of a question that have a capital, but for the first word, or a digit.
func namesIn(question string) []string {
	var out []string
	for i, w := range strings.Fields(question) {
		if strings.ContainsFunc(w, func(r rune) bool { return i > 0 && unicode.IsUpper(r) || unicode.IsDigit(r) }) {
			out = append(out, keyword.Analyze(w)...)
		}
	}
	return out
}

// mention is what a text names by a number or an identifier: "recipe 42", "#17", "INV-1042".
type mention struct {
	noun  string // "recipe", as the keyword index has it; "#", or what an identifier begins with
	value string // "42", "inv-1042"
}

var (
	numbered   = regexp.MustCompile(`(?i)([\p{L}][\p{L}'-]{2,})\s+(?:(?:no\.?|nr\.?|number)\s*)?#?(\d+(?:[.,:/-]\d+)*)\b`)
	hashed     = regexp.MustCompile(`(?:^|\s)#(\d+)\b`)
	identifier = regexp.MustCompile(`(?i)\b[a-z]+[a-z_-]*[-_]?\d[\w-]*\b`)
)

// mentions are what a text names so. Stop words and months name nothing.
func mentions(text string) []mention {
	var out []mention
	for _, m := range numbered.FindAllStringSubmatch(text, -1) {
		if noun := keyword.Analyze(m[1]); len(noun) == 1 && !days.IsName(m[1]) {
			out = append(out, mention{noun[0], m[2]})
		}
	}
	for _, m := range hashed.FindAllStringSubmatch(text, -1) {
		out = append(out, mention{"#", m[1]})
	}
	for _, m := range identifier.FindAllString(text, -1) {
		m = strings.ToLower(m)
		out = append(out, mention{strings.TrimRight(m[:strings.IndexAny(m, "0123456789")], "-_"), m})
	}
	return out
}

// fit is how a quotation stands to what a question names.
type fit int

const (
	fitOpen  fit = iota // it names nothing of the kind
	fitOther            // it has figures, but not what is named
	fitRival            // it names another of the same kind
	fitNamed            // it names it
)

// fits tells how a text fits.
func fits(asked []mention, text string) fit {
	here := mentions(text)
	switch {
	case len(asked) == 0:
		return fitOpen
	case slices.ContainsFunc(here, func(m mention) bool { return slices.Contains(asked, m) }):
		return fitNamed
	case slices.ContainsFunc(here, func(m mention) bool {
		return slices.ContainsFunc(asked, func(a mention) bool { return a.noun == m.noun })
	}):
		return fitRival
	case figure.MatchString(text):
		return fitOther
	}
	return fitOpen
}
