package oidc_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"satchel/emitters/gateway/oidc"
	"satchel/test/testenv/oidctest"
)

const audience = "https://memory.example.com/mcp"

var began = time.Date(2026, 3, 3, 10, 0, 0, 0, time.UTC)

// world is an issuer with a key of RSA and one of an elliptic curve, and a verifier whose clock is now.
type world struct {
	*oidctest.Issuer
	*oidc.Verifier
	mu   sync.Mutex
	now  time.Time
	told []error
}

func setup(t *testing.T, change ...func(*oidc.Config)) *world {
	t.Helper()
	w := &world{Issuer: oidctest.NewIssuer(t), now: began}
	w.Publish(t, "rsa", jose.RS256)
	w.Publish(t, "ec", jose.ES256)
	cfg := oidc.Config{Issuer: w.URL, Audience: audience, TenantClaim: "satchel_tenant",
		Skew: time.Minute, HTTP: w.Issuer.Client,
		Clock:  func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now },
		Unread: func(err error) { w.mu.Lock(); defer w.mu.Unlock(); w.told = append(w.told, err) }}
	for _, c := range change {
		c(&cfg)
	}
	var err error
	if w.Verifier, err = oidc.New(cfg); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// claims are those of a valid token, with changes; a nil takes a claim away.
func (w *world) claims(change map[string]any) map[string]any {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]any{"iss": w.URL, "aud": []string{"https://other.example.com", audience},
		"sub": "planner", "satchel_tenant": "main", "scope": "openid memory.read memory.write", "iat": w.now.Unix(), "exp": w.now.Add(5 * time.Minute).Unix()}
	maps.Copy(all, change)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	return all
}

// want checks what becomes of a token; why is a part of the reason, "" for a token that is taken.
func (w *world) want(t *testing.T, what, token string, kind error, why string) {
	t.Helper()
	_, err := w.Verify(t.Context(), token)
	if !errors.Is(err, kind) || kind == nil && err != nil || kind != nil && !strings.Contains(err.Error(), why) {
		t.Errorf("%s: %v, want %v %q", what, err, kind, why)
	}
}

func TestAValidTokenSaysWhoCalls(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *oidc.Config) { c.Clearance = "internal" })
	for _, key := range []string{"rsa", "ec"} {
		got, err := w.Verify(t.Context(), w.Sign(t, key, w.claims(nil)))
		if err != nil || got.Tenant != "main" || got.Principal != "planner" || got.Clearance != "internal" ||
			!slices.Equal(got.Scopes, []string{"openid", "memory.read", "memory.write"}) {
			t.Errorf("%s: %+v, %v", key, got, err)
		}
	}
	list := w.claims(map[string]any{"scope": nil, "scp": []any{"memory.read", 7}, "aud": audience})
	got, err := w.Verify(t.Context(), w.Sign(t, "ec", list))
	if err != nil || !slices.Equal(got.Scopes, []string{"memory.read"}) {
		t.Errorf("scopes as a list: %+v, %v", got, err)
	}
	if w.Reads() != 1 {
		t.Errorf("the issuer was read %d times for three tokens", w.Reads())
	}
	fixed := setup(t, func(c *oidc.Config) { c.TenantClaim, c.Tenant, c.PrincipalClaim = "", "only", "azp" })
	got, err = fixed.Verify(t.Context(), fixed.Sign(t, "ec", fixed.claims(map[string]any{"azp": "robot"})))
	if err != nil || got.Tenant != "only" || got.Principal != "robot" {
		t.Errorf("a fixed tenant and another claim: %+v, %v", got, err)
	}
}

func TestWhatIsNotValidIsRefused(t *testing.T) {
	t.Parallel()
	w := setup(t)
	at := func(d time.Duration) int64 { return began.Add(d).Unix() }
	for what, c := range map[string]struct {
		change map[string]any
		why    string
	}{
		"another audience":            {map[string]any{"aud": "https://memory.example.com"}, "audience"},
		"no audience":                 {map[string]any{"aud": nil}, "audience"},
		"another issuer":              {map[string]any{"iss": "https://login.example.com"}, "issuer"},
		"no issuer":                   {map[string]any{"iss": nil}, "issuer"},
		"an issuer with a slash":      {map[string]any{"iss": w.URL + "/"}, "issuer"},
		"expired":                     {map[string]any{"exp": at(-61 * time.Second)}, "expired"},
		"without an end":              {map[string]any{"exp": nil}, "no end"},
		"to come":                     {map[string]any{"nbf": at(61 * time.Second)}, "not valid yet"},
		"issued in the future":        {map[string]any{"iat": at(61 * time.Second)}, "not valid yet"},
		"bound to a key":              {map[string]any{"cnf": map[string]any{"jkt": "x"}}, "bound"},
		"no tenant":                   {map[string]any{"satchel_tenant": nil}, "tenant"},
		"a tenant that is a wildcard": {map[string]any{"satchel_tenant": "*"}, "tenant"},
		"a tenant of two levels":      {map[string]any{"satchel_tenant": "main.other"}, "tenant"},
		"two tenants":                 {map[string]any{"satchel_tenant": []string{"main", "other"}}, "tenant"},
		"no principal":                {map[string]any{"sub": nil}, "principal"},
		"a principal with a bar":      {map[string]any{"sub": "auth0|12"}, "principal"},
	} {
		w.want(t, what, w.Sign(t, "rsa", w.claims(c.change)), oidc.ErrInvalid, c.why)
	}
	sign := func(claim string, value any) string { return w.Sign(t, "rsa", w.claims(map[string]any{claim: value})) }
	w.want(t, "ended within the skew", sign("exp", at(-59*time.Second)), nil, "")
	w.want(t, "begins within the skew", sign("nbf", at(59*time.Second)), nil, "")
	w.want(t, "huge", sign("x", strings.Repeat("x", 8<<10)), oidc.ErrInvalid, "long")
	w.want(t, "no token", "e.e.e", oidc.ErrInvalid, "no JSON Web Token")
}

