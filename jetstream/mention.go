package jetstream

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"satchel/jetstream/cloudevent"
	"satchel/schemas"
	"satchel/worker/transport"
)

// relation is how a dead letter stands to erased items.
type relation int

const (
	unrelated relation = iota // the letter names its items, and none of them is erased
	related                   // the letter names an erased item, or is the copy of an erased event
	undecided                 // the letter does not name its items
)

// mentions finds the dead letters about erased items of a tenant. It searches a letter that names
// its items in the members that can name an item. It searches every other letter byte by byte,
// with JSON escapes, percent-encoding and base64 undone.
type mentions struct {
	tenant string
	copies map[transport.Copy]struct{}
}

func newMentions(tenant string, copies []transport.Copy) *mentions {
	m := &mentions{tenant: tenant, copies: make(map[transport.Copy]struct{}, len(copies))}
	for _, c := range copies {
		m.copies[c] = struct{}{}
	}
	return m
}

// isErasedCopy reports whether a message is the copy of an erased event.
func (m *mentions) isErasedCopy(s stored) bool {
	source, id := identityOf(s.header, s.data)
	_, ok := m.copies[transport.Copy{Source: source, ID: id}]
	return ok && id != ""
}

// isErasedItem reports whether an erased item has the id.
func (m *mentions) isErasedItem(id string) bool {
	_, ok := m.copies[transport.Copy{Item: id}]
	return ok && id != ""
}

// findRelation returns how a dead letter stands to the erased items. The letter's subject may be of
// the tenant, of no tenant or of another tenant.
func (m *mentions) findRelation(s stored) relation {
	cut := isCut(s)
	s = rejectedMessage(s)
	about := m.readLetter(s)
	tenant, _, err := ParseDLQ(s.subject)
	own := err == nil && tenant == m.tenant
	if !own && about.tenant != m.tenant && (tenant != NoTenant || about.tenant != "") {
		return unrelated // its items are another tenant's
	}
	switch {
	case about.erased, own && m.isErasedCopy(s):
		return related
	case about.known:
		return unrelated
	}
	switch {
	case m.hasErasedMention(s):
		return related
	case cut:
		return unrelated
	}
	return undecided
}

// about describes the items of a dead letter.
type about struct {
	known  bool   // the letter names them
	erased bool   // one of them is erased
	tenant string // their tenant, "" when the letter has none
}

// readLetter reads a dead letter as an event. A letter that is no event has the zero about.
func (m *mentions) readLetter(s stored) about {
	ev, err := cloudevent.Decode(s.header, s.data)
	if err != nil {
		return about{}
	}
	out := about{erased: m.namesErasedItem(ev.Subject())}
	for _, value := range ev.Extensions() {
		if text, ok := value.(string); ok {
			out.erased = out.erased || m.namesErasedItem(text)
		}
	}
	named := false
	misnamed := false
	err = walkJSON(ev.Data(), func(path []string, value string) {
		top := path[0]
		switch {
		case len(path) == 1 && (top == "id" || top == "from" || top == "item") || len(path) == 2 && top == "items":
			named = true
			misnamed = misnamed || !schemas.ValidID(value)
		case len(path) == 2 && top == "scope" && path[1] == "tenant":
			out.tenant = value
		}
		out.erased = out.erased || m.namesErasedItem(value)
	})
	out.known = err == nil && named && !misnamed
	return out
}

// namesErasedItem reports whether a value is an erased item's id, or an address that ends in one or has it
// between its slashes. A sentence is neither.
func (m *mentions) namesErasedItem(value string) bool {
	value = strings.TrimSpace(value)
	if strings.ContainsAny(value, " \t\r\n") {
		return false
	}
	return m.hasErasedWord([]byte(value))
}

// isDescriptive reports whether a member describes an item or holds its content. Such a member names
// no item, though an item may have the id "memory".
func isDescriptive(member string) bool {
	switch member {
	case "type", "kind", "role", "speaker", "category", "session", "rel", "signer", "content", "reason", "security_label", "pii_flags", "policy_tags":
		return true
	}
	return false
}

