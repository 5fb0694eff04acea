package source_test

import (
	"testing"

	"satchel/cmd/internal/importer/source"
	"satchel/cmd/internal/importer/source/code"
	"satchel/test/growth"
	"satchel/test/parts"
)

// What reads files on import takes work in proportion to them.
func TestWorkGrowsWithTheFile(t *testing.T) {
	parts.Long(t)
	var reader code.Reader
	t.Cleanup(func() {
		if err := reader.Close(t.Context()); err != nil {
			t.Log(err)
		}
	})
	functions := []growth.Function{
		{Name: "document.Sections", Run: func(text string) { source.Sections("a.md", text) }},
		{Name: "document.Sections of reStructuredText", Run: func(text string) { source.Sections("a.rst", text) }},
		{Name: "experience.Decode", Run: func(text string) { source.DecodeExperience([]byte(text), "main", nil) }},
		{Name: "source.Clean", Run: func(text string) { source.Clean(text); _, _ = source.Cut(text, 200); source.ID(text, 100) }},
	}
	for _, name := range []string{"a.go", "a.py"} {
		functions = append(functions, growth.Function{Name: "code.Reader of " + name, Run: func(text string) {
			_, _, _ = reader.Units(t.Context(), name, []byte(text))
		}})
	}
	growth.Check(t, functions)
}