// segment is a part of a token.
func segment(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// A token that the issuer did not sign is refused, whatever its header says.
func TestForgedTokensAreRefused(t *testing.T) {
	t.Parallel()
	w := setup(t)
	public := w.Publish(t, "public", jose.RS256)
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	secret := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	for _, raw := range [][]byte{secret, der} {
		key := jose.JSONWebKey{Key: raw, KeyID: "public", Algorithm: "HS256"}
		token := oidctest.SignJWT(t, key, w.claims(nil), nil)
		w.want(t, "HS256 with the public key", token, oidc.ErrInvalid, "allowed algorithm")
	}
	for _, none := range []string{"none", "None", "NONE", ""} {
		header := segment(t, map[string]any{"alg": none, "kid": "rsa"})
		w.want(t, "alg "+none, header+"."+segment(t, w.claims(nil))+".", oidc.ErrInvalid, "allowed algorithm")
	}
	mine, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	rogue := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the header's jku was asked")
	}))
	defer rogue.Close()
	own := jose.JSONWebKey{Key: mine, Algorithm: "RS256"}
	for _, id := range []string{"rsa", "ec", "../../../dev/null", "' OR '1'='1", "/proc/self/environ\x00", "none"} {
		key := own
		key.KeyID = id
		public := jose.JSONWebKey{Key: mine.Public(), KeyID: id, Algorithm: "RS256"}
		for name, header := range map[string]map[string]any{"alone": nil, "jwk": {"jwk": public},
			"jku": {"jku": rogue.URL}, "x5u": {"x5u": rogue.URL}, "crit": {"crit": []string{"exp"}}} {
			w.want(t, "kid "+id+" with "+name, oidctest.SignJWT(t, key, w.claims(nil), header), oidc.ErrInvalid, "it ")
		}
	}
	w.want(t, "without a kid among three keys", oidctest.SignJWT(t, own, w.claims(nil), nil), oidc.ErrInvalid, "does not publish")
	parts := strings.Split(w.Sign(t, "ec", w.claims(nil)), ".")
	parts[1] = segment(t, w.claims(map[string]any{"satchel_tenant": "other"}))
	w.want(t, "claims that were changed", strings.Join(parts, "."), oidc.ErrInvalid, "signature")
	own.KeyID = "rsa"
	logout := oidctest.SignJWT(t, own, w.claims(nil), map[string]any{"typ": "logout+jwt"})
	number := oidctest.SignJWT(t, own, w.claims(nil), map[string]any{"typ": 7})
	w.want(t, "a type that is not for access", logout, oidc.ErrInvalid, "not for access")
	w.want(t, "a type that is no text", number, oidc.ErrInvalid, "")
	own.Algorithm = "PS256"
	w.want(t, "another algorithm", oidctest.SignJWT(t, own, w.claims(nil), nil), oidc.ErrInvalid, "allowed algorithm")
	if w.Reads() > 1 {
		t.Errorf("the issuer was read %d times in a moment", w.Reads())
	}
	if _, err := oidc.New(oidc.Config{Issuer: w.URL, Audience: audience, Tenant: "main", Algorithms: []string{"HS256"}}); err == nil {
		t.Error("an algorithm of a shared secret may be allowed")
	}
}

// Keys that do not sign, or that are too weak, verify nothing.
func TestKeysThatDoNotSign(t *testing.T) {
	t.Parallel()
	w := setup(t)
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Skipf("a key of 1,024 bits cannot be made here: %v", err)
	}
	strong, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	w.PublishKey(jose.JSONWebKey{Key: weak, KeyID: "weak", Algorithm: "RS256", Use: "sig"})
	w.PublishKey(jose.JSONWebKey{Key: strong, KeyID: "enc", Algorithm: "RS256", Use: "enc"})
	for _, id := range []string{"weak", "enc"} {
		w.want(t, id, w.Sign(t, id, w.claims(nil)), oidc.ErrInvalid, "does not publish")
	}
	w.want(t, "beside them", w.Sign(t, "rsa", w.claims(nil)), nil, "")
}

