package columns

import "encoding/binary"

const hexDigits = "0123456789abcdef"

// packUUID stores the 16 bytes of a canonical lower-case UUID, and reports whether id
// is one. Any other spelling is kept as text, so that every id comes back as it went in.
func packUUID(dst *[16]byte, id string) bool {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return false
	}
	a, bad1 := decodeHexDigits(readFourBytes(id[0:])<<32 | readFourBytes(id[4:]))
	b, bad2 := decodeHexDigits(readFourBytes(id[9:])<<32 | readFourBytes(id[14:]))
	c, bad3 := decodeHexDigits(readFourBytes(id[19:])<<32 | readFourBytes(id[24:]))
	d, bad4 := decodeHexDigits(readFourBytes(id[28:])<<32 | readFourBytes(id[32:]))
	binary.BigEndian.PutUint64(dst[:8], a<<32|b)
	binary.BigEndian.PutUint64(dst[8:], c<<32|d)
	return bad1|bad2|bad3|bad4 == 0
}

// readFourBytes returns the first four bytes of s, the first the highest.
func readFourBytes(s string) uint64 {
	return uint64(s[0])<<24 | uint64(s[1])<<16 | uint64(s[2])<<8 | uint64(s[3])
}

// decodeHexDigits returns the four bytes that eight digits stand for; bad is not 0 unless each is
// one of hexDigits. It works on all eight at once and does not branch: which digit comes
// next cannot be foreseen.
func decodeHexDigits(text uint64) (v, bad uint64) {
	const each = 0x0101010101010101
	v = (text&(0x0f*each) + text>>6&each*9) & (0x0f * each) // a letter has bit 6, and a is 10
	letter := (v + 6*each) >> 4 & each
	bad = text ^ (v + '0'*each + letter*('a'-'0'-10))
	v = (v | v>>4) & 0x00ff00ff00ff00ff
	v = (v | v>>8) & 0x0000ffff0000ffff
	return (v | v>>16) & 0xffffffff, bad
}

// appendUUID appends the canonical text of 16 bytes.
func appendUUID(dst, key []byte) []byte {
	for i, b := range key {
		switch i {
		case 4, 6, 8, 10:
			dst = append(dst, '-')
		}
		dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
	}
	return dst
}
