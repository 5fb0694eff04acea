package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"satchel/cmd/internal/client"
	"satchel/emitters"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// prove verifies the log and proves one item's inclusion.
func (t *runner) prove(ctx context.Context) error {
	s, err := scope.System(demoTenant)
	if err != nil {
		return err
	}
	if err := t.node.Log.Verify(ctx, s, nil, nil); err != nil {
		return fmt.Errorf("verify the log: %w", err)
	}
	check, err := client.NewProofChecker(ctx, t.client)
	if err != nil {
		return err
	}
	var reply schemas.ProveReply
	req := schemas.ProveRequest{Source: schemas.AgentSource(demoTenant, demoAgent), ID: t.ids["note-004"]}
	if err := t.client.LogCall(ctx, "prove", req, &reply); err != nil {
		return err
	}
	if reply.Inclusion == nil || !client.CheckInclusion(check.Verifier, &reply, reply.Inclusion.Leaf) {
		return errors.New("the proof of note-004 does not hold")
	}
	t.say("\nVERIFY  %d entries: every hash, every content, every signed head holds.", reply.Inclusion.Size)
	t.say("PROVE   note-004 is entry %d: %d hashes lead from its leaf to the signed root", reply.Inclusion.Position, len(reply.Inclusion.Hashes))
	t.say("        %s", reply.Inclusion.Root)
	return nil
}

// follow counts what the ledger says.
func (t *runner) follow(ctx context.Context) error {
	s, err := scope.System(demoTenant)
	if err != nil {
		return err
	}
	head, err := t.node.Log.Head(ctx, s)
	if err != nil {
		return err
	}
	e, err := t.emitter(nil)
	if err != nil {
		return err
	}
	counts := map[schemas.LedgerKind]int{}
	err = e.FollowLedger(ctx, emitters.FollowOptions{}, func(l emitters.LedgerEvent) error {
		counts[l.Kind]++
		if l.Position >= head.Size {
			return emitters.ErrStop
		}
		return nil
	})
	if err != nil {
		return err
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	t.say("LEDGER  prov.v1.%s.>  has %s, for whoever may follow it.", demoTenant, strings.Join(parts, ", "))
	return nil
}