// A new key is known within ten seconds, one that is withdrawn holds a quarter of an hour at most.
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.want(t, "the first key", w.Sign(t, "rsa", w.claims(nil)), nil, "")
	w.Publish(t, "next", jose.RS256)
	w.Withdraw("rsa")
	w.want(t, "at once", w.Sign(t, "next", w.claims(nil)), oidc.ErrInvalid, "does not publish")
	w.pass(11 * time.Second)
	w.want(t, "later", w.Sign(t, "next", w.claims(nil)), nil, "")
	w.want(t, "the key that was withdrawn", w.Sign(t, "rsa", w.claims(nil)), oidc.ErrInvalid, "does not publish")
	w.Withdraw("ec")
	w.want(t, "a key that was withdrawn a moment ago", w.Sign(t, "ec", w.claims(nil)), nil, "")
	w.pass(16 * time.Minute)
	w.want(t, "a key that was withdrawn", w.Sign(t, "ec", w.claims(nil)), oidc.ErrInvalid, "does not publish")
}

// While the issuer does not answer, its keys hold for a day, and it is not asked at every request.
func TestTheIssuerIsAway(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.SetDown(true)
	w.want(t, "from the start", w.Sign(t, "rsa", w.claims(nil)), oidc.ErrUnavailable, "")
	w.SetDown(false)
	w.want(t, "in the same moment", w.Sign(t, "rsa", w.claims(nil)), oidc.ErrUnavailable, "")
	w.pass(11 * time.Second)
	w.want(t, "when it is back", w.Sign(t, "rsa", w.claims(nil)), nil, "")
	w.SetDown(true)
	w.Publish(t, "next", jose.RS256)
	w.pass(23 * time.Hour)
	w.want(t, "a key that was read", w.Sign(t, "rsa", w.claims(nil)), nil, "")
	w.want(t, "a key that was not", w.Sign(t, "next", w.claims(nil)), oidc.ErrUnavailable, "")
	w.pass(2 * time.Hour)
	w.want(t, "after a day", w.Sign(t, "rsa", w.claims(nil)), oidc.ErrUnavailable, "")
	if len(w.told) != 2 {
		t.Errorf("told of %d outages: %v", len(w.told), w.told)
	}
	w.SetDown(false)
	w.pass(11 * time.Second)
	reads := w.Reads()
	var asking sync.WaitGroup
	for range 50 {
		asking.Go(func() { w.want(t, "at once", w.Sign(t, "next", w.claims(nil)), nil, "") })
	}
	asking.Wait()
	if w.Reads() != reads+1 {
		t.Errorf("50 requests at once read the issuer %d times", w.Reads()-reads)
	}
}

// Only the issuer itself says where its keys are, and only over TLS.
func TestWhoSaysWhereTheKeysAre(t *testing.T) {
	t.Parallel()
	var document func(url string) (int, string)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, body := document("https://" + r.Host)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	for what, answer := range map[string]struct {
		code int
		body string // URL stands for the issuer
	}{
		"another issuer":       {200, `{"issuer":"https://login.example.com","jwks_uri":"https://login.example.com/keys"}`},
		"keys in the clear":    {200, `{"issuer":"URL","jwks_uri":"http://login.example.com/keys"}`},
		"no keys":              {200, `{"issuer":"URL","jwks_uri":"URL","keys":[]}`},
		"keys of a secret":     {200, `{"issuer":"URL","jwks_uri":"URL","keys":[{"kty":"oct","k":"c2VjcmV0","kid":"a"}]}`},
		"a redirect":           {302, ""},
		"a page":               {200, "<html>"},
		"more than a mebibyte": {200, strings.Repeat(" ", 1<<20) + "{}"},
	} {
		document = func(url string) (int, string) { return answer.code, strings.ReplaceAll(answer.body, "URL", url) }
		v, err := oidc.New(oidc.Config{Issuer: server.URL, Audience: audience, Tenant: "main", HTTP: server.Client()})
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Ready(t.Context()); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	for _, issuer := range []string{"", "login.example.com", "http://login.example.com",
		"https://user@login.example.com", "https://login.example.com?x"} {
		if _, err := oidc.New(oidc.Config{Issuer: issuer, Audience: audience, Tenant: "main"}); err == nil {
			t.Errorf("issuer %q is taken", issuer)
		}
	}
}

// No token ends the process, or is taken without a signature.
func FuzzVerify(f *testing.F) {
	issuer := oidctest.NewIssuer(f)
	issuer.Publish(f, "ec", jose.ES256)
	v, err := oidc.New(oidc.Config{Issuer: issuer.URL, Audience: audience, Tenant: "main", HTTP: issuer.Client})
	if err != nil {
		f.Fatal(err)
	}
	until := time.Now().Add(time.Hour).Unix()
	good := issuer.Sign(f, "ec", map[string]any{"iss": issuer.URL, "aud": audience, "sub": "planner", "exp": until})
	f.Add(good)
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Fuzz(func(t *testing.T, token string) {
		// The same signature may be written in another way; what it signs may not.
		_, err := v.Verify(t.Context(), token)
		if err == nil && strings.Split(token, ".")[1] != strings.Split(good, ".")[1] {
			t.Errorf("%q is taken", token)
		}
	})
}
