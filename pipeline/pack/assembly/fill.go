package assembly

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"satchel/pipeline/candidate"
	"satchel/pipeline/fill"
	"satchel/pipeline/pack"
	"satchel/pipeline/token"
)

// Group is one section: its items, best first, and its share of the budget relative
// to the other groups that have items.
type Group struct {
	Heading string
	Weight  int
	Items   []Item
}

// Request says what is to be written.
type Request struct {
	Title   Title
	Groups  []Group
	Budget  int // tokens; a tenth more where a group would have nothing, but never over Most
	Most    int
	Items   int // at most; 0: any number
	Bytes   int // of all items at most; 0: any number
	Counter token.Counter
	Footer  func(shown [][]Shown) string // the last line, as Markdown
}

// Title begins a text.
type Title struct {
	Text        string
	Author      string   // who wrote the items that name no other; see pack.Credit
	Unmentioned []string // names of the question that nothing has
}

// Shown is an item in the text.
type Shown struct {
	Group, Item int // indexes into the request
	Text        string
	Tokens      int
	Truncated   bool
}

// Result is the text and what is in it, by group in the order shown. Without items
// the text is empty.
type Result struct {
	Markdown string
	Tokens   int
	Budgets  []int // tokens each group may take
	Shown    [][]Shown
	Exceeded bool // by a tenth of the budget at most
}

// The caps of an item among others: a quarter of its group's share, but never under leastCap
// tokens while the share has them.
const (
	capFraction = 4
	leastCap    = 150
	leastBody   = 6 // tokens of a cut item's own text
)

// Clip returns the bytes of a text that a budget can make use of: more than any text
// of a quarter of that many tokens has.
func Clip(budget int) int { return 8*max(budget, 0) + 1024 }

// Fill writes the text. Where the groups leave each other too little for any item, it
// writes fewer of them, and at last the most relevant item that fits alone.
func Fill(req Request) Result {
	out := write(req)
	if out.Markdown != "" {
		return out
	}
	order := slices.DeleteFunc(fill.All(len(req.Groups)), func(g int) bool { return len(req.Groups[g].Items) == 0 })
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Compare(req.Groups[y].Items[0].Relevance, req.Groups[x].Items[0].Relevance)
	})
	fit := slices.DeleteFunc(slices.Clone(order), func(g int) bool { return write(req.selectGroups(g)).Markdown == "" })
	for ; len(fit) > 0; fit = fit[:len(fit)-1] {
		if less := write(req.selectGroups(fit...)); less.Markdown != "" {
			return less
		}
	}
	for _, g := range order {
		lone := req.selectGroups(g)
		for i := range req.Groups[g].Items {
			lone.Groups[g].Items = req.Groups[g].Items[i : i+1]
			if alone := write(lone); alone.Markdown != "" {
				alone.Shown[g][0].Item = i
				return alone
			}
		}
	}
	return out
}

// selectGroups is the request with the items of these groups alone.
func (r Request) selectGroups(groups ...int) Request {
	r.Groups = slices.Clone(r.Groups)
	for g := range r.Groups {
		if !slices.Contains(groups, g) {
			r.Groups[g].Items = nil
		}
	}
	return r
}

func write(req Request) Result {
	f := &filling{req: &req, out: Result{Shown: make([][]Shown, len(req.Groups)), Budgets: make([]int, len(req.Groups))}}
	for g := range req.Groups {
		f.whole = append(f.whole, make([]int, len(req.Groups[g].Items)))
	}
	if !f.divideBudget() {
		return f.out
	}
	f.cutPieces()
	f.chooseItems()
	f.renderTakenItems()
	return f.out
}

// filling is one text being written.
type filling struct {
	req    *Request
	out    Result
	avail  int     // tokens for items
	caps   []int   // most tokens of an item, by group
	whole  [][]int // tokens of each item, uncut
	pieces [][]Shown
	ranked []Shown // all pieces as they were cut: quotations first, then the most relevant first
	taken  [][]bool
	spent  int
	items  int  // taken
	bytes  int  // of these
	over   bool // a group had to exceed the budget
}

func (f *filling) countTokens(text string) int { return f.req.Counter.Count(text) }

// between separates items; it belongs to the item before it.
const between = "\n\n"

// divideBudget gives each group that has items its share, and what it can't use to the others.
func (f *filling) divideBudget() bool {
	f.avail = f.req.Budget - f.countTokens(f.renderTitle()) - f.countTokens(f.renderFooter(f.showAllItems()))
	weights := make([]int, len(f.req.Groups))
	items := 0
	for g, group := range f.req.Groups {
		if len(group.Items) == 0 {
			continue
		}
		items += len(group.Items)
		weights[g] = max(1, group.Weight)
		f.avail -= f.countTokens(f.renderHeading(g))
	}
	if items == 0 || f.avail <= 0 {
		return false
	}
	needs := f.measureGroups()
	f.out.Budgets = fill.Divide(f.avail, weights, needs)
	f.caps = f.computeCaps(weights)
	all := 0
	for _, n := range needs {
		all += n
	}
	for g := range f.caps {
		switch {
		case items == 1: // it crowds out none
			f.caps[g] = f.avail
		case all <= f.avail: // nothing crowds out anything: a quarter of the whole
			f.caps[g] = Cap(f.req.Budget)
		}
	}
	return true
}

