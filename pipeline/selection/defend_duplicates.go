package selection

import (
	"math/bits"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

// Limits of near-duplicate detection.
const (
	sameEnough   = .9  // Levenshtein similarity from which two texts are one
	sameLetters  = .97 // from which sentences may have changed places
	placeEnough  = .6  // the same for two renderings of one place in one source
	shortestText = 48  // bytes under which only equal texts are one
	mostBits     = 22  // differing simhash bits above which texts are not compared
	mostBitsLong = 16  // the same for two long texts
	longestText  = 600
	question     = 200 // bytes up to which a question has to be sameQuestion alike:
	sameQuestion = .94 // one word of it can be what it asks for
)

// seen holds what was kept so far.
type seen struct {
	cs      []candidate.Candidate
	byText  map[spokenText]int
	bySum   map[spokenText]int
	byPlace map[spokenText]int
	prints  []print
	left    effort
}

type spokenText struct{ speaker, text string }

// print is what a text is compared by.
type print struct {
	hash    uint64
	at      int // index of the candidate
	echo    bool
	speaker string
	text    string   // its two ends when it is very long
	length  int      // of the whole
	inText  *letters // of the text, once they are needed
	inForm  *letters // the same of the form
	said    *facts   // of the form
	form    string   // canonical form, once it is needed
	sums    []uint64 // hashes of the words of the form, once they are needed
}

func newSeen(cs []candidate.Candidate) *seen {
	n := len(cs)
	return &seen{
		cs: cs, byText: make(map[spokenText]int, n), bySum: map[spokenText]int{}, byPlace: map[spokenText]int{},
		prints: make([]print, 0, n), left: fullEffort,
	}
}

// find drops candidate i when what was kept says the same, or takes it in. What two
// speakers say alike is no repetition, unless one of them is an assistant or a tool
// that gives back what it was shown: then the original stays, whichever ranks higher.
func (s *seen) find(i int, hash uint64) {
	r := &s.cs[i].Record
	text := r.Content.Text()
	key := spokenText{r.Speaker, text}
	if of, ok := s.byText[key]; ok {
		if !s.yields(of, i) {
			s.drop(i, of, "")
			return
		}
		s.drop(of, i, "")
	}
	sum := spokenText{r.Speaker, r.Provenance.Checksum}
	if of, ok := s.bySum[sum]; ok && sum.text != "" && !s.yields(of, i) {
		s.drop(i, of, "the same checksum as ")
		return
	}
	p := print{hash: hash, at: i, text: ends(text), length: len(text), speaker: r.Speaker, echo: echoes(r)}
	place := placeOf(r)
	if of, ok := s.byPlace[place]; ok && place.text != "" {
		other := s.cs[of].Record.Content.Text()
		q := print{text: ends(other), length: len(other)}
		if similar(&s.left, &p, &q, placeEnough) {
			s.drop(i, of, "the same place of its source as ")
			return
		}
	}
	if len(text) >= shortestText && s.near(&p) {
		return
	}
	s.byText[key] = i
	if sum.text != "" {
		s.bySum[sum] = i
	}
	if place.text != "" {
		s.byPlace[place] = i
	}
}

// near compares p with the prints that are kept. It reports whether p's candidate was
// dropped, and keeps p when not.
func (s *seen) near(p *print) bool {
	for i := range s.prints {
		q := &s.prints[i]
		if !s.cs[q.at].Kept() {
			continue
		}
		if bits.OnesCount64(p.hash^q.hash) > p.most(q) {
			continue
		}
		same := q.speaker == p.speaker
		if !same && p.echo == q.echo || !similar(&s.left, p, q, sameEnough) {
			continue
		}
		if s.yields(q.at, p.at) {
			s.drop(q.at, p.at, "")
			continue
		}
		if !same && q.echo {
			s.drop(q.at, p.at, "recalled from ")
			*q = *p
			return false
		}
		detail := ""
		if !same {
			detail = "recalled from "
		}
		s.drop(p.at, q.at, detail)
		return true
	}
	s.prints = append(s.prints, *p)
	return false
}

// yields reports whether what was kept is a summary and what comes is none: a summary,
// which may join what belongs apart, does not stand for an item that it was made of.
func (s *seen) yields(of, i int) bool {
	return s.cs[of].Record.Kind == schemas.KindSummary && s.cs[i].Record.Kind != schemas.KindSummary
}

func (s *seen) drop(i, of int, how string) {
	if how == "" {
		how = "of "
	}
	id := s.cs[of].Record.ID
	s.cs[i].Drop, s.cs[i].Detail, s.cs[i].Of = schemas.DropDuplicate, how+id, id
}

// echoes reports whether an item is said by what reads packs.
func echoes(r *schemas.Record) bool { return r.Role == "assistant" || r.Role == "tool" }

// placeOf is the place of a source that an item renders: an address with a fragment.
// Items of one source without places in it are not compared by it.
func placeOf(r *schemas.Record) spokenText {
	if !strings.Contains(r.Provenance.SourceURI, "#") {
		return spokenText{}
	}
	return spokenText{string(r.Kind) + "\x00" + r.Speaker, r.Provenance.SourceURI}
}

// most is the number of differing bits up to which two texts are compared: the longer
// they are, the less a tenth of their words moves the votes.
func (p *print) most(q *print) int {
	if len(p.text) > longestText && len(q.text) > longestText {
		return mostBitsLong
	}
	return mostBits
}

// similar reports whether two texts are alike by Levenshtein distance over their
// canonical forms, as they stand or with their sentences in order of the alphabet:
// over bytes for short texts, over words for long ones. Texts whose numbers or
// negations differ are not alike, whatever their distance.
func similar(left *effort, p, q *print, enough float64) bool {
	if float64(min(p.length, q.length)) < float64(max(p.length, q.length))*(2*enough-1) {
		return false
	}
	if len(p.text) <= question && strings.Contains(p.text, "?") {
		enough = max(enough, sameQuestion)
	}
	if !p.letters().near(q.letters(), 2*enough-1) || !p.formLetters().near(q.formLetters(), enough) || p.facts() != q.facts() {
		return false
	}
	moved := p.inForm.near(q.inForm, sameLetters)
	if len(p.text) > longestText && len(q.text) > longestText {
		return alike(left, p.words(), q.words(), enough) || moved && alike(left, hashes(sorted(p.text)), hashes(sorted(q.text)), enough)
	}
	return alike(left, []byte(p.form), []byte(q.form), enough) || moved && alike(left, []byte(sorted(p.text)), []byte(sorted(q.text)), enough)
}

// ends is a text, or its beginning and its end when it is too long to be compared whole;
// what lies between is compared by its hash alone.
func ends(text string) string {
	const end = 8 << 10
	if len(text) <= 2*end {
		return text
	}
	return text[:end] + "\n" + text[len(text)-end:]
}

func (p *print) canonical() string {
	if p.form == "" {
		p.form = canonical(p.text)
	}
	return p.form
}

func (p *print) letters() *letters {
	if p.inText == nil {
		p.inText = lettersOf(p.text)
	}
	return p.inText
}

func (p *print) formLetters() *letters {
	if p.inForm == nil {
		p.inForm = lettersOf(p.canonical())
	}
	return p.inForm
}

func (p *print) words() []uint64 {
	if p.sums == nil {
		p.sums = hashes(p.form)
	}
	return p.sums
}

func hashes(text string) []uint64 {
	out := make([]uint64, 0, len(text)/5)
	eachHash(text, func(h uint64) { out = append(out, h) })
	return out
}

// canonical is a text in lower case, its words apart by one space, without marks and
// without the phrases that say nothing.
func canonical(text string) string {
	var b strings.Builder
	b.Grow(len(text) + 2)
	b.WriteByte(' ')
	eachWord(text, func(w string) {
		b.WriteString(w)
		b.WriteByte(' ')
	})
	return phrases.Replace(b.String())
}

var phrases = strings.NewReplacer(
	" by the way ", " ", " to be honest ", " ", " of course ", " ", " i think ", " ", " i guess ", " ", " i mean ", " ",
	" you know ", " ", " as i said ", " ", " in fact ", " ", " actually ", " ", " basically ", " ", " honestly ", " ",
	" anyway ", " ", " really ", " ", " just ", " ",
)

// sorted is the canonical form of a text with its sentences in order of the alphabet.
func sorted(text string) string {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == '.' || r == '!' || r == '?' || r == '\n' || r == ';' || r == '。' })
	for i := range parts {
		parts[i] = canonical(parts[i])
	}
	slices.Sort(parts)
	return strings.Join(parts, "")
}

// facts are the words with digits and the negations of a form, in any order: their number
// and the sum of their hashes.
type facts struct {
	sum uint64
	n   int
}

func factsOf(form string) (f facts) {
	eachWord(form, func(w string) {
		if strings.ContainsAny(w, "0123456789") || w == "not" || w == "no" || w == "never" || w == "t" || w == "without" {
			h := uint64(14695981039346656037)
			for i := range len(w) {
				h = (h ^ uint64(w[i])) * 1099511628211
			}
			f.sum += mix(h)
			f.n++
		}
	})
	return f
}

func (p *print) facts() facts {
	if p.said == nil {
		f := factsOf(p.canonical())
		p.said = &f
	}
	return *p.said
}
