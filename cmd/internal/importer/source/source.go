// Package source holds the rules that all readers of files and repositories share: how an
// item is called, which bytes a text may have, how long it may be.
package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"

	"satchel/schemas"
)

// MaxID is the length of an item's id at most, in bytes.
const MaxID = 128

// ID returns name as an id of at most limit bytes: slashes and number signs become colons.
// A name with other characters than an id may have, with a colon or of more bytes is
// shortened and ends in its hash, so that another name like it has another id.
func ID(name string, limit int) string {
	var b strings.Builder
	exact := true
	for _, r := range name {
		switch {
		case r == '/' || r == '#':
			b.WriteByte(':')
		case r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z':
			b.WriteRune(r)
		case r == ':':
			b.WriteByte(':')
			exact = false
		default:
			exact = false
			b.WriteByte('_')
		}
	}
	id := b.String()
	if exact && len(id) <= limit {
		return id
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:10])
	return id[:min(len(id), limit-len(hash)-1)] + "." + hash
}

// URI says where a line of a file is: name is that of the folder or repository, file the
// path below it.
func URI(name, file string, line int) string {
	end := ":" + strconv.Itoa(line)
	uri, _ := Cut(Plain("file:"+name+"/"+file, '_'), schemas.MaxURI-len(end))
	return uri + end
}

// LFSPointer reports whether text is what Git LFS has in the place of a file that was not fetched.
func LFSPointer(text []byte) bool {
	return bytes.HasPrefix(text, []byte("version https://git-lfs.github.com/spec/"))
}

// Clean replaces what is not UTF-8, and NUL.
func Clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "�"), "\x00", "�")
}

// Plain replaces control characters and what is not UTF-8 with by.
func Plain(s string, by rune) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return by
		}
		return r
	}, Clean(s))
}

// Cut shortens s to at most limit bytes, at a character, and reports whether it did.
func Cut(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false
	}
	for limit > 0 && s[limit]&0xC0 == 0x80 {
		limit--
	}
	return s[:limit], true
}
