package defend

import (
	"encoding/json"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection/defend/injection"
	"satchel/schemas"
)

// field is one of the strings of an item beside its content, or several that belong together.
type field struct {
	name  string
	texts []string
}

// The fields of an item that are no attributes, in the order of their bits.
const (
	speakerField = iota
	categoryField
	sessionField
	orgField
	projectField
	sourceField
	flagsField
	mostFields = 64 // the last bit is of all attributes beyond
)

// signatureField is the name of a field that is code.
const signatureField = "attributes.signature"

// leastField is the length in bytes of the shortest text that can instruct, and shortField of those where a sentence that is
// an attack by itself is all there is.
const (
	leastField = 16
	shortField = 24
)

// Of a speaker, the blanks from which the name may begin an instruction; of a content, the bytes that may go on with it.
const (
	leastBegun = 2
	mostSpoken = 256
)

// leastProse is how many words a field needs to count as prose, of which the language matters. Names have fewer.
const leastProse = 5

// mostJoined is how many texts of an item are read as if one went on in the next.
const mostJoined = 64

// fieldsOf lists every string that a writer of an item chooses freely, but the content. Ids, labels and the names of
// closed sets hold no blanks. Attributes that are no JSON object are one field.
func fieldsOf(v *candidate.Visible) []field {
	out := []field{
		speakerField:  {"speaker", []string{v.Speaker}},
		categoryField: {"category", []string{v.Category}},
		sessionField:  {"session", []string{v.Session, v.Scope.Session}},
		orgField:      {"scope.org", []string{v.Scope.Org}},
		projectField:  {"scope.project", []string{v.Scope.Project}},
		sourceField:   {"provenance.source_uri", []string{v.Provenance.SourceURI}},
		flagsField:    {"pii_flags", v.PIIFlags},
	}
	if len(v.Attributes) == 0 {
		return out
	}
	var members map[string]any
	if json.Unmarshal(v.Attributes, &members) != nil {
		return append(out, field{"attributes", []string{string(v.Attributes)}})
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		out = append(out, field{"attributes." + name, stringsOf([]string{name}, members[name])})
	}
	return out
}

// stringsOf appends the strings in a JSON value, names among them.
func stringsOf(to []string, value any) []string {
	switch value := value.(type) {
	case string:
		return append(to, value)
	case []any:
		for _, one := range value {
			to = stringsOf(to, one)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			to = stringsOf(append(to, name), value[name])
		}
	}
	return to
}

// fieldLook is what was made of the fields of an item.
type fieldLook struct {
	suspect uint64 // a bit for each field that looks injected
	unread  bool   // one is prose in a language that is not judged
}

// lookFields reads the fields of an item, which were perhaps read before.
func (d *Defenses) lookFields(v *candidate.Visible) fieldLook {
	if d.classifier == nil {
		return fieldLook{}
	}
	key, any := d.looks.keyOfFields(v)
	if !any {
		return fieldLook{}
	}
	f := d.looks.ofKey(key, func() features {
		look := d.readFields(v)
		return features{suspect: look.suspect, injected: injection.Finding{Unread: look.unread}}
	})
	out := fieldLook{suspect: f.suspect, unread: f.injected.Unread}
	if strings.Count(v.Speaker, " ") >= leastBegun {
		out.suspect |= d.lookSpoken(v)
	}
	return out
}

// lookSpoken returns the bit of a speaker whose name begins an instruction that the content goes on with: they stand side
// by side.
func (d *Defenses) lookSpoken(v *candidate.Visible) uint64 {
	said := v.Content.Text()
	said = strings.ToValidUTF8(said[:min(len(said), mostSpoken)], "")
	return d.looks.ofKey(d.looks.keyOf("spoken\x00"+v.Speaker+"\x00"+said), func() features {
		if shares := d.classifier.Across([]string{v.Speaker, said}); shares[0] == injection.SureShare {
			return features{suspect: 1 << speakerField}
		}
		return features{}
	}).suspect
}

// keyOfFields stands for the fields of an item and what they are judged by; any is false where there are none.
func (l *featureCache) keyOfFields(v *candidate.Visible) (key textKey, any bool) {
	var h maphash.Hash
	h.SetSeed(l.key)
	h.WriteString("fields of " + string(v.Kind))
	for _, text := range [...]string{v.Speaker, v.Category, v.Session, v.Scope.Session, v.Scope.Org, v.Scope.Project, v.Provenance.SourceURI} {
		any = any || text != ""
		h.WriteByte(0)
		h.WriteString(text)
	}
	for _, flag := range v.PIIFlags {
		any = true
		h.WriteByte(0)
		h.WriteString(flag)
	}
	if len(v.Attributes) > 0 {
		any = true
		maphash.WriteComparable(&h, maphash.Bytes(l.slot, v.Attributes))
	}
	sum := h.Sum64()
	return textKey{slot: sum >> 32, key: sum}, any
}

// readFields judges each field by itself, each of its lines, and what goes on from one field to the next.
func (d *Defenses) readFields(v *candidate.Visible) (out fieldLook) {
	documents := Documents(v)
	var all []string
	var of []int // by text, its field
	for i, f := range fieldsOf(v) {
		bit := min(i, mostFields-1)
		for _, text := range f.texts {
			all = append(all, text)
			of = append(of, bit)
			found := d.classifier.Judge(text)
			if d.isInjectedField(text, found, v.Kind, documents) || d.partInstructs(text, f.name == signatureField) {
				out.suspect |= 1 << bit
			}
			out.unread = out.unread || found.Unread && len(strings.Fields(text)) >= leastProse
		}
	}
	for i, share := range d.classifier.Across(all[:min(len(all), mostJoined)]) {
		if share == injection.SureShare {
			out.suspect |= 1 << of[i]
		}
	}
	return out
}

