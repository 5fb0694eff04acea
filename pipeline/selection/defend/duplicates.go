package defend

import (
	"math/bits"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection/words"
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

// duplicateIndex holds what was kept so far.
type duplicateIndex struct {
	cs      []candidate.Candidate
	looks   *featureCache
	anyone  bool // it makes no difference who said something
	byText  index
	bySum   index
	byPlace map[spokenText]int
	prints  []print
	hashes  []uint64 // of prints, side by side: most of the comparing is of these alone
	left    effort
}

type spokenText struct{ speaker, text string }

// index finds candidates by numbers that several may have.
type index struct {
	last   map[uint64]int
	before []int // by candidate, the one before it with the same number, −1 for none
}

func newIndex(n int) index { return index{make(map[uint64]int, n), make([]int, n)} }

func (x *index) put(number uint64, i int) {
	before, ok := x.last[number]
	if !ok {
		before = -1
	}
	x.before[i], x.last[number] = before, i
}

// find returns the last candidate put in that has the number and is the same.
func (x *index) find(number uint64, same func(of int) bool) (int, bool) {
	for of, ok := x.last[number]; ok && of >= 0; of = x.before[of] {
		if same(of) {
			return of, true
		}
	}
	return 0, false
}

// tail is the number that the last bytes of a text are.
func tail(text string) (number uint64) {
	for _, b := range []byte(text[max(0, len(text)-8):]) {
		number = number<<8 | uint64(b)
	}
	return number
}

// print is what a text is compared by.
type print struct {
	key     textKey
	hash    uint64
	at      int // index of the candidate
	echo    bool
	speaker string
	text    string   // its two ends when it is very long
	length  int      // of the whole
	inText  *letters // of the text, once they are needed
	digest  *digest  // of the form, once it is needed
	form    string   // canonical form, once it is needed
	sums    []uint64 // hashes of the words of the form, once they are needed
}

func newDuplicateIndex(cs []candidate.Candidate, looks *featureCache, anyone bool) *duplicateIndex {
	n := len(cs)
	return &duplicateIndex{
		cs: cs, looks: looks, anyone: anyone, byText: newIndex(n), bySum: newIndex(n), byPlace: map[spokenText]int{},
		prints: make([]print, 0, n), hashes: make([]uint64, 0, n), left: fullEffort,
	}
}

// find drops candidate i when what was kept says the same, or takes it in. What two
// speakers say alike is no repetition, unless one of them is an assistant or a tool
// that gives back what it was shown. The original stays, whichever ranks higher: else
// whoever writes a copy could hide it. A tool's specification repeats no other item, nor another it.
func (s *duplicateIndex) find(i int, l features) {
	r := &s.cs[i]
	text, speaker := r.Content.Text(), s.speaker(i)
	if of, ok := s.byText.find(l.text.slot, func(of int) bool {
		return s.comparable(of, i) && s.speaker(of) == speaker && s.cs[of].Content.Text() == text
	}); ok && s.settle(of, i, "of ") {
		return
	}
	sum := r.Provenance.Checksum
	if of, ok := s.bySum.find(tail(sum), func(of int) bool {
		return s.comparable(of, i) && s.speaker(of) == speaker && s.cs[of].Provenance.Checksum == sum
	}); ok && s.precedes(of, i) {
		s.drop(i, of, "the same checksum as ")
		return
	}
	p := print{key: l.text, hash: l.hash, at: i, text: ends(text), length: len(text), speaker: speaker, echo: echoes(r)}
	place := placeOf(r, speaker)
	if place.text != "" {
		if of, ok := s.byPlace[place]; ok {
			other := s.cs[of].Content.Text()
			q := print{key: s.looks.keyOf(other), text: ends(other), length: len(other)}
			if s.comparable(of, i) && s.similar(&p, &q, placeEnough) && s.settle(of, i, "the same place of its source as ") {
				return
			}
		}
	}
	if len(text) >= shortestText && s.near(&p) {
		return
	}
	s.byText.put(l.text.slot, i)
	if sum != "" {
		s.bySum.put(tail(sum), i)
	}
	if place.text != "" {
		s.byPlace[place] = i
	}
}

// speaker returns whose words candidate i is, "" for anyone's.
func (s *duplicateIndex) speaker(i int) string {
	if s.anyone {
		return ""
	}
	return s.cs[i].Speaker
}

// near compares p with the prints that are kept. It reports whether p's candidate was
// dropped, and keeps p when not.
func (s *duplicateIndex) near(p *print) bool {
	for i, hash := range s.hashes {
		differ := bits.OnesCount64(p.hash ^ hash)
		if differ > mostBits {
			continue
		}
		q := &s.prints[i]
		if differ > p.most(q) || !s.comparable(q.at, p.at) {
			continue
		}
		same := q.speaker == p.speaker
		if !same && p.echo == q.echo || !s.similar(p, q, sameEnough) {
			continue
		}
		if same {
			if s.settle(q.at, p.at, "of ") {
				return true
			}
			continue
		}
		switch { // an echo is no older than what it gives back
		case s.summarises(q.at, p.at):
			if s.precedes(p.at, q.at) {
				s.drop(q.at, p.at, "of ")
			}
		case q.echo && s.precedes(p.at, q.at):
			s.drop(q.at, p.at, "recalled from ")
			*q, s.hashes[i] = *p, p.hash
			return false
		case p.echo && s.precedes(q.at, p.at):
			s.drop(p.at, q.at, "recalled from ")
			return true
		}
	}
	s.prints, s.hashes = append(s.prints, *p), append(s.hashes, p.hash)
	return false
}

// precedes reports whether one candidate was recorded no later than another, in its first and in its current version. An id
// that was there first and got its text later does not precede, nor is it preceded.
func (s *duplicateIndex) precedes(i, j int) bool {
	a, b := &s.cs[i], &s.cs[j]
	return a.First <= b.First && a.Position <= b.Position
}

// settle drops one of two candidates that say the same, and reports whether it is the one that comes. The one that was
// recorded first stays; of two at once a summary, which may join what belongs apart, stands for no item that it was made
// of. If neither precedes, both stay: else whoever has an id already could hide what is recorded later.
func (s *duplicateIndex) settle(of, i int, how string) bool {
	before, after := s.precedes(of, i), s.precedes(i, of)
	switch {
	case after && (!before || s.summarises(of, i)):
		s.drop(of, i, how)
	case before:
		s.drop(i, of, how)
		return true
	}
	return false
}

// summarises reports whether a candidate is a summary and another is none.
func (s *duplicateIndex) summarises(i, j int) bool {
	return s.cs[i].Kind == schemas.KindSummary && s.cs[j].Kind != schemas.KindSummary
}

// comparable reports whether what was kept still is, and both are tools, or neither.
func (s *duplicateIndex) comparable(of, i int) bool {
	return s.cs[of].Kept() && (s.cs[of].Kind == schemas.KindTool) == (s.cs[i].Kind == schemas.KindTool)
}

func (s *duplicateIndex) drop(i, of int, how string) {
	id := s.cs[of].ID
	s.cs[i].Drop, s.cs[i].Detail, s.cs[i].Of = schemas.DropDuplicate, how+id, id
}

// echoes reports whether an item is said by what reads packs.
func echoes(r *candidate.Candidate) bool { return r.Role == "assistant" || r.Role == "tool" }

// placeOf is the place of a source that an item renders: an address with a fragment.
// Items of one source without places in it are not compared by it.
func placeOf(r *candidate.Candidate, speaker string) spokenText {
	if !strings.Contains(r.Provenance.SourceURI, "#") {
		return spokenText{}
	}
	return spokenText{string(r.Kind) + "\x00" + speaker, r.Provenance.SourceURI}
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
// negations differ are not alike, whatever their distance, nor are two that a word on
// either side tells apart.
func (s *duplicateIndex) similar(p, q *print, enough float64) bool {
	return s.close(p, q, enough) && !tellApart(p.text, q.text)
}

func (s *duplicateIndex) close(p, q *print, enough float64) bool {
	if float64(min(p.length, q.length)) < float64(max(p.length, q.length))*(2*enough-1) {
		return false
	}
	if len(p.text) <= question && strings.Contains(p.text, "?") {
		enough = max(enough, sameQuestion)
	}
	if !p.letters().near(q.letters(), 2*enough-1) {
		return false
	}
	a, b := s.digest(p), s.digest(q)
	if a.said != b.said || !a.inForm.near(b.inForm, enough) {
		return false
	}
	moved := a.inForm.near(b.inForm, sameLetters)
	if len(p.text) > longestText && len(q.text) > longestText {
		return alike(&s.left, p.words(), q.words(), enough) || moved && alike(&s.left, hashes(sorted(p.text)), hashes(sorted(q.text)), enough)
	}
	return alike(&s.left, []byte(p.canonical()), []byte(q.canonical()), enough) || moved && alike(&s.left, []byte(sorted(p.text)), []byte(sorted(q.text)), enough)
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
		p.form, _ = canonical(p.text)
	}
	return p.form
}

func (p *print) letters() *letters {
	if p.inText == nil {
		p.inText = lettersOf(p.text)
	}
	return p.inText
}

func (s *duplicateIndex) digest(p *print) *digest {
	if p.digest == nil {
		p.digest = s.looks.digestOf(p)
	}
	return p.digest
}

func (p *print) words() []uint64 {
	if p.sums == nil {
		p.sums = hashes(p.canonical())
	}
	return p.sums
}

func hashes(text string) []uint64 {
	out := make([]uint64, 0, len(text)/5)
	eachHash(text, func(h uint64) { out = append(out, h) })
	return out
}

// canonical is a text in lower case, its words apart by one space, without marks and
// without the phrases that say nothing; and its facts.
func canonical(text string) (form string, said facts) {
	var b strings.Builder
	b.Grow(len(text) + 2)
	b.WriteByte(' ')
	idle := false
	words.Each(strings.ToLower(text), func(w string) {
		b.WriteString(w)
		b.WriteByte(' ')
		idle = idle || inPhrase(w)
		if isFact(w) {
			said.add(w)
		}
	})
	if !idle {
		return b.String(), said
	}
	return phrases.Replace(b.String()), said // no phrase has a fact in it
}

// inPhrase reports whether a word is the one that says whether one of phrases may be there.
func inPhrase(word string) bool {
	switch word {
	case "way", "honest", "course", "think", "guess", "mean", "know", "said", "fact", "actually", "basically", "honestly", "anyway", "really", "just":
		return true
	}
	return false
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
		parts[i], _ = canonical(parts[i])
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

func isFact(word string) bool {
	switch word {
	case "not", "no", "never", "t", "without",
		"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "today", "tomorrow", "yesterday",
		"january", "february", "april", "june", "july", "august", "september", "october", "november", "december":
		return true
	}
	for i := range len(word) {
		if word[i] >= '0' && word[i] <= '9' {
			return true
		}
	}
	return false
}

func (f *facts) add(word string) {
	h := uint64(14695981039346656037)
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * 1099511628211
	}
	f.sum += mix(h)
	f.n++
}
