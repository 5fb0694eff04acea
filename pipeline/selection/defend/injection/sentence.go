package injection

import (
	"math"
	"math/bits"
	"strings"
)

// heads are what a sentence is scored for.
const (
	attack  = iota // takes over, leaks, sends, destroys, calls tools
	steer          // directs the reply or the code of whoever reads it
	task           // asks an assistant for a piece of work
	harm           // code that reads, sends or destroys what it should not
	foreign        // somebody else's document rather than a conversation
	heads
)

const (
	buckets      = 1 << 16
	longestWords = 60 // tokens after which a sentence is cut
)

// sentence is a piece of a text with what was found in it.
type sentence struct {
	start, end int
	logit      [heads]float32
	words      int16
	cell       bool // between the bars of a table
	fenced     bool // in a block of code
	alone      bool // on a line of its own
	question   bool
	deictic    bool // points to a text given with it
	imperative bool // begins with an order
	unread     bool // in a language that the model was not trained on
	all        class
}

// splitter cuts a text into sentences: at line ends, unless a line goes on in the next, at the
// marks that end a sentence, between the cells of tables, and after longestWords tokens.
type splitter struct {
	text string
	at   int
}

// findNextSentence returns the bounds of the next sentence, without the marks of a comment or list before it.
func (s *splitter) findNextSentence() (start, end int, ok bool) {
	for s.at < len(s.text) && (s.text[s.at] <= ' ' || isCellSeparator(s.text[s.at])) {
		s.at++
	}
	if s.at >= len(s.text) {
		return 0, 0, false
	}
	start = s.at
	mark := markOf(s.text, start)
	cell := start > 0 && isCellSeparator(s.text[start-1])
	if start == 0 || s.text[start-1] <= ' ' {
		start = min(skipMarks(s.text, start), len(s.text)-1)
	}
	gaps := 0
	quoted := false // within a quotation of code
	for i := start; i < len(s.text); i++ {
		switch b := s.text[i]; b {
		case '\n':
			if next := skipMarks(s.text, i); gaps >= leastGaps && !cell && goesOn(s.text, i, next, mark) {
				gaps++
				i = next - 1
				continue
			}
			s.at = i
			return start, i, true
		case '`':
			quoted = !quoted
		case '|', '\t':
			if quoted {
				continue
			}
			s.at = i
			return start, i, true
		case ',', ';':
			if i+1 < len(s.text) && (s.text[i+1] == '"' || s.text[i+1]|0x20 >= 'a' && s.text[i+1]|0x20 <= 'z') {
				s.at = i
				return start, i, true
			}
		case ' ':
			gaps++
			if gaps >= longestWords {
				s.at = i
				return start, i, true
			}
		case '.', '?', '!':
			if i-start > 2 && i+1 < len(s.text) && isSentenceEnd(s.text, i) {
				s.at = i + 1
				return start, i + 1, true
			}
		}
	}
	s.at = len(s.text)
	return start, len(s.text), true
}

// leastGaps is the number of blanks of a line from which it may go on in the next.
const leastGaps = 3

// isCellSeparator reports whether a byte stands between the cells of a table.
func isCellSeparator(b byte) bool { return b == '|' || b == ',' || b == ';' }

// goesOn reports whether the line that ends at i goes on at next: in small letters, behind the same mark.
func goesOn(text string, i, next int, mark byte) bool {
	if next >= len(text) || text[next] < 'a' || text[next] > 'z' || text[i+1] == '\n' {
		return false
	}
	for i > 0 && (text[i-1] == ' ' || text[i-1] == '\r') {
		i--
	}
	if i == 0 || text[i-1] != ',' && !isLetterByte(text[i-1]) {
		return false
	}
	for i < next && text[i] <= ' ' {
		i++
	}
	return markOf(text, i) == mark
}

