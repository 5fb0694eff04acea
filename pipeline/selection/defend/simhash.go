package defend

// simhash is a 64-bit locality-sensitive hash over the words of the lower-cased text
// and their successors: texts that differ little differ in few bits. Each bit is a
// vote of all features; the votes are counted eight at a time, in the bytes of eight
// words, and moved to wider counters before a byte can overflow.
func simhash(text string) uint64 {
	var votes votes
	var before uint64
	eachHash(text, func(word uint64) {
		votes.add(mix(word))
		votes.add(mix(before*31 + word))
		before = word
	})
	return votes.majority()
}

func mix(h uint64) uint64 {
	h ^= h >> 32
	h *= 0x9E3779B97F4A7C15
	h ^= h >> 29
	h *= 0xBF58476D1CE4E5B9
	return h ^ h>>32
}

// votes counts, for each of 64 bits, how many hashes have it.
type votes struct {
	narrow [8]uint64 // byte k of narrow[j] counts bit 8k+j
	wide   [64]uint32
	open   int // hashes in narrow
	total  uint32
}

func (v *votes) add(h uint64) {
	const low = 0x0101010101010101
	for j := range v.narrow {
		v.narrow[j] += h >> j & low
	}
	if v.total++; v.open == 254 {
		v.widen()
		return
	}
	v.open++
}

func (v *votes) widen() {
	for j := range v.narrow {
		for k := range 8 {
			v.wide[8*k+j] += uint32(v.narrow[j] >> (8 * k) & 0xFF)
		}
		v.narrow[j] = 0
	}
	v.open = 0
}

func (v *votes) majority() uint64 {
	v.widen()
	var out uint64
	for bit, n := range v.wide {
		if 2*n > v.total {
			out |= 1 << bit
		}
	}
	return out
}

// eachHash calls f with a hash of every word of the lower-cased text.
func eachHash(text string, f func(uint64)) {
	var word uint64
	for i := 0; i <= len(text); i++ {
		var b byte
		if i < len(text) {
			b = text[i]
		}
		if b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b >= 0x80 {
			word = (word ^ uint64(b)) * 0x100000001B3
			continue
		}
		if word != 0 {
			f(word)
			word = 0
		}
	}
}
