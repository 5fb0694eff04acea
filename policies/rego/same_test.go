package rego_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/rego"
	"pgregory.net/rapid"

	builtin "satchel/policies/rego"
	"satchel/test/conformance/policytest"
)

func prepare(t *testing.T, policy string) rego.PreparedEvalQuery {
	t.Helper()
	filter, err := fs.ReadFile(builtin.Bundle(), "filter.rego")
	if err != nil {
		t.Fatal(err)
	}
	q, err := rego.New(rego.Query("data.cmo.policy.verdicts"), rego.Module("policy.rego", policy),
		rego.Module("filter.rego", string(filter))).PrepareForEval(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// anything is what a caller of an OPA server may send in place of a field.
func anything(t *rapid.T, label string, right ...any) any {
	if rapid.IntRange(0, 9).Draw(t, label+" is right") > 0 {
		return rapid.SampledFrom(right).Draw(t, label)
	}
	return rapid.SampledFrom([]any{
		nil, true, false, "", "internal", 7, -1, 0, []any{}, []any{1}, []any{"dev"}, []any{"tenant:other"},
		map[string]any{}, map[string]any{"a": "tenant:other"}, []any{5, "tenant:other", "detected:email"}, "absent",
	}).Draw(t, label+" as")
}

func drawItem(t *rapid.T) any {
	item := map[string]any{
		"labels": anything(t, "labels", []any{}, []any{"tenant:acme", "x"}, []any{"tenant:acme", "detected:email", "pii:none"}, []any{"export:no", "extract:7"},
			[]any{"safety:read_only"}, []any{"detected:secret", "extract:x", "pii:low"}),
		"level":       anything(t, "level", 0, 1, 2, 3),
		"groups":      anything(t, "groups", []any{}, []any{"dev"}, []any{"ops", "dev"}, []any{"ops"}),
		"purposes":    anything(t, "purposes", []any{}, []any{"support"}, []any{"billing", "Export"}),
		"pii":         anything(t, "pii", false, true),
		"pii_flags":   anything(t, "pii_flags", []any{}, []any{"$.content.a"}, []any{"$.content.a", "phone"}),
		"credentials": anything(t, "credentials", false, true),
		"trust":       anything(t, "trust", 0.3, 0.5, 1, 0.29),
		"sensitivity": anything(t, "sensitivity", 0, 0.7, 0.71, 1),
		"expires_at":  anything(t, "expires_at", 0, 5, 10, 11),
		"valid_to":    anything(t, "valid_to", 0, 9, 12),
		"kind":        anything(t, "kind", "memory", "decision", "planner"),
		"signer":      anything(t, "signer", "planner", "unsigned", "Planner"),
	}
	for name, value := range item {
		if value == "absent" {
			delete(item, name)
		}
	}
	return item
}

// Whatever the items are, deciding on all of them at once is deciding on one after the
// other, where that decides; where it does not, nothing is allowed.
func TestMalformedItems(t *testing.T) {
	t.Parallel()
	policy, err := fs.ReadFile(builtin.Bundle(), "policy.rego")
	if err != nil {
		t.Fatal(err)
	}
	all, each := prepare(t, string(policy)), prepare(t, string(policytest.OneByOne()))
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.Custom(drawItem), 0, 6).Draw(t, "items")
		if rapid.IntRange(0, 9).Draw(t, "an item is none") == 0 {
			items = append(items, rapid.SampledFrom([]any{nil, false, 5, "x", []any{}, map[string]any{}}).Draw(t, "none"))
		}
		input := map[string]any{
			"action":  rapid.SampledFrom([]string{"read", "read", "open", "write", "erase", "change", "relabel", "register", "follow", "act", "use", "except", "revoke", "hold", "release", "steal"}).Draw(t, "action"),
			"purpose": rapid.SampledFrom([]string{"", "support", "Export"}).Draw(t, "purpose"),
			"now":     10, "items": items,
			"subject": map[string]any{
				"tenant": "acme", "id": rapid.SampledFrom([]string{"planner", "unsigned"}).Draw(t, "id"), "kind": "agent",
				"level":  rapid.IntRange(0, 3).Draw(t, "subject level"),
				"groups": rapid.SampledFrom([]any{[]any{}, []any{"dev"}}).Draw(t, "subject groups"),
				"roles": rapid.SampledFrom([]any{[]any{}, []any{"pii_reader"}, []any{"credentials_reader", "pseudonym_reader"},
					[]any{"eraser", "auditor", "tool_operator", "exception_approver"}, []any{"editor", "template_editor"}, []any{"declassifier"}, []any{"counsel"}, []any{"hold_releaser"}}).Draw(t, "roles"),
			},
		}
		if diff := cmp.Diff(answer(t, each, input), answer(t, all, input)); diff != "" {
			t.Errorf("%v: (-one by one +at once)\n%s", input, diff)
		}
	})
}

