package arch

import (
	"encoding/json"
	"go/ast"
	"reflect"
	"slices"
	"strings"
	"testing"

	"satchel/schemas"
)

// writers returns the packages outside eventlog that make drafts and derived bytes, by the name of
// the type or function. A new package must name the items of its bytes: an erasure finds them by
// these names alone.
func writers() map[string][]string {
	return map[string][]string{
		// Packs with all that is in them, and summaries; hand-overs; reasons of erasures, by the erasure's id.
		"eventlog.Derive": {"pipeline", "pipeline/isolation/roles", "worker/erasure"},
		// Agents' events; decisions, refusals, exceptions and holds; artifacts and erasures.
		"eventlog.Draft": {"pipeline/write", "pipeline", "pipeline/isolation/roles", "pipeline/isolation", "policies/exception", "worker/erasure"},
	}
}

// TestWhatIsMadeOfItemsIsWrittenInFewPlaces finds every place that makes a draft or derived bytes.
func TestWhatIsMadeOfItemsIsWrittenInFewPlaces(t *testing.T) {
	t.Parallel()
	allowed, seen := writers(), map[string]bool{}
	for _, f := range sources(t) {
		if f.test || f.pkg == "pipeline/store/eventlog" || strings.HasPrefix(f.pkg, "test/") || isSuite(f.pkg) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			name := made(n)
			packages, watched := allowed[name]
			if !watched {
				return true
			}
			seen[name+" "+f.pkg] = true
			if !slices.Contains(packages, f.pkg) {
				t.Errorf("%s: makes %s: an erasure must find bytes that are made of items, see writers", f.set.Position(n.Pos()), name)
			}
			return true
		})
	}
	for name, packages := range allowed {
		for _, pkg := range packages {
			if !seen[name+" "+pkg] {
				t.Errorf("%s makes no %s: take it out of writers", pkg, name)
			}
		}
	}
}

// made returns the qualified name of a call's function or a literal's type, "" for an empty literal.
func made(n ast.Node) string {
	var what ast.Expr
	switch n := n.(type) {
	case *ast.CallExpr:
		what = n.Fun
	case *ast.CompositeLit:
		what = n.Type
		if list, ok := what.(*ast.ArrayType); ok {
			what = list.Elt
		}
		if !slices.ContainsFunc(n.Elts, func(e ast.Expr) bool { // fields, or literals without a type of their own
			untyped, ok := e.(*ast.CompositeLit)
			_, field := e.(*ast.KeyValueExpr)
			return field || ok && untyped.Type == nil
		}) {
			return ""
		}
	}
	if sel, ok := what.(*ast.SelectorExpr); ok {
		if x, ok := sel.X.(*ast.Ident); ok {
			return x.Name + "." + sel.Sel.Name
		}
	}
	return ""
}

// TestWhoStoresOnNATS finds every place that writes to a stream or a bucket. An erasure must reach
// all of them: the Scrubber removes replies, letters and events, the eraser artifacts. The ledger
// has references alone.
func TestWhoStoresOnNATS(t *testing.T) {
	t.Parallel()
	allowed := []string{
		"jetstream/replies.go", "jetstream/deadletter.go", "jetstream/artifacts.go", "jetstream/outbox.go", "jetstream/batch.go", "jetstream/ledger.go",
		"jetstream/scrub.go",                       // padding
		"jetstream/reply.go", "jetstream/offer.go", // to the caller; nothing is stored
		"jetstream/membership.go", "jetstream/feed.go", "jetstream/durability.go", // about the processes and the server themselves
	}
	for _, f := range sources(t) {
		if f.test || f.pkg != "jetstream" || slices.Contains(allowed, f.name) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && (strings.HasPrefix(sel.Sel.Name, "Publish") || strings.HasPrefix(sel.Sel.Name, "Put") || sel.Sel.Name == "UpdateMeta") {
				t.Errorf("%s: writes to NATS: an erasure must find bytes that are made of items", f.set.Position(n.Pos()))
			}
			return true
		})
	}
}

// TestTheLogsOwnDataHasNoContent walks the documents that Satchel writes as data of log entries. No
// erasure removes them, so they must not have members that hold an item's words, nor a hash of them
// that guesses can be compared with.
func TestTheLogsOwnDataHasNoContent(t *testing.T) {
	t.Parallel()
	words := []string{"text", "content", "title", "extract", "snippets", "answer", "summary", "tldr", "excerpt", "body"}
	hashes := []string{
		"ContextPack.rendered_sha256", "ContextPack.result_sha256", "Handover.message_sha256", // salted
		"Handover.invocation.model_sha256", "Handover.invocation.parameters_sha256", "Handover.invocation.payload_sha256", "Handover.invocation.answer_sha256",
		"MemoryErased.reason_sha256", "MemoryErased.receipt.reason_sha256", "LedgerReference.receipt.reason_sha256", // salted
		"PolicyDecision.input_hash", // of ids and labels
		"Artifact.ref.sha256",       // the artifact's name
	}
	for _, v := range []any{schemas.ContextPack{}, schemas.DropReport{}, schemas.PolicyDecision{}, schemas.Refusal{}, schemas.Handover{},
		schemas.Artifact{}, schemas.GovernedException{}, schemas.LegalHold{}, schemas.MemoryErased{}, schemas.LedgerReference{}} {
		seen := map[reflect.Type]bool{}
		var walk func(at string, typ reflect.Type)
		walk = func(at string, typ reflect.Type) {
			for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Array || typ.Kind() == reflect.Map {
				typ = typ.Elem()
			}
			switch typ {
			case reflect.TypeFor[schemas.Content](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[any]():
				t.Errorf("%s can hold anything", at)
			}
			if typ.Kind() != reflect.Struct || seen[typ] {
				return
			}
			seen[typ] = true
			for i := range typ.NumField() {
				f := typ.Field(i)
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if !f.IsExported() || name == "-" {
					continue
				}
				if f.Type.Kind() == reflect.String && slices.Contains(words, name) {
					t.Errorf("%s.%s holds an item's words", at, name)
				}
				if (strings.Contains(name, "sha256") || strings.Contains(name, "hash") || strings.Contains(name, "checksum")) && !slices.Contains(hashes, at+"."+name) {
					t.Errorf("%s.%s is a hash: name it in hashes once it takes in a salt that stands beside the content", at, name)
				}
				walk(at+"."+name, f.Type)
			}
		}
		walk(reflect.TypeOf(v).Name(), reflect.TypeOf(v))
	}
}
