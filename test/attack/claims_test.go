package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"satchel/emitters/gateway"
)

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// tool calls a tool of the gateway and returns its structured content as JSON.
func tool(t *testing.T, url, token, name string, arguments any) string {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true}, nil)
	must(t, err)
	defer session.Close()
	r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	must(t, err)
	raw, err := json.Marshal(r.StructuredContent)
	must(t, err)
	return string(raw)
}

// recorder is a transport that keeps the bodies that it sends.
type recorder struct {
	http.RoundTripper
	sent strings.Builder
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		raw, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		r.sent.Write(raw)
		req.Body = io.NopCloser(bytes.NewReader(raw))
	}
	return r.RoundTripper.RoundTrip(req)
}

// decline asks to forget, and has the user say no. It returns the answer and the state of the question.
func decline(t *testing.T, url, token string, arguments any) (answer, state string) {
	t.Helper()
	sent := &recorder{RoundTripper: bearer(token)}
	no := func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, &sdk.ClientOptions{ElicitationHandler: no}).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: sent}, DisableStandaloneSSE: true}, nil)
	must(t, err)
	defer session.Close()
	r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "forget", Arguments: arguments})
	must(t, err)
	raw, err := json.Marshal(r.StructuredContent)
	must(t, err)
	found := regexp.MustCompile(`"requestState":"([^"]+)"`).FindStringSubmatch(sent.sent.String())
	if found == nil {
		t.Fatalf("the user was not asked: %s", raw)
	}
	return string(raw), found[1]
}

// owned are items of the writer, one of each clearance, by what they claim.
func (w *world) owned(t *testing.T, prefix string) (ids []string) {
	t.Helper()
	for i, level := range []string{"public", "internal", "confidential", "restricted"} {
		id := prefix + "-" + level
		item := map[string]any{"id": id, "type": "semantic", "kind": "memory", "scope": map[string]any{"tenant": "main"}, "created_at": "2026-03-03T10:00:00Z",
			"security_label": []string{"level:" + level}, "content": "The invoice is paid to the first account."}
		body := put("writer", "recorded", item, i)
		body["event"].(map[string]any)["id"] = id
		if text := ask(w.conns["main/writer"], "mem.v1.main.put", body); !strings.Contains(text, `"indexed"`) {
			t.Fatalf("put of %s: %.300s", id, text)
		}
		ids = append(ids, id)
	}
	return ids
}

