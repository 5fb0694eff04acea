package language

// IsStopWord reports whether the lower-case word w is a function word that neither indexes nor queries keep.
// Contractions are not in the list: Analyze settles them.
func IsStopWord(w string) bool { return lexicons().stops.has([]byte(w)) }

// longestStop is how many letters a stop word may have.
const longestStop = 15

// stopSlots is many times the number of stop words, so that most others are found out at once.
const stopSlots = 1 << 10

// stopTable has the stop words of a–z.
type stopTable struct {
	firsts [longestStop + 1]uint32 // by how long a word is, the letters that such words begin with
	slots  [stopSlots]string       // open-addressed
}

// stopSlot is where a word's place in the table begins.
func stopSlot(w []byte) uint {
	n := len(w)
	return (uint(w[0])<<5 ^ uint(w[n/2])<<3 ^ uint(w[n-1])<<1 ^ uint(n)) % stopSlots
}

func tabulateStops(words []string) *stopTable {
	t := &stopTable{}
	for _, word := range words {
		at := stopSlot([]byte(word))
		for t.slots[at] != "" {
			at = (at + 1) % stopSlots
		}
		t.slots[at] = word
		t.firsts[len(word)] |= 1 << (word[0] & 31)
	}
	return t
}

// has reports whether a word is a stop word.
func (t *stopTable) has(word []byte) bool {
	if len(word) == 0 || len(word) > longestStop || t.firsts[len(word)]>>(word[0]&31)&1 == 0 {
		return false
	}
	for at := stopSlot(word); t.slots[at] != ""; at = (at + 1) % stopSlots {
		if t.slots[at] == string(word) {
			return true
		}
	}
	return false
}
