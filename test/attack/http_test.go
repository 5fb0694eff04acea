package attack

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"satchel/emitters/gateway"
	"satchel/test/parts"
)

// overHTTP are the routes that an operation of the contract has, by its name.
var overHTTP = map[string]string{"context_request": "/v1/context", "context_search": "/v1/search"}

// Over HTTP a token shows what its principal may see, whoever the body says is asking.
func TestNothingIsShownOverHTTP(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	w, canaries := newWorld(t, "main"), map[string]secret{}
	ids := w.fill(t, "main", canaries)
	packs := w.packsOf(t, ids)
	url, tokens := w.gateway(t)
	asked, shown := 0, map[string]bool{}
	check := func(p *principal, what, sent, text string) {
		asked++
		checkTimes(t, what+" as "+p.name, text, p.has("auditor"))
		for _, word := range canariesIn(text, canaries) {
			shown[word] = true
			if s := canaries[word]; !s.allowed(p, "") && !strings.Contains(sent, word) {
				t.Errorf("%s as %s shows the %s: %s", what, p.name, s, around(text, word))
			}
		}
	}
	writer := principals[0].from()
	for i := range principals {
		p := &principals[i]
		for _, from := range []map[string]any{p.from(), writer} {
			q := question{words: shared, from: from, tenant: "main", ids: ids, packs: packs}
			for name, path := range overHTTP {
				for _, body := range w.bodies(name, q) {
					raw, err := json.Marshal(body)
					must(t, err)
					check(p, "POST "+path, string(raw), send(t, "POST", url+path, tokens[p.name], raw))
				}
			}
		}
		check(p, "the tool context", shared, tool(t, url, tokens[p.name], "context", map[string]any{"question": shared}))
		check(p, "GET /v1/ledger", "", follow(t, url, tokens[p.name]))
		for _, path := range []string{"/v1/memories?limit=1000", "/v1/memories/" + ids[0], "/v1/memories/" + ids[1]} {
			check(p, "GET "+path, "", send(t, "GET", url+path, tokens[p.name], nil))
		}
		for _, pack := range packs {
			check(p, "GET /v1/packs", "", send(t, "GET", url+"/v1/packs/"+pack, tokens[p.name], nil))
			raw, err := json.Marshal(map[string]any{"item_ids": ids[:40]})
			must(t, err)
			check(p, "recover", "", send(t, "POST", url+"/v1/packs/"+pack+"/recover", tokens[p.name], raw))
			for _, id := range ids[:16] {
				check(p, "explain", "", send(t, "GET", url+"/v1/packs/"+pack+"/items/"+id, tokens[p.name], nil))
			}
		}
	}
	t.Logf("%d replies; %d canaries were shown to somebody who may see them", asked, len(shown))
	if len(shown) < len(canaries)/8 {
		t.Errorf("only %d of %d canaries were shown to anybody: the door shows too little", len(shown), len(canaries))
	}
}

// gateway starts satchel gateway with a token for each principal, of all scopes, that claims
// the highest clearance, and a token for each of the entries, by its ID.
func (w *world) gateway(t *testing.T, more ...gateway.Token) (url string, tokens map[string]string) {
	t.Helper()
	tokens = map[string]string{}
	var entries []gateway.Token
	for _, entry := range more {
		secret, entry, err := gateway.NewToken(entry)
		must(t, err)
		tokens[entry.ID], entries = secret, append(entries, entry)
	}
	for i := range principals {
		p := &principals[i]
		tenant := "main"
		if p.elsewhere {
			tenant = "elsewhere"
		}
		secret, entry, err := gateway.NewToken(gateway.Token{ID: p.name, Tenant: tenant, Principal: p.name, Clearance: "restricted", Scopes: gateway.Scopes()})
		must(t, err)
		tokens[p.name], entries = secret, append(entries, entry)
	}
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	must(t, gateway.WriteTokens(file, entries))
	url, _ = w.Gateway(t, "--tokens", file)
	return url, tokens
}

func send(t *testing.T, method, url, token string, body []byte) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	must(t, err)
	return string(raw)
}
