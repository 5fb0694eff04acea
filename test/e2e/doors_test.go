package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats.go"

	"satchel/emitters"
	"satchel/schemas"
	"satchel/test/parts"
	"satchel/test/testenv"
)

// served is what a door answers: what was shown and left out, or the refusal.
type served struct {
	Text  string
	Items []string
	Left  map[string]schemas.DropReason
	Code  schemas.Code
	Field string
}

// answerOf reads a context result, or the payload of one.
func answerOf(raw []byte) (served, error) {
	var whole struct{ Payload *schemas.ResultPayload }
	if err := json.Unmarshal(raw, &whole); err != nil {
		return served{}, err
	}
	if whole.Payload == nil {
		whole.Payload = &schemas.ResultPayload{}
		if err := json.Unmarshal(raw, whole.Payload); err != nil {
			return served{}, err
		}
	}
	out := served{Text: whole.Payload.Text, Left: map[string]schemas.DropReason{}}
	for _, item := range whole.Payload.Results {
		out.Items = append(out.Items, item.ID)
	}
	for _, drop := range whole.Payload.Drop.Drops {
		out.Left[drop.ItemID] = drop.Reason
	}
	return out, nil
}

func refusalOf(err *schemas.Error) served { return served{Code: err.Code, Field: err.Field} }

// asked is a question; more are further members of the payload.
type asked struct {
	Text   string         `json:"text"`
	Budget int            `json:"budget"`
	AsOf   int64          `json:"as_of"`
	Prefer string         `json:"prefer"`
	More   map[string]any `json:"more"`
}

// payload is the request's payload.
func (a asked) payload() map[string]any {
	p := map[string]any{"query": map[string]any{"text": a.Text}, "token_budget": a.Budget, "as_of": a.AsOf, "prefer": a.Prefer}
	maps.Copy(p, a.More)
	return p
}

// script runs a client of another language over all questions.
func script(t *testing.T, all []asked, dir string, env []string, command ...string) []served {
	t.Helper()
	questions, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = dir, append(os.Environ(), env...), strings.NewReader(string(questions)), os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", command[0], err)
	}
	var replies []struct {
		Result json.RawMessage
		Error  *schemas.Error
	}
	if err := json.Unmarshal(raw, &replies); err != nil || len(replies) != len(all) {
		t.Fatalf("%s: %d replies, %v", command[0], len(replies), err)
	}
	var out []served
	for _, r := range replies {
		if r.Error != nil {
			out = append(out, refusalOf(r.Error))
			continue
		}
		one, err := answerOf(r.Result)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, one)
	}
	return out
}

const askInPython = `
import json, os, sys
from satchel_memory import Satchel, SatchelError
memory, out = Satchel(os.environ["DOOR"], os.environ["TOKEN"]), []
for q in json.load(sys.stdin):
    try:
        more = {"as_of": q["as_of"], "prefer": q["prefer"], **(q["more"] or {})}
        out.append({"result": memory.context(q["text"], budget=q["budget"], **more).result})
    except SatchelError as refused:
        out.append({"error": {"code": refused.code, "field": refused.field}})
json.dump(out, sys.stdout)`

const askInTypeScript = `
import { readFileSync } from "node:fs";
import { Satchel } from "./src/index.js";
const memory = new Satchel(process.env.DOOR, { token: process.env.TOKEN }), out = [];
for (const q of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    out.push({ result: (await memory.context(q.text, { budget: q.budget, asOf: q.as_of, prefer: q.prefer, ...q.more })).result });
  } catch (refused) {
    if (!refused.code) throw refused;
    out.push({ error: { code: refused.code, field: refused.field } });
  }
}
process.stdout.write(JSON.stringify(out));`

// doors are the ways to ask, each as one principal: what each answers to all questions. Those that
// are not for every member of a payload are left out where raw is set.
func doors(t *testing.T, s *testenv.Satchel, d *door, token string, all []asked, raw bool) map[string][]served {
	t.Helper()
	nc, err := nats.Connect(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	client, err := emitters.New(nc, emitters.Config{Tenant: "main", Agent: "reader", Clearance: "internal"})
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"DOOR=" + d.url, "TOKEN=" + token}
	each := func(ask func(asked) ([]byte, error)) []served {
		var out []served
		for _, q := range all {
			body, err := ask(q)
			var refused *schemas.Error
			if errors.As(err, &refused) {
				out = append(out, refusalOf(refused))
				continue
			}
			one, other := answerOf(body)
			if err := errors.Join(err, other); err != nil {
				t.Fatalf("%q: %v", q.Text, err)
			}
			out = append(out, one)
		}
		return out
	}
	got := map[string][]served{
		"NATS":       each(func(q asked) ([]byte, error) { return overNATS(nc, q) }),
		"HTTP":       each(func(q asked) ([]byte, error) { return overHTTP(d, token, q) }),
		"Python":     script(t, all, "../../emitters/python", append(env, "PYTHONPATH=src", "PYTHONDONTWRITEBYTECODE=1"), "python3", "-c", askInPython),
		"TypeScript": script(t, all, "../../emitters/typescript", env, "node", "--input-type=module", "-e", askInTypeScript),
	}
	if raw {
		return got
	}
	got["Go"] = each(func(q asked) ([]byte, error) {
		res, err := client.Ask(t.Context(), schemas.ContextRequest{Payload: schemas.RequestPayload{
			Query: schemas.Query{Text: q.Text}, TokenBudget: q.Budget, AsOf: q.AsOf, Prefer: schemas.Preference(q.Prefer)}})
		if err != nil {
			return nil, err
		}
		return json.Marshal(res)
	})
	got["command"] = each(func(q asked) ([]byte, error) {
		return exec.Command(s.Binary, "ask", "--dir", s.Dir, "--as", "reader", "--level", "internal", "--json", "--budget",
			fmt.Sprint(q.Budget), "--as-of", fmt.Sprint(q.AsOf), "--prefer", q.Prefer, q.Text).Output()
	})
	remote, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: d.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = remote.Close() })
	for name, session := range map[string]*sdk.ClientSession{
		"MCP, standard streams": editor(t, s, nil, "--as", "reader", "--level", "internal"), "MCP, HTTP": remote,
	} {
		got[name] = each(func(q asked) ([]byte, error) {
			_, v := use(t, session, "context", map[string]any{"question": q.Text, "budget": q.Budget, "as_of": fmt.Sprint(q.AsOf), "prefer": q.Prefer, "detail": "full"})
			return json.Marshal(v)
		})
	}
	return got
}

