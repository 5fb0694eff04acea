package policies

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"satchel/pipeline/scope"
)

// Attributes is a set of the item fields a policy looks at. Items that agree on them
// get the same verdict.
type Attributes uint32

// attributeKeys are the item fields of the policy input as they stand in it, sorted.
var attributeKeys = [...]string{
	`"category":`, `"confidence":`, `"created_at":`, `"credentials":`, `"expires_at":`, `"groups":`, `"id":`,
	`"kind":`, `"labels":`, `"level":`, `"pii":`, `"pii_flags":`, `"policy_tags":`, `"project":`, `"purposes":`,
	`"sensitivity":`, `"session":`, `"signer":`, `"source_uri":`, `"spared":`, `"speaker":`, `"trust":`, `"type":`, `"valid_to":`,
}

// The attributes by their place in attributeKeys.
const (
	category = iota
	confidence
	createdAt
	credentials
	expiresAt
	groups
	id
	kind
	labels
	level
	pii
	piiFlags
	policyTags
	project
	purposes
	sensitivity
	session
	signer
	sourceURI
	spared
	speaker
	trust
	typ
	validTo
)

// AllAttributes returns every attribute an item has.
func AllAttributes() Attributes { return 1<<len(attributeKeys) - 1 }

// ParseAttributes returns the set of names; an unknown name is an error.
func ParseAttributes(names []string) (Attributes, error) {
	var a Attributes
	for _, name := range names {
		i := slices.Index(attributeKeys[:], `"`+name+`":`)
		if i < 0 {
			return 0, fmt.Errorf("parse attribute %q: unknown name", name)
		}
		a |= 1 << i
	}
	return a, nil
}

// AppendInput appends the attributes a of r as a JSON object with sorted keys. Times
// are nanoseconds since 1970 UTC, 0 for none; the level is its number; a list is
// never null; a number that JSON cannot hold is null, which every check denies. The reasons
// that are spared are there whenever there are any, and only then.
func (r *Resource) AppendInput(dst []byte, a Attributes) []byte {
	dst = append(dst, '{')
	first := len(dst)
	for i, key := range attributeKeys {
		if i == spared && len(r.Spared) == 0 || i != spared && a&(1<<i) == 0 {
			continue
		}
		if len(dst) > first {
			dst = append(dst, ',')
		}
		dst = r.appendValue(append(dst, key...), i)
	}
	return append(dst, '}')
}

func (r *Resource) appendValue(dst []byte, attribute int) []byte {
	f := &r.Facets
	switch attribute {
	case category:
		return AppendString(dst, f.Category)
	case confidence:
		return AppendNumber(dst, r.ConfidenceOr1())
	case createdAt:
		return AppendTime(dst, r.CreatedAt)
	case credentials:
		return strconv.AppendBool(dst, f.Credentials)
	case expiresAt:
		return AppendTime(dst, r.ExpiresAt)
	case groups:
		return AppendStrings(dst, f.Groups)
	case id:
		return AppendString(dst, r.ID)
	case kind:
		return AppendString(dst, string(f.Kind))
	case labels:
		return AppendStrings(dst, f.Labels)
	case level:
		return strconv.AppendInt(dst, int64(f.Level), 10)
	case pii:
		return strconv.AppendBool(dst, f.PII)
	case piiFlags:
		return AppendStrings(dst, r.PIIFlags)
	case policyTags:
		return AppendStrings(dst, r.PolicyTags)
	case project:
		return AppendString(dst, r.Project)
	case purposes:
		return AppendStrings(dst, f.Purposes)
	case sensitivity:
		return AppendNumber(dst, f.Sensitivity)
	case session:
		return AppendString(dst, f.Session)
	case signer:
		return AppendString(dst, f.Signer)
	case sourceURI:
		return AppendString(dst, r.SourceURI)
	case spared:
		return AppendStrings(dst, r.Spared)
	case speaker:
		return AppendString(dst, r.Speaker)
	case trust:
		return AppendNumber(dst, f.Trust)
	case typ:
		return AppendString(dst, string(f.Type))
	default:
		return AppendTime(dst, r.ValidTo)
	}
}

