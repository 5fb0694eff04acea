package oidc

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	refreshAfter = 15 * time.Minute // keys of this age are read anew
	keepFor      = 24 * time.Hour   // so long they hold while the issuer does not answer
	pause        = 10 * time.Second // between two reads
	answerIn     = 5 * time.Second  // the issuer, for one read
	maxDocument  = 1 << 20          // bytes of what the issuer answers
	maxKeys      = 100
	minRSA       = 2048 // bits
)

// keys are the keys that an issuer publishes.
type keys struct {
	issuer string
	http   *http.Client
	clock  func() time.Time
	unread func(error)

	reading sync.Mutex // is held by who reads

	mu          sync.Mutex
	set         []jose.JSONWebKey
	read, tried time.Time // when the set was read, and the issuer asked last
	err         error     // of the last read
}

func newKeys(cfg Config) *keys {
	client := *cfg.HTTP
	client.Timeout = answerIn
	client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // it may lead to who is not the issuer
	}
	return &keys{issuer: cfg.Issuer, http: &client, clock: cfg.Clock, unread: cfg.Unread}
}

// findSigningKey returns the key of an id that signs with an algorithm. A token without an id is signed by the
// issuer's only key.
func (k *keys) findSigningKey(ctx context.Context, id, algorithm string) (*jose.JSONWebKey, error) {
	key, fresh := k.findCachedKey(id, algorithm)
	if key != nil && fresh {
		return key, nil
	}
	if key == nil {
		k.reading.Lock()
	} else if !k.reading.TryLock() {
		return key, nil // somebody reads; the key still holds
	}
	_ = k.readAgain(ctx) // what it found is looked at next
	k.reading.Unlock()
	key, _ = k.findCachedKey(id, algorithm)
	if key != nil {
		return key, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return nil, ErrUnavailable
	}
	return nil, newInvalidError("is signed by a key that the issuer does not publish")
}

// findCachedKey returns a key that was read within a day, and whether it need not be read anew.
func (k *keys) findCachedKey(id, algorithm string) (key *jose.JSONWebKey, fresh bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	age := k.clock().Sub(k.read)
	if age > keepFor {
		return nil, false
	}
	for i := range k.set {
		one := &k.set[i]
		if (one.KeyID == id || id == "" && len(k.set) == 1) && (one.Algorithm == "" || one.Algorithm == algorithm) {
			return one, age < refreshAfter
		}
	}
	return nil, false
}

// refreshKeys reads the keys, unless they were read a moment ago.
func (k *keys) refreshKeys(ctx context.Context) error {
	k.reading.Lock()
	defer k.reading.Unlock()
	return k.readAgain(ctx)
}

// readAgain is refresh for who holds reading. A caller that leaves does not stop it.
func (k *keys) readAgain(ctx context.Context) error {
	k.mu.Lock()
	now := k.clock()
	before := k.err
	if now.Sub(k.tried) < pause {
		defer k.mu.Unlock()
		return k.err
	}
	k.tried = now
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerIn)
	defer cancel()
	set, err := k.fetchKeys(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = err
	if err == nil {
		k.set = set
		k.read = now
	} else if before == nil && k.unread != nil {
		k.unread(err)
	}
	return err
}

// fetchKeys asks the issuer where its keys are, and for them.
func (k *keys) fetchKeys(ctx context.Context) ([]jose.JSONWebKey, error) {
	var about struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := k.readDocument(ctx, strings.TrimSuffix(k.issuer, "/")+"/.well-known/openid-configuration", &about); err != nil {
		return nil, err
	}
	if about.Issuer != k.issuer {
		return nil, fmt.Errorf("issuer %q says that it is %q", k.issuer, about.Issuer)
	}
	if err := checkSecureURL(about.JWKSURI); err != nil {
		return nil, fmt.Errorf("jwks_uri %q of the issuer: %w", about.JWKSURI, err)
	}
	var published struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := k.readDocument(ctx, about.JWKSURI, &published); err != nil {
		return nil, err
	}
	var set []jose.JSONWebKey
	for _, raw := range published.Keys[:min(len(published.Keys), maxKeys)] {
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &key) == nil && isSigningKey(key) { // others are for others
			set = append(set, key)
		}
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("issuer %q publishes no key that verifies signatures", k.issuer)
	}
	return set, nil
}

// isSigningKey reports whether a key is a public one for signatures, and strong enough.
func isSigningKey(key jose.JSONWebKey) bool {
	if !key.Valid() || !key.IsPublic() || key.Use != "" && key.Use != "sig" {
		return false
	}
	public, ok := key.Key.(*rsa.PublicKey)
	return !ok || public.N.BitLen() >= minRSA
}

// readDocument reads a JSON document of the issuer.
func (k *keys) readDocument(ctx context.Context, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("ask the issuer: %w", err)
	}
	res, err := k.http.Do(req)
	if err != nil {
		return fmt.Errorf("ask the issuer: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("ask the issuer: %s: %s", address, res.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	if err == nil && len(raw) > maxDocument {
		err = errors.New("the answer is too long")
	}
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return fmt.Errorf("ask the issuer: %s: %w", address, err)
	}
	return nil
}
