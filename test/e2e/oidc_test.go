package e2e

import (
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"satchel/test/parts"
	"satchel/test/testenv"
	"satchel/test/testenv/oidctest"
)

// login is an issuer, and what its tokens for the gateway say.
type login struct {
	*oidctest.Issuer
	audience string
}

func (l *login) token(t *testing.T, subject, scope string, change ...any) string {
	t.Helper()
	claims := map[string]any{"iss": l.URL, "aud": l.audience, "sub": subject, "satchel_tenant": "main", "scope": scope,
		"exp": time.Now().Add(time.Hour).Unix()}
	for i := 0; i < len(change); i += 2 {
		claims[change[i].(string)] = change[i+1]
	}
	return l.Sign(t, "key", claims)
}

// challenge is what WWW-Authenticate says to a request with a token.
func (d *door) challenge(method, path, token string) (int, string) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, strings.NewReader("{}"))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Header.Get("WWW-Authenticate")
}

// A JSON Web Token of the issuer opens both doors beside tokens of the file; any other is told where to
// get one.
func TestTheGatewayTakesJSONWebTokens(t *testing.T) {
	t.Parallel()
	s := testenv.Up(t, binary("satchel"), t.TempDir())
	file := newToken(t, s, "shell")
	l := &login{oidctest.NewIssuer(t), "https://memory.example.com/mcp"}
	l.Publish(t, "key", jose.RS256)
	args := []string{"--oidc-issuer", l.URL, "--oidc-ca", l.CA, "--oidc-audience", l.audience, "--oidc-clearance", "internal"}
	d := gatewayOf(t, s, args...)
	full := l.token(t, "planner", "openid memory.read memory.write")
	if code, text, _ := d.call("POST", "/v1/memories", full, `{"content":"The kiln is fired on Tuesdays."}`); code != 200 {
		t.Fatalf("remember: %d %s", code, text)
	}
	for name, token := range map[string]string{"a JSON Web Token": full, "a token of the file": file} {
		if code, text, _ := d.call("POST", "/v1/search", token, `{"query":"kiln"}`); code != 200 || !strings.Contains(text, "Tuesdays") {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	ended := time.Now().Add(-2 * time.Minute).Unix()
	changed := func(claim string, value any) string { return l.token(t, "planner", "memory.read", claim, value) }
	const where = `resource_metadata="https://memory.example.com/.well-known/oauth-protected-resource/mcp"`
	for what, c := range map[string]struct {
		method, path, token string
		code                int
		say                 string
	}{
		"no token":              {"GET", "/v1/memories", "", 401, `Bearer realm="satchel", ` + where},
		"no token for tools":    {"POST", "/mcp", "", 401, `Bearer realm="satchel", ` + where},
		"an invented token":     {"GET", "/v1/memories", "satchel_x", 401, `error="invalid_token"`},
		"expired":               {"GET", "/v1/memories", changed("exp", ended), 401, `error="invalid_token"`},
		"for another":           {"POST", "/mcp", changed("aud", "https://other.example.com"), 401, where},
		"too long":              {"GET", "/v1/memories", changed("x", strings.Repeat("x", 9<<10)), 401, `error="invalid_token"`},
		"too long for a header": {"GET", "/v1/memories", changed("x", strings.Repeat("x", 32<<10)), 431, ""},
		"without the scope":     {"POST", "/v1/forget", full, 403, `error="insufficient_scope", scope="memory.erase", ` + where},
	} {
		if code, say := d.challenge(c.method, c.path, c.token); code != c.code || !strings.Contains(say, c.say) {
			t.Errorf("%s: %d %q, want %d %q", what, code, say, c.code, c.say)
		}
	}
	for _, path := range []string{"", "/mcp"} {
		code, text, v := d.call("GET", "/.well-known/oauth-protected-resource"+path, "", "")
		servers, _ := v["authorization_servers"].([]any)
		if code != 200 || v["resource"] != l.audience || len(servers) != 1 || servers[0] != l.URL {
			t.Errorf("metadata: %d %s", code, text)
		}
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: d.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(full)},
			DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if pack, _ := use(t, session, "context", map[string]any{"question": "when is the kiln fired?"}); !strings.Contains(pack, "Tuesdays") {
		t.Errorf("context: %q", pack)
	}
	if _, v := use(t, session, "forget", map[string]any{"items": []string{"x"}, "reason": "x"}); v["code"] != "insufficient_scope" {
		t.Errorf("forget without the scope: %v", v)
	}
	out, err := exec.Command(s.Binary, "gateway", "--dir", s.Dir, "--oidc-issuer", "http://login.example.com").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "https") {
		t.Errorf("an issuer in the clear: %v %s", err, out)
	}
}

// While the issuer does not answer, tokens of the file hold, and a JSON Web Token may be sent again.
func TestTheGatewayWaitsForTheIssuer(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	s := testenv.Up(t, binary("satchel"), t.TempDir())
	file := newToken(t, s, "shell")
	l := &login{oidctest.NewIssuer(t), "https://memory.example.com/mcp"}
	l.Publish(t, "key", jose.RS256)
	l.SetDown(true)
	d := gatewayOf(t, s, "--oidc-issuer", l.URL, "--oidc-ca", l.CA, "--oidc-audience", l.audience)
	token := l.token(t, "planner", "memory.read")
	if code, text, _ := d.call("GET", "/v1/log/head", file, ""); code != 200 {
		t.Errorf("a token of the file: %d %s", code, text)
	}
	for _, path := range []string{"/v1/log/head", "/mcp"} {
		if code, text, v := d.call("GET", path, token, ""); code != 503 || v["code"] != "storage_error" {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	l.SetDown(false)
	for end := time.Now().Add(time.Minute); ; {
		code, text, _ := d.call("GET", "/v1/log/head", token, "")
		if code == 200 {
			break
		}
		if code != 503 || time.Now().After(end) {
			t.Fatalf("when the issuer is back: %d %s", code, text)
		}
		select {
		case <-time.After(500 * time.Millisecond): // as long as the gateway waits between two questions
		case <-t.Context().Done():
		}
	}
}
