package eventlog

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/transparency-dev/formats/log"
	"golang.org/x/mod/sumdb/tlog"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// SignedHead signs the present head as a C2SP checkpoint. With Config.Keep it becomes the
// kept one first; a head that contradicts the kept one is a *VerifyError and is not signed.
func (l *Log) SignedHead(ctx context.Context, s scope.Scope) (schemas.HeadReply, error) {
	if l.signer == nil {
		return schemas.HeadReply{}, errors.New("sign head: the log has no signing key")
	}
	h, err := l.Head(ctx, s)
	if err != nil {
		return schemas.HeadReply{}, err
	}
	signed, err := l.SignHead(h)
	if err != nil {
		return schemas.HeadReply{}, err
	}
	if l.keep != "" {
		if err := l.trustHead(ctx, h, signed); err != nil {
			return schemas.HeadReply{}, err
		}
	}
	return schemas.HeadReply{Size: h.Size, Root: hex.EncodeToString(h.Root[:]), Checkpoint: string(signed), PublicKey: l.VerifierKey(s)}, nil
}

// SignHead signs h as a C2SP checkpoint, and neither checks nor keeps it: h MUST be a head of this log,
// such as Export returns.
func (l *Log) SignHead(h Head) ([]byte, error) {
	text := log.Checkpoint{Origin: l.originOf(h.Tenant), Size: uint64(h.Size), Hash: h.Root[:]}.Marshal()
	return l.signHead(h.Tenant, string(text))
}

// OpenCheckpoint checks the signature and origin of a signed checkpoint of s's log.
func (l *Log) OpenCheckpoint(s scope.Scope, signed []byte) (Head, error) {
	if err := s.Check(); err != nil {
		return Head{}, err
	}
	return l.openCheckpoint(s.Tenant(), signed)
}

func (l *Log) openCheckpoint(tenant string, signed []byte) (Head, error) {
	if l.verifier == nil {
		return Head{}, errors.New("open checkpoint: the log has no verifier key")
	}
	n, err := l.openNote(tenant, signed)
	if err != nil {
		return Head{}, fmt.Errorf("open checkpoint of tenant %q: %w", tenant, err)
	}
	var c log.Checkpoint
	if _, err := c.Unmarshal([]byte(n.Text)); err != nil {
		return Head{}, fmt.Errorf("open checkpoint of tenant %q: %w", tenant, err)
	}
	if len(c.Hash) != tlog.HashSize || int64(c.Size) < 0 {
		return Head{}, fmt.Errorf("open checkpoint of tenant %q: it is no head", tenant)
	}
	h := Head{Tenant: tenant, Size: int64(c.Size)}
	copy(h.Root[:], c.Hash)
	return h, nil
}

// ProveInclusion proves that the entry at position is in the tree of size leaves; size 0
// is the present one. ErrNotFound when the log or that tree does not reach so far.
func (l *Log) ProveInclusion(ctx context.Context, s scope.Scope, position, size int64) (schemas.InclusionProof, error) {
	var p schemas.InclusionProof
	err := l.viewTreeAt(ctx, s, size, func(r tlog.HashReader, size int64, root tlog.Hash) error {
		if position < 1 || position > size {
			return fmt.Errorf("prove position %d in a log of %d: %w", position, size, ErrNotFound)
		}
		hashes, err := tlog.ProveRecord(size, position-1, r)
		if err != nil {
			return err
		}
		leaf, err := r.ReadHashes([]int64{tlog.StoredHashIndex(0, position-1)})
		if err != nil {
			return err
		}
		p = schemas.InclusionProof{Position: position, Size: size, Leaf: hex.EncodeToString(leaf[0][:]), Hashes: encodeHashes(hashes), Root: hex.EncodeToString(root[:])}
		return nil
	})
	return p, err
}

// ProveConsistency proves that the tree of old leaves is a prefix of the present one.
func (l *Log) ProveConsistency(ctx context.Context, s scope.Scope, old int64) (schemas.ConsistencyProof, error) {
	return l.ProveConsistencyAt(ctx, s, old, 0)
}

// ProveConsistencyAt proves that the tree of old leaves is a prefix of that of size
// leaves; size 0 is the present one. ErrNotFound unless 1 ≤ old ≤ size ≤ the log's size.
func (l *Log) ProveConsistencyAt(ctx context.Context, s scope.Scope, old, size int64) (schemas.ConsistencyProof, error) {
	var p schemas.ConsistencyProof
	err := l.viewTreeAt(ctx, s, size, func(r tlog.HashReader, size int64, root tlog.Hash) error {
		if old < 1 || old > size {
			return fmt.Errorf("prove size %d in a log of %d: %w", old, size, ErrNotFound)
		}
		hashes, err := tlog.ProveTree(size, old, r)
		if err != nil {
			return err
		}
		oldRoot, err := tlog.TreeHash(old, r)
		p = schemas.ConsistencyProof{Old: old, New: size, OldRoot: hex.EncodeToString(oldRoot[:]), NewRoot: hex.EncodeToString(root[:]), Hashes: encodeHashes(hashes)}
		return err
	})
	return p, err
}

func (l *Log) viewTreeAt(ctx context.Context, s scope.Scope, size int64, fn func(r tlog.HashReader, size int64, root tlog.Hash) error) error {
	if err := s.Check(); err != nil {
		return err
	}
	return l.driver.View(ctx, func(r Reader) error {
		h, err := headOf(r, s.Tenant())
		if err != nil {
			return err
		}
		size = cmp.Or(size, h.Size)
		if size < 0 || size > h.Size {
			return fmt.Errorf("prove for size %d in a log of %d: %w", size, h.Size, ErrNotFound)
		}
		hashes := hashReader(r, s.Tenant())
		root := h.Root
		if size < h.Size {
			if root, err = tlog.TreeHash(size, hashes); err != nil {
				return err
			}
		}
		return fn(hashes, size, root)
	})
}

func hashReader(r Reader, tenant string) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) { return r.Hashes(tenant, indexes) })
}

func encodeHashes(hashes []tlog.Hash) []string {
	out := make([]string, len(hashes))
	for i := range hashes {
		out[i] = hex.EncodeToString(hashes[i][:])
	}
	return out
}

// Preimage returns the leaf preimage of the entry at position, see the package comment.
func (l *Log) Preimage(ctx context.Context, s scope.Scope, position int64) ([]byte, error) {
	e, err := l.Entry(ctx, s, position)
	if err != nil {
		return nil, err
	}
	return e.Preimage(), nil
}
