package assembly

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"satchel/pipeline/candidate"
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
	out := fill(req)
	if out.Markdown != "" {
		return out
	}
	var order, fit []int
	for g := range req.Groups {
		if len(req.Groups[g].Items) > 0 {
			order = append(order, g)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Compare(req.Groups[y].Items[0].Relevance, req.Groups[x].Items[0].Relevance)
	})
	for _, g := range order {
		if fill(req.only(g)).Markdown != "" {
			fit = append(fit, g)
		}
	}
	for ; len(fit) > 0; fit = fit[:len(fit)-1] {
		if less := fill(req.only(fit...)); less.Markdown != "" {
			return less
		}
	}
	for _, g := range order {
		for i := range req.Groups[g].Items {
			if alone := fill(req.lone(g, i)); alone.Markdown != "" {
				alone.Shown[g][0].Item = i
				return alone
			}
		}
	}
	return out
}

// only is the request with the items of these groups alone.
func (r Request) only(groups ...int) Request {
	all := r.Groups
	r.Groups = make([]Group, len(all))
	for g := range all {
		if r.Groups[g] = all[g]; !slices.Contains(groups, g) {
			r.Groups[g].Items = nil
		}
	}
	return r
}

// lone is the request with one item alone.
func (r Request) lone(g, i int) Request {
	r = r.only(g)
	r.Groups[g].Items = r.Groups[g].Items[i : i+1]
	return r
}

func fill(req Request) Result {
	f := &filling{req: &req, out: Result{Shown: make([][]Shown, len(req.Groups)), Budgets: make([]int, len(req.Groups))}}
	for g := range req.Groups {
		f.whole = append(f.whole, make([]int, len(req.Groups[g].Items)))
	}
	if !f.divide() {
		return f.out
	}
	f.cut()
	f.choose()
	f.write()
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
	taken  [][]bool
	spent  int
	items  int  // taken
	bytes  int  // of these
	over   bool // a group had to exceed the budget
}

func (f *filling) count(text string) int { return f.req.Counter.Count(text) }

// between separates items; it belongs to the item before it.
const between = "\n\n"

// divide gives each group that has items its share, and what it can't use to the others.
func (f *filling) divide() bool {
	f.avail = f.req.Budget - f.count(f.title()) - f.count(f.footer(f.all()))
	var weights []int
	any := false
	for g, group := range f.req.Groups {
		weights = append(weights, 0)
		if len(group.Items) == 0 {
			continue
		}
		any = true
		weights[g] = max(1, group.Weight)
		f.avail -= f.count(f.heading(g))
	}
	if !any || f.avail <= 0 {
		return false
	}
	needs := f.measure()
	f.out.Budgets = Divide(f.avail, weights, needs)
	f.caps = f.entitle(weights)
	all := 0
	for _, n := range needs {
		all += n
	}
	if f.lone() {
		for g := range f.caps {
			f.caps[g] = f.avail
		}
	} else if all <= f.avail { // nothing crowds out anything: a quarter of the whole
		for g := range f.caps {
			f.caps[g] = Cap(f.req.Budget)
		}
	}
	return true
}

