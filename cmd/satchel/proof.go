package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"satchel/emitters"
	"satchel/jetstream"
	"satchel/schemas"
)

// proofChecker checks that ledger entries stand in the tenant's signed head. It trusts
// the key it was shown first.
type proofChecker struct {
	conn     *client
	verifier note.Verifier
}

func newProofChecker(ctx context.Context, conn *client) (*proofChecker, error) {
	var head schemas.HeadReply
	if err := conn.logCall(ctx, "head", struct{}{}, &head); err != nil {
		return nil, err
	}
	v, err := note.NewVerifier(head.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("read the log's public key: %w", err)
	}
	return &proofChecker{conn: conn, verifier: v}, nil
}

// included asks for the entry's proof and checks it: signature, root, leaf.
func (c *proofChecker) included(ctx context.Context, l emitters.LedgerEvent) (bool, error) {
	var reply schemas.ProveReply
	if err := c.conn.logCall(ctx, "prove", schemas.ProveRequest{Position: l.Position}, &reply); err != nil {
		var typed *schemas.Error
		if errors.As(err, &typed) && typed.Code == schemas.CodeValidation {
			return false, nil // the log has no such position
		}
		return false, err
	}
	return checkInclusion(c.verifier, &reply, jetstream.ExtensionText(l.Event, "satchelleaf")), nil
}

// checkInclusion reports whether reply proves that leaf (hex) is in the tree whose
// head the key signed.
func checkInclusion(v note.Verifier, reply *schemas.ProveReply, leaf string) bool {
	n, err := note.Open([]byte(reply.Checkpoint), note.VerifierList(v))
	if err != nil || reply.Inclusion == nil || reply.Inclusion.Leaf != leaf {
		return false
	}
	lines := strings.Split(n.Text, "\n")
	if len(lines) < 3 || lines[1] != fmt.Sprint(reply.Inclusion.Size) {
		return false
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil {
		return false
	}
	want, err := hex.DecodeString(leaf)
	if err != nil || len(want) != tlog.HashSize || tlog.RecordHash([]byte(reply.Preimage)) != tlog.Hash(want) {
		return false
	}
	proof := make(tlog.RecordProof, len(reply.Inclusion.Hashes))
	for i, text := range reply.Inclusion.Hashes {
		raw, err := hex.DecodeString(text)
		if err != nil || len(raw) != tlog.HashSize {
			return false
		}
		proof[i] = tlog.Hash(raw)
	}
	return tlog.CheckRecord(proof, reply.Inclusion.Size, root, reply.Inclusion.Position-1, tlog.Hash(want)) == nil
}
