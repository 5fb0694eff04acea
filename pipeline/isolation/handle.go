// It gives out and reads the handles of heavy content, and cuts the extract
// that stands in its place.
//
// A handle is a text that Satchel signed: who may open which content of which item, for
// what purpose, until when. It promises that a handle which was changed in any bit, has
// expired, was made for another tenant or under another key is refused with one error,
// ErrHandle, which says nothing of why. That it was not revoked, and that policy still
// allows it, is for whoever opens it to ask: a handle is no permission, only a name.
//
// The entries of the log that are about an artifact have its hash for their subject: one for each
// event that records an item with it, one for each opening, each with the decision before it.
//
// A proof says that an agent has stored a content: whoever only knows a hash cannot name
// the content as theirs.

package isolation

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// ErrHandle is returned for every handle that does not open anything.
var ErrHandle = errors.New("the handle is not valid")

// Claim is what a handle says.
type Claim struct {
	ID        string    `json:"id"` // of the handle
	Tenant    string    `json:"t"`
	ItemID    string    `json:"i"`
	SHA256    string    `json:"h"` // hex, of the content
	Kind      string    `json:"k,omitempty"`
	Principal string    `json:"p"`
	Level     int       `json:"l"`
	Groups    []string  `json:"g,omitempty"`
	Roles     []string  `json:"r,omitempty"`
	Purpose   string    `json:"u,omitempty"`
	IssuedAt  time.Time `json:"a"`
	ExpiresAt time.Time `json:"x"`
}

// Sealer makes and reads handles. It is safe for concurrent use.
type Sealer struct {
	key []byte
	ttl time.Duration
	now func() time.Time
	ids func() string
}

// SealerConfig describes a Sealer. Key is required.
type SealerConfig struct {
	Key   []byte           // secret, at least 32 bytes
	TTL   time.Duration    // how long a handle is good; default 15 minutes, at most MaxTTL
	Clock func() time.Time // default time.Now
	IDs   func() string    // of handles, required
}

// MaxArtifactTTL is the longest a handle may be good for.
const MaxArtifactTTL = 24 * time.Hour

const (
	version  = "sah1."
	leastKey = 32
)

// NewSealer returns a Sealer.
func NewSealer(cfg SealerConfig) (*Sealer, error) {
	switch {
	case len(cfg.Key) < leastKey:
		return nil, errors.New("new sealer: the key is shorter than 32 bytes")
	case cfg.IDs == nil:
		return nil, errors.New("new sealer: no ids")
	case cfg.TTL < 0 || cfg.TTL > MaxArtifactTTL:
		return nil, errors.New("new sealer: the time to live is not between 0 and 24 hours")
	}
	s := &Sealer{key: append([]byte(nil), cfg.Key...), ttl: cfg.TTL, now: cfg.Clock, ids: cfg.IDs}
	if s.ttl == 0 {
		s.ttl = 15 * time.Minute
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s, nil
}

// Seal returns the handle of c, with an id and times of its own, and c with them.
func (s *Sealer) Seal(c Claim) (string, Claim, error) {
	c.ID, c.IssuedAt = s.ids(), s.now().UTC()
	c.ExpiresAt = c.IssuedAt.Add(s.ttl)
	body, err := json.Marshal(c)
	if err != nil {
		return "", c, errors.New("seal handle: the claim cannot be encoded")
	}
	enc := base64.RawURLEncoding
	return version + enc.EncodeToString(body) + "." + enc.EncodeToString(s.signBody(c.Tenant, body)), c, nil
}

// Open returns what a handle of tenant says, or ErrHandle.
func (s *Sealer) Open(tenant, handle string) (Claim, error) {
	c, body, sum := parseHandle(handle)
	// The signature is compared whatever went wrong before, so that time says nothing.
	good := hmac.Equal(sum, s.signBody(tenant, body))
	if !good || c.Tenant != tenant || c.ID == "" || !s.now().Before(c.ExpiresAt) {
		return Claim{}, ErrHandle
	}
	return c, nil
}

// HandleTenant returns the tenant that a handle names, unchecked, for where no other says it.
func HandleTenant(handle string) string {
	c, _, _ := parseHandle(handle)
	return c.Tenant
}

// parseHandle reads a handle strictly: every text has one meaning, so that no bit is spare.
func parseHandle(handle string) (c Claim, body, sum []byte) {
	rest, ok := strings.CutPrefix(handle, version)
	left, right, cut := strings.Cut(rest, ".")
	if !ok || !cut {
		return Claim{}, nil, nil
	}
	enc := base64.RawURLEncoding.Strict()
	body, errBody := enc.DecodeString(left)
	sum, errSum := enc.DecodeString(right)
	if errBody != nil || errSum != nil || json.Unmarshal(body, &c) != nil || strings.ContainsAny(handle, "\r\n") {
		return Claim{}, nil, nil
	}
	return c, body, sum
}

// Prove returns the proof that agent has stored the content with the hash, in hex.
func (s *Sealer) Prove(tenant, agent, sha256 string) string {
	return hex.EncodeToString(s.computeMAC("satchel artifact proofs", tenant, []byte(sha256+"\x00"+agent)))
}

// Proves reports whether proof says that agent has stored the content with the hash.
func (s *Sealer) Proves(proof, tenant, agent, sha256 string) bool {
	return agent != "" && hmac.Equal([]byte(proof), []byte(s.Prove(tenant, agent, sha256)))
}

func (s *Sealer) signBody(tenant string, body []byte) []byte {
	return s.computeMAC("satchel artifact handles", tenant, body)
}

// computeMAC is HMAC-SHA-256 under a key of the tenant and the use.
func (s *Sealer) computeMAC(use, tenant string, body []byte) []byte {
	own := hmac.New(sha256.New, s.key)
	own.Write([]byte(use + "\x00" + tenant))
	h := hmac.New(sha256.New, own.Sum(nil))
	h.Write(body)
	return h.Sum(nil)
}
