package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"satchel/test/testenv"
)

// door is a running satchel gateway.
type door struct {
	t       *testing.T
	url     string
	process *os.Process
}

func gatewayOf(t *testing.T, s *testenv.Satchel, args ...string) *door {
	t.Helper()
	url, process := s.Gateway(t, args...)
	return &door{t, url, process}
}

func newToken(t *testing.T, s *testenv.Satchel, args ...string) string {
	t.Helper()
	return s.Token(t, args...)
}

// call sends a request; a header is "Name: value". It returns status, body and the decoded body.
func (d *door) call(method, path, token, body string, headers ...string) (int, string, map[string]any) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if req.Header.Set(name, value); name == "Host" {
			req.Host = value
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	var v map[string]any
	_ = json.Unmarshal(raw, &v) // a text has none
	return res.StatusCode, string(raw), v
}

// Over HTTP everything is done that is done over NATS, with the same pack.
func TestGatewayDoesWhatNATSDoes(t *testing.T) {
	t.Parallel()
	s := testenv.Up(t, binary("satchel"), t.TempDir())
	token := newToken(t, s, "shell", "--scope", "memory.read,memory.write,memory.erase")
	d := gatewayOf(t, s)
	item := `{"id":"kiln","type":"semantic","kind":"memory","created_at":"2026-03-03T10:00:00Z","content":"The kiln is fired on Tuesdays."}`
	for range 2 { // the same key stores nothing twice
		if code, text, v := d.call("POST", "/v1/memories", token, item, "Idempotency-Key: first"); code != 200 || v["level"] != "indexed" || v["position"] != 1. {
			t.Fatalf("remember: %d %s", code, text)
		}
	}
	ask := `{"payload":{"query":{"text":"when is the kiln fired?"},"token_budget":500}}`
	_, text, v := d.call("POST", "/v1/context", token, ask)
	payload, ok := v["payload"].(map[string]any)
	if !ok || !strings.Contains(text, "fired on Tuesdays") {
		t.Fatalf("context: %s", text)
	}
	var over struct{ Payload struct{ Text string } }
	if err := json.Unmarshal([]byte(s.Must(t, "ask", "--json", "--budget", "500", "when is the kiln fired?")), &over); err != nil {
		t.Fatal(err)
	}
	if payload["text"] != over.Payload.Text {
		t.Errorf("over HTTP %q, over NATS %q", payload["text"], over.Payload.Text)
	}
	if _, plain, _ := d.call("POST", "/v1/context", token, ask, "Accept: text/plain"); plain != payload["text"] {
		t.Errorf("as text: %q", plain)
	}
	pack, _ := payload["pack_id"].(string)
	if code, text, _ := d.call("GET", "/v1/packs/"+pack, token, ""); code != 200 || !strings.Contains(text, pack) {
		t.Errorf("pack: %d %s", code, text)
	}
	if code, text, v := d.call("GET", "/v1/packs/"+pack+"/items/kiln", token, ""); code != 200 || v["explanation"] == "" {
		t.Errorf("explain: %d %s", code, text)
	}
	if code, text, _ := d.call("POST", "/v1/search", token, `{"query":"kiln"}`); code != 200 || !strings.Contains(text, `"kiln"`) {
		t.Errorf("search: %d %s", code, text)
	}
	for _, path := range []string{"/v1/memories/kiln", "/v1/memories?kind=memory&limit=1"} {
		if code, text, _ := d.call("GET", path, token, ""); code != 200 || !strings.Contains(text, "fired on Tuesdays") {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	for path, want := range map[string]int{"/v1/memories/never": 404, "/v1/memories?limit=none": 400, "/v1/memories?colour=red": 400, "/v1/memories?after=x": 400} {
		if code, text, _ := d.call("GET", path, token, ""); code != want {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if code, text, _ := d.call("POST", "/v1/memories/kiln/correct", token, `{"text":"The kiln is fired on Fridays.","reason":"new plan"}`); code != 200 {
		t.Errorf("correct: %d %s", code, text)
	}
	if _, text, _ := d.call("POST", "/v1/context", token, `{"payload":{"query":{"text":"when is the kiln fired?"},"token_budget":500}}`); !strings.Contains(text, "Fridays") {
		t.Errorf("after the correction: %s", text)
	}
	if code, text, _ := d.call("HEAD", "/v1/log/head", token, "", "Content-Type: "); code != 200 || text != "" {
		t.Errorf("HEAD: %d %q", code, text)
	}
	if code, text, v := d.call("GET", "/v1/log/head", token, ""); code != 200 || v["checkpoint"] == "" {
		t.Errorf("head: %d %s", code, text)
	}
	if code, text, v := d.call("POST", "/v1/forget", token, `{"items":["kiln"],"reason":"test"}`); code != 200 || v["stores"] == nil {
		t.Errorf("forget: %d %s", code, text)
	}
	if code, text, v := d.call("GET", "/openapi.json", "", ""); code != 200 || v["openapi"] != "3.1.0" {
		t.Errorf("document: %d %.200s", code, text)
	}
	for _, name := range []string{"context-request", "new-item", "receipt", "error"} {
		if code, text, _ := d.call("GET", "/v1/schemas/"+name, "", ""); code != 200 {
			t.Errorf("schema %s: %d %s", name, code, text)
		}
	}
}

// What the gateway refuses, it refuses with the error of the contract.
func TestGatewayRefuses(t *testing.T) {
	t.Parallel()
	s := testenv.Up(t, binary("satchel"), t.TempDir())
	reader, writer := newToken(t, s, "reader", "--scope", "memory.read"), newToken(t, s, "writer", "--scope", "memory.write", "--level", "public")
	d := gatewayOf(t, s)
	item := `{"id":"x","type":"semantic","kind":"memory","created_at":"2026-03-03T10:00:00Z","content":"x"}`
	for _, c := range []struct {
		name, method, path, token, body string
		headers                         []string
		status                          int
		code                            string
	}{
		{"no token", "POST", "/v1/context", "", `{}`, nil, 401, "unauthenticated"},
		{"an invented token", "POST", "/v1/context", "satchel_x", `{}`, nil, 401, "unauthenticated"},
		{"without the scope", "POST", "/v1/memories", reader, item, nil, 403, "insufficient_scope"},
		{"erasing without the scope", "POST", "/v1/forget", writer, `{"items":["x"],"reason":"x"}`, nil, 403, "insufficient_scope"},
		{"reading without the scope", "GET", "/v1/log/head", writer, "", nil, 403, "insufficient_scope"},
		{"a foreign host", "GET", "/v1/log/head", reader, "", []string{"Host: evil.test"}, 403, "policy_denied"},
		{"a body that is no JSON", "POST", "/v1/context", reader, `{`, nil, 400, "validation_error"},
		{"an unknown member", "POST", "/v1/context", reader, `{"payload":{"quary":{}}}`, nil, 400, "validation_error"},
		{"two values", "POST", "/v1/search", reader, `{"query":"x"}{}`, nil, 400, "validation_error"},
		{"a request that is wrong", "POST", "/v1/context", reader, `{"payload":{"query":{"text":"x"},"token_budget":-1}}`, nil, 400, "validation_error"},
		{"another kind of body", "POST", "/v1/search", reader, `query=x`, []string{"Content-Type: application/x-www-form-urlencoded"}, 400, "validation_error"},
		{"text that is not UTF-8", "POST", "/v1/memories", writer, "{\"content\":\"caf\xe9\"}", nil, 400, "validation_error"},
		{"a list where a text belongs", "POST", "/v1/search", reader, `{"query":["x"]}`, nil, 400, "validation_error"},
		{"correcting what is not there", "POST", "/v1/memories/nope/correct", writer, `{"text":"y","reason":"z"}`, nil, 404, "not_found"},
		{"correcting by what is not there", "POST", "/v1/memories/nope/correct", writer, `{"by":"alsonope","reason":"z"}`, nil, 404, "not_found"},
		{"a member in another case", "POST", "/v1/search", reader, `{"Query":"x"}`, nil, 400, "validation_error"},
		{"null for a text", "POST", "/v1/memories", writer, `{"content":null}`, nil, 400, "validation_error"},
		{"an inner member twice", "POST", "/v1/context", reader, `{"payload":{"query":{"text":"x","text":"y"}}}`, nil, 400, "validation_error"},
		{"another method", "DELETE", "/v1/memories/x", reader, "", nil, 405, "not_found"},
		{"a large body", "POST", "/v1/search", reader, `{"query":"` + strings.Repeat("x", 1<<20) + `"}`, nil, 413, "too_large"},
		{"no such pack", "GET", "/v1/packs/none", reader, "", nil, 404, "not_found"},
		{"no such operation", "GET", "/v2/x", reader, "", nil, 404, "not_found"},
		{"a key without a time", "POST", "/v1/memories", writer, `{"content":"x"}`, []string{"Idempotency-Key: k"}, 400, "validation_error"},
	} {
		if status, text, v := d.call(c.method, c.path, c.token, c.body, c.headers...); status != c.status || v["code"] != c.code {
			t.Errorf("%s: %d %.300s, want %d %s", c.name, status, text, c.status, c.code)
		}
	}
	if status, text, v := d.call("POST", "/v1/context", reader, `{}`, "Origin: https://evil.test", "Sec-Fetch-Site: cross-site"); status != 403 || v["code"] != "policy_denied" {
		t.Errorf("a foreign page: %d %s", status, text)
	}
	if out, err := exec.Command(s.Binary, "token", "revoke", "reader", "--dir", s.Dir).CombinedOutput(); err != nil {
		t.Fatalf("revoke: %v %s", err, out)
	}
	if status, _, _ := d.call("GET", "/v1/log/head", reader, ""); status != 401 {
		t.Errorf("a revoked token: %d", status)
	}
	if out, err := exec.Command(s.Binary, "gateway", "--dir", s.Dir, "--addr", "0.0.0.0:0").CombinedOutput(); err == nil || !strings.Contains(string(out), "TLS") {
		t.Errorf("beyond this machine: %v %s", err, out)
	}
}

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// Over HTTP the tools are the same, for the token's principal and scopes.
func TestMCPOverHTTP(t *testing.T) {
	t.Parallel()
	s := testenv.Up(t, binary("satchel"), t.TempDir())
	full, reader := newToken(t, s, "one"), newToken(t, s, "two", "--scope", "memory.read")
	d := gatewayOf(t, s)
	connect := func(token string) *sdk.ClientSession {
		session, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(),
			&sdk.StreamableClientTransport{Endpoint: d.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
		return session
	}
	one, two := connect(full), connect(reader)
	if _, v := use(t, one, "remember", map[string]any{"text": "The kiln is fired on Tuesdays."}); v["level"] != "indexed" {
		t.Fatalf("receipt %v", v)
	}
	if pack, _ := use(t, two, "context", map[string]any{"question": "when is the kiln fired?"}); !strings.Contains(pack, "Tuesdays") {
		t.Errorf("context: %q", pack)
	}
	if _, v := use(t, two, "remember", map[string]any{"text": "x"}); v["code"] != "insufficient_scope" {
		t.Errorf("writing without the scope: %v", v)
	}
	if _, v := use(t, one, "forget", map[string]any{"items": []string{"x"}, "reason": "x"}); v["code"] != "insufficient_scope" {
		t.Errorf("erasing without the scope: %v", v)
	}
	begin := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	begun := 0
	for ; begun < 100; begun++ { // sessions that nobody ends
		if code, _, _ := d.call("POST", "/mcp", reader, begin, "Accept: application/json, text/event-stream"); code != 200 {
			break
		}
	}
	if begun != 64 {
		t.Errorf("%d more sessions of one token", begun)
	}
	if pack, _ := use(t, two, "context", map[string]any{"question": "when is the kiln fired?"}); !strings.Contains(pack, "Tuesdays") {
		t.Errorf("context in the session that was there: %q", pack)
	}
	editor := editor(t, s, nil, "--as", "three")
	if pack, _ := use(t, editor, "context", map[string]any{"question": "when is the kiln fired?"}); !strings.Contains(pack, "Tuesdays") {
		t.Errorf("an editor beside it: %q", pack)
	}
}

// A token that is taken away, narrowed, or cannot be read holds no longer, nor does a session of it.
func TestATokenHoldsAsItsEntrySays(t *testing.T) {
	t.Parallel()
	s := testenv.Up(t, binary("satchel"), t.TempDir())
	token := newToken(t, s, "one", "--level", "restricted")
	d := gatewayOf(t, s)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: d.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	use(t, session, "remember", map[string]any{"text": "The vault is blue.", "labels": []string{"level:restricted"}})
	file := s.Dir + "/tokens.yaml"
	entries, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ask := `{"query":"which colour is the vault?"}`
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, text, _ := d.call("POST", "/v1/search", token, ask); !strings.Contains(text, "blue") {
		t.Fatalf("the token itself: %s", text)
	}
	write(strings.Replace(string(entries), "clearance: restricted\n", "", 1))
	if _, text, _ := d.call("POST", "/v1/search", token, ask); strings.Contains(text, "blue") {
		t.Errorf("a token without a clearance reads above public: %s", text)
	}
	if r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "search", Arguments: map[string]any{"query": "vault"}}); err == nil && !r.IsError {
		t.Errorf("the session of an entry that is not there any more is served: %v", r.StructuredContent)
	}
	for name, text := range map[string]string{"broken": "tokens: [", "an unknown scope": strings.Replace(string(entries), "memory.read", "memory.reed", 1), "empty": ""} {
		write(text)
		if code, text, _ := d.call("POST", "/v1/search", token, ask); code != 401 {
			t.Errorf("%s file: %d %s", name, code, text)
		}
	}
	write(string(entries))
	if code, text, _ := d.call("POST", "/v1/search", token, ask); code != 200 {
		t.Errorf("the file as it was: %d %s", code, text)
	}
	if out, err := exec.Command(s.Binary, "token", "add", "late", "--for=-1h", "--dir", s.Dir).CombinedOutput(); err == nil {
		t.Errorf("a token that is over: %s", out)
	}
	if code, text, _ := d.call("POST", "/v1/memories", token, `{"content":"x","security_label":["level:restricted"],"SECURITY_LABEL":["level:public"]}`); code != 400 {
		t.Errorf("a member that stands twice: %d %s", code, text)
	}
	var adding sync.WaitGroup
	for i := range 6 {
		adding.Go(func() { newToken(t, s, "agent"+strconv.Itoa(i)) })
	}
	adding.Wait()
	if out, err := exec.Command(s.Binary, "token", "ls", "--dir", s.Dir).Output(); err != nil || strings.Count(string(out), "agent") < 6 {
		t.Errorf("tokens made at once: %v\n%s", err, out)
	}
	s.Stop()
	if code, text, v := d.call("POST", "/v1/search", token, ask); code != 503 || v["code"] != "storage_error" {
		t.Errorf("while nobody serves: %d %s", code, text)
	}
}

// The gateway's metrics are for tokens with the scope memory.audit, count what it answered, and name
// neither tokens, principals nor paths.
func TestGatewayMetrics(t *testing.T) {
	t.Parallel()
	s := testenv.Up(t, binary("satchel"), t.TempDir())
	reader, auditor := newToken(t, s, "quetzal-reader"), newToken(t, s, "quetzal-auditor", "--scope", "memory.audit")
	d := gatewayOf(t, s)
	for _, c := range []struct {
		method, path, token string
		status              int
	}{
		{"GET", "/v1/log/head", reader, 200}, {"GET", "/v1/log/head", "", 401}, {"GET", "/v1/log/head", "guessed", 401}, {"POST", "/v1/forget", reader, 403},
		{"GET", "/v1/packs/quetzal-pack", reader, 404}, {"GET", "/quetzal-path", reader, 404}, {"POST", "/v1/context", reader, 400}, {"GET", "/metrics", reader, 403},
	} {
		if code, text, _ := d.call(c.method, c.path, c.token, "no JSON"); code != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.path, code, text)
		}
	}
	_, text, _ := d.call("GET", "/metrics", auditor, "")
	for _, line := range []string{
		`satchel_gateway_requests_total{code="200",operation="head"} 1`, `satchel_gateway_requests_total{code="401",operation="head"} 2`,
		`satchel_gateway_requests_total{code="404",operation="pack"} 1`, `satchel_gateway_requests_total{code="404",operation="other"} 1`,
		`satchel_gateway_auth_failures_total{why="missing"} 1`, `satchel_gateway_auth_failures_total{why="unknown"} 1`, `satchel_gateway_auth_failures_total{why="scope"} 2`,
		`satchel_gateway_request_duration_seconds_count{operation="head"} 3`, "satchel_gateway_streams 0",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("/metrics lacks %s", line)
		}
	}
	if strings.Contains(text, "quetzal") || strings.Contains(text, "satchel_ready") {
		t.Errorf("/metrics has what it should not:\n%s", text)
	}
}