// measure counts the items of each group until they fill the budget, all groups at once,
// and returns the tokens each group can use.
func (f *filling) measure() []int {
	needs := make([]int, len(f.req.Groups))
	var wait sync.WaitGroup
	for g, group := range f.req.Groups {
		wait.Go(func() {
			for i, used := 0, 0; i < len(group.Items) && used <= f.req.Budget; i++ {
				f.whole[g][i] = f.count(group.Items[i].Text() + between)
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

// lone reports whether there is one item alone, which crowds out none.
func (f *filling) lone() bool {
	items := 0
	for _, group := range f.req.Groups {
		items += len(group.Items)
	}
	return items == 1
}

// entitle returns the most tokens one item of each group may take: the cap of what the
// weights give the group, or of what it gets when nobody needs the rest.
func (f *filling) entitle(weights []int) []int {
	left, total := f.avail, 0
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

// Divide divides a budget by weights. A group gets no more than it needs while another
// needs more; what nobody needs stays undivided. The shares are at least 0 and add up
// to at most the budget.
func Divide(budget int, weights, needs []int) []int {
	shares := make([]int, len(weights))
	open := make([]bool, len(weights))
	for g := range weights {
		open[g] = weights[g] > 0 && needs[g] > 0
	}
	for left := max(budget, 0); left > 0; {
		total := 0
		for g := range weights {
			if open[g] {
				total += weights[g]
			}
		}
		if total == 0 {
			break
		}
		full := false
		round := left
		for g := range weights {
			if part := round * weights[g] / total; open[g] && needs[g]-shares[g] <= part {
				left -= needs[g] - shares[g]
				shares[g], open[g], full = needs[g], false, true
			}
		}
		if full {
			continue
		}
		for g := range weights {
			if open[g] {
				part := round * weights[g] / total
				shares[g] += part
				left -= part
			}
		}
		break
	}
	return shares
}

// Cap returns the most tokens one item of a group with this share may take.
func Cap(share int) int { return max(share/capFraction, min(leastCap, share)) }

// cut makes the piece of every item that may be shown.
func (f *filling) cut() {
	for g, group := range f.req.Groups {
		f.pieces = append(f.pieces, make([]Shown, len(group.Items)))
		f.taken = append(f.taken, make([]bool, len(group.Items)))
		most := f.caps[g]
		for i := range group.Items {
			it := &group.Items[i]
			piece := Shown{Group: g, Item: i, Text: it.Text(), Tokens: f.whole[g][i]}
			if piece.Tokens == 0 { // better items of the group take the whole budget
				f.pieces[g][i] = Shown{Group: g, Item: i}
				continue
			}
			if it.clipped || piece.Tokens > most && !it.quoted {
				if piece.Text, piece.Tokens = f.shorten(it, most); piece.Text == "" {
					piece = f.least(it, g, i)
				}
				piece.Truncated = piece.Text != it.Text()
			}
			f.pieces[g][i] = piece
		}
	}
}

// least is an item of which the cap leaves nothing worth reading, within what its group
// has and a quarter of the whole: no group is left out for the sake of its cap.
func (f *filling) least(it *Item, g, i int) Shown {
	return f.within(it, g, i, min(f.out.Budgets[g], Cap(f.req.Budget)))
}

// within is an item in at most most tokens: whole, cut, or without text where nothing worth
// reading would be left.
func (f *filling) within(it *Item, g, i, most int) Shown {
	piece := Shown{Group: g, Item: i}
	if !it.clipped && f.whole[g][i] <= most {
		piece.Text, piece.Tokens = it.Text(), f.whole[g][i]
	} else {
		piece.Text, piece.Tokens = f.shorten(it, most)
	}
	return piece
}

// shorten cuts the body of an item so that it takes at most most tokens with its note;
// the text is empty when nothing worth reading would be left.
func (f *filling) shorten(it *Item, most int) (string, int) {
	end := "..." + it.tail + between + it.note
	room := most - f.count(it.head) - f.count(end+between)
	for room >= leastBody {
		body := tidy(token.Truncate(f.req.Counter, it.body, room))
		text := it.head + body + end
		n := f.count(text + between)
		if n <= most {
			return text, n
		}
		room -= n - most
	}
	return "", 0
}

// tidy ends a cut text at a line, or else at a word, where that keeps most of it, and
// leaves no mark open at its end.
func tidy(text string) string {
	if end := strings.LastIndexByte(text, '\n'); end >= len(text)*2/3 {
		text = text[:end]
	} else if end := strings.LastIndexAny(text, " \t\n"); end >= len(text)/2 {
		text = text[:end]
	}
	return strings.TrimRight(text, " \t\n-*([")
}

// choose takes the quotations, which were chosen for what they say, and in each group the best items that fit its share; then of every group
// that has none its best, if need be over the budget; then what still fits anywhere.
func (f *filling) choose() {
	for _, p := range f.byRelevance() {
		if f.req.Groups[p.Group].Items[p.Item].quoted && f.fits(p, 0) {
			f.take(p.Group, p.Item)
		}
	}
	for g := range f.pieces {
		spent := 0
		for i := range f.pieces[g] {
			if n := f.pieces[g][i].Tokens; !f.taken[g][i] && spent+n <= f.out.Budgets[g] && f.fits(f.pieces[g][i], 0) {
				spent += n
				f.take(g, i)
			}
		}
	}
	for g := range f.pieces {
		if slices.Contains(f.taken[g], true) {
			continue
		}
		best := slices.IndexFunc(f.pieces[g], func(p Shown) bool { return p.Tokens > 0 })
		if best >= 0 && f.fits(f.pieces[g][best], f.req.grace()) {
			f.take(g, best)
			f.over = f.over || f.spent > f.avail
		}
	}
	f.rescue()
	for _, p := range f.byRelevance() {
		if !f.taken[p.Group][p.Item] && f.fits(f.pieces[p.Group][p.Item], 0) {
			f.take(p.Group, p.Item)
		}
	}
}

// rescue gives what nobody took to groups whose share is too small for any of their items, the
// most relevant first: each gets its best item that fits in a quarter of the whole.
func (f *filling) rescue() {
	for _, p := range f.byRelevance() {
		g, i := p.Group, p.Item
		if slices.Contains(f.taken[g], true) || slices.ContainsFunc(f.pieces[g], func(p Shown) bool { return p.Tokens > 0 }) || f.whole[g][i] == 0 {
			continue
		}
		most := min(f.avail-f.spent, Cap(f.req.Budget))
		piece := f.within(&f.req.Groups[g].Items[i], g, i, most)
		if f.fits(piece, 0) {
			piece.Truncated = piece.Text != f.req.Groups[g].Items[i].Text()
			f.pieces[g][i] = piece
			f.take(g, i)
		}
	}
}

func (f *filling) take(g, i int) {
	f.taken[g][i] = true
	f.spent += f.pieces[g][i].Tokens
	f.items, f.bytes = f.items+1, f.bytes+len(f.pieces[g][i].Text)
}

// fits reports whether what is left pays for a piece, with so many tokens of grace.
func (f *filling) fits(p Shown, grace int) bool {
	return p.Tokens > 0 && f.spent+p.Tokens <= f.avail+grace && (f.req.Items <= 0 || f.items < f.req.Items) &&
		(f.req.Bytes <= 0 || f.bytes+len(p.Text) <= f.req.Bytes)
}

// grace is the tokens that a text may take beyond its budget so that a group has something.
func (r *Request) grace() int {
	if r.Most <= 0 {
		return r.Budget / 10
	}
	return max(0, min(r.Budget/10, r.Most-r.Budget))
}

// byRelevance lists all pieces, the most relevant first.
func (f *filling) byRelevance() []Shown {
	var all []Shown
	for g := range f.pieces {
		all = append(all, f.pieces[g]...)
	}
	relevance := func(p Shown) float64 { return f.req.Groups[p.Group].Items[p.Item].Relevance }
	slices.SortStableFunc(all, func(a, b Shown) int { return cmp.Compare(relevance(b), relevance(a)) })
	return all
}

// write renders what is taken. A tokenizer that does not count piece by piece may find
// more than was planned: the least relevant items go until it fits.
func (f *filling) write() {
	limit := f.req.Budget
	if f.over {
		limit += f.req.grace()
	}
	order := f.byRelevance()
	slices.SortStableFunc(order, func(a, b Shown) int { // quotations go last
		x, y := f.req.Groups[a.Group].Items[a.Item].quoted, f.req.Groups[b.Group].Items[b.Item].quoted
		switch {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	for {
		f.out.Markdown = f.render()
		f.out.Tokens = 0
		if f.out.Markdown != "" {
			f.out.Tokens = f.count(f.out.Markdown)
		}
		if f.out.Tokens <= limit {
			break
		}
		for len(order) > 0 {
			last := order[len(order)-1]
			order = order[:len(order)-1]
			if f.taken[last.Group][last.Item] {
				f.taken[last.Group][last.Item] = false
				break
			}
		}
	}
	f.out.Exceeded = f.out.Tokens > f.req.Budget
}

func (f *filling) render() string {
	shown := make([][]Shown, len(f.pieces))
	total := 0
	for g := range f.pieces {
		for i := range f.pieces[g] {
			if f.taken[g][i] {
				shown[g] = append(shown[g], f.pieces[g][i])
				total++
			}
		}
	}
	f.out.Shown = shown
	if total == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(f.title())
	for g := range shown {
		if len(shown[g]) == 0 {
			continue
		}
		b.WriteString(f.heading(g))
		for _, p := range shown[g] {
			b.WriteString(p.Text + between)
		}
	}
	b.WriteString(f.footer(shown))
	return b.String()
}

func (f *filling) title() string                 { return f.req.Title.text() }
func (f *filling) heading(g int) string          { return headingOf(f.req.Groups[g].Heading) }
func (f *filling) footer(shown [][]Shown) string { return footerOf(f.req.Footer(shown)) }

func (t Title) text() string {
	text := "# " + line(t.Text) + between
	if author := pack.AuthorLine(t.Author); author != "" {
		text += author + "\n"
	}
	if len(t.Unmentioned) > 0 {
		text += candidate.NothingMentions + label(strings.Join(t.Unmentioned, ", ")) + between
	}
	return text
}

func headingOf(text string) string { return "## " + line(text) + "\n" }
func footerOf(text string) string  { return "---\n" + text + "\n" }

// Frame returns the tokens of what stands around the items of a text.
func Frame(title Title, headings []string, footer string, by token.Counter) int {
	tokens := by.Count(title.text()) + by.Count(footerOf(footer))
	for _, heading := range headings {
		tokens += by.Count(headingOf(heading))
	}
	return tokens
}

// all is every item as if it were shown, for the longest footer there can be.
func (f *filling) all() [][]Shown {
	out := make([][]Shown, len(f.req.Groups))
	for g := range f.req.Groups {
		for i := range f.req.Groups[g].Items {
			out[g] = append(out[g], Shown{Group: g, Item: i})
		}
	}
	return out
}
