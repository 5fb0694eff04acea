package attack

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"satchel/emitters/gateway"
	"satchel/test/parts"
	"satchel/test/testenv/oidctest"
)

// A JSON Web Token shows what its principal may see in its tenant, as the registry has it, and nothing
// of another tenant, whatever its subject is called.
func TestAJWTShowsNothingOfAnotherTenant(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	w, canaries := newWorld(t, "main"), map[string]secret{}
	ids := w.fill(t, "main", canaries)
	packs := w.packsOf(t, ids)
	issuer := oidctest.NewIssuer(t)
	issuer.Publish(t, "key", jose.ES256)
	const audience = "https://memory.example.com/mcp"
	url, _ := w.Gateway(t, "--tokens", filepath.Join(t.TempDir(), "none.yaml"),
		"--oidc-issuer", issuer.URL, "--oidc-ca", issuer.CA, "--oidc-audience", audience, "--oidc-clearance", "restricted")
	token := func(tenant, subject string) string {
		return issuer.Sign(t, "key", map[string]any{"iss": issuer.URL, "aud": audience,
			"sub": subject, "satchel_tenant": tenant, "exp": time.Now().Add(time.Hour).Unix(), "scope": strings.Join(gateway.Scopes(), " ")})
	}
	asked, shown := 0, map[string]bool{}
	check := func(secret, who string, allowed func(secret) bool) {
		t.Helper()
		see := func(what, sent, text string) {
			asked++
			for _, word := range canariesIn(text, canaries) {
				shown[word] = true
				if s := canaries[word]; !allowed(s) && !strings.Contains(sent, word) {
					t.Errorf("%s as %s shows the %s: %s", what, who, s, around(text, word))
				}
			}
		}
		q := question{words: shared, from: principals[0].from(), tenant: "main", ids: ids, packs: packs}
		for name, path := range overHTTP {
			for _, body := range w.bodies(name, q) {
				raw, err := json.Marshal(body)
				must(t, err)
				see("POST "+path, string(raw), send(t, "POST", url+path, secret, raw))
			}
		}
		pack := "/v1/packs/" + packs[0]
		for _, path := range []string{"/v1/memories?limit=1000", "/v1/memories/" + ids[0], pack, pack + "/items/" + ids[0]} {
			see("GET "+path, "", send(t, "GET", url+path, secret, nil))
		}
		see("the ledger", "", follow(t, url, secret))
		see("the tool search", "", tool(t, url, secret, "search", map[string]any{"query": shared, "limit": 100}))
	}
	for _, subject := range []string{"writer", "neighbour", "auditor", "stranger"} {
		check(token("elsewhere", subject), subject+" of elsewhere", func(secret) bool { return false })
	}
	if len(shown) > 0 {
		t.Errorf("%d canaries crossed to another tenant", len(shown))
	}
	for i := range principals {
		p := &principals[i]
		if p.elsewhere {
			continue
		}
		check(token("main", p.name), p.name, func(s secret) bool { return s.allowed(p, "") })
	}
	if text := follow(t, url, token("main", "auditor")); !strings.Contains(text, "data: ") {
		t.Errorf("the auditor follows %.300s", text)
	}
	if text := follow(t, url, token("main", "internal")); strings.Contains(text, `"kind":"decision"`) {
		t.Errorf("who is no auditor follows %.300s", text)
	}
	t.Logf("%d replies; %d canaries were shown to somebody who may see them", asked, len(shown))
	if len(shown) < len(canaries)/8 {
		t.Errorf("only %d of %d canaries were shown to anybody: the door shows too little", len(shown), len(canaries))
	}
	claims := map[string]any{"iss": issuer.URL, "aud": audience, "sub": "writer", "satchel_tenant": "main",
		"exp": time.Now().Add(time.Hour).Unix()}
	text := send(t, "GET", url+"/v1/memories", issuer.Sign(t, "key", claims), nil)
	if !strings.Contains(text, `"insufficient_scope"`) {
		t.Errorf("a token without a scope: %s", text)
	}
}

// follow returns what the ledger sends within a second.
func follow(t *testing.T, url, token string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/ledger?after=0", http.NoBody)
	must(t, err)
	res, err := (&http.Client{Transport: bearer(token)}).Do(req)
	if err != nil {
		return "" // it sent nothing in time
	}
	defer res.Body.Close()
	raw, _ := io.ReadAll(res.Body) // until the time is over
	return string(raw)
}
