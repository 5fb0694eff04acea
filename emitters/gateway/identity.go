package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"satchel/emitters/gateway/oidc"
	"satchel/schemas"
)

// metadataPath is where RFC 9728 has the metadata of a resource, before the path of the resource.
const metadataPath = "/.well-known/oauth-protected-resource"

// bearerOf is the token of a request, and whether there is one.
func bearerOf(r *http.Request) (string, bool) {
	fields := strings.Fields(r.Header.Get("Authorization"))
	if len(fields) != 2 || !strings.EqualFold(fields[0], "Bearer") {
		return "", false
	}
	return fields[1], true
}

// findToken returns the entry of a token: that of the file or, of a JSON Web Token, one made of its claims.
// Tokens with equal claims have equal entries.
func (g *gateway) findToken(ctx context.Context, secret string) (Token, *schemas.Error) {
	if who, ok := g.Tokens.Find(secret, g.Clock()); ok {
		return who, nil
	}
	unknown := &schemas.Error{Code: schemas.CodeUnauthenticated, Message: "the token is not known here, or has expired"}
	if g.OIDC == nil || !oidc.IsJWT(secret) {
		return Token{}, unknown
	}
	said, err := g.OIDC.Verify(ctx, secret)
	switch {
	case errors.Is(err, oidc.ErrUnavailable):
		return Token{}, &schemas.Error{Code: schemas.CodeStorage, Message: err.Error() + "; try again"}
	case err != nil:
		unknown.Message = err.Error()
		return Token{}, unknown
	}
	who := Token{ID: "jwt", Tenant: said.Tenant, Principal: said.Principal, Clearance: said.Clearance}
	for _, scope := range Scopes() {
		if slices.Contains(said.Scopes, scope) {
			who.Scopes = append(who.Scopes, scope)
		}
	}
	return who, nil
}

// identifyCaller returns who calls, or answers for the request.
func (g *gateway) identifyCaller(w http.ResponseWriter, r *http.Request) (who Token, found bool) {
	secret, sent := bearerOf(r)
	w.Header().Set("Connection", "close") // unless the token is good
	if !sent {
		g.challengeCaller(w, "", "")
		refuseRequest(w, &schemas.Error{Code: schemas.CodeUnauthenticated, Message: "send a token: Authorization: Bearer …"})
		return who, false
	}
	who, err := g.findToken(r.Context(), secret)
	if err == nil {
		if proveConnection(r.Context(), who.makeFingerprint()) {
			w.Header().Del("Connection")
		}
		return who, true
	}
	if err.Code == schemas.CodeUnauthenticated {
		g.challengeCaller(w, "invalid_token", "")
	}
	refuseRequest(w, err)
	return who, false
}

// allowCaller returns who calls when the token has a scope, or answers for the request.
func (g *gateway) allowCaller(w http.ResponseWriter, r *http.Request, scope string) (who Token, ok bool) {
	who, ok = g.identifyCaller(w, r)
	if !ok {
		return who, false
	}
	if !slices.Contains(who.Scopes, scope) {
		g.challengeCaller(w, "insufficient_scope", scope)
		refuseRequest(w, &schemas.Error{Code: schemas.CodeInsufficientScope, Message: "the token does not have the scope " + scope})
		return who, false
	}
	return who, true
}

// challengeCaller says what a request lacks, as RFC 6750 and RFC 9728 have it.
func (g *gateway) challengeCaller(w http.ResponseWriter, code, scope string) {
	say := `Bearer realm="satchel"`
	for _, one := range [][2]string{{"error", code}, {"scope", scope}, {"resource_metadata", g.metadata}} {
		if one[1] != "" {
			say += fmt.Sprintf(", %s=%q", one[0], one[1])
		}
	}
	w.Header().Set("WWW-Authenticate", say)
}

// mountMetadata serves who gives tokens for this gateway (RFC 9728), where there is an issuer and the
// audience is an address.
func (g *gateway) mountMetadata(mux *http.ServeMux) {
	if g.OIDC == nil {
		return
	}
	resource, err := url.Parse(g.OIDC.Audience)
	if err != nil || resource.Scheme != "https" && resource.Scheme != "http" || resource.Host == "" {
		return
	}
	path := strings.TrimSuffix(resource.EscapedPath(), "/")
	g.metadata = resource.Scheme + "://" + resource.Host + metadataPath + path
	serve := func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, oauthex.ProtectedResourceMetadata{
			Resource: g.OIDC.Audience, ResourceName: "Satchel", AuthorizationServers: []string{g.OIDC.Issuer},
			ScopesSupported: Scopes(), BearerMethodsSupported: []string{"header"},
		})
	}
	mux.HandleFunc("GET "+metadataPath, serve)
	mux.HandleFunc("GET "+metadataPath+"/mcp", serve)
}
