package language

// stemWord reduces the lower-case English word w (a–z only) to its stem, in place, and
// returns the stem's length. It is Porter's algorithm (M. F. Porter, "An algorithm for
// suffix stripping", Program 14(3), 1980) with the two departures of its author's own
// later version: step 2 turns -bli into -ble and -logi into -log.
func stemWord(w []byte) int {
	if len(w) <= 2 {
		return len(w)
	}
	s := stemmer{b: w}
	s.removeInflection()
	s.replaceFinalY()
	s.shortenDoubleSuffix()
	s.shortenSuffix()
	s.removeResidualSuffix()
	s.trimFinalLetter()
	return len(s.b)
}

type stemmer struct {
	b []byte
	j int // length of the stem before the suffix that ends last matched
}

// isConsonant reports whether b[i] is a consonant.
func (s *stemmer) isConsonant(i int) bool {
	switch s.b[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !s.isConsonant(i-1)
	}
	return true
}

// measureStem counts the vowel–consonant sequences in b[:j].
func (s *stemmer) measureStem() int {
	n := 0
	vowel := false
	for i := range s.j {
		if s.isConsonant(i) {
			if vowel {
				n++
			}
			vowel = false
		} else {
			vowel = true
		}
	}
	return n
}

// hasVowel reports whether b[:j] holds a vowel.
func (s *stemmer) hasVowel() bool {
	for i := range s.j {
		if !s.isConsonant(i) {
			return true
		}
	}
	return false
}

// hasDoubleConsonant reports whether b ends in a double consonant.
func (s *stemmer) hasDoubleConsonant() bool {
	n := len(s.b)
	return n >= 2 && s.b[n-1] == s.b[n-2] && s.isConsonant(n-1)
}

// hasShortEnding reports whether b[:n] ends consonant–vowel–consonant, the last not w, x or y.
func (s *stemmer) hasShortEnding(n int) bool {
	if n < 3 || !s.isConsonant(n-1) || s.isConsonant(n-2) || !s.isConsonant(n-3) {
		return false
	}
	c := s.b[n-1]
	return c != 'w' && c != 'x' && c != 'y'
}

// matchSuffix reports whether b ends in suffix, and if so sets j.
func (s *stemmer) matchSuffix(suffix string) bool {
	n := len(s.b) - len(suffix)
	if n < 0 || string(s.b[n:]) != suffix {
		return false
	}
	s.j = n
	return true
}

// setSuffix replaces the suffix by to, which is never longer.
func (s *stemmer) setSuffix(to string) { s.b = append(s.b[:s.j], to...) }

// removeInflection removes plurals and -ed or -ing.
func (s *stemmer) removeInflection() {
	if s.b[len(s.b)-1] == 's' {
		switch {
		case s.matchSuffix("sses"):
			s.setSuffix("ss")
		case s.matchSuffix("ies"):
			s.setSuffix("i")
		case s.matchSuffix("ss"):
		case s.matchSuffix("s"):
			s.setSuffix("")
		}
	}
	if s.matchSuffix("eed") {
		if s.measureStem() > 0 {
			s.setSuffix("ee")
		}
		return
	}
	if (s.matchSuffix("ed") || s.matchSuffix("ing")) && s.hasVowel() {
		s.setSuffix("")
		s.repairStem()
	}
}

// repairStem repairs a stem that lost -ed or -ing.
func (s *stemmer) repairStem() {
	switch {
	case s.matchSuffix("at"), s.matchSuffix("bl"), s.matchSuffix("iz"):
		s.b = append(s.b, 'e')
	case s.hasDoubleConsonant():
		if c := s.b[len(s.b)-1]; c != 'l' && c != 's' && c != 'z' {
			s.b = s.b[:len(s.b)-1]
		}
	default:
		s.j = len(s.b)
		if s.measureStem() == 1 && s.hasShortEnding(len(s.b)) {
			s.b = append(s.b, 'e')
		}
	}
}

