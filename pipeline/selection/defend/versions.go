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

// readToken is the text of a token.
func (r *reading) readToken(i int) string { return r.text[r.tokens[i].From:r.tokens[i].To] }

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

// groupVersions joins the kept candidates. The newest version of a statement takes the best of their places.
func groupVersions(cs []candidate.Candidate, looks []features, anyone bool, judge func(text string) bool) {
	v := versions{
		cs: cs, looks: looks, anyone: anyone, judge: judge, aligner: aligner{left: effort},
		equals: make(map[saying][]int, len(cs)), heads: map[statement][]int{}, read: map[int]*reading{},
	}
	order := make([]int, 0, len(cs))
	place := make([]int, len(cs))
	for i := range cs {
		place[i] = 2 * i
		if cs[i].Kept() {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(ofDays(&cs[b]), ofDays(&cs[a])), compareAge(cs[a].Visible, cs[b].Visible))
	})
	moved := false
	for _, i := range order {
		if of, ok := v.findVersion(i); ok && i < of && cs[i].Kept() {
			place[of] = min(place[of], 2*i-1)
			moved = true
		}
	}
	if moved {
		arrangeCandidates(cs, place)
	}
}

// arrangeCandidates puts the candidates in the order of their places.
func arrangeCandidates(cs []candidate.Candidate, place []int) {
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

// compareAge orders candidates, the newest first. A summary is older than what it was made of.
func compareAge(a, b *candidate.Visible) int {
	switch first, second := a.Kind == schemas.KindSummary, b.Kind == schemas.KindSummary; {
	case first && !second:
		return 1
	case second && !first:
		return -1
	}
	return cmp.Or(findWrittenTime(b).Compare(findWrittenTime(a)), cmp.Compare(b.Position, a.Position), cmp.Compare(a.ID, b.ID))
}

// ofDays is 1 for an item of the days that the question names, else 0.
func ofDays(c *candidate.Candidate) int {
	if c.Signals != nil && c.Signals.Evidence.Dated >= 1 {
		return 1
	}
	return 0
}

// findWrittenTime is when an item was written. Its writer may claim any date, but none after the log took it.
func findWrittenTime(c *candidate.Visible) time.Time {
	if taken := c.RecordedAt; !taken.IsZero() && taken.Before(c.CreatedAt) {
		return taken
	}
	return c.CreatedAt
}

// findVersion looks for a candidate that stands for candidate i, or a newer one that i is an older version of.
func (v *versions) findVersion(i int) (of int, ok bool) {
	key := v.buildSaying(i)
	for _, of := range v.equals[key] {
		if v.mayReplace(of, i) && v.isEqualText(of, i) {
			v.dropDuplicate(i, of)
			return of, true
		}
	}
	v.equals[key] = append(v.equals[key], i)
	c := &v.cs[i]
	if c.Given != candidate.NotGiven || !canCompare(c.Visible, &v.looks[i].wording) {
		return 0, false
	}
	about := statementOf(c.Visible, key)
	for _, of := range v.heads[about] {
		v.left--
		if v.left <= 0 {
			break
		}
		if compareAge(v.cs[of].Visible, c.Visible) < 0 && v.mayReplace(of, i) && v.isOlderVersion(of, i) {
			return of, true
		}
	}
	v.heads[about] = append(v.heads[about], i)
	return 0, false
}

func (v *versions) buildSaying(i int) saying {
	c := &v.cs[i]
	key := sayingOf(c.Visible, &v.looks[i], v.anyone)
	key.fenced = c.Fenced()
	key.given = c.Given != candidate.NotGiven
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

// canCompare reports whether a text may be a version of another of its session. What is given stands where it was said.
func canCompare(c *candidate.Visible, w *wording) bool {
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

// isEqualText reports whether two texts with the same hash are the same.
func (v *versions) isEqualText(of, i int) bool {
	if v.cs[of].Content.Text() == v.cs[i].Content.Text() {
		return true
	}
	if v.cs[i].Kind == schemas.KindTool || v.looks[i].wording.tokens == 0 {
		return false
	}
	a := v.readCandidate(of)
	b := v.readCandidate(i)
	if len(a.tokens) != len(b.tokens) {
		return false
	}
	for n := range a.tokens {
		if !language.SameTokens(a.readToken(n), b.readToken(n)) {
			return false
		}
	}
	return true
}

// readCandidate takes a candidate's text apart, once.
func (v *versions) readCandidate(i int) *reading {
	r, ok := v.read[i]
	if !ok {
		text := v.cs[i].Content.Text()
		tokens := language.Tokens(text)
		r = &reading{text, tokens, inOrder(tokens)}
		v.read[i] = r
	}
	return r
}

// dropDuplicate has a candidate stand for another.
func (v *versions) dropDuplicate(i, of int) {
	c := &v.cs[i]
	first := &v.cs[of]
	c.Drop = schemas.DropDuplicate
	c.Detail = "of " + first.ID
	c.Of = first.ID
	first.Also = append(first.Also, c.CreatedAt)
}

// isOlderVersion reports whether candidate i is an older version of another, and says what it says otherwise.
func (v *versions) isOlderVersion(of, i int) bool {
	if !v.looks[of].wording.mayAlign(&v.looks[i].wording) {
		return false
	}
	old := v.readCandidate(i)
	now := v.readCandidate(of)
	most := mostDiffer(len(old.tokens), len(now.tokens))
	if countDifferences(old.inOrder, now.inOrder, most) > most {
		return false
	}
	same, ok := v.alignTokens(hashesOf(old.tokens), hashesOf(now.tokens), most)
	if !ok {
		return false
	}
	for n, at := range same {
		if at >= 0 && !language.SameTokens(old.readToken(n), now.readToken(at)) {
			same[n] = -1 // their hashes alone are the same
		}
	}
	text, ok := describeDifference(old, same, len(now.tokens))
	ok = ok && !v.judge(text)
	if ok { // an order within a long text can look injected once it stands alone
		c := &v.cs[i]
		c.Newer = v.cs[of].ID
		c.Difference = text
		v.raisePlace(of, i)
	}
	return ok
}

// raisePlace has a candidate stand where the better of two would.
func (v *versions) raisePlace(of, i int) {
	first := &v.cs[of]
	c := &v.cs[i]
	first.Score = max(first.Score, c.Score)
	first.Standing = max(first.Standing, c.Standing)
}

// describeDifference is what an older text says otherwise than the newest, with a few words around it. same are the places of
// its tokens in the newest, which has so many. It reports false where it would be about as long as the text.
func describeDifference(r *reading, same []int, now int) (string, bool) {
	text := r.text
	old := r.tokens
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