// Whatever the rest of a request is, nothing is allowed that one after the other would not
// be, and nothing more is shown of it.
func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	policy, err := fs.ReadFile(builtin.Bundle(), "policy.rego")
	if err != nil {
		t.Fatal(err)
	}
	all, each := prepare(t, string(policy)), prepare(t, string(policytest.OneByOne()))
	rapid.Check(t, func(t *rapid.T) {
		subject := map[string]any{
			"tenant": anything(t, "tenant", "acme"), "id": anything(t, "id", "planner", "unsigned"), "kind": "agent",
			"level": anything(t, "subject level", 0, 1, 2, 3), "groups": anything(t, "subject groups", []any{}, []any{"dev"}),
			"roles": anything(t, "roles", []any{}, []any{"pii_reader"}, []any{"credentials_reader"}, []any{"eraser", "tool_operator"}),
		}
		input := map[string]any{
			"action": anything(t, "action", "read", "open", "erase", "change", "register", "use"), "purpose": anything(t, "purpose", "", "support", "export"),
			"now": anything(t, "now", 10), "subject": anything(t, "subject", subject), "items": rapid.SliceOfN(rapid.Custom(drawItem), 1, 4).Draw(t, "items"),
		}
		for _, fields := range []map[string]any{subject, input} {
			for name, value := range fields {
				if value == "absent" {
					delete(fields, name)
				}
			}
		}
		plain, _ := answer(t, each, input).([]any)
		verdicts, _ := answer(t, all, input).([]any)
		for i, verdict := range verdicts {
			got := verdict.([]any)
			if got[0] != "allowed" || len(plain) != len(verdicts) { // one by one has none where one item has none
				continue
			}
			if diff := cmp.Diff(plain[i], verdict); diff != "" {
				t.Errorf("%v: item %d (-one by one +at once)\n%s", input, i, diff)
			}
		}
	})
}

// A rule without a value, as an edit may leave one, denies everything.
func TestARuleWithoutAValueDenies(t *testing.T) {
	t.Parallel()
	raw, err := fs.ReadFile(builtin.Bundle(), "policy.rego")
	if err != nil {
		t.Fatal(err)
	}
	item := map[string]any{
		"labels": []any{}, "level": 0, "groups": []any{}, "purposes": []any{}, "pii": false, "pii_flags": []any{},
		"credentials": false, "trust": 1, "sensitivity": 0, "expires_at": 0, "valid_to": 0,
	}
	input := map[string]any{"action": "read", "purpose": "", "now": 1, "items": []any{item},
		"subject": map[string]any{"tenant": "acme", "id": "a", "kind": "agent", "level": 3, "groups": []any{}, "roles": []any{}}}
	if got := evaluate(t, prepare(t, string(raw)), input); !cmp.Equal(got, []any{[]any{"allowed", []any{}}}) {
		t.Fatalf("as it is: %v", got)
	}
	never := " if input.never\n"
	for _, line := range []string{
		`refused["tenant"] := unlabelled | bearing(labels_with("tenant:"))`, `limits := {label: tokens |
	some label in labels_with("extract:")
	not reads_pii
	tokens := extract_tokens(trim_prefix(label, "extract:"))
}`,
		`refused["sensitivity"] := set() if cleared`, `refused["credentials"] := positions - {i | input.items[i].credentials == false} if not reads_credentials`, `refused["export"] := set() if not exporting`,
		`expiring := positions - {i | input.items[i].expires_at == 0}`, `ending := positions - {i | input.items[i].valid_to == 0}`,
		`personal := (positions - {i | input.items[i].pii == false}) - detected_alone if not reads_pii`, `labels := {label | label := input.items[_].labels[_]} - own_tenant`,
	} {
		head, _, found := strings.Cut(string(raw), line+"\n")
		if !found {
			t.Fatalf("no rule %s", line)
		}
		rule, _, _ := strings.Cut(line, " if ")
		edited := head + rule + never + string(raw)[len(head)+len(line)+1:]
		if got := evaluate(t, prepare(t, edited), input); !cmp.Equal(got, []any{}) {
			t.Errorf("without %s: %v", line, got)
		}
	}
}

