package language_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"satchel/pipeline/language"
)

func TestAnalyze(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "",
		"The boats of the river":            "boat river",
		"relational databases, running":     "relat databas run",
		"getUserNames":                      "getusernam get user name",
		"HTTPServer URLs iPhone":            "httpserver http server url iphon phone",
		"max_retry_count __init__ _":        "max_retry_count max retri count init",
		"don't can’t Caroline's she'll I'm": "carolin",
		"Oʼ Annaʼs O'Brien rock'n'roll ’quoted’": "o anna obrien brien rocknrol rock roll quot",
		"2023-05-08 at 10am, 3.14, x2":           "2023 05 08 10am 3 14 3.14 x2",
		"C# or C++17, the A+ grade; a+b":         "c# c++ 17 a+ grade b",
		".NET in ASP.NET ...and":                 ".net net asp net",
		"B-12 B12 AB-1234-X re-read":             "b 12 b12 b12 ab 1234 x ab1234x re read",
		"v1.0.0-rc.1":                            "v1 0 0 1.0.0 rc 1",
		"Café E\u0301cole naïve Ünïcødé":         "cafe ecol naiv unicod",
		"STRASSE straße ﬁne ｆｕｌｌ ①":              "strass strass fine full 1",
		"ΣΊΣΥΦΟΣ Москва":                         "σίσυφοσ москва",
		"北京大学 猫 ソフト 한국어":                         "北京 京大 大学 猫 ソフ フト 한국 국어",
		"日本語text混ざる":                             "日本 本語 text 混ざ ざる",
		"สวัสดี":                                 "สว วั ัส สด ดี",
		"soft\u00adhyphen zero\u200djoin":        "softhyphen zerojoin",
		"a\xffb \xc3( C":                         "b c",
		"fooBar_bazQux":                          "foobar_bazqux foo bar baz qux",
		"ÉcoleNormale":                           "ecolenormal ecol normal",
	} {
		if got := strings.Join(language.Analyze(text), " "); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// The pairs are from the vocabulary Porter published with his algorithm.
func TestPorter(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"caresses": "caress", "ponies": "poni", "ties": "ti", "cats": "cat", "feed": "feed", "agreed": "agre",
		"plastered": "plaster", "bled": "bled", "motoring": "motor", "sing": "sing", "conflated": "conflat",
		"troubled": "troubl", "sized": "size", "hopping": "hop", "tanned": "tan", "falling": "fall", "hissing": "hiss",
		"fizzed": "fizz", "failing": "fail", "filing": "file", "happy": "happi", "sky": "sky", "relational": "relat",
		"conditional": "condit", "rational": "ration", "valenci": "valenc", "digitizer": "digit", "radically": "radic",
		"differently": "differ", "vileli": "vile", "analogousli": "analog", "vietnamization": "vietnam", "predication": "predic",
		"operator": "oper", "feudalism": "feudal", "decisiveness": "decis", "hopefulness": "hope", "callousness": "callous",
		"formaliti": "formal", "sensitiviti": "sensit", "sensibiliti": "sensibl", "triplicate": "triplic", "formative": "form",
		"formalize": "formal", "electriciti": "electr", "electrical": "electr", "hopeful": "hope", "goodness": "good",
		"revival": "reviv", "allowance": "allow", "inference": "infer", "airliner": "airlin", "gyroscopic": "gyroscop",
		"adjustable": "adjust", "defensible": "defens", "irritant": "irrit", "replacement": "replac", "adjustment": "adjust",
		"dependent": "depend", "adoption": "adopt", "homologou": "homolog", "communism": "commun", "activate": "activ",
		"angulariti": "angular", "homologous": "homolog", "effective": "effect", "bowdlerize": "bowdler", "probate": "probat",
		"rate": "rate", "cease": "ceas", "controll": "control", "roll": "roll", "generalizations": "gener", "oscillators": "oscil",
	} {
		if got := language.Analyze(word); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v, want %s", word, got, want)
		}
	}
}

