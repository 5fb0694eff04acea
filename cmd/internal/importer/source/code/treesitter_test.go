package code

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func openTest(t testing.TB) *treeParser {
	t.Helper()
	p, err := openParser(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestParser starts the module once: that takes a second, and ten under the race detector.
func TestParser(t *testing.T) {
	t.Parallel()
	p := openTest(t)
	t.Run("every grammar parses", func(t *testing.T) { testGrammars(t, p) })
	t.Run("captures say where", func(t *testing.T) { testCaptures(t, p) })
	t.Run("a parser outlives a trap", func(t *testing.T) { testTrap(t, p) })
}

func testGrammars(t *testing.T, p *treeParser) {
	for _, c := range []struct {
		language           language
		query, text, found string
	}{
		{python, "(function_definition name: (_) @n)", "def f(x): pass", "f"},
		{javaScript, "(function_declaration name: (_) @n)", "function f() { return /[/]'/ }", "f"},
		{typeScript, "(interface_declaration name: (_) @n)", "interface I<T> { a?: T }", "I"},
		{tsx, "(function_declaration name: (_) @n)", "function F(): X { return <p>Don't</p> }", "F"},
		{java, "(class_declaration name: (_) @n)", "class A { }", "A"},
		{rust, "(function_item name: (_) @n)", "fn f<'a>(x: &'a str) {}", "f"},
		{cLanguage, "(struct_specifier name: (_) @n)", "struct s { int a; };", "s"},
		{cpp, "(class_specifier name: (_) @n)", "class C { };", "C"},
		{ruby, "(method name: (_) @n)", "def m?; end", "m?"},
		{php, "(function_definition name: (_) @n)", "<?php function f() {}", "f"},
	} {
		captures, err := p.run(t.Context(), c.language, c.query, []byte(c.text))
		if err != nil || len(captures) != 1 || c.text[captures[0].Start:captures[0].End] != c.found {
			t.Errorf("grammar %d: captures %v, error %v", c.language, captures, err)
		}
	}
	if _, err := p.run(t.Context(), python, "(no_such_node) @n", nil); err == nil || errors.Is(err, errParse) {
		t.Error("a query for another grammar compiled")
	}
}

func testCaptures(t *testing.T, p *treeParser) {
	const query = "(function_definition name: (_) @name) @unit"
	got, err := p.run(t.Context(), python, query, []byte("x = 1\ndef f(): pass\ndef g(): pass\n"))
	want := []capture{{0, "unit", 6, 19, 1}, {0, "name", 10, 11, 1}, {1, "unit", 20, 33, 2}, {1, "name", 24, 25, 2}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	for range 2 {
		if got, err := p.run(t.Context(), python, query, nil); err != nil || len(got) != 0 {
			t.Errorf("an empty text: %v, %v", got, err)
		}
	}
}

// testTrap lets the module read outside of its memory, and parses on.
func testTrap(t *testing.T, p *treeParser) {
	const query = "(function_declaration name: (_) @name)"
	q, err := p.compile(t.Context(), javaScript, query)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.call(t.Context(), "run", uint64(javaScript), q.handle, 1<<31, 1<<30); err == nil {
		t.Fatal("reading outside the memory did not trap")
	}
	q.handle = 0xfffffff0
	if _, err := p.run(t.Context(), javaScript, query, []byte("function f() {}")); !errors.Is(err, errParse) {
		t.Fatalf("a broken query: %v", err)
	}
	if got, err := p.run(t.Context(), javaScript, query, []byte("function f() {}")); err != nil || len(got) != 1 {
		t.Errorf("after a trap: %v, %v", got, err)
	}
}

func FuzzRun(f *testing.F) {
	if flag.Lookup("test.fuzz").Value.String() == "" {
		f.Skip("the module starts for fuzzing alone; TestParser has cases of every grammar")
	}
	f.Add("def f(:\n", uint8(0))
	f.Add(strings.Repeat("(", 200), uint8(1))
	f.Add("`${`${", uint8(2))
	f.Add("<?php <<<X", uint8(9))
	p := openTest(f)
	f.Fuzz(func(t *testing.T, text string, grammar uint8) {
		captures, err := p.run(t.Context(), language(grammar%10), "(_) @node", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range captures {
			if c.Start > c.End || c.End > len(text) || c.Row > strings.Count(text, "\n") {
				t.Fatal(fmt.Sprint(c))
			}
		}
	})
}
