package schemas

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nkeys"
)

// The CloudEvent extensions of Satchel. The first four come from the publisher, the
// others are set when the event is written; a publisher's values for those are
// overwritten.
const (
	ExtensionKey       = "satchelkey"      // key id of the signature
	ExtensionSignature = "satchelsig"      // Ed25519 signature, base64url without padding
	ExtensionRoles     = "satchelroles"    // roles that the agent of an event claims for an erasure or a change, joined by ","
	ExtensionLevel     = "satchellevel"    // clearance that the agent of an event claims: it changes and erases nothing above that
	ExtensionSigner    = "satchelsigner"   // the verified key id, or "unsigned"
	ExtensionChecksum  = "satchelchecksum" // "sha256:<hex>" of the item's content
	ExtensionRedacted  = "satchelredacted" // JSON pointers redacted at write, joined by ","
	ExtensionDetected  = "satcheldetected" // types of personal data found at write, joined by ","
)

var (
	errNoSubject = errors.New("a signed event must carry its subject")
	errKeyID     = errors.New("the key id must match [A-Za-z0-9._:-]{1,128} and not be \"unsigned\"")
)

// SigningDigest returns what a signature commits to: SHA-256 over "satchel-event-v1\n"
// and, for each of type, source, id, subject, data, its length as eight big-endian
// bytes and the bytes themselves.
func SigningDigest(eventType, source, id, subject string, data []byte) [32]byte {
	h := sha256.New()
	var size [8]byte
	field := func(b []byte) {
		binary.BigEndian.PutUint64(size[:], uint64(len(b)))
		h.Write(size[:])
		h.Write(b)
	}
	h.Write([]byte("satchel-event-v1\n"))
	for _, s := range [...]string{eventType, source, id, subject} {
		field([]byte(s))
	}
	field(data)
	return [32]byte(h.Sum(nil))
}

// Sign signs ev with an nkey seed (as nsc or nk make it) and sets the extensions
// satchelkey and satchelsig. An empty key id means the seed's public key. A change of what
// SigningDigest commits to breaks the signature; the time and other extensions, satchelroles
// among them, may change. The event must carry its subject.
func Sign(seed []byte, keyID string, ev *event.Event) error {
	if ev.Subject() == "" {
		return fmt.Errorf("sign event %q: %w", ev.ID(), errNoSubject)
	}
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return fmt.Errorf("read signing seed of key %q: %w", keyID, err)
	}
	defer pair.Wipe()
	if keyID == "" {
		if keyID, err = pair.PublicKey(); err != nil {
			return fmt.Errorf("read public key of the signing seed: %w", err)
		}
	}
	if !ValidID(keyID) || keyID == Unsigned {
		return fmt.Errorf("sign event %q: %w", ev.ID(), errKeyID)
	}
	digest := SigningDigest(ev.Type(), ev.Source(), ev.ID(), ev.Subject(), ev.Data())
	sig, err := pair.Sign(digest[:])
	if err != nil {
		return fmt.Errorf("sign event %q: %w", ev.ID(), err)
	}
	ev.SetExtension(ExtensionKey, keyID)
	ev.SetExtension(ExtensionSignature, base64.RawURLEncoding.EncodeToString(sig))
	return nil
}

// VerifySignature checks a signature, base64url without padding, against a public key.
func VerifySignature(key nkeys.KeyPair, signature string, digest [32]byte) error {
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		return fmt.Errorf("read signature: %w", err)
	}
	return key.Verify(digest[:], sig)
}
