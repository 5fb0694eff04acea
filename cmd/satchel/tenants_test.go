package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/micro"

	"satchel/schemas"
)

// TestEveryDoorOfAnUnknownTenant asks every endpoint there is about a tenant without a log: it is
// answered, and nothing is left of the question.
func TestEveryDoorOfAnUnknownTenant(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.must(t, "emit", "--id", "a", "--text", "the kiln is hot")
	nc := n.operator(t)
	msg, err := nc.Request("$SRV.INFO.satchel", nil, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var info micro.Info
	if err := json.Unmarshal(msg.Data, &info); err != nil {
		t.Fatal(err)
	}
	const from, refused = `"from":{"type":"agent","id":"nobody"}`, "refused"
	doors := map[string]struct{ body, code string }{ // code: of the refusal, "" for an answer
		"request":   {`{"meta":{"type":"ContextRequest",` + from + `},"payload":{"query":{"text":"kiln"},"include_proofs":true}}`, ""},
		"search":    {`{"query":"kiln",` + from + `}`, ""},
		"build":     {`{"query":"kiln",` + from + `}`, ""},
		"preview":   {`{"query":"kiln",` + from + `}`, ""},
		"assemble":  {`{"query":"kiln",` + from + `}`, ""},
		"premortem": {`{"domain":"kilns",` + from + `}`, ""},
		"template":  {`{` + from + `}`, ""},
		"relevance": {`{"mode":"task_execution"}`, ""},
		"explain":   {`{"pack_id":"p","item_id":"a",` + from + `}`, string(schemas.CodeNotFound)},
		"compact":   {`{"session":"s","budget":500,` + from + `}`, ""},
		"recover":   {`{"pack_id":"p","item_ids":["a"],` + from + `}`, string(schemas.CodeNotFound)},
		"items":     {`{` + from + `}`, ""},
		"status":    {`{` + from + `}`, ""},
		"exception": {`{` + from + `}`, ""},
		"hold":      {`{` + from + `}`, string(schemas.CodePolicyDenied)},
		"put":       {`{"agent":"nobody"}`, string(schemas.CodeValidation)},
		"plan":      {`{"items":["a"],` + from + `}`, string(schemas.CodePolicyDenied)},
		"head":      {`{}`, ""},
		"prove":     {`{"position":1}`, string(schemas.CodeNotFound)},
		"receipt":   {`{"source":"s","id":"i","level":"logged","timeout_ms":10}`, string(schemas.CodeDeadlineExceeded)},
		"pack":      {`{"pack_id":"p",` + from + `}`, string(schemas.CodeNotFound)},
		"entries":   {`{` + from + `}`, ""},
		"open":      {`{"handle":"h",` + from + `}`, refused},
		"revoke":    {`{"handle":"h",` + from + `}`, refused},
		"store":     {`{}`, string(schemas.CodeValidation)},
		"run":       {`{"request_id":"r1","task":"how hot is the kiln?",` + from + `}`, ""},
		"role_":     {`{"request_id":"r2","task":"how hot is the kiln?",` + from + `}`, ""},
	}
	asked := 0
	for _, e := range info.Endpoints {
		name := e.Name
		if strings.HasPrefix(name, "role_") {
			name = "role_"
		}
		door, ok := doors[name]
		if !ok {
			t.Errorf("%s: a door that this test does not know", e.Subject)
			continue
		}
		asked++
		reply, err := nc.Request(strings.Replace(e.Subject, "*", "ghost", 1), []byte(door.body), time.Minute)
		if err != nil {
			t.Errorf("%s: %v", e.Subject, err)
			continue
		}
		var failed schemas.Error
		if reply.Header.Get(micro.ErrorCodeHeader) != "" {
			if err := json.Unmarshal(reply.Data, &failed); err != nil {
				t.Fatal(err)
			}
		}
		if e.Name == "role_verifier" || e.Name == "role_synthesizer" {
			door.code = string(schemas.CodeValidation) // they work on a pack
		}
		if got := string(failed.Code); got != door.code && !(door.code == refused && got != "") {
			t.Errorf("%s: %q, want %q: %s", e.Subject, got, door.code, reply.Data)
		}
	}
	if asked < 25 {
		t.Errorf("only %d doors were asked", asked)
	}
	heads, err := os.ReadDir(filepath.Join(n.dir, "heads"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, head := range heads {
		if strings.HasPrefix(head.Name(), "ghost") {
			t.Errorf("a head is kept: %s", head.Name())
		}
	}
	for _, folder := range []string{"keyword", "vector"} {
		if left, err := filepath.Glob(filepath.Join(n.dir, "index", folder, "ghost*")); err != nil || len(left) > 0 {
			t.Errorf("files %v, %v", left, err)
		}
	}
	contains(t, "doctor", n.run(t, "doctor").out, "1 tenant has a log, of at most 10000 (SATCHEL_MAX_TENANTS); the indexes of 1 may be in memory")
	var verified []struct{ Tenant string }
	if err := json.Unmarshal([]byte(n.must(t, "verify", "--json")), &verified); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]struct{ Tenant string }{{"main"}}, verified); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
}

// TestATypoMakesNoTenant: with a registry a tenant that it does not name is refused at once.
func TestATypoMakesNoTenant(t *testing.T) {
	t.Parallel()
	registry := filepath.Join(folder(t, map[string]string{"principals.yaml": "tenants:\n  main:\n    principals:\n      - {id: cli, level: restricted}\n"}), "principals.yaml")
	n := startNode(t, "--principals", registry)
	n.must(t, "emit", "--text", "one")
	if r := n.run(t, "emit", "--text", "two", "--tenant", "mian"); r.code != exitFailed || !strings.Contains(r.err, "the principal registry does not name this tenant") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}
