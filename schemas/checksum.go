package schemas

import (
	"crypto/sha256"
	"encoding/hex"
)

// Checksum returns "sha256:<hex>" over the bytes of Text: the text itself, or the
// compact JSON of a structured content.
func (c Content) Checksum() string {
	var sum [32]byte
	if c.json != nil {
		sum = sha256.Sum256(c.json)
	} else {
		sum = sha256.Sum256([]byte(c.text))
	}
	out := make([]byte, len("sha256:")+64)
	copy(out, "sha256:")
	hex.Encode(out[len("sha256:"):], sum[:])
	return string(out)
}

// SaltedSHA256 returns hex SHA-256(salt ‖ data). A hash of content that stands where the content may
// not be seen, or outlives it, MUST be one: without the salt nobody can compare guesses with it. An
// empty salt makes the plain hash, which packs of earlier versions have.
func SaltedSHA256(salt, data []byte) string {
	h := sha256.New()
	h.Write(salt)
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}