// measureGroups counts the items of each group until they fill the budget, all groups at once,
// and returns the tokens each group can use.
func (f *filling) measureGroups() []int {
	needs := make([]int, len(f.req.Groups))
	var wait sync.WaitGroup
	for g, group := range f.req.Groups {
		wait.Go(func() {
			used := 0
			for i := 0; i < len(group.Items) && used <= f.req.Budget; i++ {
				f.whole[g][i] = f.countTokens(group.Items[i].Text() + between)
				needs[g] = min(needs[g]+f.whole[g][i], f.req.Budget)
				if group.Items[i].clipped {
					needs[g] = f.req.Budget // it can use everything
				}
				used += min(f.whole[g][i], Cap(f.req.Budget))
			}
		})
	}
	wait.Wait()
	return needs
}

// computeCaps returns the most tokens one item of each group may take: the cap of what the
// weights give the group, or of what it gets when no other group needs the rest.
func (f *filling) computeCaps(weights []int) []int {
	left := f.avail
	total := 0
	for g := range weights {
		left -= f.out.Budgets[g]
		total += weights[g]
	}
	caps := make([]int, len(weights))
	for g := range weights {
		caps[g] = Cap(max(f.avail*weights[g]/total, f.out.Budgets[g]+left*weights[g]/total))
	}
	return caps
}

// Cap returns the most tokens one item of a group with this share may take.
func Cap(share int) int { return max(share/capFraction, min(leastCap, share)) }

// cutPieces makes the piece of every item that may be shown, and ranks these. No group is left out for the sake of its cap: an
// item of which that leaves nothing worth reading has what its group has, up to a quarter of the whole.
func (f *filling) cutPieces() {
	for g, group := range f.req.Groups {
		f.pieces = append(f.pieces, make([]Shown, len(group.Items)))
		f.taken = append(f.taken, make([]bool, len(group.Items)))
		for i := range group.Items {
			most := f.caps[g]
			if group.Items[i].quoted {
				most = f.whole[g][i]
			}
			piece := f.shrink(g, i, most)
			if piece.Text == "" {
				piece = f.shrink(g, i, min(f.out.Budgets[g], Cap(f.req.Budget)))
			}
			f.pieces[g][i] = piece
		}
		f.ranked = append(f.ranked, f.pieces[g]...)
	}
	slices.SortStableFunc(f.ranked, func(a, b Shown) int {
		x := f.item(a)
		y := f.item(b)
		switch {
		case x.quoted == y.quoted:
			return cmp.Compare(y.Relevance, x.Relevance)
		case x.quoted:
			return -1
		}
		return 1
	})
}

// item is the one that a piece is of.
func (f *filling) item(p Shown) *Item { return &f.req.Groups[p.Group].Items[p.Item] }

// shrink is an item in at most most tokens: whole, cut, or without text where nothing worth reading would be left, or where
// better items of the group take the whole budget.
func (f *filling) shrink(g, i, most int) Shown {
	it := &f.req.Groups[g].Items[i]
	piece := Shown{Group: g, Item: i}
	if f.whole[g][i] == 0 {
		return piece
	}
	piece.Text = it.Text()
	piece.Tokens = f.whole[g][i]
	if it.clipped || piece.Tokens > most {
		piece.Text, piece.Tokens = f.shortenItem(it, most)
		piece.Truncated = piece.Text != it.Text()
	}
	return piece
}

// shortenItem cuts the body of an item so that it takes at most most tokens with its note;
// the text is empty when nothing worth reading would be left.
func (f *filling) shortenItem(it *Item, most int) (string, int) {
	end := "..." + it.tail + between + it.note
	room := most - f.countTokens(it.head) - f.countTokens(end+between)
	for room >= leastBody {
		body := tidyEnding(token.Truncate(f.req.Counter, it.body, room))
		text := it.head + body + end
		n := f.countTokens(text + between)
		if n <= most {
			return text, n
		}
		room -= n - most
	}
	return "", 0
}

// tidyEnding ends a cut text at a line, or else at a word, where that keeps most of it, and
// leaves no mark open at its end.
func tidyEnding(text string) string {
	if end := strings.LastIndexByte(text, '\n'); end >= len(text)*2/3 {
		text = text[:end]
	} else if end := strings.LastIndexAny(text, " \t\n"); end >= len(text)/2 {
		text = text[:end]
	}
	return strings.TrimRight(text, " \t\n-*([")
}

// chooseItems takes the quotations, which were chosen for what they say, and in each group the best items that fit its share; then of every group
// that has none its best, if need be over the budget; then what still fits anywhere.
func (f *filling) chooseItems() {
	for _, p := range f.ranked {
		if f.item(p).quoted {
			f.takeItem(p, 0)
		}
	}
	for g := range f.pieces {
		left := f.out.Budgets[g]
		for _, p := range f.pieces[g] {
			if p.Tokens <= left && f.takeItem(p, 0) {
				left -= p.Tokens
			}
		}
	}
	for g := range f.pieces {
		best := slices.IndexFunc(f.pieces[g], isReadable)
		if best >= 0 && !f.hasAny(g) && f.takeItem(f.pieces[g][best], f.req.computeGrace()) {
			f.over = f.over || f.spent > f.avail
		}
	}
	f.rescueGroups()
	for _, p := range f.ranked {
		f.takeItem(p, 0)
	}
}

