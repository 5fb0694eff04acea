package code

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"satchel/schemas"
)

func reader(t testing.TB) *Reader {
	t.Helper()
	r := &Reader{}
	t.Cleanup(func() {
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// told is one line a unit: type, qualified name, part of, lines, signature, doc.
func told(units []Unit) string {
	var b strings.Builder
	for _, u := range units {
		name := u.QualifiedName
		if u.Ordinal > 0 {
			name += fmt.Sprintf(" (%d)", u.Ordinal)
		}
		if u.Parent != "" {
			name += " in " + u.Parent
		}
		fmt.Fprintf(&b, "%s %s %d-%d | %s | %s\n", u.Type, name, u.StartLine, u.EndLine, strings.Join(strings.Fields(u.Signature), " "), strings.ReplaceAll(u.Doc, "\n", " / "))
	}
	return b.String()
}

// TestReader starts the parsers once: that takes a second, and ten under the race detector.
func TestReader(t *testing.T) {
	t.Parallel()
	r := reader(t)
	t.Run("units of every language", func(t *testing.T) { testUnits(t, r) })
	t.Run("a class leaves its methods' bodies out", func(t *testing.T) { testClass(t, r) })
	t.Run("what is left out", func(t *testing.T) { testLeftOut(t, r) })
}

func testUnits(t *testing.T, r *Reader) {
	for _, c := range []struct{ name, source, want string }{
		{"p/kiln.go", "// Package kiln fires.\npackage kiln\n\n// Fire heats.\nfunc Fire(at int) error { return nil }\n\n// Kiln is hot.\ntype Kiln[T any] struct{ a T }\n\n// Open opens.\nfunc (k *Kiln[T]) Open() (int, error) {\n\treturn 0, nil\n}\n\ntype (\n\t// Glaze shines.\n\tGlaze interface{ Shine() }\n\tName = string // a name\n)\nfunc init() {}\nfunc init() {}\n",
			"package kiln 1-2 | package kiln | Package kiln fires.\nfunction kiln.Fire 5-5 | func Fire(at int) error | Fire heats.\nstruct kiln.Kiln 8-8 | type Kiln[T any] struct | Kiln is hot.\nmethod kiln.Kiln.Open in kiln.Kiln 11-13 | func (k *Kiln[T]) Open() (int, error) | Open opens.\ninterface kiln.Glaze 17-17 | type Glaze interface | Glaze shines.\ntype kiln.Name 18-18 | type Name = string | a name\nfunction kiln.init 20-20 | func init() | \nfunction kiln.init (2) 21-21 | func init() | \n"},
		{"kiln.py", "class Kiln(Base):  # noqa\n    \"\"\"Hot.\n\n    Very.\n    \"\"\"\n\n    @property\n    def heat(self) -> int:\n        '''Degrees.'''\n        return 1\n\n    # sets it\n    @heat.setter\n    def heat(self, v): pass\n\n@wraps(f)\nasync def fire(a, *, b: int = 1):\n    def inner(): pass\n    return inner\n",
			"class Kiln 1-14 | class Kiln(Base) | Hot. /  / Very.\nmethod Kiln.heat in Kiln 7-10 | def heat(self) -> int | Degrees.\nmethod Kiln.heat (2) in Kiln 13-14 | def heat(self, v) | sets it\nfunction fire 16-19 | async def fire(a, *, b: int = 1) | \n"},
		{"over.py", "class A:\n    @t.overload\n    def f(self, a: int) -> int: ...\n    @overload  # of str\n    @wraps(g)\n    def f(self, a: str) -> str: ...\n    def f(self, a):\n        return a\n\n@overloaded\ndef g(): pass\n",
			"class A 1-8 | class A | \nmethod A.f in A 7-8 | def f(self, a) | \nfunction g 10-11 | def g() | \n"},
		{"over.pyi", "@overload\ndef f(a: int) -> int: ...\n", "function f 1-2 | def f(a: int) -> int | \n"},
		{"kiln.js", "/**\n * Fires.\n * @param {number} at\n */\nexport async function fire(at) { return `${at}'` }\nconst x = 1 // not of open\nexport const open = (a) => { return a }\nclass Kiln extends Base {\n  // heat it\n  get heat() { return /[/'\"]/ }\n}\nKiln.prototype.close = function (b) {}\n",
			"function fire 5-5 | export async function fire(at) | Fires. / @param {number} at\nfunction open 7-7 | export const open = (a) | \nclass Kiln 8-11 | class Kiln extends Base | \nmethod Kiln.heat in Kiln 10-10 | get heat() | heat it\nfunction Kiln.prototype.close 12-12 | Kiln.prototype.close = function (b) | \n"},
		{"kiln.ts", "// A glaze.\nexport interface Glaze<T> { shine(): T }\ntype N = string | number;\nnamespace Deep { export abstract class K<T> { private a(x?: T): void {} } }\nenum E { A }\n",
			"interface Glaze 2-2 | export interface Glaze<T> | A glaze.\ntype N 3-3 | type N = string | number | \nclass Deep.K 4-4 | export abstract class K<T> | \nmethod Deep.K.a in Deep.K 4-4 | private a(x?: T): void | \nenum E 5-5 | enum E | \n"},
		{"kiln.tsx", "export function View({ a }: P): JSX.Element { return <p>Don't {a}</p> }\n", "function View 1-1 | export function View({ a }: P): JSX.Element | \n"},
		{"Kiln.java", "package a;\n/** Hot. */\npublic class Kiln<T> {\n  /** Fires. */\n  @Override\n  public int fire(int at) throws X { return 1; }\n  Kiln() {}\n}\n",
			"class Kiln 3-8 | public class Kiln<T> | Hot.\nmethod Kiln.fire in Kiln 5-6 | @Override public int fire(int at) throws X | Fires.\nmethod Kiln.Kiln in Kiln 7-7 | Kiln() | \n"},
		{"kiln.rs", "/// Hot.\n#[derive(Debug)]\npub struct Kiln<'a> { a: &'a str }\nimpl<'a> Kiln<'a> {\n    /// Fires.\n    pub fn fire(&self) -> char { '\"' }\n}\nmod deep { pub fn f() {} }\ntrait T { fn g(&self); }\nmacro_rules! m { () => {} }\n",
			"struct Kiln 3-3 | pub struct Kiln<'a> | Hot.\nmethod Kiln::fire in Kiln 6-6 | pub fn fire(&self) -> char | Fires.\nfunction deep::f 8-8 | pub fn f() | \ntrait T 9-9 | trait T | \nmethod T::g in T 9-9 | fn g(&self) | \nmacro m 10-10 | macro_rules! m { () => {} } | \n"},
		{"kiln.c", "/* Fires. */\nstatic int fire(int at)\n{\n  return '\"';\n}\nstruct kiln { int a; };\nchar *name(void) { return 0; }\ntypedef struct { int b; } glaze;\n",
			"function fire 2-5 | static int fire(int at) | Fires.\nstruct kiln 6-6 | struct kiln | \nfunction name 7-7 | char *name(void) | \ntype glaze 8-8 | typedef struct { int b; } glaze | \n"},
		{"kiln.cpp", "namespace n {\n// Hot.\ntemplate <class T>\nclass Kiln { public: int heat() { return 1; } };\nint Kiln::fire() { return 1; }\n}\n",
			"class n::Kiln 3-4 | template <class T> class Kiln | Hot.\nmethod n::Kiln::heat in n::Kiln 4-4 | int heat() | \nfunction n::Kiln::fire 5-5 | int Kiln::fire() | \n"},
		{"kiln.rb", "# Hot.\nmodule Pot\n  class Kiln < Base\n    # Fires.\n    def fire!(at)\n      1\n    end\n    def self.open; end\n  end\nend\n",
			"module Pot 2-10 | module Pot | Hot.\nclass Pot.Kiln in Pot 3-9 | class Kiln < Base | \nmethod Pot.Kiln.fire! in Pot.Kiln 5-7 | def fire!(at) | Fires.\nmethod Pot.Kiln.open in Pot.Kiln 8-8 | def self.open; end | \n"},
		{"kiln.php", "<?php\n/** Hot. */\nfinal class Kiln { public function fire(int $at): int { return 1; } }\nfunction open() {}\n",
			"class Kiln 3-3 | final class Kiln | Hot.\nmethod Kiln.fire in Kiln 3-3 | public function fire(int $at): int | \nfunction open 4-4 | function open() | \n"},
		{"empty.go", "", ""}, {"broken.go", "package p\nfunc a() {}\nfunc (", "function p.a 2-2 | func a() | \n"},
		{"broken.py", "def a():\n    pass\ndef (:\n", "function a 1-2 | def a() | \n"},
	} {
		units, reason, err := r.Units(t.Context(), c.name, []byte(c.source))
		if err != nil || reason != "" {
			t.Errorf("%s: left out for %q, error %v", c.name, reason, err)
		}
		if d := cmp.Diff(strings.Split(c.want, "\n"), strings.Split(told(units), "\n")); d != "" {
			t.Errorf("%s\n%s", c.name, d)
		}
	}
}

func testClass(t *testing.T, r *Reader) {
	units, _, err := r.Units(t.Context(), "a.py", []byte("class A:\n    x = 1\n\n    def f(self):\n        return 2\n\n    y = 3\n"))
	if err != nil || units[0].Text != "class A:\n    x = 1\n\n    def f(self):\n        …\n\n    y = 3" || units[1].Text != "def f(self):\n    return 2" {
		t.Errorf("%+v, %v", units, err)
	}
}

func testLeftOut(t *testing.T, r *Reader) {
	for _, c := range []struct {
		name, source string
		want         Reason
	}{
		{"a.txt", "x", OtherLanguage}, {"Makefile", "x", OtherLanguage}, {"vendor/a/b.go", "package b", Vendored}, {"web/node_modules/x/i.js", "1", Vendored},
		{"vendor.go", "package p", ""}, {"a.min.js", "1", Minified}, {"a.js", strings.Repeat("var a=1;", 1000), Minified}, {"a.go", "package p\n" + strings.Repeat("// x\n", 1<<18), TooLarge},
		{"a.py", "a\x00b", Binary}, {"a.pb.go", "// Code generated by protoc-gen-go. DO NOT EDIT.\npackage p", Generated}, {"a.js", "/* @generated */\n1", Generated},
		{"c.py", "# values in this autogenerated file.\n", ""}, {"c.js", "// Automatically generated by a tool\n", Generated}, {"b.py", "# This says that code is generated elsewhere.\nx = 1", ""},
	} {
		if _, got, err := r.Units(t.Context(), c.name, []byte(c.source)); got != c.want || err != nil {
			t.Errorf("%s: left out for %q, want %q (%v)", c.name, got, c.want, err)
		}
	}
}

// TestItemsAreValid draws names and texts of any kind.
func TestItemsAreValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		u := finish([]Unit{{Path: text.Draw(t, "path") + ".go", Language: "go", Type: "function", Name: text.Draw(t, "name"), QualifiedName: text.Draw(t, "qualified"),
			Parent: text.Draw(t, "parent"), Signature: text.Draw(t, "signature"), Doc: strings.Repeat(text.Draw(t, "doc"), 100), Text: "x" + strings.Repeat(text.Draw(t, "text"), 100), StartLine: 1, EndLine: 2}})[0]
		if u.QualifiedName == u.Parent {
			u.Parent = ""
		}
		item, err := u.Item("kiln", "acme", []string{"level:internal"}, time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		if issues := item.Validate(); len(issues) > 0 {
			t.Fatal(issues)
		}
	})
}

func TestTestsMatterLess(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"a/kiln_test.go": true, "tests/kiln.py": true, "test_kiln.py": true, "src/kiln.spec.ts": true, "src/kiln.test.tsx": true, "src/__tests__/a.js": true,
		"a/contest.go": false, "latest/a.py": false, "testing.go": false} {
		u := Unit{Path: name, QualifiedName: "f", Text: "x"}
		item, err := u.Item("kiln", "acme", nil, time.Unix(1, 0))
		if err != nil || (item.Importance != nil) != want {
			t.Errorf("%s: importance %v, %v", name, item.Importance, err)
		}
	}
}

