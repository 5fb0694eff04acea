// Package oidc verifies JSON Web Tokens that an OpenID Connect issuer gives to the clients of a gateway.
//
// It promises that a token is taken only if it is signed, with an allowed algorithm, by a key that
// the issuer publishes now; names the issuer and the gateway; is in its time; and says for which
// principal of which tenant it speaks. What a token may do at most is its scopes. The keys are read
// anew every quarter of an hour, and when a token names one that is not known, at most once in ten
// seconds. While the issuer does not answer, the keys that were read last hold for a day.
//
// Errors name what is wrong with a token, and nothing of what it says.
package oidc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"satchel/pipeline/infra/httpclient"
	"satchel/schemas"
)

// maxToken is how long a token may be.
const maxToken = 8 << 10

// Config says whose tokens are taken, and what they must say. Issuer and Audience are required.
type Config struct {
	Issuer   string // an https URL, or http on this machine
	Audience string // what aud must name: the address of the gateway

	TenantClaim    string // claim that names the tenant; empty: the tenant is Tenant
	Tenant         string
	PrincipalClaim string // default sub
	Clearance      string // that each principal claims; default public

	Algorithms []string      // of signatures; default RS256 and ES256
	Skew       time.Duration // by which the clocks may differ; default none
	HTTP       *http.Client  // default http.DefaultClient
	Clock      func() time.Time
	Unread     func(error) // is told when the keys cannot be read, once until they can; default nobody
}

// Claims are what a valid token says.
type Claims struct {
	Tenant, Principal, Clearance string
	Scopes                       []string
}

// The errors of Verify.
var (
	ErrInvalid     = errors.New("the token is not valid here")      // another token is needed
	ErrUnavailable = errors.New("the issuer's keys cannot be read") // the same token may be valid later
)

// asymmetric are the algorithms that may be allowed. With those of a shared secret, whoever can
// verify could sign.
var asymmetric = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// Verifier verifies tokens. It is safe for concurrent use.
type Verifier struct {
	Config
	algorithms []jose.SignatureAlgorithm
	keys       *keys
}

// New returns a verifier. It asks the issuer nothing yet.
func New(cfg Config) (*Verifier, error) {
	if err := checkSecureURL(cfg.Issuer); err != nil {
		return nil, fmt.Errorf("issuer %q: %w", cfg.Issuer, err)
	}
	if cfg.Audience == "" {
		return nil, errors.New("an audience is required: the address of the gateway, as https://memory.example.com/mcp")
	}
	if cfg.TenantClaim == "" && !schemas.ValidToken(cfg.Tenant) {
		return nil, errors.New("a tenant, or the claim that names it, is required")
	}
	if len(cfg.Algorithms) == 0 {
		cfg.Algorithms = []string{"RS256", "ES256"}
	}
	cfg.PrincipalClaim = cmp.Or(cfg.PrincipalClaim, "sub")
	cfg.Clearance = cmp.Or(cfg.Clearance, "public")
	if cfg.HTTP == nil {
		cfg.HTTP = http.DefaultClient
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	v := &Verifier{Config: cfg, keys: newKeys(cfg)}
	for _, name := range cfg.Algorithms {
		if !slices.Contains(asymmetric, name) {
			return nil, fmt.Errorf("algorithm %q: want some of %s", name, strings.Join(asymmetric, ", "))
		}
		v.algorithms = append(v.algorithms, jose.SignatureAlgorithm(name))
	}
	return v, nil
}

// checkSecureURL refuses a URL that others can answer for.
func checkSecureURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("want a URL such as https://login.example.com")
	case u.Scheme != "https" && (u.Scheme != "http" || !httpclient.OnThisMachine(u.Hostname())):
		return errors.New("want https, or a server on this machine")
	}
	return nil
}

// Ready reads the issuer's keys, so that a wrong setting shows at the start.
func (v *Verifier) Ready(ctx context.Context) error { return v.keys.refreshKeys(ctx) }

