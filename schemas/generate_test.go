package schemas

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the JSON Schemas and the AsyncAPI document anew")

// document is one wire document. What Satchel reads is closed and says required
// fields; what Satchel writes is open, so that readers must ignore names they don't know.
type document struct {
	name  string
	typ   reflect.Type
	input bool
}

func documents() []document {
	in := func(name string, v any) document { return document{name, reflect.TypeOf(v), true} }
	out := func(name string, v any) document { return document{name, reflect.TypeOf(v), false} }
	return []document{
		in("memory-item", MemoryItem{}), in("memory-linked", MemoryLinked{}), in("memory-superseded", MemorySuperseded{}),
		in("memory-accessed", MemoryAccessed{}), in("memory-erased", MemoryErased{}),
		in("put-request", PutRequest{}), out("receipt", Receipt{}),
		in("context-request", ContextRequest{}), out("context-result", ContextResult{}),
		in("search-request", SearchRequest{}), out("search-reply", SearchReply{}),
		in("build-request", BuildRequest{}), out("build-reply", BuildReply{}), out("preview-reply", PreviewReply{}),
		in("assemble-request", AssembleRequest{}), in("premortem-request", PremortemRequest{}), out("formatted-context", FormattedContext{}),
		in("relevance-request", RelevanceRequest{}), out("relevance-reply", RelevanceReply{}),
		in("explain-request", ExplainRequest{}), out("explain-reply", ExplainReply{}),
		in("compact-request", CompactRequest{}), out("compact-reply", CompactReply{}),
		in("recover-request", RecoverRequest{}), out("recover-reply", RecoverReply{}),
		in("items-request", ItemsRequest{}), out("items-reply", ItemsReply{}),
		in("status-request", StatusRequest{}), out("status-reply", StatusReply{}),
		in("plan-request", PlanRequest{}), out("plan-reply", PlanReply{}),
		in("template-request", TemplateRequest{}), out("template-reply", TemplateReply{}),
		in("role-request", RoleRequest{}), out("role-reply", RoleReply{}), in("run-request", RunRequest{}), out("run-reply", RunReply{}),
		in("exception-request", ExceptionRequest{}), out("exception-reply", ExceptionReply{}), in("hold-request", HoldRequest{}), out("hold-reply", HoldReply{}),
		in("open-request", OpenRequest{}), out("open-reply", OpenReply{}), in("store-request", StoreRequest{}), out("store-reply", StoreReply{}), in("revoke-request", RevokeRequest{}), out("revoke-reply", RevokeReply{}),
		out("head-reply", HeadReply{}), in("prove-request", ProveRequest{}), out("prove-reply", ProveReply{}),
		in("receipt-request", ReceiptRequest{}), in("pack-request", PackRequest{}), in("entries-request", EntriesRequest{}), out("entries-reply", EntriesReply{}),
		out("context-pack", ContextPack{}), out("drop-report", DropReport{}), out("policy-decision", PolicyDecision{}),
		out("refusal", Refusal{}), out("handover", Handover{}), out("artifact", Artifact{}),
		out("governed-exception", GovernedException{}), out("legal-hold", LegalHold{}), out("log-checkpoint", LogCheckpoint{}), out("ledger-reference", LedgerReference{}),
		out("runtime-state", RuntimeState{}), out("error", Error{}),
	}
}

const generatedBy = "Generated from the Go types: go test ./schemas -run TestGenerated -update"

// TestGenerated holds the committed schemas to the Go types, their comments and the
// rules beside them, field by field.
func TestGenerated(t *testing.T) {
	src := readSource(t)
	names := []string{}
	for _, d := range documents() {
		names = append(names, d.name)
		checkFile(t, filepath.Join("json", d.name+".json"), encode(t, src.schema(t, d)))
	}
	slices.Sort(names)
	if !*update {
		if diff := cmp.Diff(names, Names()); diff != "" {
			t.Errorf("Names differ from the documents (-documents +Names):\n%s", diff)
		}
	}
	checkFile(t, "asyncapi.json", encode(t, asyncDocument()))
}

func checkFile(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s is stale: run go test ./schemas -run TestGenerated -update\n%s", path, cmp.Diff(string(have), string(want)))
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// source is what the package's own text says: doc comments and typed constants.
type source struct {
	types  map[string]string   // type → comment
	fields map[string]string   // Type.Field → comment
	enums  map[string][]string // type → values of its string constants
}

func readSource(t *testing.T) source {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	s := source{types: map[string]string{}, fields: map[string]string{}, enums: map[string][]string{}}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			if g, ok := decl.(*ast.GenDecl); ok {
				s.add(g)
			}
		}
	}
	return s
}

func (s source) add(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			s.types[spec.Name.Name] = oneLine(g.Doc)
			if st, ok := spec.Type.(*ast.StructType); ok {
				s.addFields(spec.Name.Name, st)
			}
		case *ast.ValueSpec:
			id, ok := spec.Type.(*ast.Ident)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, v := range spec.Values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil {
						s.enums[id.Name] = append(s.enums[id.Name], text)
					}
				}
			}
		}
	}
}

