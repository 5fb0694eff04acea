package eventlog

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"satchel/pipeline/scope"
)

// legacyOrigin was the origin of every log, under a key that was named as Config.VerifierKey says.
const legacyOrigin = "satchel"

// originOf is the origin of a tenant's log, the first line of its checkpoints. The key that signs
// them has the same name (C2SP tlog-checkpoint).
func (l *Log) originOf(tenant string) string { return l.origin + "/" + tenant }

// named is a signer under another name.
type named struct {
	note.Signer
	verifier note.Verifier
}

// Name returns the name.
func (n named) Name() string { return n.verifier.Name() }

// KeyHash returns the hash of name and public key.
func (n named) KeyHash() uint32 { return n.verifier.KeyHash() }

// VerifierKey returns the key that verifies checkpoints of s's log: the origin, the hash and the public
// key. It is "" for a log without Config.VerifierKey.
func (l *Log) VerifierKey(s scope.Scope) string {
	v, err := l.renameKey(l.originOf(s.Tenant()))
	if s.Check() != nil || err != nil {
		return ""
	}
	return v
}

// renameKey returns the log's public key under another name.
func (l *Log) renameKey(name string) (string, error) {
	parts := strings.SplitN(l.key, "+", 3)
	if len(parts) != 3 {
		return "", errors.New("the log has no verifier key")
	}
	raw, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(raw) != 1+ed25519.PublicKeySize {
		return "", errors.New("the log's verifier key is no Ed25519 key")
	}
	return note.NewEd25519VerifierKey(name, raw[1:])
}

// verifierOf returns the verifier of the log's key under a name.
func (l *Log) verifierOf(name string) (note.Verifier, error) {
	key, err := l.renameKey(name)
	if err != nil {
		return nil, err
	}
	return note.NewVerifier(key)
}

// Sign signs text as s's log, as a note. Text ends with LF.
func (l *Log) Sign(s scope.Scope, text string) ([]byte, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	return l.signHead(s.Tenant(), text)
}

func (l *Log) signHead(tenant, text string) ([]byte, error) {
	if l.signer == nil {
		return nil, errors.New("sign head: the log has no signing key")
	}
	v, err := l.verifierOf(l.originOf(tenant))
	if err != nil {
		return nil, fmt.Errorf("sign head: %w", err)
	}
	signed, err := note.Sign(&note.Note{Text: text}, named{l.signer, v})
	if err != nil {
		return nil, fmt.Errorf("sign head: %w", err)
	}
	return signed, nil
}

// openNote checks that the log's key has signed a note of the tenant: under the name that the note's
// first line has, or under the one that every log had before.
func (l *Log) openNote(tenant string, signed []byte) (*note.Note, error) {
	origin, _, _ := strings.Cut(string(signed), "\n")
	verifiers := []note.Verifier{}
	if v, err := l.verifierOf(origin); err == nil && strings.HasSuffix(origin, "/"+tenant) {
		verifiers = append(verifiers, v)
	}
	if origin == legacyOrigin+"/"+tenant {
		verifiers = append(verifiers, l.verifier)
	}
	if len(verifiers) == 0 {
		return nil, fmt.Errorf("it is of %q", origin)
	}
	return note.Open(signed, note.VerifierList(verifiers...))
}

// KeptOrigin is the name that the newest head in a folder of kept heads gives the log; "" without one.
func KeptOrigin(dir string) string {
	files, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	origin := ""
	newest := time.Time{}
	for _, file := range files {
		tenant, isHead := strings.CutSuffix(file.Name(), headSuffix)
		info, err := file.Info()
		if !isHead || err != nil || !info.ModTime().After(newest) {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, file.Name()))
		line, _, _ := strings.Cut(string(raw), "\n")
		if name, ours := strings.CutSuffix(line, "/"+tenant); err == nil && ours && name != legacyOrigin {
			origin = name
			newest = info.ModTime()
		}
	}
	return origin
}
