package importer

import (
	"fmt"
	"io"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/schemas"
)

// lines are the lines of a file of JSONL. Whether a line may be without labels is known when all are read.
type lines struct {
	name     string
	fields   *mapping
	explicit bool // the user says which labels a line without any gets

	list     []readLine
	labelled bool
}

// readLine is what a line is.
type readLine struct {
	where  string
	item   schemas.MemoryItem
	issues []schemas.Issue
	labels bool // it has a field of labels
}

// each reads the lines and has every one decoded that is whole. decode also reports whether it has a field of labels.
func (l *lines) each(r io.Reader, decode func(raw []byte) (schemas.MemoryItem, bool, []schemas.Issue)) error {
	err := schemas.EachLine(r, func(line int, raw []byte, issues []schemas.Issue) {
		one := readLine{where: fmt.Sprintf("%s:%d", l.name, line), issues: issues}
		if one.issues == nil {
			one.issues = schemas.Repeated(raw)
		}
		if one.issues == nil {
			one.item, one.labels, one.issues = decode(raw)
		}
		l.labelled = l.labelled || one.labels
		l.list = append(l.list, one)
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", l.name, err)
	}
	return nil
}

// unlabelled is the message about a line without labels in a file where others have some.
const unlabelled = "is missing, and other lines of this file have one: add it, or say with --label (as --label level:internal) what lines without one get"

// hand gives add every line, and names the fields that no item has.
func (l *lines) hand(a *app.App, add func(where string, item schemas.MemoryItem, issues []schemas.Issue)) {
	for i := range l.list {
		one := &l.list[i]
		open := l.labelled && !l.explicit && !one.labels
		if open && len(one.issues) == 0 {
			one.issues = []schemas.Issue{{Pointer: "/" + labelField, Message: unlabelled}}
		}
		add(one.where, one.item, one.issues)
	}
	l.fields.say(a.Err, l.name)
}

// printIssues prints what is wrong with a line, but for the fields that are named once a file.
func printIssues(a *app.App, where string, issues []schemas.Issue) {
	for _, i := range schemas.Bounded(issues) {
		if i.Message != unknownField {
			fmt.Fprintf(a.Err, "%s: %s: %s\n", where, command.OrDocument(i.Pointer), i.Message)
		}
	}
}
