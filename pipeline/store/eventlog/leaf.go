package eventlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

const (
	preimageTitle = "satchel log leaf v1\n"
	timeLayout    = "2006-01-02T15:04:05.000000000Z"
)

// Preimage returns the leaf preimage of e in tenant, see the package comment.
func (e *Entry) Preimage() []byte {
	r := Row{
		Position: e.Position, Agent: e.Agent, Type: e.Type, Source: e.Source, ID: e.ID, Subject: e.Subject,
		Time: e.Time, RecordedAt: e.RecordedAt, Commitment: e.Commitment, Attachment: e.Attachment,
	}
	return appendPreimage(nil, e.Tenant, &r)
}

// Preimage returns the leaf preimage of r in tenant, see the package comment.
func (r *Row) Preimage(tenant string) []byte { return appendPreimage(nil, tenant, r) }

// ParsePreimage is the inverse of Row.Preimage. It returns ErrCorrupt for bytes that no Row of the
// tenant has as its preimage.
func ParsePreimage(tenant string, preimage []byte) (Row, error) {
	fields, ok := bytes.CutPrefix(preimage, []byte(preimageTitle))
	value := map[string]string{}
	for ok && len(fields) > 0 {
		name, text, rest, err := parseField(fields)
		if err != nil {
			return Row{}, err
		}
		value[name] = text
		fields = rest
	}
	r := Row{Agent: value["agent"], Type: value["type"], Source: value["source"], ID: value["id"], Subject: value["subject"]}
	r.Position, _ = strconv.ParseInt(value["position"], 10, 64) // what cannot be read is not what was written, below
	r.Time, _ = time.Parse(timeLayout, value["time"])
	r.RecordedAt, _ = time.Parse(timeLayout, value["recorded_at"])
	parseHash(&r.Commitment, value["commitment"])
	parseHash(&r.Attachment, value["attachment"])
	if !bytes.Equal(r.Preimage(tenant), preimage) {
		return Row{}, fmt.Errorf("parse leaf preimage: %w", errFields)
	}
	return r, nil
}

// parseHash reads lower-case hex; what is something else leaves to as it is.
func parseHash(to *[32]byte, text string) {
	if raw, err := hex.DecodeString(text); err == nil && len(raw) == len(to) {
		copy(to[:], raw)
	}
}

func appendPreimage(b []byte, tenant string, r *Row) []byte {
	var tmp [64]byte
	b = append(b, preimageTitle...)
	b = appendField(b, "tenant", tenant)
	b = appendField(b, "position", strconv.AppendInt(tmp[:0], r.Position, 10))
	b = appendField(b, "agent", r.Agent)
	b = appendField(b, "type", r.Type)
	b = appendField(b, "source", r.Source)
	b = appendField(b, "id", r.ID)
	b = appendField(b, "subject", r.Subject)
	b = appendField(b, "time", appendTime(tmp[:0], r.Time))
	b = appendField(b, "recorded_at", appendTime(tmp[:0], r.RecordedAt))
	b = appendField(b, "commitment", hex.AppendEncode(tmp[:0], r.Commitment[:]))
	if r.Attachment == ([32]byte{}) {
		return appendField(b, "attachment", "")
	}
	return appendField(b, "attachment", hex.AppendEncode(tmp[:0], r.Attachment[:]))
}

func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	return t.UTC().AppendFormat(b, timeLayout)
}

func appendField[T string | []byte](b []byte, name string, value T) []byte {
	b = append(b, name...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(len(value)), 10)
	b = append(b, ' ')
	b = append(b, value...)
	return append(b, '\n')
}

// leafHash returns the RFC 6962 leaf hash of a row; buf is scratch space to reuse.
func leafHash(buf []byte, tenant string, r *Row) (tlog.Hash, []byte) {
	buf = append(buf[:0], 0)
	buf = appendPreimage(buf, tenant, r)
	return sha256.Sum256(buf), buf
}

// Commit returns SHA-256(salt ‖ SHA-256(head) ‖ SHA-256(data)), the commitment over
// content (head: canonical extensions) or an attachment (head: canonical refs).
func Commit(salt [32]byte, head, data []byte) [32]byte {
	return commitHashes(salt, sha256.Sum256(head), sha256.Sum256(data))
}

func commitHashes(salt, head, data [32]byte) [32]byte {
	var b [96]byte
	copy(b[:], salt[:])
	copy(b[32:], head[:])
	copy(b[64:], data[:])
	return sha256.Sum256(b[:])
}

// CanonicalExtensions returns the canonical form of extensions.
func CanonicalExtensions(ext map[string]string) []byte {
	if len(ext) == 0 {
		return nil
	}
	var space [16]string
	names := space[:0]
	size := 0
	for name, value := range ext {
		names = append(names, name)
		size += len(name) + len(value) + 8
	}
	slices.Sort(names)
	b := make([]byte, 0, size)
	for _, name := range names {
		b = appendField(b, name, ext[name])
	}
	return b
}

// CanonicalRefs returns the canonical form of an attachment's refs.
func CanonicalRefs(refs []string) []byte {
	if len(refs) == 0 {
		return nil
	}
	b := make([]byte, 0, len(refs)*(len(refs[0])+16))
	for _, ref := range refs {
		b = appendField(b, "ref", ref)
	}
	return b
}

// ParseExtensions is the inverse of CanonicalExtensions; nil for none.
func ParseExtensions(b []byte) (map[string]string, error) {
	if len(b) == 0 {
		return nil, nil
	}
	ext := make(map[string]string, bytes.Count(b, []byte("\n")))
	last := ""
	for len(b) > 0 {
		name, value, rest, err := parseField(b)
		if err != nil {
			return nil, err
		}
		if name <= last {
			return nil, fmt.Errorf("parse extensions: %w", errFields)
		}
		ext[name] = value
		last = name
		b = rest
	}
	return ext, nil
}

// ParseRefs is the inverse of CanonicalRefs.
func ParseRefs(b []byte) ([]string, error) {
	var refs []string
	for len(b) > 0 {
		name, value, rest, err := parseField(b)
		if err != nil {
			return nil, err
		}
		if name != "ref" {
			return nil, fmt.Errorf("parse refs: %w", errFields)
		}
		refs = append(refs, value)
		b = rest
	}
	return refs, nil
}

var errFields = fmt.Errorf("%w: not in canonical form", ErrCorrupt)

func parseField(b []byte) (name, value string, rest []byte, err error) {
	i := bytes.IndexByte(b, ' ')
	if i <= 0 {
		return "", "", nil, errFields
	}
	name = string(b[:i])
	b = b[i+1:]
	i = bytes.IndexByte(b, ' ')
	if i <= 0 || i > 10 || (b[0] == '0' && i > 1) {
		return "", "", nil, errFields
	}
	n, err := strconv.ParseUint(string(b[:i]), 10, 40)
	b = b[i+1:]
	if err != nil || n >= uint64(len(b)) || b[n] != '\n' {
		return "", "", nil, errFields
	}
	return name, string(b[:n]), b[n+1:], nil
}