// replaceFinalY turns a final y into i when the stem has another vowel.
func (s *stemmer) replaceFinalY() {
	if s.matchSuffix("y") && s.hasVowel() {
		s.b[len(s.b)-1] = 'i'
	}
}

// replaceSuffix takes pairs of suffixes; the first whose left side ends the word becomes the
// right side, when the stem's measure is positive.
func (s *stemmer) replaceSuffix(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if !s.matchSuffix(pairs[i]) {
			continue
		}
		if s.measureStem() > 0 {
			s.setSuffix(pairs[i+1])
		}
		return
	}
}

// shortenDoubleSuffix maps double suffixes to single ones.
func (s *stemmer) shortenDoubleSuffix() {
	if len(s.b) < 4 {
		return
	}
	switch s.b[len(s.b)-2] {
	case 'a':
		s.replaceSuffix("ational", "ate", "tional", "tion")
	case 'c':
		s.replaceSuffix("enci", "ence", "anci", "ance")
	case 'e':
		s.replaceSuffix("izer", "ize")
	case 'l':
		s.replaceSuffix("bli", "ble", "alli", "al", "entli", "ent", "eli", "e", "ousli", "ous")
	case 'o':
		s.replaceSuffix("ization", "ize", "ation", "ate", "ator", "ate")
	case 's':
		s.replaceSuffix("alism", "al", "iveness", "ive", "fulness", "ful", "ousness", "ous")
	case 't':
		s.replaceSuffix("aliti", "al", "iviti", "ive", "biliti", "ble")
	case 'g':
		s.replaceSuffix("logi", "log")
	}
}

// shortenSuffix deals with -ic-, -full, -ness and the like.
func (s *stemmer) shortenSuffix() {
	switch s.b[len(s.b)-1] {
	case 'e':
		s.replaceSuffix("icate", "ic", "ative", "", "alize", "al")
	case 'i':
		s.replaceSuffix("iciti", "ic")
	case 'l':
		s.replaceSuffix("ical", "ic", "ful", "")
	case 's':
		s.replaceSuffix("ness", "")
	}
}

// removeResidualSuffix takes off -ant, -ence and the like when the stem's measure is over 1.
func (s *stemmer) removeResidualSuffix() {
	if len(s.b) >= 3 && s.hasResidualSuffix() && s.measureStem() > 1 {
		s.setSuffix("")
	}
}

// hasResidualSuffix reports whether b ends in a suffix of step 4.
func (s *stemmer) hasResidualSuffix() bool {
	switch s.b[len(s.b)-2] {
	case 'a':
		return s.matchSuffix("al")
	case 'c':
		return s.matchSuffix("ance") || s.matchSuffix("ence")
	case 'e':
		return s.matchSuffix("er")
	case 'i':
		return s.matchSuffix("ic")
	case 'l':
		return s.matchSuffix("able") || s.matchSuffix("ible")
	case 'n':
		return s.matchSuffix("ant") || s.matchSuffix("ement") || s.matchSuffix("ment") || s.matchSuffix("ent")
	case 'o':
		if s.matchSuffix("ion") {
			return s.j > 0 && (s.b[s.j-1] == 's' || s.b[s.j-1] == 't')
		}
		return s.matchSuffix("ou")
	case 's':
		return s.matchSuffix("ism")
	case 't':
		return s.matchSuffix("ate") || s.matchSuffix("iti")
	case 'u':
		return s.matchSuffix("ous")
	case 'v':
		return s.matchSuffix("ive")
	case 'z':
		return s.matchSuffix("ize")
	}
	return false
}

// trimFinalLetter removes a final e and halves a final ll.
func (s *stemmer) trimFinalLetter() {
	n := len(s.b)
	if s.b[n-1] == 'e' {
		s.j = n - 1
		if m := s.measureStem(); m > 1 || m == 1 && !s.hasShortEnding(n-1) {
			s.b = s.b[:n-1]
		}
	}
	n = len(s.b)
	s.j = n
	if n > 1 && s.b[n-1] == 'l' && s.hasDoubleConsonant() && s.measureStem() > 1 {
		s.b = s.b[:n-1]
	}
}
