package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"satchel/emitters/gateway"
	"satchel/emitters/gateway/oidc"
	"satchel/schemas"
	"satchel/test/testenv/oidctest"
)

// A link opens one session, within a minute, by its button alone.
func TestALinkWorksOnce(t *testing.T) {
	t.Parallel()
	s := setup(t, false)
	token := s.token("planner", "internal", "memory.read")
	link := s.link(token)
	for range 2 { // a look uses nothing up
		if res := s.browser().get(link); res.StatusCode != 200 || len(res.Cookies()) != 0 {
			t.Fatalf("the link's page: %s, cookies %v", res.Status, res.Cookies())
		}
	}
	var opened atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if res := s.browser().use(link); res.StatusCode == 200 {
				opened.Add(1)
			}
		})
	}
	if group.Wait(); opened.Load() != 1 {
		t.Errorf("one link has opened %d sessions", opened.Load())
	}
	for _, c := range []struct {
		after  time.Duration
		status int
	}{{59 * time.Second, 200}, {60 * time.Second, 401}} {
		late := s.link(token)
		s.ahead.Add(int64(c.after))
		if res := s.browser().use(late); res.StatusCode != c.status {
			t.Errorf("after %s: %s", c.after, res.Status)
		}
	}
	for _, guess := range []string{"", "/console/enter?link=", "/console/enter?link=" + strings.Repeat("A", 26)} {
		if res := s.browser().use(guess); res.StatusCode != 401 || !strings.Contains(res.body, "satchel console") {
			t.Errorf("a guess: %s %s", res.Status, res.body)
		}
	}
	for name, header := range map[string]string{
		"no token": "X-None: x", "an invented token": "Authorization: Bearer satchel_x", "another scheme": "Authorization: " + token,
	} {
		if res := s.browser().send("POST", "/console/link", nil, header); res.StatusCode != 401 {
			t.Errorf("%s: %s", name, res.Status)
		}
	}
	writer := s.token("writer", "internal", "memory.write")
	if res := s.browser().send("POST", "/console/link", nil, "Authorization: Bearer "+writer); res.StatusCode != 403 {
		t.Errorf("a token that may not read: %s", res.Status)
	}
}

// A session ends with its token, by itself, and when its user leaves.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	s := setup(t, false)
	s.remember(schemas.MemoryItem{Content: text("The kiln is fired on Tuesdays.")})
	holds := func(b *browser, want int, when string) {
		t.Helper()
		if res := b.get("/console/ask"); res.StatusCode != want {
			t.Errorf("%s: %s", when, res.Status)
		}
	}
	b := s.planner()
	holds(b, 200, "at first")
	entry := s.list[0]
	changed := entry
	changed.Clearance = "restricted"
	for when, list := range map[string][]gateway.Token{"revoked": nil, "changed": {changed}} {
		s.must(gateway.WriteTokens(s.file, list))
		holds(b, 401, when)
		s.must(gateway.WriteTokens(s.file, []gateway.Token{entry}))
		holds(b, 401, when+" and put back")
		s.list = nil
		b = s.planner()
		entry = s.list[0]
	}
	for range 9 { // used, it lasts eight hours
		holds(b, 200, "in use")
		s.ahead.Add(int64(50 * time.Minute))
	}
	s.ahead.Add(int64(61 * time.Minute))
	holds(b, 401, "after an hour without use")
	s.list = nil
	b = s.planner()
	for range 10 {
		holds(b, 200, "in use")
		s.ahead.Add(int64(48 * time.Minute))
	}
	holds(b, 401, "after eight hours")
	s.list = nil
	b = s.planner()
	at, err := url.Parse(s.url + "/console/")
	s.must(err)
	kept := b.client.Jar.Cookies(at)
	if len(kept) != 1 || len(kept[0].Value) != 26 {
		t.Fatalf("cookies %v", kept)
	}
	if res := b.send("POST", "/console/leave", url.Values{}); res.StatusCode != 200 {
		t.Errorf("leave: %s", res.Status)
	}
	b.client.Jar.SetCookies(at, kept)
	holds(b, 401, "after leaving, with the same cookie")
}

// A session of a JSON Web Token lasts as long as the token does, and as its key is published. It outlives an issuer
// that does not answer.
func TestASessionOfAJSONWebToken(t *testing.T) {
	t.Parallel()
	issuer := oidctest.NewIssuer(t)
	issuer.Publish(t, "key", jose.ES256)
	issuer.Publish(t, "next", jose.ES256)
	const audience = "https://memory.example.com/mcp"
	s := setup(t, false, func(c *gateway.Config) {
		verifier, err := oidc.New(oidc.Config{Issuer: issuer.URL, Audience: audience, TenantClaim: "satchel_tenant",
			Clearance: "internal", HTTP: issuer.Client, Clock: c.Clock})
		if err != nil {
			t.Fatal(err)
		}
		c.OIDC = verifier
	})
	s.remember(schemas.MemoryItem{Content: text("The kiln is fired on Tuesdays.")})
	sign := func(key, scope string, lasts time.Duration) string {
		return issuer.Sign(t, key, map[string]any{"iss": issuer.URL, "aud": audience, "sub": "planner",
			"satchel_tenant": s.tenant, "scope": scope, "exp": time.Now().Add(time.Duration(s.ahead.Load()) + lasts).Unix()})
	}
	holds := func(b *browser, want int, when string) {
		t.Helper()
		if res := b.get("/console/ask"); res.StatusCode != want {
			t.Errorf("%s: %s", when, res.Status)
		}
	}
	b := s.enter(sign("key", "memory.read", 30*time.Minute))
	if _, page := b.ask("when is the kiln fired?"); !strings.Contains(page, "Tuesdays") || !strings.Contains(page, "when is the kiln fired?") {
		t.Errorf("the pack's page has no question or no answer:\n%s", page)
	}
	holds(b, 200, "at first")
	issuer.SetDown(true)
	s.ahead.Add(int64(20 * time.Minute))
	holds(b, 200, "while the issuer does not answer")
	issuer.SetDown(false)
	s.ahead.Add(int64(11 * time.Minute))
	holds(b, 401, "after the token's end")
	b = s.enter(sign("key", "memory.read", 24*time.Hour))
	issuer.Withdraw("key")
	s.ahead.Add(int64(16 * time.Minute))
	holds(b, 401, "with a key that is published no more")
	refused := func(what, token string, want int) {
		t.Helper()
		if res := s.browser().send("POST", "/console/link", nil, "Authorization: Bearer "+token); res.StatusCode != want {
			t.Errorf("a link for a token %s: %s", what, res.Status)
		}
	}
	refused("of that key", sign("key", "memory.read", time.Hour), 401)
	refused("that may not read", sign("next", "memory.write", time.Hour), 403)
}