// A token changes and erases no more than it claims, whatever the registry grants its principal:
// over HTTP, and by the tools.
func TestATokenChangesNoMoreThanItClaims(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "main")
	ids := w.owned(t, "theirs")
	all := []string{gateway.ScopeRead, gateway.ScopeWrite, gateway.ScopeErase}
	url, tokens := w.gateway(t,
		gateway.Token{ID: "no-role", Tenant: "main", Principal: "editor", Clearance: "restricted", Scopes: all},
		gateway.Token{ID: "low", Tenant: "main", Principal: "editor", Clearance: "public", Scopes: all, Roles: []string{"editor", "declassifier"}},
		gateway.Token{ID: "low-owner", Tenant: "main", Principal: "writer", Clearance: "public", Scopes: all},
		gateway.Token{ID: "claims", Tenant: "main", Principal: "editor", Clearance: "restricted", Scopes: all, Roles: []string{"editor"}})
	check := func(what, text string) {
		t.Helper()
		hidden := strings.Contains(what, "correct") && strings.Contains(text, `"not_found"`) // for who may not see it
		if !strings.Contains(text, `"policy_denied"`) && !hidden {
			t.Errorf("%s: %.300s", what, text)
		}
	}
	n := 0
	for _, name := range []string{"no-role", "low", "low-owner"} {
		for i, id := range ids {
			if i == 0 && name != "no-role" {
				continue // it is not above the claim
			}
			n++
			what := name + " and " + id
			bodies := map[string]map[string]any{
				"/v1/memories/" + id + "/correct": {"text": "FORGED", "reason": "x"},
				"/v1/memories?again":              {"id": id, "content": "FORGED", "security_label": []string{"level:restricted"}},
				"/v1/memories?lower":              {"id": id, "content": "FORGED", "security_label": []string{"level:public"}},
				"/v1/memories?expire":             {"id": id, "content": "FORGED", "ttl": 1, "security_label": []string{"level:restricted"}},
				"/v1/memories?link":               {"content": "FORGED", "links": []any{map[string]any{"rel": "supersedes", "to": id}}},
				"/v1/forget":                      {"items": []string{id}, "reason": "x"},
				"/v1/forget?plan":                 {"items": []string{id}, "reason": "x", "dry_run": true},
			}
			for path, body := range bodies {
				raw, err := json.Marshal(body)
				must(t, err)
				check(what+" by "+path, send(t, "POST", url+path, tokens[name], raw))
			}
			check(what+" by the tool correct", tool(t, url, tokens[name], "correct", map[string]any{"item": id, "text": "FORGED", "reason": "x"}))
			check(what+" by the tool forget", tool(t, url, tokens[name], "forget", map[string]any{"items": []string{id}, "reason": "x"}))
			// A connection of the principal's own may claim less, too.
			level := map[string]string{"no-role": "restricted", "low": "public", "low-owner": "public"}[name]
			agent := map[string]string{"no-role": "editor", "low": "editor", "low-owner": "writer"}[name]
			forged := map[string]any{"id": id, "type": "semantic", "kind": "memory", "scope": map[string]any{"tenant": "main"}, "created_at": "2026-03-03T10:00:00Z", "security_label": []string{"level:restricted"}, "content": "FORGED"}
			body := put(agent, "recorded", forged, 100+n)
			maps.Copy(body["event"].(map[string]any), map[string]any{"satchelroles": "token", "satchellevel": level})
			check(what+" over NATS", ask(w.conns["main/"+agent], "mem.v1.main.put", body))
		}
	}
	for _, id := range ids {
		text := ask(w.conns["main/writer"], "ctx.v1.main.items", map[string]any{"from": principals[0].from(), "item_ids": []string{id}})
		if !strings.Contains(text, "first account") {
			t.Errorf("%s is shown as %.300s", id, text)
		}
	}
	// The matrix would not notice if no token could change anything.
	raw := []byte(`{"text":"The invoice is paid to the second account.","reason":"x"}`)
	for name, id := range map[string]string{"claims": ids[1], "low-owner": ids[0]} {
		if text := send(t, "POST", url+"/v1/memories/"+id+"/correct", tokens[name], raw); !strings.Contains(text, `"indexed"`) {
			t.Errorf("%s corrects %s: %.300s", name, id, text)
		}
	}
}

// What was erased under a key is not stored again, and nobody is told that it was, whatever the
// text is this time.
func TestAnErasedKeyStoresNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "main")
	url, tokens := w.gateway(t)
	remember := func(text string) string {
		raw, err := json.Marshal(map[string]any{"id": "safe", "content": text, "created_at": "2026-03-03T10:00:00Z"})
		must(t, err)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/memories", strings.NewReader(string(raw)))
		must(t, err)
		req.Header.Set("Idempotency-Key", "safe-key")
		req.Header.Set("Content-Type", "application/json")
		res, err := (&http.Client{Transport: bearer(tokens["writer"])}).Do(req)
		must(t, err)
		defer res.Body.Close()
		var body map[string]any
		must(t, json.NewDecoder(res.Body).Decode(&body))
		return fmt.Sprint(res.StatusCode, " ", body["code"], " ", body["message"])
	}
	if got := remember("one"); !strings.HasPrefix(got, "200") {
		t.Fatal(got)
	}
	if got := tool(t, url, tokens["writer"], "remember", map[string]any{"text": "one", "key": "tool-key", "time": "2026-03-03T10:00:00Z"}); !strings.Contains(got, `"indexed"`) {
		t.Fatal(got)
	}
	if got := send(t, "POST", url+"/v1/forget", tokens["writer"], []byte(`{"erasure":"never"}`)); !strings.Contains(got, `"not_found"`) {
		t.Errorf("an erasure that nobody asked for, over HTTP: %s", got)
	}
	if got := tool(t, url, tokens["writer"], "forget", map[string]any{"erasure": "never"}); !strings.Contains(got, `"not_found"`) {
		t.Errorf("an erasure that nobody asked for, by the tool: %s", got)
	}
	if got := send(t, "POST", url+"/v1/forget", tokens["writer"], []byte(`{"items":["safe","tool-key"],"reason":"x"}`)); !strings.Contains(got, `"stores"`) {
		t.Fatal(got)
	}
	for _, text := range []string{"one", "two, quite another text"} {
		if got := remember(text); !strings.HasPrefix(got, "409 conflict erased") {
			t.Errorf("with %q over HTTP: %s", text, got)
		}
		if got := tool(t, url, tokens["writer"], "remember", map[string]any{"text": text, "key": "tool-key", "time": "2026-03-03T10:00:00Z"}); !strings.Contains(got, `"conflict"`) || !strings.Contains(got, "erased") {
			t.Errorf("with %q by the tool: %s", text, got)
		}
		item := map[string]any{"id": "safe", "type": "semantic", "kind": "memory", "scope": map[string]any{"tenant": "main"}, "created_at": "2026-03-03T10:00:00Z", "security_label": []string{"level:internal"}, "content": text}
		body := put("writer", "recorded", item, 1)
		maps.Copy(body["event"].(map[string]any), map[string]any{"id": "safe-key", "source": "satchel://agents/main/writer"})
		if got := ask(w.conns["main/writer"], "mem.v1.main.put", body); !strings.Contains(got, `"conflict"`) || !strings.Contains(got, "erased") {
			t.Errorf("with %q over NATS: %.300s", text, got)
		}
	}
}

