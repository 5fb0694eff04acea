package gateway

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml"

	"satchel/schemas"
)

// The scopes of a token.
const (
	ScopeRead  = "memory.read"
	ScopeWrite = "memory.write"
	ScopeErase = "memory.erase"
	ScopeAudit = "memory.audit"
)

// Scopes lists them all.
func Scopes() []string { return []string{ScopeRead, ScopeWrite, ScopeErase, ScopeAudit} }

// Token is an entry of the token file. The token itself is not in it.
type Token struct {
	ID        string    `yaml:"id" json:"id"`
	SHA256    string    `yaml:"sha256" json:"sha256"`
	Tenant    string    `yaml:"tenant" json:"tenant"`
	Principal string    `yaml:"principal" json:"principal"`
	Clearance string    `yaml:"clearance,omitempty" json:"clearance,omitempty"` // default public
	Scopes    []string  `yaml:"scopes" json:"scopes"`
	Roles     []string  `yaml:"roles,omitempty" json:"roles,omitempty"` // claimed beside those of the scopes
	Expires   time.Time `yaml:"expires,omitempty" json:"expires,omitzero"`
}

// makeFingerprint tells entries apart: a changed entry is another one.
func (t *Token) makeFingerprint() string { return fmt.Sprint(*t) }

// listClaimedRoles are the roles that a token claims. A claim of no role would count as a claim of all that
// the principal has, so each token claims one that nobody has.
func (t *Token) listClaimedRoles() []string {
	roles := append([]string{"token"}, t.Roles...)
	if slices.Contains(t.Scopes, ScopeErase) {
		roles = append(roles, "eraser")
	}
	if slices.Contains(t.Scopes, ScopeAudit) {
		roles = append(roles, "auditor")
	}
	return roles
}

type tokenFile struct {
	Tokens []Token `yaml:"tokens"`
}

// NewToken returns a random token, which nobody can read back, and its entry. It refuses an entry
// that no file may have.
func NewToken(entry Token) (secret string, _ Token, err error) {
	secret = "satchel_" + rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(secret))
	entry.SHA256 = hex.EncodeToString(sum[:])
	return secret, entry, entry.checkToken()
}

// ReadTokens reads a token file; one that is not there has no tokens.
func ReadTokens(path string) ([]Token, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	return parseTokens(path, raw)
}

func parseTokens(path string, raw []byte) ([]Token, error) {
	var file tokenFile
	if err := yaml.UnmarshalWithOptions(raw, &file, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("read tokens %s: %w", path, err)
	}
	for i := range file.Tokens {
		t := &file.Tokens[i]
		if err := t.checkToken(); err != nil {
			return nil, fmt.Errorf("read tokens %s: token %d: %w", path, i+1, err)
		}
		if slices.ContainsFunc(file.Tokens[:i], func(o Token) bool { return o.ID == t.ID }) {
			return nil, fmt.Errorf("read tokens %s: there are two tokens %q", path, t.ID)
		}
		t.SHA256 = strings.ToLower(t.SHA256)
	}
	return file.Tokens, nil
}

// WriteTokens writes a token file that only its owner can read. Who writes MUST be alone.
func WriteTokens(path string, tokens []Token) error {
	raw, err := yaml.Marshal(tokenFile{tokens})
	if err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	next := path + ".next" // the caller writes alone
	if err := os.WriteFile(next, raw, 0o600); err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	return nil
}

func (t *Token) checkToken() error {
	sum, err := hex.DecodeString(t.SHA256)
	switch {
	case t.ID == "" || !schemas.ValidToken(t.Tenant) || !schemas.ValidToken(t.Principal):
		return fmt.Errorf("id %q, tenant %q, principal %q: each must have 1 to 64 of the characters A-Z a-z 0-9 _ -", t.ID, t.Tenant, t.Principal)
	case err != nil || len(sum) != sha256.Size:
		return errors.New("sha256 must be 64 hex digits")
	case !slices.Contains([]string{"", "public", "internal", "confidential", "restricted"}, t.Clearance):
		return fmt.Errorf("there is no clearance %q, but public, internal, confidential and restricted", t.Clearance)
	}
	for _, s := range t.Scopes {
		if !slices.Contains(Scopes(), s) {
			return fmt.Errorf("there is no scope %q, but %s", s, strings.Join(Scopes(), ", "))
		}
	}
	return nil
}

// Tokens knows the tokens of a file, and reads it again when it changes. It is safe for concurrent use.
type Tokens struct {
	path   string
	unread func(error)
	mu     sync.Mutex
	raw    []byte
	list   []Token
	err    error // of raw
}

// OpenTokens reads the token file. It calls unread, if it is not nil, once for each later state of
// the file that it cannot read; while there is one, no token holds.
func OpenTokens(path string, unread func(error)) (*Tokens, error) {
	t := &Tokens{path: path}
	err := t.reloadTokens()
	t.unread = unread
	return t, err
}

// reloadTokens reads the file when it changed. With one that cannot be read no token holds.
func (t *Tokens) reloadTokens() error {
	raw, err := os.ReadFile(t.path)
	if err == nil && (t.list != nil || t.err != nil) && bytes.Equal(raw, t.raw) {
		return t.err
	}
	t.raw = raw
	t.list = nil
	if err != nil {
		err = fmt.Errorf("read tokens: %w", err)
	} else {
		t.list, err = parseTokens(t.path, raw)
	}
	if err != nil {
		t.list = nil
		if t.unread != nil && (t.err == nil || t.err.Error() != err.Error()) {
			t.unread(err)
		}
	}
	t.err = err
	return err
}

// isExpired reports whether the token is over.
func (t Token) isExpired(now time.Time) bool { return !t.Expires.IsZero() && now.After(t.Expires) }

// Find returns the entry of a token. It takes the same time for every token.
func (t *Tokens) Find(secret string, now time.Time) (Token, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.reloadTokens() // then none holds
	sum := sha256.Sum256([]byte(secret))
	digest := hex.EncodeToString(sum[:])
	var found *Token
	for i := range t.list {
		if subtle.ConstantTimeCompare([]byte(t.list[i].SHA256), []byte(digest)) == 1 {
			found = &t.list[i]
		}
	}
	if found == nil || found.isExpired(now) {
		return Token{}, false
	}
	return *found, true
}
