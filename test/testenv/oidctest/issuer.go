// Package oidctest is an OpenID Connect issuer for tests.
package oidctest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"satchel/test/must"
	"satchel/test/testenv"
)

// Issuer is an OpenID Connect issuer on loopback, with TLS. It publishes keys and signs tokens.
type Issuer struct {
	URL    string
	CA     string       // PEM file of the certificates to trust of it
	Client *http.Client // that trusts it

	mu        sync.Mutex
	private   map[string]jose.JSONWebKey
	published []jose.JSONWebKey
	reads     int
	down      bool
}

// NewIssuer starts an issuer without keys. Its end is the test's.
func NewIssuer(t testing.TB) *Issuer {
	t.Helper()
	authority := testenv.NewAuthority(t)
	cert := must.Get(tls.LoadX509KeyPair(authority.Issue(t, "issuer")))(t)
	i := &Issuer{CA: authority.File, private: map[string]jose.JSONWebKey{}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(i.serve))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	i.URL = server.URL
	pem := must.Get(os.ReadFile(authority.File))(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	i.Client = &http.Client{Transport: transport}
	return i
}

func (i *Issuer) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var reply any
	switch {
	case i.down:
		w.WriteHeader(http.StatusInternalServerError)
		return
	case r.URL.Path == "/.well-known/openid-configuration":
		i.reads++
		reply = map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys"}
	case r.URL.Path == "/keys":
		reply = jose.JSONWebKeySet{Keys: i.published}
	default:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply) // the client went away
}

// Publish makes a key of 2,048 bits for RS256, or of P-256 for ES256, and publishes it.
func (i *Issuer) Publish(t testing.TB, id string, algorithm jose.SignatureAlgorithm) crypto.PublicKey {
	t.Helper()
	var private crypto.Signer
	var err error
	if algorithm == jose.ES256 {
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	} else {
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		t.Fatal(err)
	}
	i.PublishKey(jose.JSONWebKey{Key: private, KeyID: id, Algorithm: string(algorithm), Use: "sig"})
	return private.Public()
}

// PublishKey publishes the public part of a key.
func (i *Issuer) PublishKey(key jose.JSONWebKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.private[key.KeyID] = key
	i.published = append(i.published, key.Public())
}

// Withdraw publishes a key no longer. It still signs.
func (i *Issuer) Withdraw(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	kept := i.published[:0:0]
	for _, key := range i.published {
		if key.KeyID != id {
			kept = append(kept, key)
		}
	}
	i.published = kept
}

// SetDown makes the issuer answer with 500, or as it should.
func (i *Issuer) SetDown(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

// Reads is how often the issuer was asked where its keys are.
func (i *Issuer) Reads() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.reads
}

// Sign returns a token of the claims, signed by a key that was published.
func (i *Issuer) Sign(t testing.TB, id string, claims map[string]any) string {
	t.Helper()
	i.mu.Lock()
	key := i.private[id]
	i.mu.Unlock()
	return SignJWT(t, key, claims, nil)
}

// SignJWT returns a token of the claims, with further members of its header.
func SignJWT(t testing.TB, key jose.JSONWebKey, claims, header map[string]any) string {
	t.Helper()
	options := (&jose.SignerOptions{}).WithType("JWT")
	for name, value := range header {
		options = options.WithHeader(jose.HeaderKey(name), value)
	}
	signer := must.Get(jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key}, options))(t)
	payload := must.Get(json.Marshal(claims))(t)
	signed := must.Get(signer.Sign(payload))(t)
	return must.Get(signed.CompactSerialize())(t)
}
