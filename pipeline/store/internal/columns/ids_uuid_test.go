package columns

import (
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is packed is what a decoder of hexadecimal reads and writes back as it was.
func TestOnlyCanonicalUUIDsArePacked(t *testing.T) {
	t.Parallel()
	canonical := func(id string) (raw []byte, ok bool) {
		if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
			return nil, false
		}
		digits := id[:8] + id[9:13] + id[14:18] + id[19:23] + id[24:]
		raw, err := hex.DecodeString(digits)
		return raw, err == nil && hex.EncodeToString(raw) == digits
	}
	check := func(t rapid.TB, id string) {
		t.Helper()
		var got [16]byte
		ok := packUUID(&got, id)
		if want, is := canonical(id); ok != is || ok && string(got[:]) != string(want) {
			t.Fatalf("%q: got %x %v, want %x %v", id, got, ok, want, is)
		}
		if ok && string(appendUUID(nil, got[:])) != id {
			t.Fatalf("%q comes back as %s", id, appendUUID(nil, got[:]))
		}
	}
	for at := range 36 {
		for c := range 256 {
			id := []byte("0198c0de-f9a8-7000-8a00-0123456789ab")
			id[at] = byte(c)
			check(t, string(id))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).Draw(t, "id")
		check(t, id)
		check(t, strings.ToUpper(id))
		check(t, id[:rapid.IntRange(0, 36).Draw(t, "length")])
	})
}
