package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/schemas"
)

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"frobnicate"}, "frobnicate"},
		{[]string{"up", "--nats-port", "x"}, "nats-port"},
		{[]string{"ask"}, "question"},
		{[]string{"ask", "x", "--level", "cosmic"}, "--level"},
		{[]string{"emit"}, "--text or --item"},
		{[]string{"demo", "--json"}, "--json"},
		{[]string{"emit", "--text", "a", "--item", "{}"}, "not both"},
		{[]string{"emit", "--item", "{"}, "--item: is not valid JSON"},
		{[]string{"emit", "--text", "a", "--event-id", "e1"}, "--created-at"},
		{[]string{"emit", "--item", `{"content":"x"}`, "--event-id", "e1"}, "--created-at"},
		{[]string{"emit", "--text", "a", "--created-at", "yesterday"}, "RFC 3339"},
		{[]string{"emit", "--item", `{"created_at":"2026-03-03T10:00:00Z","content":"x"}`, "--created-at", "2026-03-03T10:00:00Z"}, "not both"},
		{[]string{"emit", "--text", "a", "--wait", "carved"}, "--wait"},
		{[]string{"emit", "--item", `{"id":"n1","content":"x","security_label":["secret"]}`}, "/security_label"},
		{[]string{"schema", "nonsense"}, "nonsense"},
		{[]string{"import", "no-such-file.jsonl"}, "no-such-file"},
		{[]string{"lint", "no-such-file.jsonl"}, "no-such-file"},
		{[]string{"artifact", "put", "."}, "is a folder"},
		{[]string{"ledger", "--kind", "pck"}, "pck"},
		{[]string{"ask", "x", "--tenant", "a.b"}, "a.b"},
		{[]string{"up", "--principals", "no-such-file.yaml"}, "no-such-file"},
		{[]string{"up", "--signing-keys", "no-such-file.yaml"}, "no-such-file"},
		{[]string{"up", "--policy-bundle", "no-such-folder"}, "policy bundle"},
		{[]string{"--log-level", "loud", "version"}, "--log-level"},
	} {
		args := append(c.args, "--dir", t.TempDir())
		if c.args[0] == "up" {
			args = append(args, "--http-addr", "")
			if c.args[1] != "--nats-port" {
				args = append(args, "--nats-port", "0")
			}
		}
		r := satchel(t, "", args...)
		if r.code != exitUsage || !strings.Contains(r.err, c.says) {
			t.Errorf("satchel %s: exit code %d\n%s%s", strings.Join(c.args, " "), r.code, r.out, r.err)
		}
	}
}

