package columns

import (
	"encoding/binary"
	"math"

	"satchel/schemas"
)

// maxCached bounds the filters whose answers are kept.
const maxCached = 64

// Allowed reports for every profile whether f lets it through: the result has Len
// elements and MUST NOT be changed. Answers are cached by filter and extended when the
// dictionary has grown.
func (d *Dict) Allowed(f schemas.Filter) []bool {
	if f.IsNone() {
		return make([]bool, len(d.profiles))
	}
	conds := f.Conds()
	name := string(appendConds(nil, conds))
	d.cache.mu.Lock()
	defer d.cache.mu.Unlock()
	a := d.cache.obtainAnswer(name, conds)
	d.extendAnswer(a)
	return a.allowed[:len(d.profiles):len(d.profiles)]
}

func (c *cache) obtainAnswer(name string, conds []schemas.Cond) *answer {
	c.clock++
	if a, ok := c.entries[name]; ok {
		a.used = c.clock
		return a
	}
	if c.entries == nil {
		c.entries = map[string]*answer{}
	}
	if len(c.entries) >= maxCached {
		oldest := ""
		at := uint64(math.MaxUint64)
		for n, a := range c.entries {
			if a.used < at {
				oldest = n
				at = a.used
			}
		}
		delete(c.entries, oldest)
	}
	a := newAnswer(conds)
	a.used = c.clock
	c.entries[name] = a
	return a
}

// newAnswer splits a conjunction by the part of a profile that each condition is about.
func newAnswer(conds []schemas.Cond) *answer {
	var words, session, numbs []schemas.Cond
	for _, c := range conds {
		switch c.Field {
		case schemas.FieldSession:
			session = append(session, c)
		case schemas.FieldTrust, schemas.FieldSensitivity:
			numbs = append(numbs, c)
		default:
			words = append(words, c)
		}
	}
	return &answer{anySess: len(session) == 0, onWords: schemas.Where(words...), onSess: schemas.Where(session...), onNumbs: schemas.Where(numbs...)}
}

// extendAnswer evaluates the filter over what was interned since the last time.
func (d *Dict) extendAnswer(a *answer) {
	for i := len(a.words); i < len(d.words); i++ {
		a.words = append(a.words, a.onWords.Match(&d.words[i]))
	}
	for i := len(a.session); i < d.sessions.Len(); i++ {
		a.session = append(a.session, a.anySess || a.onSess.Match(&schemas.Facets{Session: d.sessions.ID(uint32(i))[1:]}))
	}
	for i := len(a.numbers); i < len(d.numbers); i++ {
		n := d.numbers[i]
		a.numbers = append(a.numbers, a.onNumbs.Match(&schemas.Facets{
			Trust: math.Float64frombits(n.trust), Sensitivity: math.Float64frombits(n.sensitivity)}))
	}
	for i := len(a.allowed); i < len(d.profiles); i++ {
		k := d.profiles[i]
		a.allowed = append(a.allowed, a.words[k.words] && a.session[k.session] && a.numbers[k.numbers])
	}
}

// appendConds appends a code that only equal lists of conditions share.
func appendConds(b []byte, conds []schemas.Cond) []byte {
	for _, c := range conds {
		b = AppendString(AppendString(b, string(c.Field)), string(c.Op))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(c.Number))
		b = AppendList(b, c.Values)
	}
	return b
}