func TestItemIDs(t *testing.T) {
	t.Parallel()
	if got, want := ItemID("kiln", "a/b.go#b.F"), "code:kiln:a:b.go:b.F"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	seen := map[string]string{}
	for _, key := range []string{"a/b.go#b.F", "a b.go#b.F", "a_b.go#b.F", "a:b.go#b.F", "a-b.go#b.F", strings.Repeat("a", 200), strings.Repeat("a", 201), "ü#x", "ö#x"} {
		id := ItemID("kiln", key)
		if seen[id] != "" || !schemas.ValidID(id) {
			t.Errorf("%q and %q have the id %s", key, seen[id], id)
		}
		seen[id] = key
	}
}

func FuzzUnits(f *testing.F) {
	if flag.Lookup("test.fuzz").Value.String() == "" {
		f.Skip("the parsers start for fuzzing alone; TestReader has cases of every language")
	}
	for i, text := range []string{"class A:\n  def f(self): pass", "const a = () => {}", "interface I {}", "impl A { fn f() {} }", "package p\nfunc f(", "<?php class"} {
		f.Add(text, uint8(i))
	}
	names := []string{"a.py", "a.js", "a.ts", "a.rs", "a.go", "a.php", "a.tsx", "A.java", "a.c", "a.cpp", "a.rb"}
	r := reader(f)
	f.Fuzz(func(t *testing.T, text string, n uint8) {
		units, _, err := r.Units(t.Context(), names[int(n)%len(names)], []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for i := range units {
			item, err := units[i].Item("kiln", "acme", []string{"level:internal"}, time.Unix(1, 0))
			if err != nil {
				t.Fatal(err)
			}
			if issues := item.Validate(); len(issues) > 0 {
				t.Fatal(issues, units[i])
			}
		}
	})
}
