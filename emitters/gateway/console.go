package gateway

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"satchel/emitters"
	"satchel/emitters/gateway/console"
)

// mountConsole serves the console. Each request of a session is one of its token: it ends with the token.
func (g *gateway) mountConsole(mux *http.ServeMux) error {
	pages, err := console.New(console.Config{
		Bearer: bearerOf,
		Identify: func(ctx context.Context, token string) (console.Identity, error) {
			who, refused := g.findToken(ctx, token)
			if refused != nil {
				return console.Identity{}, refused
			}
			return console.Identity{Key: who.makeFingerprint(), Tenant: who.Tenant, Principal: who.Principal,
				Read: slices.Contains(who.Scopes, ScopeRead), Audit: slices.Contains(who.Scopes, ScopeAudit),
				Client: func() (*emitters.Emitter, error) {
					if !g.NC.IsConnected() {
						return nil, emitters.ErrNotConnected
					}
					return g.obtainClient(who)
				}}, nil
		},
		Begin: g.limits.takePlace, Secure: g.TLS, Clock: g.Clock,
	})
	if err != nil {
		return err
	}
	mux.Handle(console.Path, pages)
	mux.Handle(strings.TrimSuffix(console.Path, "/"), pages)
	return nil
}
