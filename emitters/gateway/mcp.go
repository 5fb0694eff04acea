package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"satchel/emitters"
	"satchel/emitters/gateway/mcp"
)

// caller is the key of the caller's identity in a TokenInfo.
const caller = "satchel"

// stateless reports whether a request is of the revision that has no sessions.
func stateless(r *http.Request) bool {
	return r.Header.Get("Mcp-Session-Id") == "" && r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28"
}

// sessionsOf is how many sessions a server has.
func sessionsOf(s *sdk.Server) (n int) {
	for range s.Sessions() {
		n++
	}
	return n
}

// mountMCP serves the Model Context Protocol on /mcp, over streamable HTTP, for the token's
// principal. A session belongs to the token that began it.
func (g *gateway) mountMCP(mux *http.ServeMux) {
	var mu sync.Mutex
	servers := map[string]*sdk.Server{} // by the fingerprint of the token's entry
	server := func(r *http.Request) *sdk.Server {
		info := auth.TokenInfoFromContext(r.Context())
		who := info.Extra[caller].(Token)
		mu.Lock()
		defer mu.Unlock()
		if s := servers[who.fingerprint()]; s != nil {
			if !stateless(r) && r.Header.Get("Mcp-Session-Id") == "" && sessionsOf(s) >= mostSessions {
				return nil
			}
			return s
		}
		s, err := mcp.New(mcp.Config{
			Client: func(context.Context) (*emitters.Emitter, error) { return g.client(who) },
			Tenant: who.Tenant, Principal: who.Principal, Scopes: info.Scopes,
			Version: g.Version, Key: g.Key, Clock: g.Clock,
		})
		if err != nil {
			return nil
		}
		servers[who.fingerprint()] = s
		return s
	}
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		who, ok := g.Tokens.Find(token, g.Clock())
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{Scopes: append([]string{}, who.Scopes...), UserID: who.fingerprint(), Expiration: time.Now().Add(time.Hour), Extra: map[string]any{caller: who}}, nil
	}
	// The revision of 2026-07-28 has no sessions, those before it do.
	single := sdk.NewStreamableHTTPHandler(server, &sdk.StreamableHTTPOptions{Stateless: true, MaxRequestBodyBytes: maxBody})
	sessions := sdk.NewStreamableHTTPHandler(server, &sdk.StreamableHTTPOptions{SessionTimeout: 30 * time.Minute, MaxRequestBodyBytes: maxBody})
	mux.Handle("/mcp", auth.RequireBearerToken(verify, nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost { // a stream of events stays as long as its session
			who := auth.TokenInfoFromContext(r.Context()).Extra[caller].(Token)
			done, err := g.limits.begin(who.fingerprint())
			if err != nil {
				refuse(w, err)
				return
			}
			defer done()
		}
		if stateless(r) {
			single.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})))
}