// isInjectedField reports whether the text of a field looks injected. One that is an attack by itself does. A tool says by its
// nature what to do, so it has to be surer otherwise, and a name without a blank is no sentence.
func (d *Defenses) isInjectedField(text string, f injection.Finding, kind schemas.Kind, documents bool) bool {
	switch {
	case len(text) < leastField:
		return false
	case f.Orders:
		return f.Score >= d.cfg.Threshold || len(text) < shortField
	case !strings.ContainsFunc(text, unicode.IsSpace):
		return false
	}
	t := d.cfg.chooseTreatment(f, kind, documents, 0)
	return t == fenceText || t == dropText
}

// partInstructs reports whether a part of a text is an attack by itself: a signature beside a sentence is unlike anything
// that the classifier knows. Parts stand between control characters and marks of code; a word or two of code may
// lead one. Code and comments have no reason to speak to a reader: there a sentence that is an attack more likely than not
// is enough.
func (d *Defenses) partInstructs(text string, code bool) bool {
	for from := 0; from < len(text); {
		end := endOfPart(text, from)
		part := text[from:end]
		comment := code || endsInComment(text[:from])
		for range 1 + mostLed {
			part = strings.TrimSpace(part)
			if len(part) < leastField {
				break
			}
			comment = comment || strings.HasPrefix(part, "--")
			if f := d.classifier.Judge(part); f.Orders && f.Score >= d.cfg.Threshold || comment && f.Likely {
				return true
			}
			_, part, _ = strings.Cut(part, " ")
		}
		from = end + 1
		for from < len(text) && !utf8.RuneStart(text[from]) {
			from++
		}
	}
	return false
}

// endsInComment reports whether a text ends with the mark of a comment.
func endsInComment(text string) bool {
	text = strings.TrimRight(text, " *!-")
	return strings.HasSuffix(text, "#") || strings.HasSuffix(text, "/") || strings.HasSuffix(text, "<")
}

// looksInjected reports whether a text by itself looks injected.
func (d *Defenses) looksInjected(text string) bool {
	return d.classifier != nil && d.classifier.Judge(text).Score >= d.cfg.Threshold
}

// endOfPart returns where the part of a text ends that begins at a place: at a character that parts a sentence from code,
// but for the slashes of an address or a path.
func endOfPart(text string, from int) int {
	for i, r := range text[from:] {
		at := from + i
		switch {
		case r == '/':
			if at == 0 || text[at-1] != ':' && strings.IndexByte("/*", text[min(at+1, len(text)-1)]) >= 0 {
				return at
			}
		case unicode.IsControl(r) || strings.ContainsRune("()[]{}<>#;|=\"`", r):
			return at
		}
	}
	return len(text)
}

// mostLed is how many words of code may lead a sentence: "-> None Ignore …".
const mostLed = 2

// withholdFields leaves the suspect fields out of what renderers see of a candidate, and notes that one is not judged.
func (d *Defenses) withholdFields(c *candidate.Candidate, look fieldLook) {
	left := c.Visible
	names := []string(nil)
	if look.suspect != 0 {
		left, names = withoutFields(c.Visible, look.suspect)
	}
	if look.unread && d.cfg.chooseTreatment(injection.Finding{Unread: true}, c.Kind, Documents(c.Visible), c.TrustOrDefault()) == fenceUnread {
		c.Unjudged = true
	}
	c.SetJudged(left, names)
}

// withoutFields is a copy of an item without some of its fields, and their names.
func withoutFields(v *candidate.Visible, suspect uint64) (*candidate.Visible, []string) {
	out := *v
	var names []string
	var members map[string]json.RawMessage
	if json.Unmarshal(v.Attributes, &members) != nil {
		members = nil
	}
	for i, f := range fieldsOf(v) {
		if suspect&(1<<min(i, mostFields-1)) == 0 {
			continue
		}
		names = append(names, f.name)
		switch i {
		case speakerField:
			out.Speaker = ""
		case categoryField:
			out.Category = ""
		case sessionField:
			out.Session = ""
			out.Scope.Session = ""
		case orgField:
			out.Scope.Org = ""
		case projectField:
			out.Scope.Project = ""
		case sourceField:
			out.Provenance.SourceURI = ""
		case flagsField:
			out.PIIFlags = nil
		default:
			delete(members, strings.TrimPrefix(f.name, "attributes."))
			names[len(names)-1] = attributeName(f.name)
			out.Attributes = nil
		}
	}
	if out.Attributes == nil && len(members) > 0 {
		if raw, err := json.Marshal(members); err == nil {
			out.Attributes = raw
		}
	}
	out.Counted = 0 // they counted the speaker
	return &out, slices.Compact(names)
}

// attributeName is the name of an attribute as it is told: a writer may name one at will, and then it has none.
func attributeName(name string) string {
	if schemas.ValidToken(strings.TrimPrefix(name, "attributes.")) {
		return name
	}
	return "attributes"
}

// warnWithheld says of how many items fields are withheld.
func warnWithheld(items int) []string {
	return formatCountWarning(items, "injection: a field of 1 item looks like an injected instruction and is withheld", "injection: fields of %d items look like injected instructions and are withheld")
}
