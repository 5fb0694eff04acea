package cloudevent

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const upperHex = "0123456789ABCDEF"

// EscapeHeader percent-encodes as the binding says: space, double quote,
// percent and everything outside U+0021–U+007E, each byte of its UTF-8 form.
func EscapeHeader(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("value is not UTF-8: %w", ErrAttribute)
	}
	escapes := 0
	for i := range len(s) {
		if mustEscape(s[i]) {
			escapes++
		}
	}
	if escapes == 0 {
		return s, nil
	}
	var b strings.Builder
	b.Grow(len(s) + 2*escapes)
	for i := range len(s) {
		if c := s[i]; mustEscape(c) {
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		} else {
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

func mustEscape(c byte) bool { return c <= ' ' || c >= 0x7f || c == '"' || c == '%' }

// UnescapeHeader undoes one round of percent-encoding. A percent sign that no
// two hex digits follow stands for itself, as writers without encoding send it.
// The result must be UTF-8; an overlong form is not.
func UnescapeHeader(s string) (string, error) {
	if strings.IndexByte(s, '%') >= 0 {
		s = string(Unescape([]byte(s)))
	}
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("value is not UTF-8: %w", ErrAttribute)
	}
	return s, nil
}

// Unescape undoes one round of percent-encoding.
func Unescape(s []byte) []byte {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			high := decodeHexDigit(s[i+1])
			low := decodeHexDigit(s[i+2])
			if high >= 0 && low >= 0 {
				b = append(b, byte(high<<4|low))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return b
}

func decodeHexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