func TestNothingAnswers(t *testing.T) {
	t.Parallel()
	file := filepath.Join(folder(t, map[string]string{"m.jsonl": ""}), "m.jsonl")
	for _, args := range [][]string{{"ask", "x"}, {"emit", "--text", "x"}, {"ledger"}, {"forget", "x"}, {"dlq", "ls"}, {"import", file}} {
		r := satchel(t, "", append(args, "--nats-url", "nats://user:hunter2@127.0.0.1:1")...)
		if r.code != exitNoReply || !strings.Contains(r.err, "no NATS server at nats://***@127.0.0.1:1; start Satchel with: satchel up") || strings.Contains(r.err, "hunter2") {
			t.Errorf("satchel %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--help"}, {"up", "--help"}, {"ask", "--help"}, {"emit", "--help"}, {"forget", "--help"}, {"ledger", "--help"},
		{"import", "--help"}, {"verify", "--help"}, {"rebuild", "--help"}, {"dlq", "ls", "--help"},
		{"doctor", "--help"}, {"schema", "--help"}, {"lint", "--help"}, {"demo", "--help"}} {
		r := satchel(t, "", args...)
		if r.code != 0 || !strings.Contains(r.out, "Usage: satchel") || r.err != "" {
			t.Errorf("satchel %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
		}
	}
}

func TestHelpHasTheSettingsOfTheCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args       string
		has, lacks []string
	}{
		{"--help", []string{"--tenant", "premortem", "satchel --help-all"}, []string{"--embeddings-url", "--nats-url"}},
		{"ask --help", []string{"--budget", "--tenant", "--nats-url"}, []string{"--embeddings-url", "--pool"}},
		{"up --help", []string{"--embeddings-url", "--nats-url", "All settings:"}, []string{"--pool"}},
		{"up --help-all", []string{"--embeddings-url", "--pool", "--qdrant-url"}, []string{"All settings:"}},
		{"worker --help", []string{"--database-url"}, nil}, {"config --help", []string{"--database-url"}, nil},
	} {
		r := satchel(t, "", strings.Fields(c.args)...)
		contains(t, c.args, r.out, c.has...)
		for _, flag := range c.lacks {
			if strings.Contains(r.out, flag) {
				t.Errorf("satchel %s has %s", c.args, flag)
			}
		}
	}
	if r := satchel(t, "", "version", "--pool", "7"); r.code != 0 {
		t.Errorf("a setting that help leaves out: exit code %d\n%s", r.code, r.err)
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	r := satchel(t, "", "schema")
	names := strings.Fields(r.out)
	if r.code != 0 || len(names) != len(schemas.Names())+1 {
		t.Fatalf("exit code %d, %d names\n%s", r.code, len(names), r.err)
	}
	for _, name := range names {
		r := satchel(t, "", "schema", name)
		if r.code != 0 || !json.Valid([]byte(r.out)) {
			t.Errorf("schema %s: exit code %d, not JSON", name, r.code)
		}
	}
	var listed []string
	if r := satchel(t, "", "schema", "--json"); json.Unmarshal([]byte(r.out), &listed) != nil || len(listed) != len(names) {
		t.Errorf("schema --json lists %v", listed)
	}
}

const goodLine = `{"id":"n1","type":"episodic","kind":"memory","scope":{"tenant":"main"},"created_at":"2026-03-01T00:00:00Z","security_label":["level:internal"],"content":"x"}`

func TestLint(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"good.jsonl": goodLine + "\n\n" + goodLine + "\n", "bad.jsonl": goodLine + "\n" + `{"id":"n2","kind":"mood","scope":{"tenant":"main"},"content":"x"}` + "\n[]\n"})
	good, bad := filepath.Join(dir, "good.jsonl"), filepath.Join(dir, "bad.jsonl")
	r := satchel(t, "", "lint", good)
	if r.code != 0 || !strings.Contains(r.out, "2 lines") {
		t.Errorf("good lines: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	r = satchel(t, "", "lint", good, bad)
	if r.code != exitFound {
		t.Errorf("bad lines: exit code %d", r.code)
	}
	contains(t, "lint", r.out, "bad.jsonl:2: /kind: ", "bad.jsonl:2: /type: ", "bad.jsonl:2: /created_at: ", "bad.jsonl:2: /security_label: ", "bad.jsonl:3: (whole line): ")
	contains(t, "lint", r.err, "2 of 5 lines")
	if strings.Contains(r.err, "import fills in") { // a label too few is not all that is wrong with them
		t.Error(r.err)
	}
	r = satchel(t, `{"content":"the kiln is hot"}`+"\n"+`{"content":"the kiln is hot","kind":7}`+"\n", "lint", "-")
	contains(t, "lint", r.err, "1 line lacks only what satchel import fills in where it is absent: id, type, ", "2 of 2 lines")
	r = satchel(t, goodLine, "lint", "-", "--json")
	if r.code != 0 || r.out != "" {
		t.Errorf("good line from standard input: exit code %d\n%s", r.code, r.out)
	}
	r = satchel(t, "{}", "lint", "-", "--json")
	for _, line := range strings.Split(strings.TrimSpace(r.out), "\n") {
		var f command.LintFinding
		if err := json.Unmarshal([]byte(line), &f); err != nil || f.File != "-" || f.Line != 1 || f.Message == "" {
			t.Errorf("lint --json printed %s (%v)", line, err)
		}
	}
}

func TestConfigMasksSecrets(t *testing.T) {
	t.Parallel()
	r := satchel(t, "", "config", "--nats-url", "nats://agent:hunter2@nats.example:4222,nats://token99@other.example", "--json")
	var list []config.Setting
	if err := json.Unmarshal([]byte(r.out), &list); r.code != 0 || err != nil || len(list) < 16 {
		t.Fatalf("exit code %d, %v\n%s", r.code, err, r.out)
	}
	plain := satchel(t, "", "config", "--nats-url", "nats://agent:hunter2@nats.example:4222,nats://token99@other.example")
	for _, out := range []string{r.out, plain.out} {
		if strings.Contains(out, "hunter2") || strings.Contains(out, "token99") || !strings.Contains(out, "***@nats.example:4222") || !strings.Contains(out, "other.example") {
			t.Errorf("config printed\n%s", out)
		}
	}
	for _, s := range list {
		if s.Env == "" && s.Name != "json" || s.Help == "" {
			t.Errorf("setting %+v has no environment variable or no help", s)
		}
	}
}

func effectiveOf(t *testing.T, out string) []config.Setting {
	t.Helper()
	var list []config.Setting
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("config --json printed %s", out)
	}
	return list
}