func (s source) addFields(name string, st *ast.StructType) {
	for _, f := range st.Fields.List {
		comment := oneLine(f.Doc)
		if comment == "" {
			comment = oneLine(f.Comment)
		}
		for _, id := range f.Names {
			s.fields[name+"."+id.Name] = comment
		}
	}
}

func oneLine(c *ast.CommentGroup) string {
	return strings.Join(strings.Fields(c.Text()), " ")
}

// generator builds one document's schema.
type generator struct {
	source
	t     *testing.T
	input bool
	defs  map[string]any
}

func (s source) schema(t *testing.T, d document) map[string]any {
	t.Helper()
	g := generator{source: s, t: t, input: d.input, defs: map[string]any{}}
	root := g.object(d.typ)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = SchemaURI(d.name)
	root["$comment"] = generatedBy
	root["title"] = d.typ.Name()
	if d.typ == reflect.TypeFor[MemoryItem]() {
		root["allOf"] = g.attributesByKind()
	}
	for k, v := range documentRules(d.name) {
		root[k] = v
	}
	if len(g.defs) > 0 {
		root["$defs"] = g.defs
	}
	return root
}

func (g *generator) attributesByKind() []any {
	var all []any
	for _, row := range []struct {
		kind Kind
		v    any
	}{{KindExperience, ExperienceAttributes{}}, {KindCode, CodeAttributes{}}, {KindCommit, CommitAttributes{}},
		{KindTool, ToolAttributes{}}, {KindValue, ValueAttributes{}}} {
		t := reflect.TypeOf(row.v)
		def := g.object(t)
		delete(def, "additionalProperties")
		g.defs[t.Name()] = def
		all = append(all, object{
			"if":   object{"properties": object{"kind": object{"const": row.kind}}, "required": []string{"kind"}},
			"then": object{"properties": object{"attributes": object{"$ref": "#/$defs/" + t.Name()}}},
		})
	}
	return all
}

type object = map[string]any

func (g *generator) object(t reflect.Type) object {
	o := object{"type": "object", "description": g.types[t.Name()]}
	if o["description"] == "" {
		g.t.Errorf("type %s has no comment", t.Name())
	}
	properties, needed := object{}, []string{}
	g.properties(t, properties, &needed)
	o["properties"] = properties
	if len(needed) > 0 {
		slices.Sort(needed)
		o["required"] = needed
	}
	if open := t == reflect.TypeFor[Meta]() || t == reflect.TypeFor[Agent](); g.input && !open && t != reflect.TypeFor[ErasureReceipt]() {
		o["additionalProperties"] = false
	}
	for k, v := range typeRules(t.Name()) {
		o[k] = v
	}
	return o
}

func (g *generator) properties(t reflect.Type, properties object, needed *[]string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			g.properties(f.Type, properties, needed)
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		optional := strings.Contains(options, "omit")
		p := g.value(f.Type, !optional)
		if text := g.fields[t.Name()+"."+f.Name]; text != "" {
			p["description"] = text
		}
		for k, v := range fieldRules()[t.Name()+"."+name] {
			p[k] = v
		}
		if p["description"] == nil {
			if p["description"] = describe(t.Name(), name); p["description"] == "" {
				g.t.Errorf("%s.%s has no description: comment the field", t.Name(), f.Name)
			}
		}
		if p["optional"] == true {
			optional = true
		}
		delete(p, "optional")
		properties[name] = p
		if !optional {
			*needed = append(*needed, name)
		}
	}
}

// value returns the schema of a Go type. What Satchel writes may hold null where a
// nil slice, map or pointer is always written out.
func (g *generator) value(t reflect.Type, always bool) object {
	nullable := always && !g.input
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return object{"type": "object"}
	case reflect.TypeFor[Content]():
		return object{"type": []string{"string", "object", "array"}}
	case reflect.TypeFor[Lesson]():
		return object{"type": []string{"string", "object"}}
	case reflect.TypeFor[Level]():
		return object{"type": "string", "enum": levelNames}
	case reflect.TypeFor[[]byte]():
		return object{"type": "string", "contentEncoding": "base64"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		if v := g.value(t.Elem(), false); !nullable {
			return v
		} else {
			return object{"anyOf": []any{v, object{"type": "null"}}}
		}
	case reflect.Slice:
		return object{"type": orNull("array", nullable), "items": g.value(t.Elem(), false)}
	case reflect.Map:
		o := object{"type": orNull("object", nullable)}
		if t.Elem().Kind() != reflect.Interface {
			o["additionalProperties"] = g.value(t.Elem(), false)
		}
		return o
	case reflect.Struct:
		if _, ok := g.defs[t.Name()]; !ok {
			g.defs[t.Name()] = nil // it is being made
			g.defs[t.Name()] = g.object(t)
		}
		return object{"$ref": "#/$defs/" + t.Name()}
	case reflect.String:
		if values := g.enums[t.Name()]; len(values) > 0 {
			return object{"type": "string", "enum": values}
		}
		return object{"type": "string"}
	}
	return object{"type": scalarType(t.Kind())}
}

func scalarType(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "boolean"
	case reflect.Float32, reflect.Float64:
		return "number"
	}
	return "integer"
}

func orNull(t string, nullable bool) any {
	if nullable {
		return []string{t, "null"}
	}
	return t
}
