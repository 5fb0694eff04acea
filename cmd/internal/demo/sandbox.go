package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"satchel/emitters"
	"satchel/jetstream"
	"satchel/schemas"
)

// sandbox keeps a tool's long output outside, finds its extract, and opens the whole by the handle that the context
// carries.
func (t *runner) sandbox(ctx context.Context) error {
	e, err := t.emitter(countingIDs("a0"))
	if err != nil {
		return err
	}
	log := gatewayLog()
	item := schemas.MemoryItem{ID: "log-001", Type: schemas.Episodic, Kind: schemas.KindMemory, Session: "incident-77", Speaker: "read_log", Role: "tool",
		SecurityLabel: []string{"level:internal", "group:risk"}, Links: []schemas.Link{{Rel: schemas.RelMentions, To: "tool-005"}}}
	item, receipt, err := e.Store(ctx, item, emitters.Heavy{Content: strings.NewReader(log), Name: "gateway.log", Query: "handshake failed"},
		&emitters.Options{Wait: schemas.ReceiptIndexed})
	if err != nil {
		return err
	}
	if err := t.settle(ctx); err != nil {
		return err
	}
	p, err := t.request(ctx, riskOfficer(), "read_log gateway handshake failed certificate has expired", schemas.RequestPayload{TokenBudget: 1500, Repeat: "full"})
	if err != nil {
		return err
	}
	var held *schemas.SandboxRef
	for i := range p.Results {
		if p.Results[i].ID == item.ID {
			held = p.Results[i].Metadata.Artifact
		}
	}
	if held == nil {
		return errors.New("the context carries no handle of the tool's log")
	}
	t.say("\nSANDBOX read_log printed %d lines, %d bytes: they stay in the object store; log position %d has", strings.Count(log, "\n"), len(log), receipt.Position)
	t.say("        an extract of %d tokens, which the next context shows with a handle of %d characters.", t.node.Counter("").Count(item.Content.Text()), len(held.Handle))
	if t.verbose {
		t.say("%s", strings.TrimRight(item.Content.Text(), "\n"))
	}
	return t.open(ctx, held, log)
}

// open opens the handle for whom it was made, and sees to it that nothing else opens.
func (t *runner) open(ctx context.Context, held *schemas.SandboxRef, log string) error {
	subject, err := jetstream.ArtifactSubject(demoTenant)
	if err != nil {
		return err
	}
	var reply schemas.OpenReply
	if err := t.client.Call(ctx, subject, schemas.OpenRequest{From: riskOfficer(), Handle: held.Handle}, &reply); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(log))
	if reply.SHA256 != hex.EncodeToString(sum[:]) || reply.Size != len(log) {
		return errors.New("the handle opens something else")
	}
	t.say("        The risk officer opens it: %d bytes, sha256 %.16s…, entry %d of the log.", reply.Size, reply.SHA256, reply.Position)
	changed := []byte(held.Handle)
	changed[len(changed)/2] ^= 1
	for _, try := range []schemas.OpenRequest{{From: supportAgent(), Handle: held.Handle}, {From: riskOfficer(), Handle: string(changed)}} {
		var refused *schemas.Error
		if err := t.client.Call(ctx, subject, try, &reply); !errors.As(err, &refused) {
			return fmt.Errorf("a handle that must not open does: %w", err)
		}
	}
	t.say("        The support agent with the same handle, and one with a bit changed: both refused.")
	return nil
}
