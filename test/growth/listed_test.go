package growth_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// elsewhere are packages that read texts and are not in the tables here, and why.
func elsewhere() map[string]string {
	return map[string]string{
		"pipeline/model":                    "a port",
		"pipeline/model/internal/wordpiece": "static.Embedder cuts by it",
		"pipeline/meter":                    "it names a span",
		"pipeline/infra/cache":              "it hashes a text",
		"pipeline/selection":                "it hands a text to rank",
		"pipeline/store/eventlog":           "a store: the source is an event's",
	}
}

// Every package of the pipeline with a function that takes a text is in a table.
func TestReadersOfTextsAreListed(t *testing.T) {
	const root = "../.."
	tables, err := os.ReadFile("growth_test.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{} // a function by its package
	for _, dir := range []string{"pipeline", "schemas", "jetstream/cloudevent"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			pkg, err := filepath.Rel(root, filepath.Dir(p))
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Name.IsExported() && takesText(f) {
					found[filepath.ToSlash(pkg)] = f.Name.Name
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 20 {
		t.Fatalf("%d packages read texts: the walk does not see them", len(found))
	}
	for pkg, name := range found {
		why := elsewhere()[pkg]
		listed := strings.Contains(string(tables), `"satchel/`+pkg+`"`)
		if !listed && why == "" {
			t.Errorf("%s.%s takes a text, and no table of growth has a function of the package", pkg, name)
		}
		if listed && why != "" {
			t.Errorf("%s is listed: take it out of elsewhere", pkg)
		}
	}
}

// takesText reports whether a parameter is a text by its name and type.
func takesText(f *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.Type.Params.List, func(field *ast.Field) bool {
		ident, ok := field.Type.(*ast.Ident)
		return ok && ident.Name == "string" && slices.ContainsFunc(field.Names, func(name *ast.Ident) bool {
			return slices.Contains([]string{"text", "texts", "line", "task", "source"}, name.Name)
		})
	})
}