// AppendSubject appends the subject of s as a JSON object with sorted keys.
func AppendSubject(dst []byte, s scope.Scope) []byte {
	p := s.Principal()
	dst = AppendStrings(append(dst, `{"groups":`...), p.Groups)
	dst = AppendString(append(dst, `,"id":`...), p.ID)
	dst = AppendString(append(dst, `,"kind":`...), p.Kind)
	dst = strconv.AppendInt(append(dst, `,"level":`...), int64(p.Level), 10)
	dst = AppendStrings(append(dst, `,"roles":`...), p.Roles)
	dst = AppendString(append(dst, `,"tenant":`...), s.Tenant())
	return append(dst, '}')
}

// AppendAsker appends who asks for what: {"action":…,"purpose":…,"subject":{…}}.
func AppendAsker(dst []byte, s scope.Scope, action string) []byte {
	dst = AppendString(append(dst, `{"action":`...), action)
	dst = AppendString(append(dst, `,"purpose":`...), s.Purpose())
	dst = AppendSubject(append(dst, `,"subject":`...), s)
	return append(dst, '}')
}

// AppendRequest appends the policy input of r for s as canonical JSON: keys sorted,
// no white space, items with the attributes a in the order of the request.
//
//	{"action":…,"items":[{…}],"now":NS,"purpose":…,"subject":{groups,id,kind,level,roles,tenant}}
func AppendRequest(dst []byte, s scope.Scope, r *Request, a Attributes) []byte {
	return appendRequest(dst, s, r, a, func(dst []byte) []byte { return dst })
}

// appendRequest is AppendRequest, but that full is given what is there after each item and
// returns what the rest is appended to.
func appendRequest(dst []byte, s scope.Scope, r *Request, a Attributes, full func([]byte) []byte) []byte {
	dst = AppendString(append(dst, `{"action":`...), r.Action)
	dst = append(dst, `,"items":[`...)
	for i := range r.Resources {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = full(r.Resources[i].AppendInput(dst, a))
	}
	dst = AppendTime(append(dst, `],"now":`...), r.Now)
	dst = AppendString(append(dst, `,"purpose":`...), s.Purpose())
	dst = AppendSubject(append(dst, `,"subject":`...), s)
	return append(dst, '}')
}

// InputHash returns the hex SHA-256 over the canonical input of r for s with every
// attribute, whatever of it a bundle looks at. Every driver reports this hash, unless the
// caller makes it.
func InputHash(s scope.Scope, r *Request) string {
	const chunk = 4 << 10
	sum := sha256.New()
	rest := appendRequest(make([]byte, 0, 2*chunk), s, r, AllAttributes(), func(dst []byte) []byte {
		if len(dst) < chunk {
			return dst
		}
		sum.Write(dst) // of a hash, it returns no error
		return dst[:0]
	})
	sum.Write(rest)
	return hex.EncodeToString(sum.Sum(nil))
}

// AppendTime appends t as nanoseconds since 1970 UTC, 0 for the zero time; times that
// an int64 cannot hold are its bounds.
func AppendTime(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(dst, '0')
	}
	return strconv.AppendInt(dst, unixNano(t), 10)
}

// unixNano saturates outside the years 1678 to 2262.
func unixNano(t time.Time) int64 {
	switch s := t.Unix(); {
	case s > math.MaxInt64/1_000_000_000-1:
		return math.MaxInt64
	case s < math.MinInt64/1_000_000_000+1:
		return math.MinInt64
	}
	if n := t.UnixNano(); n != 0 {
		return n
	}
	return 1 // 0 says "none"
}

// AppendNumber appends f as a JSON number, null for what JSON cannot hold.
func AppendNumber(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// AppendStrings appends list as a JSON array, [] for nil.
func AppendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, s)
	}
	return append(dst, ']')
}

// asItIs reports whether a byte stands for itself in a JSON string.
func asItIs(c byte) bool {
	const marks = 1<<'"' | 1<<'&' | 1<<'<' | 1<<'>' // below 64
	return c >= 0x20 && c < utf8.RuneSelf && c != '\\' && (c >= 64 || marks>>c&1 == 0)
}

// AppendString appends s as a JSON string.
func AppendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if !asItIs(s[i]) {
			quoted, err := json.Marshal(s)
			if err != nil { // a string always marshals
				return append(dst, "null"...)
			}
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