// walkJSON calls visit for every text and number of a JSON object. It passes over members that
// describe. path has the names of the members above. It fails unless data is a JSON object.
func walkJSON(data []byte, visit func(path []string, value string)) error {
	if !json.Valid(data) { // or is nested too deep
		return errors.New("no JSON")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	first, err := d.Token()
	if err != nil {
		return err
	}
	if first != json.Delim('{') {
		return errors.New("no JSON object")
	}
	return walkObject(d, nil, visit)
}

func walkObject(d *json.Decoder, path []string, visit func(path []string, value string)) error {
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		member, ok := name.(string)
		if !ok {
			return errors.New("a member without a name")
		}
		var raw json.RawMessage
		if isDescriptive(member) {
			if err := d.Decode(&raw); err != nil {
				return err
			}
			continue
		}
		if err := walkValue(d, append(path, member), visit); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func walkValue(d *json.Decoder, path []string, visit func(path []string, value string)) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch value := token.(type) {
	case string:
		visit(path, value)
	case json.Number:
		visit(path, value.String())
	case json.Delim:
		if value == '{' {
			return walkObject(d, path, visit)
		}
		for d.More() {
			if err := walkValue(d, append(path, ""), visit); err != nil {
				return err
			}
		}
		_, err := d.Token()
		return err
	}
	return nil
}

// hasErasedMention reports whether a letter has the id of an erased item anywhere.
func (m *mentions) hasErasedMention(s stored) bool {
	if m.hasErasedAnywhere(s.data, formDepth) {
		return true
	}
	for name, values := range s.header {
		for _, value := range append(values, name) {
			if m.hasErasedAnywhere([]byte(value), formDepth) {
				return true
			}
		}
	}
	return false
}

// formDepth is how many nested encodings are undone.
const formDepth = 3

// hasErasedAnywhere reports whether data has the id of an erased item as a whole word, as it is or with an
// encoding undone.
func (m *mentions) hasErasedAnywhere(data []byte, depth int) bool {
	if m.hasErasedWord(data) {
		return true
	}
	if depth == 0 {
		return false
	}
	if plain, changed := unescapeJSON(data); changed && m.hasErasedAnywhere(plain, depth-1) {
		return true
	}
	if bytes.IndexByte(data, '%') >= 0 {
		if plain := cloudevent.Unescape(data); !bytes.Equal(plain, data) && m.hasErasedAnywhere(plain, depth-1) {
			return true
		}
	}
	for run := range base64Runs(data) {
		if m.hasErasedAnywhere(run, depth-1) {
			return true
		}
	}
	return false
}

// hasErasedWord reports whether a word of data is the id of an erased item. A word is the longest run of
// characters of ids; punctuation at its ends may belong to a sentence.
func (m *mentions) hasErasedWord(data []byte) bool {
	const signs = ".:_-"
	for at := 0; at < len(data); {
		if !idByte(data[at]) {
			at++
			continue
		}
		end := at
		for end < len(data) && idByte(data[end]) {
			end++
		}
		word := string(data[at:end])
		if m.isErasedItem(word) || m.isErasedItem(strings.Trim(word, signs)) || m.isErasedItem(strings.TrimRight(word, signs)) || m.isErasedItem(strings.TrimLeft(word, signs)) {
			return true
		}
		at = end
	}
	return false
}

func idByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == ':' || c == '-'
}

// unescapeJSON undoes the escapes of JSON strings. It keeps a sequence that is no escape.
func unescapeJSON(data []byte) (plain []byte, changed bool) {
	if bytes.IndexByte(data, '\\') < 0 {
		return data, false
	}
	plain = make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' || i+1 == len(data) {
			plain = append(plain, data[i])
			continue
		}
		i++
		switch c := data[i]; c {
		case 'n', 't', 'r', 'b', 'f':
			plain = append(plain, ' ')
		case 'u':
			if i+4 < len(data) {
				if r, err := strconv.ParseUint(string(data[i+1:i+5]), 16, 32); err == nil {
					plain = utf8.AppendRune(plain, rune(r))
					i += 4
					continue
				}
			}
			plain = append(plain, c)
		default:
			plain = append(plain, c)
		}
	}
	return plain, true
}

// leastRun is the length from which a run of letters and digits is tried as base64.
const leastRun = 8

// base64Runs yields the decoded runs of base64 in data, truncated runs included.
func base64Runs(data []byte) func(yield func([]byte) bool) {
	letter := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
	}
	standard := strings.NewReplacer("-", "+", "_", "/")
	return func(yield func([]byte) bool) {
		for at := 0; at < len(data); at++ {
			end := at
			for end < len(data) && letter(data[end]) {
				end++
			}
			if end-at >= leastRun {
				text := standard.Replace(string(data[at:end]))
				if len(text)%4 == 1 {
					text = text[:len(text)-1]
				}
				if plain, err := base64.RawStdEncoding.DecodeString(text); err == nil && !yield(plain) {
					return
				}
			}
			at = end
		}
	}
}
