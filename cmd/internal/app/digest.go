package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"satchel/pipeline/scope"
)

// indexDigest is what an index holds of a tenant, as one value.
type indexDigest struct {
	Index string
	value [32]byte
}

// Digests returns that of every index of a tenant, always in the same order: equal for two
// sets of indexes that hold the same, however they came to it.
func (s *Stores) Digests(ctx context.Context, sc scope.Scope) ([]indexDigest, error) {
	var list []indexDigest
	for _, index := range []struct {
		name   string
		digest func(context.Context, scope.Scope) ([32]byte, error)
	}{{"items", s.Items.Digest}, {"keyword", s.Keyword.Digest}, {"private", s.Private.Digest}, {"vector", s.Vector.Digest}, {"graph", s.Graph.Digest}} {
		d, err := index.digest(ctx, sc)
		if err != nil {
			return nil, fmt.Errorf("digest of %s: %w", index.name, err)
		}
		list = append(list, indexDigest{index.name, d})
	}
	return list, nil
}

// Digest is one value over the digests of a tenant.
func (s *Stores) Digest(ctx context.Context, sc scope.Scope) (string, error) {
	list, err := s.Digests(ctx, sc)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, d := range list {
		h.Write(d.value[:])
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
