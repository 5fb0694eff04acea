package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"satchel/pipeline/scope"
)

// digest is one value over every index of a tenant: equal for two sets of indexes that
// hold the same, however they came to it.
func (s *stores) digest(ctx context.Context, sc scope.Scope) (string, error) {
	h := sha256.New()
	for _, index := range []struct {
		name   string
		digest func(context.Context, scope.Scope) ([32]byte, error)
	}{{"items", s.items.Digest}, {"keyword", s.keyword.Digest}, {"vector", s.vector.Digest}, {"graph", s.graph.Digest}} {
		d, err := index.digest(ctx, sc)
		if err != nil {
			return "", fmt.Errorf("digest of %s: %w", index.name, err)
		}
		h.Write(d[:])
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
