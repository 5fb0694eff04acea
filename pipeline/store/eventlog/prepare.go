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

func (l *Log) prepareDrafts(drafts []Draft) ([]prepared, error) {
	out := make([]prepared, len(drafts))
	salts, err := l.drawSalts(2 * len(drafts))
	if err != nil {
		return nil, err
	}
	for i := range drafts {
		d := &drafts[i]
		p := &out[i]
		if err := checkDraft(d); err != nil {
			return nil, fmt.Errorf("append draft %d, event %q: %w", i, d.ID, err)
		}
		p.draft = d
		p.content = Content{Salt: salts[2*i], Extensions: CanonicalExtensions(d.Extensions), Data: d.Data}
		if d.Item.data != nil {
			p.content.Data = d.Item.data
		}
		p.extHash, p.dataHash = sha256.Sum256(p.content.Extensions), sha256.Sum256(p.content.Data)
		p.commitment = commitHashes(p.content.Salt, p.extHash, p.dataHash)
		if d.Attachment.data == nil {
			continue
		}
		if !holdsHash(d.Data, d.Attachment.sum) {
			return nil, fmt.Errorf("append draft %d, event %q: %w: the attachment's SHA-256 is not in the data", i, d.ID, ErrInvalid)
		}
		p.attached = &Attachment{Salt: salts[2*i+1], Refs: d.Attachment.refs, Data: d.Attachment.data}
		p.attachment = commitHashes(p.attached.Salt, sha256.Sum256(CanonicalRefs(d.Attachment.refs)), d.Attachment.sum)
	}
	return out, nil
}

// Salt draws a salt. See Appender.
func (l *Log) Salt() ([32]byte, error) {
	salts, err := l.drawSalts(1)
	if err != nil {
		return [32]byte{}, err
	}
	return salts[0], nil
}

func (l *Log) drawSalts(n int) ([][32]byte, error) {
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

// isSameDraft reports whether the draft is what h holds.
func (p *prepared) isSameDraft(h *Held) bool {
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
		if !isText(column) {
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
	if err := checkItem(d); err != nil {
		return err
	}
	return d.Attachment.checkRefs()
}

// holdsHash reports whether data holds a SHA-256 in lower-case hex.
func holdsHash(data []byte, sum [32]byte) bool {
	return bytes.Contains(data, hex.AppendEncode(nil, sum[:]))
}

func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// StorableYears says in words which times Storable lets through.
const StorableYears = "the years 1678 to 2261"

// Storable reports whether t survives as nanoseconds since 1970 in an int64.
func Storable(t time.Time) bool {
	return t.IsZero() || (t.Unix() > math.MinInt64/int64(time.Second) && t.Unix() < math.MaxInt64/int64(time.Second))
}

func extensionName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}
