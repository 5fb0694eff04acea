package code

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"satchel/cmd/internal/importer/source"
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
	t.Run("a long class leaves comments out, too", func(t *testing.T) { testLongClass(t, r) })
	t.Run("a constant has its comment", func(t *testing.T) { testConstant(t, r) })
	t.Run("what is left out", func(t *testing.T) { testLeftOut(t, r) })
}

func testUnits(t *testing.T, r *Reader) {
	for _, c := range []struct{ name, source, want string }{
		{"p/kiln.go", "// Package kiln fires.\npackage kiln\n\n// Fire heats.\nfunc Fire(at int) error { return nil }\n\n// Kiln is hot.\ntype Kiln[T any] struct{ a T }\n\n// Open opens.\nfunc (k *Kiln[T]) Open() (int, error) {\n\treturn 0, nil\n}\n\ntype (\n\t// Glaze shines.\n\tGlaze interface{ Shine() }\n\tName = string // a name\n)\nfunc init() {}\nfunc init() {}\n",
			"package kiln 1-2 | package kiln | Package kiln fires.\nfunction kiln.Fire 5-5 | func Fire(at int) error | Fire heats.\nstruct kiln.Kiln 8-8 | type Kiln[T any] struct | Kiln is hot.\nmethod kiln.Kiln.Open in kiln.Kiln 11-13 | func (k *Kiln[T]) Open() (int, error) | Open opens.\ninterface kiln.Glaze 17-17 | type Glaze interface | Glaze shines.\ntype kiln.Name 18-18 | type Name = string | a name\nfunction kiln.init 20-20 | func init() | \nfunction kiln.init (2) 21-21 | func init() | \n"},
		{"values.go", "package kiln\n\n// Hot is the limit.\nconst Hot = 7 // degrees\n\nconst (\n\t// Low is cold.\n\tLow State = iota + 1\n\tHigh\n)\n\nvar _ error = (*E)(nil)\n\n// Errors.\nvar (\n\tErrCold = errors.New(\"cold\")\n\n\ta, b = 1, 2 // both\n)\nvar table = map[string]int{\n\t\"x\": 1,\n}\n",
			"constant kiln.Hot 4-4 | const Hot = 7 | Hot is the limit.\nconstant kiln.Low 6-10 | const (Low, High) | \nvariable kiln.ErrCold 15-19 | var (ErrCold, a, b) | Errors.\nvariable kiln.table 20-22 | var table | \n"},
		{"large.go", "package kiln\nvar (\n\t// A is long.\n\tA = `" + strings.Repeat("x\n", 3<<10) + "`\n\tB = 2 // b\n)\n", "variable kiln.A 4-3076 | var A | A is long.\nvariable kiln.B 3077-3077 | var B = 2 | \n"},
		{"kiln.py", "class Kiln(Base):  # noqa\n    \"\"\"Hot.\n\n    Very.\n    \"\"\"\n\n    @property\n    def heat(self) -> int:\n        '''Degrees.'''\n        return 1\n\n    # sets it\n    @heat.setter\n    def heat(self, v): pass\n\n@wraps(f)\nasync def fire(a, *, b: int = 1):\n    def inner(): pass\n    return inner\n",
			"class Kiln 1-14 | class Kiln(Base) | Hot. /  / Very.\nmethod Kiln.heat in Kiln 7-10 | def heat(self) -> int | Degrees.\nmethod Kiln.heat (2) in Kiln 13-14 | def heat(self, v) | sets it\nfunction fire 16-19 | async def fire(a, *, b: int = 1) | \n"},
		{"over.py", "class A:\n    @t.overload\n    def f(self, a: int) -> int: ...\n    @overload  # of str\n    @wraps(g)\n    def f(self, a: str) -> str: ...\n    def f(self, a):\n        return a\n\n@overloaded\ndef g(): pass\n",
			"class A 1-8 | class A | \nmethod A.f in A 7-8 | def f(self, a) | \nfunction g 10-11 | def g() | \n"},
		{"over.pyi", "@overload\ndef f(a: int) -> int: ...\n", "function f 1-2 | def f(a: int) -> int | \n"},
		{"kiln.js", "/**\n * Fires.\n * @param {number} at\n */\nexport async function fire(at) { return `${at}'` }\nconst x = 1 // not of open\nexport const open = (a) => { return a }\nclass Kiln extends Base {\n  // heat it\n  get heat() { return /[/'\"]/ }\n}\nKiln.prototype.close = function (b) {}\n",
			"function fire 5-5 | export async function fire(at) | Fires. / @param {number} at\nconstant x 6-6 | const x = 1 // not of open | \nfunction open 7-7 | export const open = (a) | \nclass Kiln 8-11 | class Kiln extends Base | \nmethod Kiln.heat in Kiln 10-10 | get heat() | heat it\nfunction Kiln.prototype.close 12-12 | Kiln.prototype.close = function (b) | \n"},
		{"kiln.ts", "// A glaze.\nexport interface Glaze<T> { shine(): T }\ntype N = string | number;\nnamespace Deep { export abstract class K<T> { private a(x?: T): void {} } }\nenum E { A }\n",
			"interface Glaze 2-2 | export interface Glaze<T> | A glaze.\ntype N 3-3 | type N = string | number | \nclass Deep.K 4-4 | export abstract class K<T> | \nmethod Deep.K.a in Deep.K 4-4 | private a(x?: T): void | \nenum E 5-5 | enum E | \n"},
		{"kiln.tsx", "export function View({ a }: P): JSX.Element { return <p>Don't {a}</p> }\n", "function View 1-1 | export function View({ a }: P): JSX.Element | \n"},
		{"Kiln.java", "package a;\n/** Hot. */\npublic class Kiln<T> {\n  /** Fires. */\n  @Override\n  public int fire(int at) throws X { return 1; }\n  Kiln() {}\n}\n",
			"class Kiln 3-8 | public class Kiln<T> | Hot.\nmethod Kiln.fire in Kiln 5-6 | @Override public int fire(int at) throws X | Fires.\nmethod Kiln.Kiln in Kiln 7-7 | Kiln() | \n"},
		{"kiln.rs", "/// Hot.\n#[derive(Debug)]\npub struct Kiln<'a> { a: &'a str }\nimpl<'a> Kiln<'a> {\n    /// Fires.\n    pub fn fire(&self) -> char { '\"' }\n}\nmod deep { pub fn f() {} }\ntrait T { fn g(&self); }\nmacro_rules! m { () => {} }\n",
			"struct Kiln 2-3 | pub struct Kiln<'a> | Hot.\nmethod Kiln::fire in Kiln 6-6 | pub fn fire(&self) -> char | Fires.\nfunction deep::f 8-8 | pub fn f() | \ntrait T 9-9 | trait T | \nmethod T::g in T 9-9 | fn g(&self) | \nmacro m 10-10 | macro_rules! m { () => {} } | \n"},
		{"kiln.c", "/* Fires. */\nstatic int fire(int at)\n{\n  return '\"';\n}\nstruct kiln { int a; };\nchar *name(void) { return 0; }\ntypedef struct { int b; } glaze;\n",
			"function fire 2-5 | static int fire(int at) | Fires.\nstruct kiln 6-6 | struct kiln | \nfunction name 7-7 | char *name(void) | \ntype glaze 8-8 | typedef struct { int b; } glaze | \n"},
		{"kiln.cpp", "namespace n {\n// Hot.\ntemplate <class T>\nclass Kiln { public: int heat() { return 1; } };\nint Kiln::fire() { return 1; }\n}\n",
			"class n::Kiln 3-4 | template <class T> class Kiln | Hot.\nmethod n::Kiln::heat in n::Kiln 4-4 | int heat() | \nfunction n::Kiln::fire 5-5 | int Kiln::fire() | \n"},
		{"kiln.rb", "# Hot.\nmodule Pot\n  class Kiln < Base\n    # Fires.\n    def fire!(at)\n      1\n    end\n    def self.open; end\n  end\nend\n",
			"module Pot 2-10 | module Pot | Hot.\nclass Pot.Kiln in Pot 3-9 | class Kiln < Base | \nmethod Pot.Kiln.fire! in Pot.Kiln 5-7 | def fire!(at) | Fires.\nmethod Pot.Kiln.open in Pot.Kiln 8-8 | def self.open; end | \n"},
		{"kiln.php", "<?php\n/** Hot. */\nfinal class Kiln { public function fire(int $at): int { return 1; } }\nfunction open() {}\n",
			"class Kiln 3-3 | final class Kiln | Hot.\nmethod Kiln.fire in Kiln 3-3 | public function fire(int $at): int | \nfunction open 4-4 | function open() | \n"},
		{"p/limits.py", "#!/usr/bin/env python\n# (c) us\n\"\"\"Limits of kilns.\n\nHot ones.\n\"\"\"\nimport os\n\n__all__ = ['LOW']\n\n# Degrees.\nLOW = 1  # cold\n# and\nHIGH: int = 2\n\nhandlers = {\n    'a': 1,\n}\n\"\"\"By name.\"\"\"\n\ndef f():\n    local = 1\n\nclass A:\n    class B:\n        x = 1\n        def g(self): pass\n",
			"module limits 3-6 | module limits | Limits of kilns. /  / Hot ones.\nconstant LOW 12-14 | (LOW, HIGH) | Degrees.\nvariable handlers 16-19 | handlers | \nfunction f 21-22 | def f() | \nclass A 24-27 | class A | \nclass A.B in A 25-27 | class B | \nmethod A.B.g in A.B 27-27 | def g(self) | \n"},
		{"p/__init__.py", "x = 1\n\"\"\"Of x.\"\"\"\n", "variable x 1-2 | x = 1 | \n"}, {"q/__init__.py", "\"\"\"Of q.\"\"\"\n", "module q 1-1 | module q | Of q.\n"},
		{"limits.ts", "import fs from 'fs';\nconst os = require('os');\n\n/** Degrees. */\nexport const LOW = 1; // cold\nexport const HIGH: number = 2;\n\nlet state = { get: () => 1 };\nexport default defineConfig({\n  a: 1,\n});\nnamespace N { export const Z = 1; function f() { const local = 1; } }\ndeclare const D: string;\nmodule.exports = { a };\nclass K {\n  @Input() name = 'x';\n  @Get('/a')\n  list() { const l = 1; }\n}\n",
			"constant LOW 5-6 | export const (LOW, HIGH) | Degrees.\nvariable state 8-8 | let state = { get: () => 1 } | \nconstant default 9-11 | export default defineConfig | \nconstant N.Z 12-12 | export const Z = 1 | \nfunction N.f 12-12 | function f() | \nconstant D 13-13 | declare const D: string | \nconstant module.exports 14-14 | module.exports = { a } | \nclass K 15-19 | class K | \nmethod K.list in K 17-18 | @Get('/a') list() | \n"},
		{"Limits.java", "package a;\n/** Hot. */\npublic interface Limits {\n  /** Degrees. */\n  int LOW = 1;\n  class Inner { int f() { return 1; } }\n  record R(int a) { R { check(a); } }\n}\n",
			"interface Limits 3-8 | public interface Limits | Hot.\nclass Limits.Inner in Limits 6-6 | class Inner | \nmethod Limits.Inner.f in Limits.Inner 6-6 | int f() | \nclass Limits.R in Limits 7-7 | record R(int a) | \nmethod Limits.R.R in Limits.R 7-7 | R | \n"},
		{"Deep.java", "enum Deep {\n  A { int f() { return 1; } };\n  static final X x = new X() { int g() { return 2; } };\n}\n",
			"enum Deep 1-4 | enum Deep | \nmethod Deep.A.f in Deep 2-2 | int f() | \nmethod Deep.x.g in Deep 3-3 | int g() | \n"},
		{"a/package-info.java", "/** Kilns. */\npackage a.kilns;\n", "module a.kilns 2-2 | module a.kilns | Kilns.\n"},
		{"kiln/src/lib.rs", "// (c) us\n//! Kilns.\n//!\n//! Hot.\n\nuse a::b;\n\n/// Degrees.\npub const LOW: u8 = 1; // cold\npub const HIGH: u8 = 2;\n\n#[doc(hidden)]\nstatic mut N: u8 = 1;\nimpl Kiln {\n    /// Most.\n    const MAX: u8 = 3;\n    #[inline]\n    fn f() { const X: u8 = 1; }\n}\ntrait T { const Y: u8; }\n",
			"module kiln 2-4 | module kiln | Kilns. /  / Hot.\nconstant LOW 9-10 | pub const (LOW, HIGH) | Degrees.\nvariable N 12-13 | static mut N: u8 = 1 | \nconstant Kiln::MAX in Kiln 16-16 | const MAX: u8 = 3 | Most.\nmethod Kiln::f in Kiln 17-18 | fn f() | \ntrait T 20-20 | trait T | \n"},
		{"auth/session.ts", "/* Copyright 2026 us, under the MIT license. */\n\n/**\n * Sessions expire after a day.\n * @module auth/session\n */\nimport a from 'a';\n\n/** Opens. */\nexport function open() {}\n",
			"module session.ts 3-6 | module session.ts | Sessions expire after a day. / @module auth/session\nfunction open 10-10 | export function open() | Opens.\n"},
		{"kiln/index.js", "// Kilns are fired here, one after\n// the other, by their numbers.\n\n// Hot.\nfunction fire() {}\n",
			"module index.js 1-2 | module index.js | Kilns are fired here, one after / the other, by their numbers.\nfunction fire 5-5 | function fire() | Hot.\n"},
		{"fire.c", "/* eslint-disable */\n/* How kilns are fired, and what it takes. */\n#include <a.h>\nint fire(void) { return 1; }\n",
			"module fire.c 1-2 | module fire.c | eslint-disable / How kilns are fired, and what it takes.\nfunction fire 4-4 | int fire(void) | \n"},
		{"Fire.php", "<?php\n/**\n * How kilns are fired.\n */\n\nnamespace A;\nfunction fire() {}\n", "module Fire.php 2-4 | module Fire.php | How kilns are fired.\nfunction fire 7-7 | function fire() | \n"},
		{"fire.rb", "#!/usr/bin/env ruby\n# frozen_string_literal: true\n\n# How kilns are fired, and what it takes.\n\nrequire 'a'\ndef fire; end\n",
			"module fire.rb 4-4 | module fire.rb | How kilns are fired, and what it takes.\nmethod fire 7-7 | def fire; end | \n"},
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

// testLongClass: in a class that is long the comments of its methods are left out, too.
func testLongClass(t *testing.T, r *Reader) {
	const method = "\n  /** Fires. */\n  void f() { g(); }\n"
	short := "class A {\n  /** Degrees. */\n  int a;\n" + method + "}"
	long := strings.Replace(short, "int a;", "int a;"+strings.Repeat("\n  int x;", maxGroup/8), 1)
	for text, want := range map[string]string{short: "  /** Fires. */\n  void f() …\n}", long: "x;\n\n  void f() …\n}"} {
		units, _, err := r.Units(t.Context(), "A.java", []byte(text))
		if err != nil || len(units) != 2 || !strings.HasSuffix(units[0].Text, want) || !strings.Contains(units[0].Text, "Degrees") || units[1].Doc != "Fires." {
			t.Errorf("%.300q, %v", told(units), err)
		}
	}
}

func testConstant(t *testing.T, r *Reader) {
	for name, want := range map[string]string{"a.go": "const Hot = 7 // degrees", "a.py": "HOT = 7  # degrees", "a.ts": "export const hot = 7; // degrees", "a.rs": "#[cold]\nconst HOT: u8 = 7; // degrees"} {

		before := map[string]string{"a.go": "package kiln\n"}[name]
		units, _, err := r.Units(t.Context(), name, []byte(before+want+"\n\n"))
		if err != nil || len(units) != 1 || units[0].Text != want {
			t.Errorf("%s: %+v, %v", name, units, err)
		}
	}
}

func testLeftOut(t *testing.T, r *Reader) {
	for _, c := range []struct {
		name, source string
		want         source.Reason
	}{
		{"a.txt", "x", source.OtherLanguage}, {"Makefile", "x", source.OtherLanguage}, {"vendor/a/b.go", "package b", source.Vendored}, {"web/node_modules/x/i.js", "1", source.Vendored},
		{"vault/.obsidian/plugins/graph/main.js", "1", source.Vendored},
		{"vendor.go", "package p", ""}, {"a.min.js", "1", source.Minified}, {"a.js", strings.Repeat("var a=1;", 1000), source.Minified}, {"a.go", "package p\n" + strings.Repeat("// x\n", 1<<18), source.TooLarge},
		{"a.py", "a\x00b", source.Binary}, {"a.pb.go", "// Code generated by protoc-gen-go. DO NOT EDIT.\npackage p", source.Generated}, {"a.js", "/* @generated */\n1", source.Generated},
		{"c.py", "# values in this autogenerated file.\n", ""}, {"c.js", "// Automatically generated by a tool\n", source.Generated}, {"b.py", "# This says that code is generated elsewhere.\nx = 1", ""},
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
		u := finishUnits([]Unit{{Path: text.Draw(t, "path") + ".go", Language: "go", Type: "function", Name: text.Draw(t, "name"), QualifiedName: text.Draw(t, "qualified"),
			Parent: text.Draw(t, "parent"), Signature: text.Draw(t, "signature"), Doc: strings.Repeat(text.Draw(t, "doc"), 100), Text: "x" + strings.Repeat(text.Draw(t, "text"), 100), StartLine: 1, EndLine: 2}})[0]
		if u.QualifiedName == u.Parent {
			u.Parent = ""
		}
		item := u.Item("kiln", "acme", []string{"level:internal"}, time.Unix(1, 0))
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
		item := u.Item("kiln", "acme", nil, time.Unix(1, 0))
		if (item.Importance != nil) != want {
			t.Errorf("%s: importance %v", name, item.Importance)
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
			item := units[i].Item("kiln", "acme", []string{"level:internal"}, time.Unix(1, 0))
			if issues := item.Validate(); len(issues) > 0 {
				t.Fatal(issues, units[i])
			}
		}
	})
}
