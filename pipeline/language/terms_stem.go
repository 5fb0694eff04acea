package language

// stem reduces the lower-case English word w (a–z only) to its stem, in place, and
// returns the stem's length. It is Porter's algorithm (M. F. Porter, "An algorithm for
// suffix stripping", Program 14(3), 1980) with the two departures of its author's own
// later version: step 2 turns -bli into -ble and -logi into -log.
func stem(w []byte) int {
	if len(w) <= 2 {
		return len(w)
	}
	s := stemmer{b: w}
	s.step1ab()
	s.step1c()
	s.step2()
	s.step3()
	s.step4()
	s.step5()
	return len(s.b)
}

type stemmer struct {
	b []byte
	j int // length of the stem before the suffix that ends last matched
}

// consonant reports whether b[i] is a consonant.
func (s *stemmer) consonant(i int) bool {
	switch s.b[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !s.consonant(i-1)
	}
	return true
}

// measure counts the vowel–consonant sequences in b[:j].
func (s *stemmer) measure() int {
	n, vowel := 0, false
	for i := range s.j {
		if s.consonant(i) {
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

// vowel reports whether b[:j] holds a vowel.
func (s *stemmer) vowel() bool {
	for i := range s.j {
		if !s.consonant(i) {
			return true
		}
	}
	return false
}

// double reports whether b ends in a double consonant.
func (s *stemmer) double() bool {
	n := len(s.b)
	return n >= 2 && s.b[n-1] == s.b[n-2] && s.consonant(n-1)
}

// cvc reports whether b[:n] ends consonant–vowel–consonant, the last not w, x or y.
func (s *stemmer) cvc(n int) bool {
	if n < 3 || !s.consonant(n-1) || s.consonant(n-2) || !s.consonant(n-3) {
		return false
	}
	c := s.b[n-1]
	return c != 'w' && c != 'x' && c != 'y'
}

// ends reports whether b ends in suffix, and if so sets j.
func (s *stemmer) ends(suffix string) bool {
	n := len(s.b) - len(suffix)
	if n < 0 || string(s.b[n:]) != suffix {
		return false
	}
	s.j = n
	return true
}

// set replaces the suffix by to, which is never longer.
func (s *stemmer) set(to string) { s.b = append(s.b[:s.j], to...) }

// step1ab removes plurals and -ed or -ing.
func (s *stemmer) step1ab() {
	if s.b[len(s.b)-1] == 's' {
		switch {
		case s.ends("sses"):
			s.set("ss")
		case s.ends("ies"):
			s.set("i")
		case s.ends("ss"):
		case s.ends("s"):
			s.set("")
		}
	}
	if s.ends("eed") {
		if s.measure() > 0 {
			s.set("ee")
		}
		return
	}
	if (s.ends("ed") || s.ends("ing")) && s.vowel() {
		s.set("")
		s.mend()
	}
}

// mend repairs a stem that lost -ed or -ing.
func (s *stemmer) mend() {
	switch {
	case s.ends("at"), s.ends("bl"), s.ends("iz"):
		s.b = append(s.b, 'e')
	case s.double():
		if c := s.b[len(s.b)-1]; c != 'l' && c != 's' && c != 'z' {
			s.b = s.b[:len(s.b)-1]
		}
	default:
		s.j = len(s.b)
		if s.measure() == 1 && s.cvc(len(s.b)) {
			s.b = append(s.b, 'e')
		}
	}
}

// step1c turns a final y into i when the stem has another vowel.
func (s *stemmer) step1c() {
	if s.ends("y") && s.vowel() {
		s.b[len(s.b)-1] = 'i'
	}
}

// replace takes pairs of suffixes; the first whose left side ends the word becomes the
// right side, when the stem's measure is positive.
func (s *stemmer) replace(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if !s.ends(pairs[i]) {
			continue
		}
		if s.measure() > 0 {
			s.set(pairs[i+1])
		}
		return
	}
}

// step2 maps double suffixes to single ones.
func (s *stemmer) step2() {
	if len(s.b) < 4 {
		return
	}
	switch s.b[len(s.b)-2] {
	case 'a':
		s.replace("ational", "ate", "tional", "tion")
	case 'c':
		s.replace("enci", "ence", "anci", "ance")
	case 'e':
		s.replace("izer", "ize")
	case 'l':
		s.replace("bli", "ble", "alli", "al", "entli", "ent", "eli", "e", "ousli", "ous")
	case 'o':
		s.replace("ization", "ize", "ation", "ate", "ator", "ate")
	case 's':
		s.replace("alism", "al", "iveness", "ive", "fulness", "ful", "ousness", "ous")
	case 't':
		s.replace("aliti", "al", "iviti", "ive", "biliti", "ble")
	case 'g':
		s.replace("logi", "log")
	}
}

// step3 deals with -ic-, -full, -ness and the like.
func (s *stemmer) step3() {
	switch s.b[len(s.b)-1] {
	case 'e':
		s.replace("icate", "ic", "ative", "", "alize", "al")
	case 'i':
		s.replace("iciti", "ic")
	case 'l':
		s.replace("ical", "ic", "ful", "")
	case 's':
		s.replace("ness", "")
	}
}

// step4 takes off -ant, -ence and the like when the stem's measure is over 1.
func (s *stemmer) step4() {
	if len(s.b) >= 3 && s.residual() && s.measure() > 1 {
		s.set("")
	}
}

// residual reports whether b ends in a suffix of step 4.
func (s *stemmer) residual() bool {
	switch s.b[len(s.b)-2] {
	case 'a':
		return s.ends("al")
	case 'c':
		return s.ends("ance") || s.ends("ence")
	case 'e':
		return s.ends("er")
	case 'i':
		return s.ends("ic")
	case 'l':
		return s.ends("able") || s.ends("ible")
	case 'n':
		return s.ends("ant") || s.ends("ement") || s.ends("ment") || s.ends("ent")
	case 'o':
		if s.ends("ion") {
			return s.j > 0 && (s.b[s.j-1] == 's' || s.b[s.j-1] == 't')
		}
		return s.ends("ou")
	case 's':
		return s.ends("ism")
	case 't':
		return s.ends("ate") || s.ends("iti")
	case 'u':
		return s.ends("ous")
	case 'v':
		return s.ends("ive")
	case 'z':
		return s.ends("ize")
	}
	return false
}

// step5 removes a final e and halves a final ll.
func (s *stemmer) step5() {
	n := len(s.b)
	if s.b[n-1] == 'e' {
		s.j = n - 1
		if m := s.measure(); m > 1 || m == 1 && !s.cvc(n-1) {
			s.b = s.b[:n-1]
		}
	}
	n = len(s.b)
	s.j = n
	if n > 1 && s.b[n-1] == 'l' && s.double() && s.measure() > 1 {
		s.b = s.b[:n-1]
	}
}