// markOf returns the mark of a comment of one line, or a quotation, that begins at i; 0: none.
func markOf(text string, i int) byte {
	switch b := text[i]; b {
	case '#', ';', '%', '>':
		return b
	case '/', '-':
		if i+1 < len(text) && text[i+1] == b {
			return b
		}
	}
	return 0
}

// skipMarks returns the place of the first word at or behind i, when only blanks and marks of a comment,
// a list or a quotation stand before it in its line; else that of the first of them that is no blank.
func skipMarks(text string, i int) int {
	for i < len(text) && text[i] <= ' ' {
		i++
	}
	at := i
	if strings.HasPrefix(text[i:], "<!--") {
		at += len("<!--")
	}
	for at < len(text) && at-i < 8 && strings.IndexByte("/#*;>-%\"' ", text[at]) >= 0 {
		at++
	}
	if at < len(text) && (isLetterByte(text[at]) || isDigitByte(text[at])) {
		return at
	}
	return i
}

// isSentenceEnd reports whether the mark at i ends a sentence: white space behind it, or a
// capital where the space was lost, and no initial or abbreviation before it.
func isSentenceEnd(text string, i int) bool {
	after := text[i+1]
	if after == '"' || after == '\'' || after == ')' || after == ']' {
		return false
	}
	if after > ' ' && !(after >= 'A' && after <= 'Z' && text[i-1] >= 'a' && text[i-1] <= 'z') {
		return false
	}
	return text[i] != '.' || !isShortForm(text, i)
}

// isShortForm reports whether an initial or the short form of a title ends at i.
func isShortForm(text string, i int) bool {
	from := i
	for from > 0 && i-from < longestShort && isLetterByte(text[from-1]) {
		from--
	}
	return from < i && text[from] >= 'A' && text[from] <= 'Z' && (from == 0 || text[from-1] <= ' ')
}

// longestShort is the number of letters of the short form of a title.
const longestShort = 2

// sums adds up the weights of the features of a piece of text.
type sums struct {
	model *Model
	found [mostFound + ofWord]uint16 // buckets that are not in sum yet
	n     int                        // of them
	sum   [heads]int32
	count int32
	keep  func(bucket uint32) // sees every feature while training; else nil
}

// mostFound is the number of features that are added at once, and ofWord of those that a word has
// without its classes.
const (
	mostFound = 64
	ofWord    = 8
)

// putFeature takes a feature for which there is room.
func (s *sums) putFeature(hash uint32) {
	hash ^= hash >> 16
	hash *= 0x7FEB352D
	s.found[s.n] = uint16(hash ^ hash>>15)
	s.n++
}

func (s *sums) addFeature(hash uint32) {
	s.putFeature(hash)
	s.makeRoom()
}

// makeRoom makes room for the features of a word.
func (s *sums) makeRoom() {
	if s.n >= mostFound {
		s.flushFeatures()
	}
}

// flushFeatures takes what was found into the sum.
func (s *sums) flushFeatures() {
	found := s.found[:s.n]
	s.count += int32(s.n)
	s.n = 0
	if s.keep != nil {
		for _, bucket := range found {
			s.keep(uint32(bucket))
		}
		return
	}
	weights := (*[buckets]lanes)(s.model.weights)
	for len(found) > 0 {
		n := min(len(found), mostAdded)
		var all lanes
		for _, bucket := range found[:n] {
			all += weights[bucket]
		}
		for h := range s.sum {
			s.sum[h] += all.readLane(h) - int32(n)*laneZero
		}
		found = found[n:]
	}
}

// Salts of the kinds of feature.
const (
	saltWord  = 0x1000193
	saltPair  = 0x2545F491
	saltFirst = 0x85EBCA77
	saltClass = 0xC2B2AE3D
	saltNear  = 0x27D4EB2F
	saltStart = 0x165667B1
	saltGroup = 0xD6E8FEB9
	saltNext  = 0xA5CB9243
	saltOver  = 0x8B1A9953
	saltLead  = 0xC6A4A793
)

