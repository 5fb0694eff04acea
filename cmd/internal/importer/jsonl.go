package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/importer/source"
	"satchel/cmd/internal/terminal"
	"satchel/schemas"
)

// object is a JSON object.
type object = map[string]json.RawMessage

// adder takes an item that was read somewhere, or what is wrong with it.
type adder func(where string, item schemas.MemoryItem, issues []schemas.Issue)

// lines are the lines of a file of JSONL. Whether a line may be without labels is known when all are read.
type lines struct {
	a        *app.App
	name     string
	fields   *mapping
	explicit bool // the user says which labels a line without any gets
	content  bool // a line has to have content
	written  time.Time

	// item makes an item of a line: of the fields in what it says, and of what the mapping made of them.
	item func(raw []byte, in, mapped object) (schemas.MemoryItem, []schemas.Issue)
}

// readLine is what a line is.
type readLine struct {
	where  string
	item   schemas.MemoryItem
	issues []schemas.Issue
	labels bool   // it has a field of labels
	hint   string // the field that seems to be its content
}

// unlabelled is the message about a line without labels in a file where others have some.
const unlabelled = "is missing, and other lines of this file have one: add it, or say with --label (as --label level:internal) what lines without one get"

// readFile reads the file, or standard input for "-".
func (l *lines) readFile(in io.Reader, add adder) error {
	if l.name == "-" {
		l.written = time.Now()
		return l.read(in, add)
	}
	file, err := os.Open(l.name)
	if err != nil {
		return config.Usagef("%v", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read %s: %w", l.name, err)
	}
	l.written = info.ModTime()
	return l.read(file, add)
}

// read gives add every line, and names the fields that no item has.
func (l *lines) read(r io.Reader, add adder) error {
	var list []readLine
	err := schemas.EachLine(r, func(line int, raw []byte, issues []schemas.Issue) {
		if issues == nil {
			issues = schemas.Repeated(raw)
		}
		one := readLine{issues: issues}
		if issues == nil {
			one = l.decode(raw)
		}
		one.where = fmt.Sprintf("%s:%d", l.name, line)
		list = append(list, one)
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", l.name, err)
	}
	if i := slices.IndexFunc(list, func(one readLine) bool { return one.hint != "" }); i >= 0 {
		fmt.Fprintf(l.a.Err, "%s: lines without content have %q: if that is it, import with --map content=%s, and other fields likewise (--map created_at=…)\n", l.name, list[i].hint, list[i].hint)
	}
	labelled := slices.ContainsFunc(list, func(one readLine) bool { return one.labels })
	for _, one := range list {
		open := labelled && !l.explicit && !one.labels
		if open && len(one.issues) == 0 {
			one.issues = []schemas.Issue{{Pointer: "/" + labelField, Message: unlabelled}}
		}
		add(one.where, one.item, one.issues)
	}
	l.fields.say(l.a.Err, l.name)
	return nil
}

// decode makes an item of a line.
func (l *lines) decode(raw []byte) (one readLine) {
	var in object
	if err := json.Unmarshal(raw, &in); err != nil || in == nil {
		one.issues = wholeLine("is not a JSON object")
		return one
	}
	if from := l.fields.fields["content"]; l.content && from != "" && in[from] == nil {
		one.issues = []schemas.Issue{{Pointer: "/content", Message: fmt.Sprintf("is required, and there is no field %q, which --map content=%s names", from, from)}}
		return one
	}
	mapped, issues := l.fields.apply(in)
	one.issues = issues
	_, one.labels = mapped[labelField]
	if len(issues) == 0 {
		one.item, one.issues = l.item(raw, in, mapped)
	}
	if l.content && len(one.issues) > 0 && len(l.fields.fields) == 0 {
		one.hint = likelyContent(in)
	}
	return one
}

// likelyContent is the field of a line without content that holds the most words, "" for none.
func likelyContent(in object) string {
	if in["content"] != nil {
		return ""
	}
	name := ""
	most := 0
	for _, field := range slices.Sorted(maps.Keys(in)) {
		var text string
		if json.Unmarshal(in[field], &text) != nil {
			continue
		}
		if words := len(strings.Fields(text)); words > most {
			name = field
			most = words
		}
	}
	return name
}

// decodeItem reads an item of a tenant.
func decodeItem(fields object, tenant string) (schemas.MemoryItem, []schemas.Issue) {
	raw, err := json.Marshal(fields)
	if err != nil {
		return schemas.MemoryItem{}, wholeLine(err.Error())
	}
	item, issues := schemas.DecodeMemoryItem(raw)
	if named := item.Scope.Tenant; len(issues) == 0 && named != tenant {
		issues = []schemas.Issue{{Pointer: "/scope/tenant", Message: fmt.Sprintf("is %q, and this import is into tenant %q: name the other with --tenant", named, tenant)}}
	}
	return item, issues
}

// wholeLine is an issue with a line or file as a whole.
func wholeLine(message string) []schemas.Issue { return []schemas.Issue{{Message: message}} }

// printIssues prints what is wrong with a line, but for the fields that are named once a file.
func printIssues(a *app.App, where string, issues []schemas.Issue) {
	for _, i := range schemas.Bounded(issues) {
		if i.Message != unknownField {
			fmt.Fprintf(a.Err, "%s: %s: %s\n", where, command.OrDocument(i.Pointer), i.Message)
		}
	}
}

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
