package relevance_test

import (
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

	"satchel/pipeline/relevance"
	"satchel/test/parts"
)

// TestReference holds the tables of modes and nodes in the documents.
func TestReference(t *testing.T) {
	t.Parallel()
	cfg, err := relevance.DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	var modes, nodes strings.Builder
	modes.WriteString("| mode | leaves out |\n|---|---|\n")
	for _, mode := range slices.Sorted(maps.Keys(cfg.TemplateMasks)) {
		var out []string
		for _, node := range slices.Sorted(maps.Keys(cfg.TemplateMasks[mode])) {
			if !cfg.TemplateMasks[mode][node] {
				out = append(out, "`"+node+"`")
			}
		}
		fmt.Fprintf(&modes, "| `%s` | %s |\n", mode, strings.Join(out, ", "))
	}
	nodes.WriteString("| node | tokens | items |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(cfg.Nodes)) {
		node := cfg.Nodes[name]
		var items []string
		for _, s := range node.Items {
			words := []string{string(s.Type), string(s.Kind)}
			if s.Category != "" {
				words = append(words, "of category "+s.Category)
			}
			items = append(items, strings.Join(strings.Fields(strings.Join(words, " ")), " "))
		}
		if node.Turns > 0 {
			items = append(items, fmt.Sprintf("the last %d turns of the session", node.Turns))
		}
		fmt.Fprintf(&nodes, "| `%s` | %d | %s |\n", name, node.Tokens, strings.Join(items, "; "))
	}
	parts.Table(t, "../../docs/reference/relevance.md", "fields", fields(t))
	parts.Table(t, "../../docs/reference/relevance.md", "modes", modes.String())
	parts.Table(t, "../../docs/reference/relevance.md", "nodes", nodes.String())
}

// fields lists the fields of a configuration with their comments.
func fields(t *testing.T) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range file.Scope.Lookup("Config").Decl.(*ast.TypeSpec).Type.(*ast.StructType).Fields.List {
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		_, says, _ := strings.Cut(strings.Join(strings.Fields(f.Doc.Text()), " "), " ")
		fmt.Fprintf(&b, "- `%s`: %s\n", name, says)
	}
	return b.String()
}
