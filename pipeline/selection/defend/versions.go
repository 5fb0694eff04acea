package defend

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	"satchel/schemas"
)

// Texts are versions of one statement when at least alike percent of their tokens are the same, in order. A shorter
// text is shown whole: there is nothing to save, and a word in eight may be all it says.
const (
	alike    = 80
	shortest = 8       // tokens
	longest  = 800     // tokens; a longer text is shown by its passages
	beside   = 3       // words on each side of a difference
	effort   = 1 << 23 // steps of one request; what is not compared stays whole
)

// versions joins what is kept. Of texts with the same tokens the newest stays, of those of the days that a question
// names, if any is; it knows when the others were written. Of versions of one statement the newest stays whole, and the others say what they say otherwise.
type versions struct {
	cs     []candidate.Candidate
	looks  []features
	anyone bool // it makes no difference who said something
	equals map[saying][]int
	heads  map[statement][]int // the newest of each statement
	read   map[int]*reading
	judge  func(text string) bool // whether it looks injected
	aligner
}

// reading is a text that was taken apart.
type reading struct {
	text    string
	tokens  []language.Token
	inOrder []uint64 // their hashes, the least first
}

// token is the text of a token.
func (r *reading) token(i int) string { return r.text[r.tokens[i].From:r.tokens[i].To] }

// saying is what texts have in common that one item may stand for.
type saying struct {
	wording             uint64
	writer, signer      string // whom the log knows, and who signed
	speaker             string
	labels, attributes  string
	tool, fenced, given bool
}

// statement is what versions of one statement have in common besides their words.
type statement struct {
	saying
	kind                            schemas.Kind
	session, role, source, category string
}

// group joins the kept candidates. The newest version of a statement takes the best of their places.
func group(cs []candidate.Candidate, looks []features, anyone bool, judge func(text string) bool) {
	v := versions{
		cs: cs, looks: looks, anyone: anyone, judge: judge, aligner: aligner{left: effort},
		equals: make(map[saying][]int, len(cs)), heads: map[statement][]int{}, read: map[int]*reading{},
	}
	order := make([]int, 0, len(cs))
	place := make([]int, len(cs))
	for i := range cs {
		if place[i] = 2 * i; cs[i].Kept() {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(ofDays(&cs[b]), ofDays(&cs[a])), newer(cs[a].Visible, cs[b].Visible))
	})
	moved := false
	for _, i := range order {
		if of, ok := v.join(i); ok && i < of && cs[i].Kept() {
			place[of], moved = min(place[of], 2*i-1), true
		}
	}
	if moved {
		arrange(cs, place)
	}
}

// arrange puts the candidates in the order of their places.
func arrange(cs []candidate.Candidate, place []int) {
	at := make([]int, len(cs))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(place[a], place[b]) })
	before := slices.Clone(cs)
	for n, i := range at {
		cs[n] = before[i]
	}
}

// newer orders candidates, the newest first. A summary is older than what it was made of.
func newer(a, b *candidate.Visible) int {
	switch first, second := a.Kind == schemas.KindSummary, b.Kind == schemas.KindSummary; {
	case first && !second:
		return 1
	case second && !first:
		return -1
	}
	return cmp.Or(said(b).Compare(said(a)), cmp.Compare(b.Position, a.Position), cmp.Compare(a.ID, b.ID))
}

// ofDays is 1 for an item of the days that the question names, else 0.
func ofDays(c *candidate.Candidate) int {
	if c.Signals != nil && c.Signals.Evidence.Dated >= 1 {
		return 1
	}
	return 0
}

// said is when an item was written. Its writer may claim any date, but none after the log took it.
func said(c *candidate.Visible) time.Time {
	if taken := c.RecordedAt; !taken.IsZero() && taken.Before(c.CreatedAt) {
		return taken
	}
	return c.CreatedAt
}

// join looks for a candidate that stands for candidate i, or a newer one that i is an older version of.
func (v *versions) join(i int) (of int, ok bool) {
	key := v.saying(i)
	for _, of := range v.equals[key] {
		if v.mayReplace(of, i) && v.equal(of, i) {
			v.drop(i, of)
			return of, true
		}
	}
	v.equals[key] = append(v.equals[key], i)
	c := &v.cs[i]
	if c.Given != candidate.NotGiven || !comparable(c.Visible, &v.looks[i].wording) {
		return 0, false
	}
	about := statementOf(c.Visible, key)
	for _, of := range v.heads[about] {
		if v.left--; v.left <= 0 {
			break
		}
		if newer(v.cs[of].Visible, c.Visible) < 0 && v.mayReplace(of, i) && v.revises(of, i) {
			return of, true
		}
	}
	v.heads[about] = append(v.heads[about], i)
	return 0, false
}

func (v *versions) saying(i int) saying {
	c := &v.cs[i]
	key := sayingOf(c.Visible, &v.looks[i], v.anyone)
	key.fenced, key.given = c.Fenced(), c.Given != candidate.NotGiven
	return key
}