// satchel console prints a link that opens a session of the token's principal, once.
func TestConsoleLink(t *testing.T) {
	t.Parallel()
	s := testenv.Up(t, binary("satchel"), t.TempDir())
	shell := newToken(t, s, "shell")
	d := gatewayOf(t, s)
	ask := func(token string) (string, error) {
		cmd := exec.Command(s.Binary, "console", "--url", d.url, "--token-file", "-")
		cmd.Stdin = strings.NewReader(token + "\n")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := ask(shell)
	link, said, _ := strings.Cut(out, "\n")
	if err != nil || !strings.HasPrefix(link, d.url+"/console/enter?link=") || !strings.Contains(said, "principal shell in tenant main") {
		t.Fatalf("console: %v\n%s", err, out)
	}
	at, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/console/", "/console/enter"} { // where the second is refused
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{Jar: jar}).PostForm(d.url+"/console/enter", at.Query())
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.Request.URL.Path != want || (res.StatusCode == 200) != (want == "/console/") {
			t.Errorf("the link leads to %s: %s", res.Request.URL.Path, res.Status)
		}
	}
	if out, err := ask("satchel_invented"); err == nil || !strings.Contains(out, "unauthenticated") {
		t.Errorf("an invented token: %v\n%s", err, out)
	}
	if out, err := exec.Command(s.Binary, "console", "--url", "http://example.com").CombinedOutput(); err == nil || !strings.Contains(string(out), "https") {
		t.Errorf("a token in the clear: %v\n%s", err, out)
	}
}
