package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"satchel/cmd/internal/config"
	"satchel/cmd/internal/importer/source"
	"satchel/cmd/internal/terminal"
	"satchel/schemas"
)

// attributePrefix begins the target of a field that becomes an attribute.
const attributePrefix = "attributes."

// labelField is the field that says who may see an item.
const labelField = "security_label"

// unknownField is the message about a field of a line that no item has. Such fields are named once a file.
const unknownField = "is a field that no item has"

// mapping makes the fields of an item of those of a line. A field that an item has keeps its name, unless it is mapped;
// nothing that a line says is lost without a word.
type mapping struct {
	fields map[string]string // by the item's field, or attributes.NAME, the line's
	own    []string          // the fields that the reader of the lines knows beside an item's
	drop   bool              // fields that no item has are left out, and counted

	unknown map[string]int // how many lines have a field that no item has
}

// fieldFlags say what becomes of the fields of lines.
type fieldFlags struct {
	Map         map[string]string `help:"Fields of the JSONL: item field=your field, as in --map content=text --map created_at=ts. attributes.NAME=YOURS keeps a field that no item has." placeholder:"FIELD=YOURS"`
	DropUnknown bool              `help:"Import lines without those of their fields that no item has. Without it such lines are refused."`
}

// newMapping refuses targets that no item has.
func newMapping(flags fieldFlags) (*mapping, error) {
	for _, field := range slices.Sorted(maps.Keys(flags.Map)) {
		name, attribute := strings.CutPrefix(field, attributePrefix)
		if attribute && name != "" || slices.Contains(schemas.ItemFields(), field) {
			continue
		}
		return nil, config.Usagef("--map %s=%s: no item has a field %q; --map %s%s=%s keeps it as an attribute, and satchel schema memory-item prints the fields",
			field, flags.Map[field], field, attributePrefix, field, flags.Map[field])
	}
	return &mapping{fields: flags.Map, drop: flags.DropUnknown, unknown: map[string]int{}}, nil
}

// apply returns the item's fields of a line, or what is wrong with the line.
func (m *mapping) apply(in object) (object, []schemas.Issue) {
	out := object{}
	attributes := object{}
	used := map[string]bool{}
	for field, from := range m.fields {
		v, ok := in[from]
		used[from] = ok
		if !ok || string(v) == `""` && field != labelField {
			continue
		}
		if name, is := strings.CutPrefix(field, attributePrefix); is {
			attributes[name] = v
		} else {
			out[field] = valueOf(field, v)
		}
	}
	var issues []schemas.Issue
	for _, name := range slices.Sorted(maps.Keys(in)) {
		near := m.nearest(name)
		switch {
		case used[name]:
		case near == name && out[name] == nil:
			out[name] = in[name]
		case near != "" && near != name:
			issues = append(issues, schemas.Issue{Pointer: "/" + name, Message: fmt.Sprintf("is unknown: write %s, or import with --map %s=%s", near, near, name)})
		default:
			m.unknown[name]++
			if !m.drop {
				issues = append(issues, schemas.Issue{Pointer: "/" + name, Message: unknownField})
			}
		}
	}
	issues = append(issues, addAttributes(out, attributes)...)
	listLabels(out)
	return out, issues
}

// addAttributes adds the attributes that were mapped to those that a line has.
func addAttributes(out, mapped object) []schemas.Issue {
	if len(mapped) == 0 {
		return nil
	}
	all := object{}
	if own, ok := out["attributes"]; ok && json.Unmarshal(own, &all) != nil {
		return []schemas.Issue{{Pointer: "/attributes", Message: "must be an object"}}
	}
	maps.Copy(all, mapped)
	raw, err := json.Marshal(all)
	if err != nil {
		return []schemas.Issue{{Pointer: "/attributes", Message: "cannot be encoded"}}
	}
	out["attributes"] = raw
	return nil
}

// nearest returns the field that name is, or the item's that it seems to mean: createdAt is created_at. "" is none.
func (m *mapping) nearest(name string) string {
	if slices.Contains(m.own, name) {
		return name
	}
	for _, field := range schemas.ItemFields() {
		if strings.EqualFold(signs.Replace(field), signs.Replace(name)) {
			return field
		}
	}
	return ""
}

// signs are those that names of fields are told apart without.
var signs = strings.NewReplacer("_", "", "-", "")

// valueOf is the value of a mapped field in the form that an item has it: times as seconds or milliseconds since 1970
// and as days, and numbers where an item has a text.
func valueOf(field string, v json.RawMessage) json.RawMessage {
	var number json.Number
	switch field {
	case "created_at", "updated_at", "valid_from", "valid_to":
		if at, ok := readTime(v); ok {
			return quoteText(at.UTC().Format(time.RFC3339Nano))
		}
	case "id", "session", "speaker", "category":
		if v[0] != '"' && json.Unmarshal(v, &number) == nil {
			return quoteText(number.String())
		}
	}
	return v
}

// replaceSigns makes an id of one with signs that an id has not.
func replaceSigns(out object) {
	var id string
	if json.Unmarshal(out["id"], &id) == nil && id != "" && !schemas.ValidID(id) {
		out["id"] = quoteText(source.ID(id+" ", source.MaxID)) // the blank is no sign of ids: a hash tells "a/b" from "a:b"
	}
}

// listLabels makes a list of labels that are in one text.
func listLabels(out object) {
	var text string
	if labels, ok := out[labelField]; !ok || json.Unmarshal(labels, &text) != nil {
		return
	}
	var list []string
	for label := range strings.SplitSeq(text, ",") {
		label = strings.TrimSpace(label)
		if label != "" {
			list = append(list, label)
		}
	}
	if raw, err := json.Marshal(list); err == nil && len(list) > 0 {
		out[labelField] = raw
	}
}

func quoteText(s string) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return raw
}

// readTime reads a time that is not as an item has it: a day, or seconds, milliseconds or microseconds since 1970.
func readTime(v json.RawMessage) (time.Time, bool) {
	text := strings.Trim(string(v), `"`)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(math.Abs(seconds) < latestMicrosecond) {
		return time.Time{}, false
	}
	for math.Abs(seconds) >= latestSecond {
		seconds /= 1000
	}
	return time.UnixMicro(int64(math.Round(seconds * 1_000_000))).UTC(), true
}

// A number of this size is no longer read as seconds, or as a time at all: both are in the year 5138.
const (
	latestSecond      = 100_000_000_000
	latestMicrosecond = latestSecond * 1_000_000
)

// say names the fields of a file that no item has, each once and with how many lines have it.
func (m *mapping) say(w io.Writer, file string) {
	if len(m.unknown) == 0 {
		return
	}
	const most = 20
	var named, keep []string
	names := slices.SortedFunc(maps.Keys(m.unknown), func(a, b string) int { return cmp.Or(m.unknown[b]-m.unknown[a], cmp.Compare(a, b)) })
	for _, name := range names[:min(len(names), most)] {
		named = append(named, fmt.Sprintf("%s (%s)", terminal.Excerpt(name, 64), terminal.Plural(m.unknown[name], "line", "lines")))
		keep = append(keep, "--map "+attributePrefix+name+"="+name)
	}
	if more := len(names) - most; more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	fields := strings.Join(named, ", ")
	if m.drop {
		fmt.Fprintf(w, "%s: left out of the items: %s\n", file, fields)
		return
	}
	fmt.Fprintf(w, "%s: lines with fields that no item has are left out: %s. Keep these fields with %s, or import without them with --drop-unknown\n",
		file, fields, terminal.Excerpt(strings.Join(keep[:min(len(keep), 3)], " "), 400))
}