func evaluate(t *testing.T, q rego.PreparedEvalQuery, input any) any {
	t.Helper()
	results, err := q.Eval(t.Context(), rego.EvalInput(input))
	if err != nil || len(results) != 1 {
		t.Fatal(results, err)
	}
	return results[0].Expressions[0].Value
}

func answer(t *rapid.T, q rego.PreparedEvalQuery, input any) any {
	results, err := q.Eval(context.Background(), rego.EvalInput(input))
	if err != nil {
		t.Fatal(err)
	}
	if len(results) == 0 {
		return nil
	}
	return results[0].Expressions[0].Value
}

// document prepares a document of the bundle.
func document(t *testing.T, bundle fs.FS, name string) rego.PreparedEvalQuery {
	t.Helper()
	options := []func(*rego.Rego){rego.Query("data.cmo." + name)}
	files, err := fs.Glob(bundle, "*.rego")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := fs.ReadFile(bundle, file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.rego") {
			options = append(options, rego.Module(file, string(raw)))
		}
	}
	q, err := rego.New(options...).PrepareForEval(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// drawThing is an item as a slicer sends it.
func drawThing(t *rapid.T) any {
	item := drawItem(t).(map[string]any)
	metadata := map[string]any{
		"level": anything(t, "level name", "public", "internal", "confidential", "restricted", "unknown", "cosmic", []any{"public"}),
	}
	for from, to := range map[string]string{
		"labels": "labels", "groups": "restrictedToGroups", "purposes": "purposes", "pii": "containsPII", "pii_flags": "piiFields",
		"credentials": "hasCredentials", "trust": "trust", "sensitivity": "sensitivity", "expires_at": "expires_at", "valid_to": "valid_to", "kind": "kind", "signer": "signer",
	} {
		if value, ok := item[from]; ok {
			metadata[to] = value
		}
	}
	if metadata["level"] == "absent" {
		delete(metadata, "level")
	}
	return rapid.SampledFrom([]any{
		map[string]any{"id": "a", "metadata": metadata}, map[string]any{"id": "a", "metadata": metadata},
		map[string]any{"id": "b"}, map[string]any{"metadata": nil}, 5,
	}).Draw(t, "thing")
}

// Many things in one request are answered as each alone; those that cannot be read at
// all have no answer, and whoever asked then has one too few.
func TestMalformedThings(t *testing.T) {
	t.Parallel()
	batch, single := document(t, builtin.Bundle(), "context_batch.decisions"), document(t, builtin.Bundle(), "context")
	rapid.Check(t, func(t *rapid.T) {
		things := rapid.SliceOfN(rapid.Custom(drawThing), 0, 5).Draw(t, "things")
		input := map[string]any{
			"action": rapid.SampledFrom([]string{"read", "open", "erase", "use"}).Draw(t, "action"), "purpose": "support", "now": 10,
			"specialist": map[string]any{"type": "agent", "id": "planner", "tenant": "acme", "authorizedGroups": []any{"dev"}, "roles": []any{},
				"securityLevel": rapid.SampledFrom([]any{"public", "restricted", "cosmic", nil}).Draw(t, "clearance")},
		}
		want := []any{}
		for _, thing := range things {
			input["item"] = thing
			one := answer(t, single, input)
			if one.(map[string]any)["reason"] != "policy_error" {
				want = append(want, one)
			}
		}
		delete(input, "item")
		input["items"] = things
		if diff := cmp.Diff(want, answer(t, batch, input)); diff != "" {
			t.Errorf("%v: (-single +batch)\n%s", input, diff)
		}
	})
}
