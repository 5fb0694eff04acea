package template_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"satchel/pipeline/pack/template"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

func as(t testing.TB, tenant string) scope.Scope {
	t.Helper()
	s, err := scope.New(tenant, scope.Principal{Kind: "agent", ID: "reader"}, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var values = template.Values{
	Content: "tea at four", Type: "episodic", Confidence: .5, Score: .875,
	Timestamp: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
}

func parse(t testing.TB, spec schemas.ContextTemplate) *template.Template {
	t.Helper()
	out, err := template.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBuiltInTemplates(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"chat":     "Relevant context from past conversations:\n\n- tea at four\n- tea at four\n",
		"detailed": "Relevant memories:\n\n[episodic] tea at four (confidence: 0.50, 2026-01-02T03:04:05Z)\n\n[episodic] tea at four (confidence: 0.50, 2026-01-02T03:04:05Z)\n",
		"summary":  "Key information:\ntea at four | tea at four",
	}
	for _, spec := range template.BuiltIn() {
		tpl := parse(t, spec)
		one := tpl.Memory(values, false)
		if diff := cmp.Diff(want[spec.Name], tpl.Join([]string{one, one})); diff != "" {
			t.Errorf("%s:\n%s", spec.Name, diff)
		}
		if tpl.Join(nil) != "" {
			t.Errorf("%s: no memories give %q", spec.Name, tpl.Join(nil))
		}
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	spec := schemas.ContextTemplate{Name: "x", MemoryFormat: "{{ type }}/{{content}}/{{score}}"}
	if got := parse(t, spec).Memory(values, false); got != "/tea at four/0.88" {
		t.Errorf("without metadata: %q", got)
	}
	if got := parse(t, spec).Memory(values, true); got != "episodic/tea at four/0.88" {
		t.Errorf("with metadata: %q", got)
	}
	if got := parse(t, template.BuiltIn()[0]).Memory(values, true); got != "- tea at four (episodic, confidence 0.50, 2026-01-02T03:04:05Z)" {
		t.Errorf("chat with metadata: %q", got)
	}
	if got := parse(t, spec).Memory(template.Values{}, true); got != "//0.00" {
		t.Errorf("of nothing: %q", got)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"":                     "memory_format: is required",
		"{{content":            "not closed",
		"{{body}}":             `unknown variable "body"; there are content`,
		"{{}}":                 "unknown variable",
		"{{content}} {{{{x}}":  "unknown variable",
		"no variable":          "names no variable",
		"{{content|upper}}":    "unknown variable",
		"{{#if x}}{{content}}": "unknown variable",
	} {
		_, err := template.Parse(schemas.ContextTemplate{Name: "x", MemoryFormat: format})
		var field *template.FieldError
		if !errors.As(err, &field) || !errors.Is(err, template.ErrTemplate) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", format, err, want)
		}
	}
	_, err := template.Parse(schemas.ContextTemplate{Name: "x", MemoryFormat: "{{content}}", Header: "{{type}}"})
	if err == nil || !strings.Contains(err.Error(), "header: ") {
		t.Errorf("a variable in the header: %v", err)
	}
}

func TestContentIsNeverRead(t *testing.T) {
	t.Parallel()
	tpl := parse(t, schemas.ContextTemplate{Name: "x", MemoryFormat: "<{{content}}|{{type}}>"})
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"{{", "}}", "{{type}}", "{{content}}", "x", " ", "{", "%s", "${y}"}), 0, 8).Draw(t, "pieces")
		content := strings.Join(pieces, "")
		if got := tpl.Memory(template.Values{Content: content, Type: "T"}, true); got != "<"+content+"|T>" {
			t.Fatalf("content %q became %q", content, got)
		}
	})
}

func TestStoreKeepsTenantsApartAndFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "templates")
	s := &template.Store{Dir: dir}
	mine := schemas.ContextTemplate{Name: "mine", MemoryFormat: "* {{content}}", Separator: "\n"}
	if err := s.Register(as(t, "acme"), mine); err != nil {
		t.Fatal(err)
	}
	again := &template.Store{Dir: dir}
	for _, store := range []*template.Store{s, again} {
		got, err := store.Find(as(t, "acme"), "mine")
		if err != nil || got.Spec() != mine {
			t.Errorf("found %+v, %v", got, err)
		}
		if _, err := store.Find(as(t, "other"), "mine"); !errors.Is(err, template.ErrNotFound) {
			t.Errorf("another tenant: %v", err)
		}
	}
	list, err := again.List(as(t, "acme"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range list {
		names = append(names, l.Name)
	}
	if diff := cmp.Diff([]string{"chat", "detailed", "mine", "summary"}, names); diff != "" {
		t.Error(diff)
	}
	mine.MemoryFormat = "{{nope}}"
	if err := s.Register(as(t, "acme"), mine); !errors.Is(err, template.ErrTemplate) {
		t.Errorf("a broken one: %v", err)
	}
	mine.Name = "chat"
	if err := s.Register(as(t, "acme"), mine); !errors.Is(err, template.ErrBuiltIn) {
		t.Errorf("a built-in one: %v", err)
	}
	if err := s.Register(scope.Scope{}, mine); err == nil {
		t.Error("the zero scope registers")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("files %v, %v", left, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Find(as(t, "broken"), "mine"); err == nil || errors.Is(err, template.ErrNotFound) {
		t.Errorf("a broken file: %v", err)
	}
}

func TestStoreIsBounded(t *testing.T) {
	t.Parallel()
	var s template.Store
	sc := as(t, "acme")
	for i := range template.MaxTemplates + 1 {
		err := s.Register(sc, schemas.ContextTemplate{Name: "t" + string(rune('a'+i%26)) + strings.Repeat("x", i/26), MemoryFormat: "{{content}}"})
		if full := errors.Is(err, template.ErrFull); full != (i == template.MaxTemplates) {
			t.Fatalf("template %d: %v", i, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("- {{content}}")
	f.Add("{{ type }}{{")
	f.Fuzz(func(t *testing.T, format string) {
		tpl, err := template.Parse(schemas.ContextTemplate{MemoryFormat: format})
		if err == nil {
			tpl.Memory(values, true)
		}
	})
}