func TestTerms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "the of": 0, "Anna: the getUserName call": 3, "snake_case_name": 1, "北京大": 2} {
		if got := language.CountTerms(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestStopWord(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{"the": true, "themselves": true, "boat": false, "": false, "The": false} {
		if language.IsStopWord(word) != want {
			t.Errorf("StopWord(%q) is %v", word, !want)
		}
	}
}

func TestLongWordKeepsItsBeginning(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("x", 5000), strings.Repeat("ж", 300), "q" + strings.Repeat("1", 100)} {
		got := language.Analyze(text)
		if len(got) != 1 || len(got[0]) > 64 || !strings.HasPrefix(text, got[0]) || !utf8.ValidString(got[0]) {
			t.Errorf("%.5q…: %q", text, got)
		}
	}
}

// Of a run of base64 the beginning is read, and what stands behind it.
func TestBase64KeepsItsBeginning(t *testing.T) {
	t.Parallel()
	run := strings.Repeat("QmFzZTY0IGlz+abc/", 60)
	got := language.Analyze("boat " + run + " river")
	if len(got) > 120 || got[0] != "boat" || got[len(got)-1] != "river" {
		t.Errorf("%d terms, from %s to %s", len(got), got[0], got[len(got)-1])
	}
	if path := language.Analyze("see /srv/data/alpha-beta_gamma/report.txt"); !slices.Contains(path, "report") || !slices.Contains(path, "alpha") {
		t.Errorf("a path is read as %v", path)
	}
}

// Of a text with very many different terms the first count, wherever they stand.
func TestManyTerms(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&b, "w%d ", i)
	}
	got := language.Analyze(b.String() + "w7 w39999")
	if len(got) != 16<<10+1 || got[len(got)-1] != "w7" {
		t.Errorf("%d terms, the last is %s", len(got), got[len(got)-1])
	}
}

// properties hold for the terms of any text.
func properties(t interface{ Fatalf(string, ...any) }, text string) {
	terms := language.Analyze(text)
	var a language.Analyzer
	a.Analyze("something before, 東京 and someCamel_case")
	a.Analyze(text)
	if a.Len() != len(terms) || a.Words() > a.Len() || a.Words() != language.CountTerms(text) {
		t.Fatalf("%q: %d terms, %d in a used analyzer, %d words", text, len(terms), a.Len(), a.Words())
	}
	for i, term := range terms {
		if string(a.Term(i)) != term {
			t.Fatalf("%q: term %d depends on what was analysed before", text, i)
		}
		if term == "" || len(term) > 64 || !utf8.ValidString(term) {
			t.Fatalf("%q: term %q", text, term)
		}
	}
}

func TestAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`([a-zA-Z0-9_'’ßéΣ猫ー ]{0,9}){0,9}`)).Draw(t, "text")
		properties(t, text)
		words := strings.Map(func(r rune) rune { // compounds by case alone
			if r >= utf8.RuneSelf || r == '_' || r == '\'' {
				return ' '
			}
			return r
		}, text)
		if whole := language.Analyze(strings.ToLower(words)); !subset(whole, language.Analyze(words)) {
			t.Fatalf("%q: its lower case has terms it lacks: %v", words, whole)
		}
	})
}

// A word of half a megabyte is read in one pass, whatever it is made of.
func TestHugeWord(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"a'", "aB", "a_", "é'", "é", "É", "猫", "x", "'", "a-1-", "1.", ".a", "a+", "c#"} {
		start := time.Now()
		properties(t, strings.Repeat(unit, 512<<10/len(unit)))
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%q takes %v", unit, took)
		}
	}
}

// subset reports whether every term of a is in b.
func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

func FuzzAnalyze(f *testing.F) {
	for _, s := range []string{"getUserName's", "日本\u0301語", "\xff'a", "x_'_y", "'''", "ǅungla", "a'b'c_d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { properties(t, text) })
}

func BenchmarkAnalyze(b *testing.B) {
	const text = "Yesterday the infrastructure team migrated several production databases to the new cluster, and Melanie confirmed that replication lag dropped below two seconds; however the backup jobs weren't rescheduled properly, so getUserNames calls failed at night"
	for name, text := range map[string]string{"ascii": text, "unicode": strings.ReplaceAll(text, "'", "’"), "han": strings.Repeat("北京大学的学生们", 10)} {
		b.Run(name, func(b *testing.B) {
			var a language.Analyzer
			b.ReportAllocs()
			for b.Loop() {
				a.Analyze(text)
			}
		})
	}
}