func overNATS(nc *nats.Conn, q asked) ([]byte, error) {
	body, err := json.Marshal(map[string]any{"meta": map[string]any{"type": "ContextRequest", "id": nats.NewInbox(), "timestamp": time.Now(),
		"from": map[string]any{"id": "reader", "securityLevel": "internal"}}, "payload": q.payload()})
	if err != nil {
		return nil, err
	}
	m, err := nc.Request("ctx.v1.main.request", body, time.Minute)
	if err != nil {
		return nil, err
	}
	if m.Header.Get("Nats-Service-Error") == "" {
		return m.Data, nil
	}
	var refused schemas.Error
	if err := json.Unmarshal(m.Data, &refused); err != nil {
		return nil, err
	}
	return nil, &refused
}

func overHTTP(d *door, token string, q asked) ([]byte, error) {
	body, err := json.Marshal(map[string]any{"payload": q.payload()})
	if err != nil {
		return nil, err
	}
	code, text, _ := d.call("POST", "/v1/context", token, string(body))
	if code == http.StatusOK {
		return []byte(text), nil
	}
	var refused schemas.Error
	if err := json.Unmarshal([]byte(text), &refused); err != nil {
		return nil, err
	}
	return nil, &refused
}

// Whichever door a question comes through, the same is shown, the same is left out for the same
// reason, and the same is refused.
func TestDoors(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	for _, runtime := range []string{"python3", "node"} {
		if _, err := exec.LookPath(runtime); err != nil {
			parts.Missing(t, runtime, "there is no "+runtime)
		}
	}
	s := testenv.Up(t, binary("satchel"), t.TempDir())
	s.Must(t, "import", "../../docs", "--name", "handbook")
	s.Must(t, "import", "code", "../../pipeline/passage", "--name", "passage")
	token := newToken(t, s, "reader", "--level", "internal")
	d := gatewayOf(t, s)
	var log schemas.StatusReply
	if err := json.Unmarshal([]byte(s.Must(t, "status", "--json")), &log); err != nil || log.Size < 100 {
		t.Fatalf("the log: %+v, %v", log, err)
	}
	var questions []asked
	for i, heading := range headings(t, 40) {
		prefer := []string{"", "docs", "code", "history"}[i%4]
		questions = append(questions, asked{Text: "How does this work: " + heading + "?", Budget: 600, AsOf: log.Size, Prefer: prefer})
	}
	compare(t, doors(t, s, d, token, questions, false), func(i int) string { return questions[i].Text })

	var wrong []asked
	for _, more := range []map[string]any{
		{"token_budget": -1}, {"token_budget": 1 << 40}, {"limit": -1}, {"min_score": 2}, {"as_of": -1}, {"profile": "never"}, {"repeat": "sometimes"}, {"prefer": "talk"},
		{"compaction": "never"}, {"min_position": -5}, {"weights": map[string]any{"colour": 1}}, {"query": map[string]any{"text": strings.Repeat("x", 1<<17)}},
		{"query": map[string]any{"text": "x", "filters": map[string]any{"created_at": map[string]any{"like": 1}}}},
	} {
		wrong = append(wrong, asked{Text: "x", Budget: 500, More: more})
	}
	got := doors(t, s, d, token, wrong, true)
	for i, one := range got["NATS"] {
		if one.Code == "" {
			t.Errorf("%.60v is not refused", wrong[i].More)
		}
	}
	compare(t, got, func(i int) string { return fmt.Sprintf("%.80v", wrong[i].More) })
}

func compare(t *testing.T, got map[string][]served, name func(int) string) {
	t.Helper()
	for door, answers := range got {
		for i, want := range got["NATS"] {
			if diff := cmp.Diff(want, answers[i]); diff != "" {
				t.Errorf("%s, %s (-NATS +%s):\n%.2000s", door, name(i), door, diff)
				break // the rest of a door is mostly the same
			}
		}
	}
}

// headings returns n headings of the documents, from each as many.
func headings(t *testing.T, n int) (out []string) {
	t.Helper()
	files, err := filepath.Glob("../../docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile(`(?m)^##+ (.+)$`)
	for round := 0; len(out) < n; round++ {
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if all := heading.FindAllSubmatch(text, -1); round < len(all) && len(out) < n {
				out = append(out, string(all[round][1]))
			}
		}
	}
	return out
}
