package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"satchel/cmd/internal/config"
	"satchel/pipeline/selection/rank"
	"satchel/schemas"
	"satchel/test/parts"
)

// TestReference holds the tables of docs/reference that are made from code.
func TestReference(t *testing.T) {
	t.Parallel()
	for name, table := range map[string]string{
		"commands": commandTable(t), "settings": settingTable(), "subjects": subjectTable(t), "schemas": schemaTable(t),
		"errors": errorTable(t), "drop-reasons": dropTable(t), "dead-letter-reasons": deadLetterTable(t),
	} {
		page := "../../docs/reference/" + strings.TrimPrefix(strings.TrimPrefix(name, "drop-"), "dead-letter-") + ".md"
		parts.Table(t, page, name, table)
	}
}

// TestSmallReference holds the tables of ranking profiles and of receipts.
func TestSmallReference(t *testing.T) {
	t.Parallel()
	var profiles, levels strings.Builder
	profiles.WriteString("| profile | weights | λ a day |\n|---|---|---|\n")
	for _, p := range rank.Profiles() {
		weights := p.Weights()
		var terms []string
		for _, name := range slices.Sorted(maps.Keys(weights)) {
			if weights[name] > 0 {
				terms = append(terms, fmt.Sprint(name, " ", weights[name]))
			}
		}
		fmt.Fprintf(&profiles, "| `%s` | %s | %v |\n", p.Name, strings.Join(terms, ", "), p.Lambda)
	}
	levels.WriteString("| level | the event |\n|---|---|\n")
	comments := constants(t, "../../schemas/receipt.go", "ReceiptLevel")
	for _, level := range []schemas.ReceiptLevel{schemas.ReceiptQueued, schemas.ReceiptAccepted, schemas.ReceiptLogged, schemas.ReceiptIndexed, schemas.ReceiptProved} {
		fmt.Fprintf(&levels, "| `%s` | %s |\n", level, comments[string(level)])
	}
	parts.Table(t, "../../docs/explanation/ranking.md", "profiles", profiles.String())
	parts.Table(t, "../../docs/reference/subjects.md", "receipts", levels.String())
}

// TestCommentedReference holds the tables that comments of code have.
func TestCommentedReference(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		page, name, file, begins string
		header                   []string
	}{
		{"reference/policy", "claims", "policies/registry.go", "registry ", nil},
		{"reference/policy", "rules", "policies/doc.go", "reason ", nil},
		{"reference/policy", "roles", "policies/doc.go", "pii_reader ", []string{"role", "a principal with it"}},
		{"reference/policy", "lowers", "pipeline/write/relabel.go", "level, sensitivity ", []string{"protection", "is less if"}},
		{"reference/policy", "bundle", "policies/opa/doc.go", "verdicts ", []string{"rule", "value"}},
		{"reference/exceptions", "counters", "policies/exception/doc.go", "uses ", []string{"counter", "counts"}},
		{"reference/roles", "roles", "pipeline/isolation/roles/doc.go", "planner ", []string{"role", "does", ""}},
		{"reference/formats", "leaf", "pipeline/store/eventlog/doc.go", "tenant ", []string{"name", "value"}},
		{"reference/formats", "backup", "cmd/internal/backup/doc.go", "manifest ", []string{"file", "what"}},
		{"reference/formats", "evidence", "cmd/internal/evidence/doc.go", "manifest ", []string{"member", "what"}},
		{"explanation/isolation", "types", "pipeline/pii/doc.go", "type ", nil},
		{"explanation/packs", "blobs", "pipeline/compaction/blob/doc.go", "kind ", nil},
	} {
		parts.Table(t, "../../docs/"+one.page+".md", one.name, parts.Commented(t, "../../"+one.file, one.begins, one.header...))
	}
}

func commandTable(t *testing.T) string {
	parser, err := kong.New(&commands{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| command | what it does |\n|---|---|\n")
	for _, c := range parser.Model.Leaves(true) {
		fmt.Fprintf(&b, "| `satchel %s` | %s |\n", strings.TrimPrefix(c.FullPath(), parser.Model.Name+" "), c.Help)
	}
	return b.String()
}

func settingTable() string {
	ranges := map[string]string{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config.Settings]()) {
		name := f.Tag.Get("name")
		if name == "" {
			name = config.Kebab(f.Name)
		}
		if f.Tag.Get("min") != "" {
			ranges[name] = "`" + f.Tag.Get("min") + "`–`" + f.Tag.Get("max") + "`"
		}
	}
	var b strings.Builder
	b.WriteString("| environment | flag | default | older name | range | |\n|---|---|---|---|---|---|\n")
	for _, one := range (&config.Settings{}).Effective() {
		if one.Env != "" {
			fmt.Fprintf(&b, "| `%s` | `--%s` | %s | %s | %s | %s |\n", one.Env, one.Name, code(one.Default), code(one.Older), ranges[one.Name], one.Help)
		}
	}
	return b.String()
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func subjectTable(t *testing.T) string {
	var d struct {
		Channels map[string]struct{ Address, Description string }
	}
	if err := json.Unmarshal(schemas.AsyncAPI(), &d); err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, c := range d.Channels {
		if c.Address != "" {
			rows[strings.NewReplacer("{", "<", "}", ">").Replace(c.Address)] = c.Description
		}
	}
	var b strings.Builder
	b.WriteString("| subject | what |\n|---|---|\n")
	for _, address := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", address, rows[address])
	}
	return b.String()
}

func schemaTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| schema | what |\n|---|---|\n")
	for _, name := range schemas.Names() {
		raw, err := schemas.JSONSchema(name)
		if err != nil {
			t.Fatal(err)
		}
		var d struct{ Title, Description string }
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatal(err)
		}
		what := strings.ReplaceAll(strings.TrimPrefix(d.Description, d.Title+" "), "<", `\<`)
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, what)
	}
	return b.String()
}

func errorTable(t *testing.T) string {
	comments := constants(t, "../../schemas/errors.go", "Code")
	codes := slices.SortedFunc(maps.Keys(comments), func(a, b string) int {
		if n := schemas.Code(a).HTTPStatus() - schemas.Code(b).HTTPStatus(); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	var b strings.Builder
	b.WriteString("| code | number | when |\n|---|---|---|\n")
	for _, c := range codes {
		fmt.Fprintf(&b, "| `%s` | %d | %s |\n", c, schemas.Code(c).HTTPStatus(), comments[c])
	}
	return b.String()
}

func dropTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| reason | the item |\n|---|---|\n")
	for _, r := range slices.Sorted(maps.Keys(constants(t, "../../schemas/pack.go", "DropReason"))) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r, schemas.DropReason(r).Sentence())
	}
	return b.String()
}

func deadLetterTable(t *testing.T) string {
	comments := constants(t, "../../pipeline/write/rejection.go", "Reason")
	var b strings.Builder
	b.WriteString("| reason | the event |\n|---|---|\n")
	for _, r := range slices.Sorted(maps.Keys(comments)) {
		if comments[r] == "" {
			t.Errorf("the reason %s has no comment", r)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", r, comments[r])
	}
	return b.String()
}

// constants returns the text constants of a type in a file, each with the comment behind it.
func constants(t *testing.T, file, typ string) map[string]string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		id, named := spec.Type.(*ast.Ident)
		value, is := spec.Values[0].(*ast.BasicLit)
		if !named || !is || id.Name != typ {
			return true
		}
		text, err := strconv.Unquote(value.Value)
		if err != nil {
			t.Fatal(err)
		}
		found[text] = strings.TrimSpace(spec.Comment.Text())
		return true
	})
	return found
}