func sayingOf(c *candidate.Visible, look *features, anyone bool) saying {
	key := saying{
		wording: look.wording.whole, writer: c.Writer, speaker: c.Speaker, signer: c.Facets.Signer, labels: strings.Join(c.Facets.Labels, "\x00"),
		attributes: string(c.Attributes), tool: c.Kind == schemas.KindTool,
	}
	if key.tool {
		key.wording = look.text.slot
	}
	if anyone {
		key.speaker = ""
	}
	return key
}

func statementOf(c *candidate.Visible, says saying) statement {
	says.wording = 0
	return statement{saying: says, kind: c.Kind, session: c.SessionID(), role: c.Role, source: c.Provenance.SourceURI, category: c.Category}
}

// comparable reports whether a text may be a version of another of its session. What is given stands where it was said.
func comparable(c *candidate.Visible, w *wording) bool {
	switch c.Kind {
	case schemas.KindTool, schemas.KindCode, schemas.KindCommit:
		return false
	}
	return c.SessionID() != "" && w.tokens >= shortest && w.tokens <= longest
}

// mayReplace reports whether an item is trusted no less than another.
func (v *versions) mayReplace(of, i int) bool {
	return v.cs[of].Facets.Trust >= v.cs[i].Facets.Trust
}

// equal reports whether two texts with the same hash are the same.
func (v *versions) equal(of, i int) bool {
	if v.cs[of].Content.Text() == v.cs[i].Content.Text() {
		return true
	}
	if v.cs[i].Kind == schemas.KindTool || v.looks[i].wording.tokens == 0 {
		return false
	}
	a, b := v.reading(of), v.reading(i)
	if len(a.tokens) != len(b.tokens) {
		return false
	}
	for n := range a.tokens {
		if !language.SameTokens(a.token(n), b.token(n)) {
			return false
		}
	}
	return true
}

// reading takes a candidate's text apart, once.
func (v *versions) reading(i int) *reading {
	r, ok := v.read[i]
	if !ok {
		text := v.cs[i].Content.Text()
		tokens := language.Tokens(text)
		r = &reading{text, tokens, inOrder(tokens)}
		v.read[i] = r
	}
	return r
}

// drop has a candidate stand for another.
func (v *versions) drop(i, of int) {
	c, first := &v.cs[i], &v.cs[of]
	c.Drop, c.Detail, c.Of = schemas.DropDuplicate, "of "+first.ID, first.ID
	first.Also = append(first.Also, c.CreatedAt)
}

// revises reports whether candidate i is an older version of another, and says what it says otherwise.
func (v *versions) revises(of, i int) bool {
	if !v.looks[of].wording.mayAlign(&v.looks[i].wording) {
		return false
	}
	old, now := v.reading(i), v.reading(of)
	most := mostDiffer(len(old.tokens), len(now.tokens))
	if differ(old.inOrder, now.inOrder, most) > most {
		return false
	}
	same, ok := v.align(hashesOf(old.tokens), hashesOf(now.tokens), most)
	if !ok {
		return false
	}
	for n, at := range same {
		if at >= 0 && !language.SameTokens(old.token(n), now.token(at)) {
			same[n] = -1 // their hashes alone are the same
		}
	}
	text, ok := difference(old, same, len(now.tokens))
	if ok = ok && !v.judge(text); ok { // an order within a long text can look injected once it stands alone
		c := &v.cs[i]
		c.Newer, c.Difference = v.cs[of].ID, text
		v.raise(of, i)
	}
	return ok
}

// raise has a candidate stand where the better of two would.
func (v *versions) raise(of, i int) {
	first, c := &v.cs[of], &v.cs[i]
	first.Score, first.Standing = max(first.Score, c.Score), max(first.Standing, c.Standing)
}

// difference is what an older text says otherwise than the newest, with a few words around it. same are the places of
// its tokens in the newest, which has so many. It reports false where it would be about as long as the text.
func difference(r *reading, same []int, now int) (string, bool) {
	text, old := r.text, r.tokens
	show := make([]bool, len(old))
	mark := func(from, to int) {
		for i := max(0, from-beside); i < min(len(old), to+beside); i++ {
			show[i] = true
		}
	}
	last := -1 // of the newest
	for i, at := range append(same, now) {
		switch {
		case at < 0:
			mark(i, i+1)
			continue
		case at != last+1: // the newest says something here
			mark(i, i)
		}
		last = at
	}
	var b strings.Builder
	for i := 0; i < len(old); i++ {
		if !show[i] {
			continue
		}
		from := i
		for i+1 < len(old) && show[i+1] {
			i++
		}
		if from > 0 {
			b.WriteString("… ")
		}
		if i+1 == len(old) {
			b.WriteString(strings.TrimSpace(text[old[from].From:]))
			break
		}
		b.WriteString(text[old[from].From:old[i].To] + " ")
	}
	if !show[len(old)-1] {
		b.WriteString("…")
	}
	return b.String(), 4*b.Len() < 3*len(text)
}
