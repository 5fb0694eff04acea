// Package source reads documents and experiences as memory items, makes values of experiences, and reads files of a
// folder whose content is not trusted. Package code and package gitlog below it read source code and git histories.
//
// It holds the rules that all readers share: how an item is called, which bytes a text may have, how long it may be,
// and which files are left out. It does not publish.
//
//   - [Sections] and [Document] read documentation: an item of kind knowledge is the text under one heading. The lines
//     of an item's content are lines of the file, one below the other, from the attribute line on.
//   - [Experience] reads GHAP entries: goal, hypothesis, action, prediction and how it came out.
//   - [Values] clusters experiences by what they say on each axis. The same experiences give the same values, in any
//     order. A cluster keeps its id for as long as most of its members stay together. Experiences of different security
//     labels are never in one cluster: a principal may see a value only if it may see all its experiences.
//   - [Folder] reads regular files below a folder and nothing else, also while the folder is changed.
package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"

	"satchel/schemas"
)

// MaxID is the length of an item's id at most, in bytes.
const MaxID = 128

// ID returns name as an id of at most limit bytes: slashes and number signs become colons. A name with other characters
// than an id may have, with a colon or of more bytes is shortened and ends in its hash, so that another name like it
// has another id.
func ID(name string, limit int) string {
	id := strings.NewReplacer("/", ":", "#", ":").Replace(name)
	exact := name == "" || schemas.ValidID(id) && !strings.Contains(name, ":")
	if exact && len(id) <= limit {
		return id
	}
	id = strings.Map(func(r rune) rune {
		if schemas.ValidID(string(r)) {
			return r
		}
		return '_'
	}, id)
	hash := Hash([]byte(name), 10)
	return id[:min(len(id), limit-len(hash)-1)] + "." + hash
}

// Hash returns the first bytes of the SHA-256 of a text, in hexadecimal.
func Hash(text []byte, length int) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:length])
}

// Encode returns attributes as JSON. They are texts, numbers and lists of these, which always have a form in JSON.
func Encode(attributes any) json.RawMessage {
	raw, err := json.Marshal(attributes)
	if err != nil {
		return nil // an item of kind code, commit, value or experience is not valid without
	}
	return raw
}

// URI says where a line of a file is: name is that of the folder or repository, file the path below it.
func URI(name, file string, line int) string {
	end := ":" + strconv.Itoa(line)
	uri, _ := Cut(Plain("file:"+name+"/"+file, '_'), schemas.MaxURI-len(end))
	return uri + end
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

// CheckText says why a file that holds text is not read, "" when it is: it is no text, or what Git LFS has in the place
// of a file that was not fetched.
func CheckText(text []byte) Reason {
	switch {
	case bytes.IndexByte(text, 0) >= 0:
		return Binary
	case bytes.HasPrefix(text, []byte("version https://git-lfs.github.com/spec/")):
		return LFS
	}
	return ""
}
