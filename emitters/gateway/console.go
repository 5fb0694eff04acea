package gateway

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"satchel/emitters"
	"satchel/emitters/gateway/console"
)

// mountConsole serves the console. Its sessions are of a token's entry, and end with it.
func (g *gateway) mountConsole(mux *http.ServeMux) error {
	identity := func(who Token) console.Identity {
		return console.Identity{Key: who.fingerprint(), Tenant: who.Tenant, Principal: who.Principal,
			Read: slices.Contains(who.Scopes, ScopeRead), Audit: slices.Contains(who.Scopes, ScopeAudit)}
	}
	pages, err := console.New(console.Config{
		Identify: func(r *http.Request) (console.Identity, bool) {
			secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			who, found := g.Tokens.Find(secret, g.Clock())
			return identity(who), ok && found
		},
		Holds: func(key string) (console.Identity, bool) {
			who, ok := g.Tokens.holds(key, g.Clock())
			return identity(who), ok
		},
		Client: func(who console.Identity) (*emitters.Emitter, error) {
			token, ok := g.Tokens.holds(who.Key, g.Clock())
			switch {
			case !g.NC.IsConnected():
				return nil, emitters.ErrNotConnected
			case !ok:
				return nil, errors.New("the token was taken away")
			}
			return g.client(token)
		},
		Begin: g.limits.begin, Secure: g.TLS, Clock: g.Clock,
	})
	if err != nil {
		return err
	}
	mux.Handle(console.Path, pages)
	mux.Handle(strings.TrimSuffix(console.Path, "/"), pages)
	return nil
}
