package eventlog

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Corrupt returns an ErrCorrupt that says what a driver found.
func Corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
}

// CopyHash copies a stored hash, none leaves to as it is. One of another length becomes a
// value that no leaf matches.
func CopyHash(to *[32]byte, from []byte) {
	if len(from) == len(to) || len(from) == 0 {
		copy(to[:], from)
		return
	}
	for i := range to {
		to[i] = 0xff
	}
}

// Sum is the checksum that a driver stores with a checkpoint, and Check needs.
func (c *Checkpoint) Sum() [32]byte {
	var b []byte
	for _, s := range []string{c.Name, c.Epoch} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(c.Fence))
	b = binary.BigEndian.AppendUint64(b, c.StreamSeq)
	return sha256.Sum256(append(b, c.Hash[:]...))
}

// Check fails when a stored sum is not the checkpoint's.
func (c *Checkpoint) Check(stored []byte) error {
	if sum := c.Sum(); string(sum[:]) != string(stored) {
		return Corrupt("checkpoint %q does not match its checksum", c.Name)
	}
	return nil
}

// ReadAttachment returns the attachment of a position from what is stored of it. The error
// is a *VerifyError.
func ReadAttachment(tenant string, position int64, salt [32]byte, refs, data []byte) (*Attachment, error) {
	list, err := ParseRefs(refs)
	if err != nil {
		return nil, &VerifyError{Tenant: tenant, Position: position, Problem: "the attachment's refs are not in canonical form"}
	}
	return &Attachment{Salt: salt, Refs: list, Data: data}, nil
}
