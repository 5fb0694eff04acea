package language

// Signs of a name belong to its word. Analysis and the comparison of texts by words go by the same rules:
//
//   - Signs: + and # behind one or two letters (C++, F#).
//   - Leads: the dot before a word (.NET).
//   - Joins: the dot between digits (1.0.0), and the hyphen between a letter and a digit (B-12).
//
// The words of a chain that signs join stand for themselves. Together they are a further word: without hyphens, and
// without the v of a version.

// CountSigns returns how many bytes of the beginning of rest belong to the word that ends before it.
func CountSigns[T string | []byte](word, rest T) int {
	if len(word) == 0 || len(word) > 2 || len(rest) == 0 || !hasOnlyLetters(word) {
		return 0
	}
	n := 0
	switch {
	case rest[0] == '#':
		n = 1
	case rest[0] == '+':
		n = 1
		if len(rest) > 1 && rest[1] == '+' {
			n = 2
		}
	default:
		return 0
	}
	if n == len(rest) {
		return n
	}
	switch next := rest[n]; {
	case n == 2 && isDigit(next): // C++17
	case isLetter(next), isDigit(next), next == '+', next == '#', next == '=', next == '_', next >= 0x80:
		return 0
	}
	return n
}

// LeadsSign reports whether the byte of text at a place is a dot that leads the word behind it.
func LeadsSign[T string | []byte](text T, at int) bool {
	if text[at] != '.' || at+1 == len(text) || !isLetter(text[at+1]) {
		return false
	}
	if at == 0 {
		return true
	}
	switch c := text[at-1]; {
	case isLetter(c), isDigit(c), c >= 0x80:
		return false
	default:
		return c != '.' && c != ')' && c != ']' && c != '!' && c != '?' && c != '_'
	}
}

// JoinsWords reports whether the byte of text at a place joins the words beside it. before is the sign of the
// chain that the first of them ends, 0 for none: a chain has one.
func JoinsWords[T string | []byte](text T, at int, before byte) bool {
	if at == 0 || at+1 >= len(text) || before != 0 && text[at] != before {
		return false
	}
	from := text[at-1]
	to := text[at+1]
	switch text[at] {
	case '.':
		return isDigit(from) && isDigit(to)
	case '-':
		return isLetter(from) && isDigit(to) || isDigit(from) && isLetter(to)
	}
	return false
}

// IsContracted reports whether the letters behind an apostrophe stand for a word of their own, or for whose something is.
func IsContracted[T string | []byte](ending T) bool {
	switch string(ending) {
	case "s", "re", "ve", "ll", "d", "m":
		return true
	}
	return false
}

// MostChain is the size of the longest chain that is a word, in bytes.
const MostChain = maxTerm

// WithoutV returns a chain of digits without the v before it.
func WithoutV[T string | []byte](chain T) T {
	if len(chain) > 1 && chain[0]|0x20 == 'v' && isDigit(chain[1]) {
		return chain[1:]
	}
	return chain
}

func hasOnlyLetters[T string | []byte](word T) bool {
	for i := range len(word) {
		if !isLetter(word[i]) {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// chain is what signs have joined so far. Its zero value is none.
type chain struct {
	sign byte
	text []byte
	long bool
}

// appendWord adds a word, if signs join.
func (c *chain) appendWord(word []byte) {
	if c.sign == 0 {
		return
	}
	c.long = c.long || len(c.text)+len(word) > MostChain
	if !c.long {
		c.text = append(c.text, word...)
	}
}

// flushJoinedWord ends a word that a sign joins to the next.
func (a *Analyzer) flushJoinedWord(sign byte) {
	a.chain.sign = sign
	a.flushWord()
	a.dotted = false
	if sign == '.' {
		a.chain.appendWord([]byte{sign})
	}
}

// endChain emits the chain.
func (a *Analyzer) endChain() {
	c := &a.chain
	if c.sign == 0 {
		return
	}
	whole := c.text
	if c.sign == '.' {
		whole = WithoutV(whole)
	}
	if !c.long {
		a.emitTerm(whole, false, false)
	}
	*c = chain{text: c.text[:0]}
}

// emitDotted emits the word with the dot that leads it.
func (a *Analyzer) emitDotted() {
	at := len(a.terms)
	a.terms = append(append(a.terms, '.'), a.word...)
	a.terms = a.terms[:at+len(clipTerm(a.terms[at:]))]
	a.ends = append(a.ends, uint32(len(a.terms)))
}
