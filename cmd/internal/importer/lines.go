package importer

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
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
