package schemas

import (
	"slices"
	"strings"
)

// Level is the clearance an item needs and a principal holds, lowest first.
type Level int

// The levels. An item without a level:… label counts as Confidential; a principal
// without one counts as Public.
const (
	Public Level = iota
	Internal
	Confidential
	Restricted
)

var levelNames = [...]string{"public", "internal", "confidential", "restricted"}

// String returns the name used in level:… labels and in securityLevel.
func (l Level) String() string {
	if l < Public || l > Restricted {
		return "restricted"
	}
	return levelNames[l]
}

// ParseLevel returns the level called name, and false when there is none.
func ParseLevel(name string) (Level, bool) {
	i := slices.Index(levelNames[:], name)
	return Level(i), i >= 0
}

// MarshalText writes the level's name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a level's name.
func (l *Level) UnmarshalText(b []byte) error {
	v, ok := ParseLevel(string(b))
	if !ok {
		return &Error{Code: CodeValidation, Message: "unknown level \"" + string(b) + "\"; use public, internal, confidential or restricted"}
	}
	*l = v
	return nil
}

// Facets derives the filterable fields of an item from its labels and flags:
// level:NAME, group:NAME, purpose:NAME in lower case, pii:VALUE (anything but none),
// detected:TYPE, credentials:VALUE (anything but false). Defaults: trust 0.5, sensitivity
// 0, level confidential.
func (m *MemoryItem) Facets() Facets {
	f := Facets{
		Kind: m.Kind, Type: m.Type, Category: m.Category, Session: m.SessionID(),
		Level: Confidential, Labels: slices.Sorted(slices.Values(m.SecurityLabel)),
		PII: len(m.PIIFlags) > 0, Trust: valueOr(m.Trust, DefaultTrust), Sensitivity: valueOr(m.Sensitivity, 0),
		Signer: m.Signer,
	}
	if f.Signer == "" {
		f.Signer = Unsigned
	}
	for _, label := range f.Labels {
		name, value, _ := strings.Cut(label, ":")
		switch name {
		case "level":
			if l, ok := ParseLevel(value); ok {
				f.Level = l
			}
		case "group":
			f.Groups = append(f.Groups, value)
		case "purpose":
			f.Purposes = append(f.Purposes, strings.ToLower(value))
		case "pii":
			f.PII = f.PII || value != "none"
		case LabelDetected:
			f.PII = true
		case "credentials":
			f.Credentials = f.Credentials || value != "false"
		}
	}
	return f
}

// LabelDetected is the name of the labels that the detection at write adds, one for each
// type of personal data or secret it found: detected:email.
const LabelDetected = "detected"

func valueOr(p *float64, def float64) float64 {
	if p == nil {
		return def
	}
	return *p
}
