package pii

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"strings"
)

// Redacted stands where a field was removed.
const Redacted = "[redacted]"

// Field is the type of a value that is hidden because a path names it, whatever it is.
const Field Type = "field"

// Mask returns what stands in place of a finding. It MUST NOT return anything from
// which the text can be read.
type Mask func(t Type, text string) string

// Mark is the Mask that says what was there: [email]. For a field it is Redacted.
func Mark(t Type, _ string) string {
	if t == Field {
		return Redacted
	}
	return "[" + string(t) + "]"
}

// Replace returns text with every span replaced by its mask.
func Replace(text string, spans []Span, mask Mask) string {
	if len(spans) == 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	at := 0
	for _, sp := range spans {
		b.WriteString(text[at:sp.Start])
		b.WriteString(mask(sp.Type, text[sp.Start:sp.End]))
		at = sp.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// Pseudonyms gives the same value of a tenant the same name every time, and no value of
// two tenants a name that tells that they are one. Without the key a name says nothing
// of its value. The zero Pseudonyms gives marks. It is safe for concurrent use.
type Pseudonyms struct{ key []byte }

// leastKey is the length of the shortest key in bytes.
const leastKey = 32

// NewPseudonyms returns the pseudonyms under a secret key of at least 32 bytes.
func NewPseudonyms(key []byte) (Pseudonyms, error) {
	if len(key) < leastKey {
		return Pseudonyms{}, errors.New("new pseudonyms: the key is shorter than 32 bytes")
	}
	return Pseudonyms{key: append([]byte(nil), key...)}, nil
}

// Of returns the Mask of a tenant: [email:k3f9q2ab7c], 50 bits of HMAC-SHA-256 over the
// type and the value in its plain form, under a key of the tenant.
func (p Pseudonyms) Of(tenant string) Mask {
	if len(p.key) == 0 {
		return Mark
	}
	own := computeMAC(p.key, "satchel pseudonyms", tenant)
	return func(t Type, text string) string {
		sum := computeMAC(own, string(t), normaliseValue(t, text))
		return "[" + string(t) + ":" + strings.ToLower(base32.StdEncoding.EncodeToString(sum)[:10]) + "]"
	}
}

func computeMAC(key []byte, kind, value string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(kind + "\x00" + value)) // never fails
	return h.Sum(nil)
}

// normaliseValue is the plain form of a value: what is written in two ways has one pseudonym.
func normaliseValue(t Type, text string) string {
	text, _ = foldText(text)
	switch t {
	case Email:
		text = strings.NewReplacer("%40", "@", "&#64;", "@", "&#x40;", "@", "&commat;", "@").Replace(text)
	case Phone, Card, SSN:
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r == '+' || r == 'x' {
				return r
			}
			return -1
		}, strings.ToLower(text))
	case IBAN:
		return strings.ToUpper(strings.NewReplacer(" ", "", "-", "", ".", "", "\r", "", "\n", "").Replace(text))
	case Secret:
		return text
	}
	return strings.Join(strings.Fields(strings.ToLower(text)), " ")
}
