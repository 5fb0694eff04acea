package write

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nkeys"
)

// The CloudEvent extensions of this stage.
const (
	ExtensionKey       = "satchelkey"
	ExtensionSignature = "satchelsig"
	ExtensionSigner    = "satchelsigner"
	ExtensionChecksum  = "satchelchecksum"
	ExtensionRedacted  = "satchelredacted"
)

var errNoSubject = errors.New("a signed event must carry its subject")

// Digest returns what a signature commits to. See the package comment for its form.
func Digest(eventType, source, id, subject string, data []byte) [32]byte {
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

// Sign signs ev with an nkey seed (as nsc or nkeys make it) and sets the extensions
// satchelkey and satchelsig. Anything changed afterwards breaks the signature.
func Sign(seed []byte, keyID string, ev *event.Event) error {
	if ev.Subject() == "" {
		return fmt.Errorf("sign event %q: %w", ev.ID(), errNoSubject)
	}
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return fmt.Errorf("read signing seed of key %q: %w", keyID, err)
	}
	defer pair.Wipe()
	digest := Digest(ev.Type(), ev.Source(), ev.ID(), ev.Subject(), ev.Data())
	sig, err := pair.Sign(digest[:])
	if err != nil {
		return fmt.Errorf("sign event %q: %w", ev.ID(), err)
	}
	ev.SetExtension(ExtensionKey, keyID)
	ev.SetExtension(ExtensionSignature, base64.RawURLEncoding.EncodeToString(sig))
	return nil
}

// Verify checks a signature, base64url without padding, against an nkey public key.
func Verify(publicKey, signature string, digest [32]byte) error {
	key, err := nkeys.FromPublicKey(publicKey)
	if err != nil {
		return fmt.Errorf("read public key: %w", err)
	}
	return verify(key, signature, digest)
}

func verify(key nkeys.KeyPair, signature string, digest [32]byte) error {
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		return fmt.Errorf("read signature: %w", err)
	}
	return key.Verify(digest[:], sig)
}