// rescueGroups gives the rest of the budget to groups whose share is too small for any of their items, the
// most relevant first: each gets its best item that fits in a quarter of the whole.
func (f *filling) rescueGroups() {
	for _, p := range f.ranked {
		if f.hasAny(p.Group) || slices.ContainsFunc(f.pieces[p.Group], isReadable) {
			continue
		}
		piece := f.shrink(p.Group, p.Item, min(f.avail-f.spent, Cap(f.req.Budget)))
		if f.takeItem(piece, 0) {
			f.pieces[p.Group][p.Item] = piece
		}
	}
}

func isReadable(p Shown) bool { return p.Tokens > 0 }

// hasAny reports whether a piece of a group is taken.
func (f *filling) hasAny(g int) bool { return slices.Contains(f.taken[g], true) }

// takeItem takes a piece if it is not taken yet and what is left pays for it, with so many tokens of grace.
func (f *filling) takeItem(p Shown, grace int) bool {
	switch {
	case f.taken[p.Group][p.Item] || p.Tokens == 0 || f.spent+p.Tokens > f.avail+grace,
		f.req.Items > 0 && f.items == f.req.Items,
		f.req.Bytes > 0 && f.bytes+len(p.Text) > f.req.Bytes:
		return false
	}
	f.taken[p.Group][p.Item] = true
	f.spent += p.Tokens
	f.items++
	f.bytes += len(p.Text)
	return true
}

// computeGrace is the tokens that a text may take beyond its budget so that a group has something.
func (r *Request) computeGrace() int {
	if r.Most <= 0 {
		return r.Budget / 10
	}
	return max(0, min(r.Budget/10, r.Most-r.Budget))
}

// renderTakenItems renders what is taken. A tokenizer that does not count piece by piece may find
// more than was planned: the least relevant items go until it fits, and quotations last.
func (f *filling) renderTakenItems() {
	limit := f.req.Budget
	if f.over {
		limit += f.req.computeGrace()
	}
	f.renderText()
	for at := len(f.ranked) - 1; at >= 0 && f.out.Tokens > limit; at-- {
		if p := f.ranked[at]; f.taken[p.Group][p.Item] {
			f.taken[p.Group][p.Item] = false
			f.renderText()
		}
	}
	f.out.Exceeded = f.out.Tokens > f.req.Budget
}

// renderText writes the text of what is taken; of nothing there is none.
func (f *filling) renderText() {
	f.out.Shown = make([][]Shown, len(f.pieces))
	f.out.Markdown = ""
	f.out.Tokens = 0
	var b strings.Builder
	b.WriteString(f.renderTitle())
	for g := range f.pieces {
		if f.hasAny(g) {
			b.WriteString(f.renderHeading(g))
		}
		for i, p := range f.pieces[g] {
			if f.taken[g][i] {
				f.out.Shown[g] = append(f.out.Shown[g], p)
				b.WriteString(p.Text + between)
			}
		}
	}
	if len(slices.Concat(f.out.Shown...)) > 0 {
		b.WriteString(f.renderFooter(f.out.Shown))
		f.out.Markdown = b.String()
		f.out.Tokens = f.countTokens(f.out.Markdown)
	}
}

func (f *filling) renderTitle() string                 { return f.req.Title.formatTitle() }
func (f *filling) renderHeading(g int) string          { return headingOf(f.req.Groups[g].Heading) }
func (f *filling) renderFooter(shown [][]Shown) string { return footerOf(f.req.Footer(shown)) }

func (t Title) formatTitle() string {
	text := "# " + flattenText(t.Text) + between
	if author := pack.AuthorLine(t.Author); author != "" {
		text += author + "\n"
	}
	if len(t.Unmentioned) > 0 {
		text += candidate.NothingMentions + makeLabel(strings.Join(t.Unmentioned, ", ")) + between
	}
	return text
}

func headingOf(text string) string { return "## " + flattenText(text) + "\n" }
func footerOf(text string) string  { return "---\n" + text + "\n" }

// Frame returns the tokens of title, headings and footer of a text.
func Frame(title Title, headings []string, footer string, by token.Counter) int {
	tokens := by.Count(title.formatTitle()) + by.Count(footerOf(footer))
	for _, heading := range headings {
		tokens += by.Count(headingOf(heading))
	}
	return tokens
}

// showAllItems is every item as if it were shown, for the longest footer there can be.
func (f *filling) showAllItems() [][]Shown {
	out := make([][]Shown, len(f.req.Groups))
	for g := range f.req.Groups {
		for i := range f.req.Groups[g].Items {
			out[g] = append(out[g], Shown{Group: g, Item: i})
		}
	}
	return out
}
