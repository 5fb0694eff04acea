package idtable

const hexDigits = "0123456789abcdef"

// packUUID stores the 16 bytes of a canonical lower-case UUID, and reports whether id
// is one. Any other spelling is kept as text, so that every id comes back as it went in.
func packUUID(dst *[16]byte, id string) bool {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return false
	}
	j := 0
	for i := 0; i < 36; i += 2 {
		if id[i] == '-' {
			i++
		}
		hi, ok1 := nibble(id[i])
		lo, ok2 := nibble(id[i+1])
		if !ok1 || !ok2 {
			return false
		}
		dst[j] = hi<<4 | lo
		j++
	}
	return true
}

func nibble(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}

// appendUUID appends the canonical text of 16 bytes.
func appendUUID(dst, key []byte) []byte {
	for i, b := range key {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
	}
	return dst
}
