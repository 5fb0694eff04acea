package language

// IsStopWord reports whether the lower-case word w is a function word that neither indexes nor queries keep.
// Contractions are not in the list: Analyze settles them.
func IsStopWord(w string) bool { return lexicons().stops.has([]byte(w)) }

// stopTable has the stop words by their letters, five bits each. It is open-addressed, and much larger than its words,
// so that most others are found out at once.
type stopTable [1 << 10]uint64

// mostLetters is how many letters a packed word may have.
const mostLetters = 12

func tabulateStops(words []string) *stopTable {
	t := &stopTable{}
	for _, word := range words {
		packed := packLetters([]byte(word))
		at := stopSlot(packed)
		for t[at] != 0 {
			at = (at + 1) % uint64(len(t))
		}
		t[at] = packed
	}
	return t
}

func stopSlot(packed uint64) uint64 { return packed * 0x9E3779B97F4A7C15 >> 54 }

// packLetters returns the letters a–z of a word in one number, 0 where it has others or too many.
func packLetters(w []byte) uint64 {
	if len(w) > mostLetters {
		return 0
	}
	packed := uint64(0)
	for _, c := range w {
		if c < 'a' || c > 'z' {
			return 0
		}
		packed = packed<<5 | uint64(c-'a'+1)
	}
	return packed
}

// has reports whether a word is a stop word.
func (t *stopTable) has(w []byte) bool {
	packed := packLetters(w)
	if packed == 0 {
		return false
	}
	for at := stopSlot(packed); t[at] != 0; at = (at + 1) % uint64(len(t)) {
		if t[at] == packed {
			return true
		}
	}
	return false
}