// scoreSentence scores one sentence. Features: words and pairs of neighbours; groups of words, pairs of them
// and pairs over one word; the first words of clauses; the classes in it, pairs of them, and their
// order when near.
func (s *sums) scoreSentence(text string, out *sentence) {
	tokens := tokenizer{text: text}
	var one, groups uint32 // the hash of the last token, and the groups of the last ones from the second byte on
	var near [4]class
	var all class
	var spoken speech
	n := 0
	opened := false
	for tokens.moveToNext() {
		h := tokens.hash
		c := tokens.class
		if tokens.kind == wordToken {
			c |= known.findClass(h)
			out.words++
			if tokens.class == 0 { // no number, no address
				spoken.countToken(&tokens)
			}
		}
		g := uint32(0)
		if tokens.kind == wordToken {
			g = uint32(s.model.groups.findGroup(h))
		}
		s.makeRoom()
		s.putFeature(h * saltWord)
		s.putFeature((g + 1) * saltGroup)
		if n > 0 {
			s.putFeature(h*saltPair ^ one)
			s.putFeature(((g+1)<<8 + groups>>8&0xFF) * saltNext)
		}
		if n > 1 {
			s.putFeature(((g+1)<<8 + groups>>16&0xFF) * saltOver)
		}
		groups = (groups | g) << 8
		if n < 3 || opened {
			s.putFeature(h*saltFirst ^ uint32(min(n, 3)))
			s.putFeature((g<<2 + uint32(min(n, 3)) + 1) * saltLead)
			out.imperative = out.imperative || imperative[h]
		}
		opened = tokens.kind == markToken && canOpenClause(text[tokens.start])
		if c != 0 {
			s.addClassPairs(c, &near)
			all |= c
		}
		if tokens.text[tokens.start] == '?' {
			out.question = true
		}
		near[n&3] = c
		one = h
		n++
	}
	s.addSentenceClasses(all)
	if len(text) > 0 {
		s.addFeature(saltStart * uint32(classifyFirstByte(text)))
	}
	s.flushFeatures()
	for h := range s.sum {
		out.logit[h] = s.model.bias[h] + s.model.scale[h]*float32(s.sum[h])/float32(math.Sqrt(float64(s.count)))
	}
	out.deictic, out.all, out.unread = all&pointer != 0, all, spoken.isUnknownLanguage(text)
	s.sum = [heads]int32{}
	s.count = 0
}

// canOpenClause reports whether a clause may begin behind a mark.
func canOpenClause(mark byte) bool { return mark == ',' || mark == ':' || mark == ';' }

// classifyFirstByte is the kind of the first byte.
func classifyFirstByte(text string) int {
	switch b := text[0]; {
	case b >= 'A' && b <= 'Z':
		return 1
	case b >= 'a' && b <= 'z':
		return 2
	case isDigitByte(b):
		return 3
	case b == '<' || b == '[' || b == '{':
		return 4
	case b == '#' || b == '*' || b == '-':
		return 5
	}
	return 6
}

// addClassPairs adds the class pairs of the last four words, in order.
func (s *sums) addClassPairs(c class, near *[4]class) {
	for _, before := range near {
		for x := before; x != 0; x &= x - 1 {
			for y := c; y != 0; y &= y - 1 {
				s.addFeature(saltNear * uint32(1+bits.TrailingZeros32(uint32(x))*32+bits.TrailingZeros32(uint32(y))))
			}
		}
	}
}

// addSentenceClasses adds the classes of the sentence and their pairs.
func (s *sums) addSentenceClasses(all class) {
	for x := all; x != 0; x &= x - 1 {
		i := bits.TrailingZeros32(uint32(x))
		s.addFeature(saltClass * uint32(1+i))
		for y := x & (x - 1); y != 0; y &= y - 1 {
			s.addFeature(saltClass * uint32(64+i*32+bits.TrailingZeros32(uint32(y))))
		}
	}
}
