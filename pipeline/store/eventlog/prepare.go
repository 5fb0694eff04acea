package eventlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"satchel/pipeline/aside"
	"satchel/pipeline/scope"
)

// prepared is a draft with everything that does not depend on its position.
type prepared struct {
	draft      *Draft
	content    Content
	extHash    [32]byte
	dataHash   [32]byte
	commitment [32]byte
	attached   *Attachment
	attachment [32]byte
}

// prepare does for drafts what needs no transaction: it draws salts, hashes, and asks the
// driver for the form that data is stored in. Attachments are done on another processor.
func (l *Log) prepare(drafts []Draft) ([]prepared, error) {
	out := make([]prepared, len(drafts))
	salts, err := l.salts(2 * len(drafts))
	if err != nil {
		return nil, err
	}
	attached := false
	for i := range drafts {
		d, p := &drafts[i], &out[i]
		if err := checkDraft(d); err != nil {
			return nil, fmt.Errorf("append draft %d, event %q: %w", i, d.ID, err)
		}
		p.draft, p.content.Salt = d, salts[2*i]
		if d.Attachment.data != nil {
			p.attached = &Attachment{Salt: salts[2*i+1], Refs: d.Refs, Data: d.Attachment.data}
			attached = true
		}
	}
	join := func() error { return nil }
	if attached {
		join = aside.Do(func() error {
			for i := range out {
				out[i].attach(l.packer)
			}
			return nil
		})
	}
	for i := range out {
		out[i].commit(l.packer)
	}
	if err := join(); err != nil {
		return nil, fmt.Errorf("append attachments: %w", err)
	}
	return out, nil
}

// commit makes the commitment over the draft's data and extensions.
func (p *prepared) commit(packer Packer) {
	c := &p.content
	c.Extensions, c.Data = CanonicalExtensions(p.draft.Extensions), p.draft.Data
	p.extHash, p.dataHash = sha256.Sum256(c.Extensions), sha256.Sum256(c.Data)
	p.commitment = commitHashes(c.Salt, p.extHash, p.dataHash)
	if packer != nil {
		c.Stored = packer.Pack(c.Data)
	}
}

// attach makes the commitment over the draft's attachment, if it has one.
func (p *prepared) attach(packer Packer) {
	a := p.attached
	if a == nil {
		return
	}
	p.attachment = commitHashes(a.Salt, sha256.Sum256(CanonicalRefs(a.Refs)), p.draft.Attachment.sum)
	if packer != nil {
		a.Stored = packer.Pack(a.Data)
	}
}

func (l *Log) salts(n int) ([][32]byte, error) {
	b := make([]byte, 32*n)
	l.randMu.Lock()
	_, err := io.ReadFull(l.rand, b)
	l.randMu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("draw salts: %w", err)
	}
	salts := make([][32]byte, n)
	for i := range salts {
		copy(salts[i][:], b[32*i:])
		if salts[i] == ([32]byte{}) {
			return nil, fmt.Errorf("draw salts: the random source gave zeros")
		}
	}
	return salts, nil
}

// same reports whether the draft is what h holds.
func (p *prepared) same(h *Held) bool {
	return h.Type == p.draft.Type && commitHashes(h.Salt, p.extHash, p.dataHash) == h.Commitment
}

func checkDraft(d *Draft) error {
	if !scope.ValidTenant(d.Tenant) {
		return fmt.Errorf("%w: tenant %q", ErrInvalid, d.Tenant)
	}
	for _, required := range []struct{ name, value string }{{"type", d.Type}, {"source", d.Source}, {"id", d.ID}} {
		if required.value == "" {
			return fmt.Errorf("%w: no %s", ErrInvalid, required.name)
		}
	}
	for _, column := range []string{d.Agent, d.Type, d.Source, d.ID, d.Subject} {
		if !text(column) {
			return fmt.Errorf("%w: a column is not text", ErrInvalid)
		}
	}
	if !Storable(d.Time) {
		return fmt.Errorf("%w: time is outside %s", ErrInvalid, StorableYears)
	}
	for name := range d.Extensions {
		if !extensionName(name) {
			return fmt.Errorf("%w: extension name %q", ErrInvalid, name)
		}
	}
	if d.Attachment.data == nil && len(d.Refs) > 0 {
		return fmt.Errorf("%w: refs without an attachment", ErrInvalid)
	}
	if d.Attachment.data != nil && !holdsHash(d.Data, d.Attachment.sum) {
		return fmt.Errorf("%w: the attachment's SHA-256 is not in the data", ErrInvalid)
	}
	for _, ref := range d.Refs {
		if ref == "" || !text(ref) {
			return fmt.Errorf("%w: a ref is not text", ErrInvalid)
		}
	}
	return nil
}

// holdsHash reports whether data holds a SHA-256 in lower-case hex.
func holdsHash(data []byte, sum [32]byte) bool {
	return bytes.Contains(data, hex.AppendEncode(nil, sum[:]))
}

func text(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// StorableYears says in words which times Storable lets through.
const StorableYears = "the years 1678 to 2261"

// Storable reports whether t survives as nanoseconds since 1970 in an int64.
func Storable(t time.Time) bool {
	return t.IsZero() || (t.Unix() > math.MinInt64/int64(time.Second) && t.Unix() < math.MaxInt64/int64(time.Second))
}

func extensionName(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