// IsJWT reports whether a bearer token has the form of a JSON Web Token.
func IsJWT(token string) bool {
	return strings.HasPrefix(token, "ey") && strings.Count(token, ".") == 2
}

// Verify returns what a token says. The error is ErrInvalid, with the reason, or ErrUnavailable.
func (v *Verifier) Verify(ctx context.Context, raw string) (Claims, error) {
	if len(raw) > maxToken {
		return Claims{}, newInvalidError("is too long")
	}
	token, err := jwt.ParseSigned(raw, v.algorithms)
	if err != nil {
		return Claims{}, newInvalidError("is no JSON Web Token that is signed with an allowed algorithm")
	}
	header := token.Headers[0]
	if kind, given := header.ExtraHeaders[jose.HeaderType]; given && !isAccess(kind) {
		return Claims{}, newInvalidError("is not for access")
	}
	var said jwt.Claims
	switch err := token.UnsafeClaimsWithoutVerification(&said); {
	case err != nil:
		return Claims{}, newInvalidError("has claims of a wrong type")
	case said.Issuer != v.Issuer:
		return Claims{}, newInvalidError("is of another issuer") // and so asks no issuer for keys
	}
	key, err := v.keys.findSigningKey(ctx, header.KeyID, header.Algorithm)
	if err != nil {
		return Claims{}, err
	}
	said = jwt.Claims{}
	all := map[string]any{}
	if err := token.Claims(key, &said, &all); err != nil {
		return Claims{}, newInvalidError("has a wrong signature")
	}
	if err := v.inTime(said); err != nil {
		return Claims{}, err
	}
	if all["cnf"] != nil {
		return Claims{}, newInvalidError("is bound to a key, which cannot be proved here")
	}
	return v.mapClaims(all)
}

// isAccess reports whether a type of a token is that of an access token.
func isAccess(kind any) bool {
	text, _ := kind.(string)
	text = strings.TrimPrefix(strings.ToLower(text), "application/")
	return text == "jwt" || text == "at+jwt"
}

// inTime checks issuer, audience and times of what was signed.
func (v *Verifier) inTime(said jwt.Claims) error {
	want := jwt.Expected{Issuer: v.Issuer, AnyAudience: jwt.Audience{v.Audience}, Time: v.Clock()}
	err := said.ValidateWithLeeway(want, v.Skew)
	switch {
	case errors.Is(err, jwt.ErrExpired):
		return newInvalidError("has expired")
	case errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return newInvalidError("is not valid yet")
	case errors.Is(err, jwt.ErrInvalidAudience):
		return newInvalidError("is for another audience")
	case err != nil:
		return newInvalidError("has wrong claims")
	case said.Expiry == nil:
		return newInvalidError("has no end")
	}
	return nil
}

// mapClaims maps what was signed to a principal of a tenant, and scopes.
func (v *Verifier) mapClaims(all map[string]any) (Claims, error) {
	c := Claims{Tenant: v.Tenant, Clearance: v.Clearance, Scopes: append(scopesOf(all["scope"]), scopesOf(all["scp"])...)}
	if v.TenantClaim != "" {
		c.Tenant, _ = all[v.TenantClaim].(string)
	}
	c.Principal, _ = all[v.PrincipalClaim].(string)
	if !schemas.ValidToken(c.Tenant) {
		return Claims{}, newInvalidError("names no tenant in the claim " + v.TenantClaim)
	}
	if !schemas.ValidToken(c.Principal) {
		return Claims{}, newInvalidError("names no principal in the claim " + v.PrincipalClaim +
			", of 1 to 64 of the characters A-Z a-z 0-9 _ -")
	}
	return c, nil
}

// scopesOf returns the scopes of a claim: a text with spaces between them, or a list.
func scopesOf(claim any) (list []string) {
	switch claim := claim.(type) {
	case string:
		return strings.Fields(claim)
	case []any:
		for _, one := range claim {
			if word, ok := one.(string); ok {
				list = append(list, word)
			}
		}
	}
	return list
}

func newInvalidError(why string) error { return fmt.Errorf("%w: it %s", ErrInvalid, why) }
