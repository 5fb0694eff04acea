package demo

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"satchel/cmd/internal/command"
	"satchel/emitters"
	"satchel/pipeline/infra/sqlitefile"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// prove verifies the log and proves one item's inclusion.
func (t *runner) prove(ctx context.Context) error {
	if err := t.node.Log.Verify(ctx, t.scope, nil, nil); err != nil {
		return fmt.Errorf("verify the log: %w", err)
	}
	check, err := command.NewProofChecker(ctx, t.client)
	if err != nil {
		return err
	}
	var reply schemas.ProveReply
	req := schemas.ProveRequest{From: &schemas.Agent{ID: demoAgent}, Source: schemas.AgentSource(demoTenant, demoAgent), ID: t.ids["note-004"]}
	if err := t.client.LogCall(ctx, "prove", req, &reply); err != nil {
		return err
	}
	if reply.Inclusion == nil || !command.CheckInclusion(check.Verifier, &reply, reply.Inclusion.Leaf) {
		return errors.New("the proof of note-004 does not hold")
	}
	t.say("\nVERIFY  %d entries: every hash, every content, every signed head holds.", reply.Inclusion.Size)
	t.say("PROVE   note-004 is entry %d: %d hashes lead from its leaf to the signed root", reply.Inclusion.Position, len(reply.Inclusion.Hashes))
	t.say("        %s", reply.Inclusion.Root)
	return nil
}

// tamper changes one number of one memory in a copy of the log, as a process with access to the disk could, and sees to
// it that verification names the entry.
func (t *runner) tamper(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "satchel-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", sqlitefile.DSN(t.Path("log.db"), "mode=ro"))
	if err != nil {
		return err
	}
	defer db.Close()
	forged, err := t.Apart(dir, false)
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", forged.Path("log.db")); err != nil {
		return fmt.Errorf("copy the log: %w", err)
	}
	raw, err := os.ReadFile(forged.Path("log.db"))
	if err != nil {
		return err
	}
	const was, is = "61,480 EUR", "16,480 EUR"
	if err := os.WriteFile(forged.Path("log.db"), bytes.Replace(raw, []byte(was), []byte(is), 1), 0o600); err != nil {
		return err
	}
	log, err := forged.ReadLog(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	var caught *eventlog.VerifyError
	if err := log.Verify(ctx, t.scope, nil, nil); !errors.As(err, &caught) {
		return fmt.Errorf("a changed log verifies: %w", err)
	}
	t.say("TAMPER  in a copy of the log, %s becomes %s on the disk. Verification says:", was, is)
	t.say("        %s", caught)
	return nil
}

// erase forgets a customer's data, and sees to it that the risk officer is no longer shown it.
func (t *runner) erase(ctx context.Context) error {
	const item = "note-006"
	e, err := emitters.New(t.nc, emitters.Config{Tenant: demoTenant, Agent: "privacy_officer", Roles: []string{"eraser"}, Clock: demoNow, NewID: countingIDs("f0")})
	if err != nil {
		return err
	}
	receipt, err := e.Forget(ctx, []string{item}, "the customer asked for it")
	if err != nil {
		return err
	}
	if err := t.settle(ctx); err != nil {
		return err
	}
	p, err := t.request(ctx, riskOfficer(), demoQuestion, schemas.RequestPayload{TokenBudget: demoBudget, Repeat: "full"})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(p.Results, func(r schemas.ResultItem) bool { return r.ID == item }) {
		return errors.New("an erased item is shown")
	}
	var stores []string
	for _, store := range receipt.Stores {
		if !store.Absent {
			return fmt.Errorf("%s is left in %s", item, store.Store)
		}
		stores = append(stores, store.Store)
	}
	t.say("ERASE   %s, the customer's data, by the privacy officer: entry %d keeps its hash and loses its content,", item, receipt.Positions[0])
	t.say("        and so do %d contexts that showed it. The risk officer asks again and is not shown it; the log verifies.", len(receipt.Packs))
	t.say("        The receipt, an entry of the log, names %d places where nothing is left:", len(stores))
	t.say("        %s", strings.Join(stores, ", "))
	return t.node.Log.Verify(ctx, t.scope, nil, nil)
}

// follow counts what the ledger says.
func (t *runner) follow(ctx context.Context) error {
	head, err := t.node.Log.Head(ctx, t.scope)
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
