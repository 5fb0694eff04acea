package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"satchel/cmd/internal/command"
	"satchel/policies"
)

// explained runs satchel policy explain on an item of the group risk.
func explained(t *testing.T, args ...string) command.PolicyAnswer {
	t.Helper()
	item := `{"id": "x", "security_label": ["level:internal", "group:risk", "pii:email"], "pii_flags": ["$.content.email"],
		"content": {"text": "hello", "email": "a@example.org"}}`
	r := satchel(t, "", append([]string{"policy", "explain", "--json", "--dir", t.TempDir(), "--item", item}, args...)...)
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.err)
	}
	var answer command.PolicyAnswer
	if err := json.Unmarshal([]byte(r.out), &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestPolicyExplain(t *testing.T) {
	t.Parallel()
	if a := explained(t); a.Allow || a.Reason != "groups" || a.File != "policy.rego" || !strings.Contains(a.Rule, `refused["groups"]`) || a.Shown != nil {
		t.Errorf("%+v", a)
	}
	a := explained(t, "--group", "risk")
	if !a.Allow || len(a.Redact) != 1 || a.Redact[0] != "$.content.email" {
		t.Fatalf("%+v", a)
	}
	shown, err := json.Marshal(a.Shown)
	if err != nil || strings.Contains(string(shown), "a@example.org") || !strings.Contains(string(shown), "hello") {
		t.Errorf("shown %s, error %v", shown, err)
	}
	if a := explained(t, "--group", "risk", "--opa-url", "http://127.0.0.1:1", "--opa-fallback-local"); !a.Allow || len(a.Warnings) != 1 || a.Warnings[0] != policies.LocalRulesWarning {
		t.Errorf("%+v", a)
	}
	for name, args := range map[string][]string{
		"no item":         {"policy", "explain"},
		"not JSON":        {"policy", "explain", "--item", "{"},
		"no such item":    {"policy", "explain", "--id", "nowhere", "--dir", t.TempDir()},
		"two sources":     {"policy", "explain", "--item", "{}", "--policy-bundle", t.TempDir(), "--opa-url", "http://127.0.0.1:1"},
		"a bad URL":       {"policy", "explain", "--item", "{}", "--opa-url", "opa.example"},
		"an empty folder": {"policy", "test", "--bundle", t.TempDir()},
	} {
		if r := satchel(t, "", args...); r.code != exitUsage {
			t.Errorf("%s: exit code %d: %s", name, r.code, r.err)
		}
	}
	if r := satchel(t, "", "policy", "explain", "--item", "{}", "--opa-url", "http://127.0.0.1:1"); r.code == 0 {
		t.Errorf("a server that is away allowed: %s", r.out)
	}
}

// Of a tool that is to be used, its safety tags are decided on, and no label for them.
func TestPolicyExplainsUse(t *testing.T) {
	t.Parallel()
	for want, item := range map[string]string{
		"allowed":         `{"id":"x","kind":"tool","security_label":["level:internal"],"attributes":{"safety_tags":["read_only"]},"content":{"text":"list"}}`,
		"safety":          `{"id":"x","kind":"tool","security_label":["level:internal","safety:read_only"],"attributes":{"safety_tags":["moves_money"]},"content":{"text":"pay"}}`,
		"safety_untagged": `{"id":"x","kind":"tool","security_label":["level:internal","safety:read_only"],"content":{"text":"pay"}}`,
	} {
		a := explained(t, "--action", "use", "--item", item)
		if a.Reason != want || a.Allow != (want == "allowed") || a.Action != "use" || a.Shown != nil {
			t.Errorf("%s: %+v", want, a)
		}
	}
	r := satchel(t, "", "policy", "explain", "--action", "use", "--item", `{"id":"x","content":{"text":"a memory"}}`)
	if r.code != exitUsage || !strings.Contains(r.err, "tool") {
		t.Errorf("use of a memory: exit code %d: %s", r.code, r.err)
	}
}

func TestPolicyTestAndShow(t *testing.T) {
	t.Parallel()
	if r := satchel(t, "", "policy", "test"); r.code != 0 || !strings.Contains(r.out, "0 failed, 100.0 %") {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.err)
	}
	dir := t.TempDir()
	r := satchel(t, "", "policy", "show", "--json")
	var files map[string]string
	if err := json.Unmarshal([]byte(r.out), &files); err != nil {
		t.Fatal(err)
	}
	files["own_test.rego"] = "package own_test\n\ntest_bad if data.cmo.policy.least_trust == 1\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r := satchel(t, "", "policy", "test", "--bundle", dir); r.code != exitFound || !strings.Contains(r.out, "own_test.test_bad") {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.err)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.rego"), []byte("package own\n\nx := := 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := satchel(t, "", "policy", "test", "--bundle", dir); r.code != exitUsage || !strings.Contains(r.err, "broken.rego:3") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}

func TestTheTokenIsNotShown(t *testing.T) {
	t.Parallel()
	r := satchel(t, "", "config", "--opa-token", "s3cret")
	if r.code != 0 || strings.Contains(r.out, "s3cret") {
		t.Errorf("exit code %d: %s", r.code, r.out)
	}
}

// What policy show writes is a bundle that loads and passes its tests, and is not written over.
func TestPolicyShowOut(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "policy")
	if r := satchel(t, "", "policy", "show", "--out", dir); r.code != 0 || !strings.Contains(r.out, "satchel policy test --bundle "+dir) {
		t.Fatalf("%+v", r)
	}
	if r := satchel(t, "", "policy", "test", "--bundle", dir); r.code != 0 || !strings.Contains(r.out, " 0 failed") {
		t.Errorf("%+v", r)
	}
	if r := satchel(t, "", "policy", "show", "--out", dir); r.code == 0 || !strings.Contains(r.err, "exists") {
		t.Errorf("written over: %+v", r)
	}
}