// Nobody takes an event id of another agent in advance.
func TestNobodyTakesTheSourceOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "main")
	from := func(agent string, n int) string {
		item := map[string]any{"id": fmt.Sprint("mine-", n), "type": "semantic", "kind": "memory", "scope": map[string]any{"tenant": "main"}, "created_at": "2026-03-03T10:00:00Z", "security_label": []string{"level:public"}, "content": "by " + agent}
		body := put(agent, "recorded", item, n)
		maps.Copy(body["event"].(map[string]any), map[string]any{"id": "to-come", "source": "satchel://agents/main/writer"})
		return ask(w.conns["main/"+agent], "mem.v1.main.put", body)
	}
	if got := from("internal", 1); !strings.Contains(got, `"validation_error"`) || !strings.Contains(got, "/source") {
		t.Errorf("the source of another: %.300s", got)
	}
	if got := from("writer", 2); !strings.Contains(got, `"indexed"`) {
		t.Errorf("the agent's own: %.300s", got)
	}
}

// A confirmation erases what it was asked for, once: not what is recorded under the name later,
// and not for another token.
func TestAConfirmationCountsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "main")
	url, tokens := w.gateway(t, gateway.Token{ID: "second", Tenant: "main", Principal: "writer", Clearance: "restricted", Scopes: gateway.Scopes()})
	remember := func(text string) {
		t.Helper()
		raw, err := json.Marshal(map[string]any{"id": "door", "content": text})
		must(t, err)
		if got := send(t, "POST", url+"/v1/memories", tokens["writer"], raw); !strings.Contains(got, `"indexed"`) {
			t.Fatal(got)
		}
	}
	forget := func(token, confirm string) string {
		t.Helper()
		return tool(t, url, tokens[token], "forget", map[string]any{"items": []string{"door"}, "reason": "x", "confirm": confirm})
	}
	confirmation := func() string {
		t.Helper()
		var asked struct{ Confirm string }
		got := forget("writer", "")
		if err := json.Unmarshal([]byte(got), &asked); err != nil || asked.Confirm == "" {
			t.Fatalf("no confirmation: %s", got)
		}
		return asked.Confirm
	}
	refused := func(what, got string) {
		t.Helper()
		if !strings.Contains(got, `"validation_error"`) {
			t.Errorf("%s: %s", what, got)
		}
	}
	remember("The barn door is green.")
	answer, declined := decline(t, url, tokens["writer"], map[string]any{"items": []string{"door"}, "reason": "x"})
	if !strings.Contains(answer, `"erased":false`) {
		t.Fatalf("declined: %s", answer)
	}
	refused("what the user declined", forget("writer", declined))
	stale := confirmation()
	remember("The barn door is red.")
	refused("what was recorded since", forget("writer", stale))
	confirm := confirmation()
	refused("another token", forget("second", confirm))
	if got := forget("writer", confirm); !strings.Contains(got, `"stores"`) {
		t.Fatalf("confirmed: %s", got)
	}
	refused("again", forget("writer", confirm))
	remember("The barn door is red again.")
	refused("what was recorded after the erasure", forget("writer", confirm))
	if got := send(t, "GET", url+"/v1/memories/door", tokens["writer"], nil); !strings.Contains(got, "red again") {
		t.Errorf("what was recorded later is gone: %s", got)
	}
}