// The cookie cannot be read by scripts or sent from other sites, and over TLS not sent without it.
func TestTheCookie(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		s := setup(t, secure)
		b := s.browser()
		b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		res := b.use(s.link(s.token("planner", "internal", "memory.read")))
		if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
			t.Fatalf("%s, cookies %v", res.Status, res.Cookies())
		}
		c := res.Cookies()[0]
		closed := c.HttpOnly && c.SameSite == http.SameSiteStrictMode && c.Domain == ""
		if !closed || c.Secure != secure || strings.HasPrefix(c.Name, "__Host-") != secure {
			t.Errorf("with TLS %t: %s", secure, c.Raw)
		}
	}
}

// Every reply, refusals too, has the headers; no page is shown without a session, or by another method.
func TestHeadersAndMethods(t *testing.T) {
	t.Parallel()
	s := setup(t, false)
	s.fill()
	b := s.auditor()
	pack, _ := b.ask("when is the kiln fired?")
	pages := []string{"/console/", "/console/ask", "/console/packs", pack, pack + "/debug", pack + "/items/kiln",
		pack + "/proof", "/console/diff", "/console/write",
		"/console/erasures", "/console/ledger", "/console/ledger/entries", "/console/verify"}
	check := func(what string, res answer, status int) {
		t.Helper()
		h := res.Header
		if res.StatusCode != status {
			t.Errorf("%s: %s, want %d", what, res.Status, status)
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
				"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q", what, name, got)
			}
		}
		if h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s lets another origin read", what)
		}
	}
	for _, at := range pages {
		check(at, b.get(at), 200)
		res := s.browser().get(at)
		check(at+" without a session", res, 401)
		if !strings.Contains(res.Header.Get("Content-Type"), "json") && !strings.Contains(res.body, "satchel console") {
			t.Errorf("%s does not say what to do: %s", at, res.body)
		}
		for _, method := range []string{"PUT", "DELETE", "PATCH"} {
			check(method+" "+at, b.send(method, at, nil), 405)
		}
		switch {
		case strings.HasSuffix(at, "/items/kiln"): // it is shown, so there is nothing to read
			check("POST "+at, b.send("POST", at, url.Values{}), 404)
			check("POST "+at+" without a session", s.browser().send("POST", at, url.Values{}), 401)
		case at != "/console/ask":
			check("POST "+at, b.send("POST", at, url.Values{}), 405)
		}
	}
	for _, at := range []string{"/console/link", "/console/leave"} {
		check("GET "+at, b.get(at), 405)
	}
	check("no such page", b.get("/console/none"), 404)
	check("a folder", b.get("/console/static/"), 404)
	check("a file", b.get("/console/static/console.css"), 200)
	check("a foreign host", b.send("GET", "/console/", nil, "Host: evil.test"), 403)
	foreign := []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: http://evil.test"}
	for _, header := range foreign {
		for _, at := range []string{"/console/ask", pack + "/items/kiln", "/console/leave", "/console/enter", "/console/link"} {
			check(at+" with "+header, b.send("POST", at, url.Values{"question": {"kiln"}}, header), 403)
		}
	}
	check("a large form", b.send("POST", "/console/ask", url.Values{"question": {strings.Repeat("x", 65<<10)}}), 400)
	check("an empty question", b.send("POST", "/console/ask", url.Values{}), 400)
	for _, query := range []string{"packs?before=x", "ledger?before=-1", "ledger?kind=none", "ledger/entries?after=x"} {
		at := "/console/" + query
		check(at, b.get(at), 400)
	}
}

// The pages change nothing: after all of them the log is as long as before.
func TestPagesChangeNothing(t *testing.T) {
	t.Parallel()
	s := setup(t, false)
	s.fill()
	b := s.auditor()
	pack, _ := b.ask("when is the kiln fired?")
	size := func() string {
		_, after, _ := strings.Cut(b.page("/console/"), "Entries in the log</dt><dd>")
		n, _, _ := strings.Cut(after, "<")
		return n
	}
	before := size()
	for _, at := range []string{
		"/console/packs", pack, pack + "/debug", pack + "/items/kiln", pack + "/items/none", pack + "/proof",
		"/console/ledger", "/console/erasures", "/console/write?id=x",
	} {
		b.page(at)
	}
	if after := size(); before == "" || after != before {
		t.Errorf("the log had %q entries, and then %q", before, after)
	}
}
