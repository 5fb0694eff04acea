// Dict is a dictionary of facets: items that share every field a filter can
// see share one number, so that an index keeps four bytes an item and evaluates a
// schemas.Filter once per distinct profile instead of once per item.
//
// A profile is three parts, each numbered on its own: the labels and other words, the
// session, and the two numbers (trust, sensitivity). A tenant with many sessions or
// with a trust of its own for every item therefore costs some forty bytes a profile, and
// a filter is still evaluated only once per distinct part.
//
// A dictionary only grows. It is not locked: callers serialise Intern against everything
// else; Facets, Allowed, Len, Bytes and AppendTo may run concurrently with each other.
// Stores and their drivers may import it.

package columns

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"satchel/schemas"
)

// key is a profile: the numbers of its parts.
type key struct{ words, session, numbers uint32 }

// numbers are the bits of trust and sensitivity.
type numbers struct{ trust, sensitivity uint64 }

// Dict numbers facets from 0. Use New.
type Dict struct {
	profiles []key
	byKey    map[key]uint32

	words       []schemas.Facets // without session and numbers
	wordsByCode map[string]uint32
	code        []byte // scratch of Intern
	sessions    *IDs   // "=" + session, since an id is not empty
	numbers     []numbers
	numbersBy   map[numbers]uint32
	size        int // bytes of words, roughly

	cache cache
}

// NewDict returns an empty dictionary.
func NewDict() *Dict {
	return &Dict{
		byKey: map[key]uint32{}, wordsByCode: map[string]uint32{},
		sessions: NewIDs(0), numbersBy: map[numbers]uint32{},
	}
}

// Intern returns the number of f, giving it the next one when it is new. f is copied.
func (d *Dict) Intern(f schemas.Facets) uint32 {
	d.code = appendWords(d.code[:0], &f)
	words, ok := d.wordsByCode[string(d.code)]
	if !ok {
		words = uint32(len(d.words))
		d.wordsByCode[string(d.code)] = words
		d.words = append(d.words, onlyWords(f))
		d.size += 2*len(d.code) + 400
	}
	session, _ := d.sessions.Intern("=" + f.Session)
	return d.addProfile(key{words, session, d.internNumbers(numbers{math.Float64bits(f.Trust), math.Float64bits(f.Sensitivity)})})
}

func (d *Dict) internNumbers(n numbers) uint32 {
	i, ok := d.numbersBy[n]
	if !ok {
		i = uint32(len(d.numbers))
		d.numbersBy[n] = i
		d.numbers = append(d.numbers, n)
	}
	return i
}

func (d *Dict) addProfile(k key) uint32 {
	i, ok := d.byKey[k]
	if !ok {
		i = uint32(len(d.profiles))
		d.byKey[k] = i
		d.profiles = append(d.profiles, k)
	}
	return i
}

// onlyWords returns a copy of f that shares nothing with it.
func onlyWords(f schemas.Facets) schemas.Facets {
	f.Session = ""
	f.Trust = 0
	f.Sensitivity = 0
	f.Labels, f.Groups, f.Purposes = slices.Clone(f.Labels), slices.Clone(f.Groups), slices.Clone(f.Purposes)
	return f
}

// Len returns how many profiles there are.
func (d *Dict) Len() int { return len(d.profiles) }

// Facets returns the facets of profile n. The slices in it MUST NOT be changed.
func (d *Dict) Facets(n uint32) schemas.Facets {
	k := d.profiles[n]
	f := d.words[k.words]
	f.Session = d.sessions.ID(k.session)[1:]
	f.Trust = math.Float64frombits(d.numbers[k.numbers].trust)
	f.Sensitivity = math.Float64frombits(d.numbers[k.numbers].sensitivity)
	return f
}

// Bytes returns roughly what memory the dictionary holds.
func (d *Dict) Bytes() int {
	return 48*len(d.profiles) + 64*len(d.numbers) + d.sessions.Bytes() + d.size
}

// appendWords appends a code that two facets share exactly when onlyWords of them is equal.
func appendWords(b []byte, f *schemas.Facets) []byte {
	for _, s := range [...]string{string(f.Kind), string(f.Type), f.Category, f.Signer} {
		b = AppendString(b, s)
	}
	for _, list := range [...][]string{f.Labels, f.Groups, f.Purposes} {
		b = AppendList(b, list)
	}
	b = binary.AppendVarint(b, int64(f.Level))
	var flags byte
	if f.PII {
		flags |= 1
	}
	if f.Credentials {
		flags |= 2
	}
	return append(b, flags)
}

// cache holds the answers for the filters used last.
type cache struct {
	mu      sync.Mutex
	entries map[string]*answer
	masks   map[string]*masked // by list of filters
	clock   uint64
}

// answer is a filter evaluated over the parts and the profiles known so far. allowed is
// only ever appended to, so a slice of it that was handed out stays valid.
type answer struct {
	used                     uint64
	words, session, numbers  []bool
	onWords, onSess, onNumbs schemas.Filter
	anySess                  bool // onSess has no condition
	allowed                  []bool
}
