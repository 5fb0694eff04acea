package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"satchel/emitters"
	"satchel/emitters/gateway/mcp"
)

// caller is the key of the caller's identity in a TokenInfo.
const caller = "satchel"

// isStateless reports whether a request is of the revision that has no sessions.
func isStateless(r *http.Request) bool {
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
func (g *gateway) mountMCP(mux *http.ServeMux) error {
	var mu sync.Mutex
	servers, err := lru.New[string, *sdk.Server](mostClients) // by the fingerprint of the token's entry
	if err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	server := func(r *http.Request) *sdk.Server {
		info := auth.TokenInfoFromContext(r.Context())
		who := info.Extra[caller].(Token)
		mu.Lock()
		defer mu.Unlock()
		if s, ok := servers.Get(who.makeFingerprint()); ok {
			if !isStateless(r) && r.Header.Get("Mcp-Session-Id") == "" && sessionsOf(s) >= mostSessions {
				return nil
			}
			return s
		}
		s, err := mcp.New(mcp.Config{
			Client: func(context.Context) (*emitters.Emitter, error) { return g.obtainClient(who) },
			Tenant: who.Tenant, Principal: who.Principal, Scopes: info.Scopes,
			Version: g.Version, Key: g.Key, Clock: g.Clock,
		})
		if err != nil {
			return nil
		}
		servers.Add(who.makeFingerprint(), s)
		return s
	}
	// The SDK learns who calls from its own check, which takes what identify found.
	known := func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		who, ok := ctx.Value(identified{}).(Token)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{Scopes: append([]string{}, who.Scopes...), UserID: who.makeFingerprint(), Expiration: time.Now().Add(time.Hour), Extra: map[string]any{caller: who}}, nil
	}
	// The revision of 2026-07-28 has no sessions, those before it do.
	single := sdk.NewStreamableHTTPHandler(server, &sdk.StreamableHTTPOptions{Stateless: true, MaxRequestBodyBytes: maxBody})
	sessions := sdk.NewStreamableHTTPHandler(server, &sdk.StreamableHTTPOptions{SessionTimeout: 30 * time.Minute, MaxRequestBodyBytes: maxBody})
	serve := auth.RequireBearerToken(known, nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isStateless(r) {
			single.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	}))
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		who, ok := g.identifyCaller(w, r)
		if !ok {
			return
		}
		if r.Method == http.MethodPost { // a stream of events stays as long as its session
			done, err := g.limits.takePlace(who.makeFingerprint())
			if err != nil {
				refuseRequest(w, err)
				return
			}
			defer done()
			body, err := readBody(w, r)
			if err != nil {
				refuseRequest(w, err)
				return
			}
			if refused := refuseMCP(body); refused != nil {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write(refused) // to a client that may be gone
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		} else if r.Method == http.MethodGet {
			var cancel context.CancelFunc
			r, cancel = untilShutdown(w, r)
			defer cancel()
		}
		serve.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), identified{}, who)))
	})
	return nil
}

// refuseMCP returns the JSON-RPC error for a body that holds what no message may, nil for any other. A
// body is a message or several.
func refuseMCP(body []byte) []byte {
	var several []json.RawMessage
	if json.Unmarshal(body, &several) != nil {
		return mcp.Refuse(body)
	}
	for _, one := range several {
		if refused := mcp.Refuse(one); refused != nil {
			return refused
		}
	}
	return nil
}

// identified is the key of who calls, in the context of a request.
type identified struct{}
