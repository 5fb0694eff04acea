package command

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"satchel/emitters"
	"satchel/jetstream/cloudevent"
	"satchel/schemas"
)

// ProofChecker checks that ledger entries stand in the tenant's signed head. It trusts
// the key it was shown first.
type ProofChecker struct {
	conn     *Client
	Verifier note.Verifier
}

// NewProofChecker returns a checker that knows the key of the log.
func NewProofChecker(ctx context.Context, conn *Client) (*ProofChecker, error) {
	var head schemas.HeadReply
	if err := conn.LogCall(ctx, "head", struct{}{}, &head); err != nil {
		return nil, err
	}
	v, err := note.NewVerifier(head.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("read the log's public key: %w", err)
	}
	return &ProofChecker{conn: conn, Verifier: v}, nil
}

// Included asks for the entry's proof and checks it: signature, root, leaf.
func (c *ProofChecker) Included(ctx context.Context, l emitters.LedgerEvent) (bool, error) {
	var reply schemas.ProveReply
	if err := c.conn.LogCall(ctx, "prove", schemas.ProveRequest{Position: l.Position}, &reply); err != nil {
		var typed *schemas.Error
		if errors.As(err, &typed) && typed.Code == schemas.CodeNotFound {
			return false, nil // the log has no such position
		}
		return false, err
	}
	return CheckInclusion(c.Verifier, &reply, cloudevent.ExtensionText(l.Event, "satchelleaf")), nil
}

// CheckInclusion reports whether reply proves that leaf (hex) is in the tree whose
// head the key signed. A reply without a preimage proves the leaf alone.
func CheckInclusion(v note.Verifier, reply *schemas.ProveReply, leaf string) bool {
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
	if err != nil || len(want) != tlog.HashSize {
		return false
	}
	if hidden := reply.Preimage == ""; !hidden && tlog.RecordHash([]byte(reply.Preimage)) != tlog.Hash(want) {
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
