package injection

import (
	"math"
	"math/bits"
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

// splitter cuts a text into sentences: at line ends, at the marks that end a sentence,
// at the bars of tables, and after longestWords tokens.
type splitter struct {
	text string
	at   int
}

// next returns the bounds of the next sentence and whether it starts and ends a line.
func (s *splitter) next() (start, end int, ok bool) {
	for s.at < len(s.text) && (s.text[s.at] <= ' ' || s.text[s.at] == '|') {
		s.at++
	}
	if s.at >= len(s.text) {
		return 0, 0, false
	}
	start = s.at
	gaps := 0
	for i := start; i < len(s.text); i++ {
		switch b := s.text[i]; b {
		case '\n', '|':
			s.at = i
			return start, i, true
		case ' ':
			if gaps++; gaps >= longestWords {
				s.at = i
				return start, i, true
			}
		case '.', '?', '!':
			if i-start > 2 && i+1 < len(s.text) && ends(s.text, i) {
				s.at = i + 1
				return start, i + 1, true
			}
		}
	}
	s.at = len(s.text)
	return start, len(s.text), true
}

// ends reports whether the mark at i ends a sentence: white space behind it, or a
// capital where the space was lost, and no initial or abbreviation before it.
func ends(text string, i int) bool {
	after := text[i+1]
	if after == '"' || after == '\'' || after == ')' || after == ']' {
		return false
	}
	if after > ' ' && !(after >= 'A' && after <= 'Z' && text[i-1] >= 'a' && text[i-1] <= 'z') {
		return false
	}
	return text[i] != '.' || !(text[i-1] >= 'A' && text[i-1] <= 'Z' && (i < 2 || text[i-2] <= ' '))
}

// score adds up the weights of the features of a piece of text.
type sums struct {
	model *Model
	sum   [heads]int32
	count int32
	keep  func(bucket uint32) // sees every feature while training; else nil
}

func (s *sums) add(hash uint32) {
	hash ^= hash >> 16
	hash *= 0x7FEB352D
	hash ^= hash >> 15
	bucket := hash & (buckets - 1)
	s.count++
	if s.keep != nil {
		s.keep(bucket)
		return
	}
	w := &s.model.weights[bucket]
	for h := range s.sum {
		s.sum[h] += int32(w[h])
	}
}

// Salts of the kinds of feature.
const (
	saltWord  = 0x1000193
	saltPair  = 0x2545F491
	saltSkip  = 0x9E3779B9
	saltFirst = 0x85EBCA77
	saltClass = 0xC2B2AE3D
	saltNear  = 0x27D4EB2F
	saltStart = 0x165667B1
)

// read scores one sentence. Features: words, pairs of neighbours, pairs over one word,
// the first words, the classes in it, pairs of them, and their order when near.
func (s *sums) read(text string, out *sentence) {
	tokens := tokenizer{text: text}
	var one, two uint32 // hashes of the last and the last but one
	var near [4]class
	var all class
	var spoken speech
	n := 0
	for tokens.next() {
		h := tokens.hash
		c := tokens.class
		if tokens.kind == wordToken {
			c |= known.of(h)
			out.words++
			if tokens.class == 0 { // no number, no address
				spoken.add(&tokens)
			}
		}
		s.add(h * saltWord)
		if n > 0 {
			s.add(h*saltPair ^ one)
		}
		if n > 1 {
			s.add(h*saltSkip ^ two)
		}
		if n < 3 {
			s.add(h*saltFirst ^ uint32(n))
			out.imperative = out.imperative || imperative[h]
		}
		if c != 0 {
			s.order(c, &near)
			all |= c
		}
		if tokens.text[tokens.start] == '?' {
			out.question = true
		}
		near[n&3] = c
		two, one = one, h
		n++
	}
	s.classes(all)
	if len(text) > 0 {
		s.add(saltStart * uint32(shape(text)))
	}
	for h := range s.sum {
		out.logit[h] = s.model.bias[h] + s.model.scale[h]*float32(s.sum[h])/float32(math.Sqrt(float64(s.count)))
	}
	out.deictic, out.all, out.unread = all&pointer != 0, all, spoken.unread(text)
	s.sum, s.count = [heads]int32{}, 0
}

// shape is the kind of the first byte.
func shape(text string) int {
	switch b := text[0]; {
	case b >= 'A' && b <= 'Z':
		return 1
	case b >= 'a' && b <= 'z':
		return 2
	case digit(b):
		return 3
	case b == '<' || b == '[' || b == '{':
		return 4
	case b == '#' || b == '*' || b == '-':
		return 5
	}
	return 6
}

// order adds the class pairs of the last four words, in order.
func (s *sums) order(c class, near *[4]class) {
	for _, before := range near {
		for x := before; x != 0; x &= x - 1 {
			for y := c; y != 0; y &= y - 1 {
				s.add(saltNear * uint32(1+bits.TrailingZeros32(uint32(x))*32+bits.TrailingZeros32(uint32(y))))
			}
		}
	}
}

// classes adds the classes of the sentence and their pairs.
func (s *sums) classes(all class) {
	for x := all; x != 0; x &= x - 1 {
		i := bits.TrailingZeros32(uint32(x))
		s.add(saltClass * uint32(1+i))
		for y := x & (x - 1); y != 0; y &= y - 1 {
			s.add(saltClass * uint32(64+i*32+bits.TrailingZeros32(uint32(y))))
		}
	}
}
