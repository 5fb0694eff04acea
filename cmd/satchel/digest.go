package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"satchel/pipeline/scope"
)

// indexDigest is what an index holds of a tenant, as one value.
type indexDigest struct {
	index string
	value [32]byte
}

// digests returns that of every index of a tenant, always in the same order: equal for two
// sets of indexes that hold the same, however they came to it.
func (s *stores) digests(ctx context.Context, sc scope.Scope) ([]indexDigest, error) {
	var list []indexDigest
	for _, index := range []struct {
		name   string
		digest func(context.Context, scope.Scope) ([32]byte, error)
	}{{"items", s.items.Digest}, {"keyword", s.keyword.Digest}, {"vector", s.vector.Digest}, {"graph", s.graph.Digest}} {
		d, err := index.digest(ctx, sc)
		if err != nil {
			return nil, fmt.Errorf("digest of %s: %w", index.name, err)
		}
		list = append(list, indexDigest{index.name, d})
	}
	return list, nil
}

// digest is one value over the digests of a tenant.
func (s *stores) digest(ctx context.Context, sc scope.Scope) (string, error) {
	list, err := s.digests(ctx, sc)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, d := range list {
		h.Write(d.value[:])
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
