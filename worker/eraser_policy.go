package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/policies"
	"satchel/schemas"
)

// refuses returns why the agent of d may not erase the items as they are now, "" when
// it may.
func (e *eraser) refuses(ctx context.Context, s scope.Scope, d *eventlog.Draft, ids []string) (write.Reason, error) {
	head, err := e.log.Head(ctx, s)
	if err != nil {
		return "", err
	}
	if err := e.projector.Await(ctx, s, head.Size); err != nil {
		return "", fmt.Errorf("wait for the indexes: %w", err)
	}
	allowed, err := e.allowed(ctx, s, d, ids)
	if err != nil {
		return "", err
	}
	if !allowed {
		return write.PolicyDenied, nil
	}
	known, err := e.known(ctx, s, ids)
	if err != nil || known {
		return "", err
	}
	return write.UnknownItem, nil
}

// known reports whether the log holds content of any of the items: a receipt for what is
// not there would certify nothing.
func (e *eraser) known(ctx context.Context, s scope.Scope, ids []string) (bool, error) {
	for _, id := range ids {
		entries, err := e.log.BySubject(ctx, s, id, schemas.TypeMemoryRecorded)
		if err != nil {
			return false, fmt.Errorf("find entries of item %q: %w", id, err)
		}
		if slices.ContainsFunc(entries, func(entry eventlog.Entry) bool { return !entry.Erased }) {
			return true, nil
		}
	}
	return false, nil
}

// missing says of items that the log has no content of why that is.
func (e *eraser) missing(ctx context.Context, s scope.Scope, ids []string) (string, error) {
	entries, err := e.log.BySubject(ctx, s, ErasureSubject, schemas.TypeMemoryErased)
	if err != nil {
		return "", fmt.Errorf("find erasures: %w", err)
	}
	for i := range slices.Backward(entries) {
		var er schemas.MemoryErased
		if json.Unmarshal(entries[i].Data, &er) != nil || slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(er.Items, id) }) {
			continue
		}
		if er.Receipt == nil {
			return fmt.Sprintf("no such item: its erasure, log position %d, is under way", entries[i].Position), nil
		}
		return fmt.Sprintf("no such item: it was erased, and the receipt is at log position %d", entries[i].Position), nil
	}
	return "no such item", nil
}

// repeats reports whether the entry is what became of the same request.
func repeats(held *eventlog.Entry, req *schemas.MemoryErased) bool {
	var er schemas.MemoryErased
	if held.Type != schemas.TypeMemoryErased || json.Unmarshal(held.Data, &er) != nil || er.Receipt != nil {
		return false
	}
	return er.Reason == req.Reason && len(er.Items) >= len(req.Items) && slices.Equal(er.Items[:len(req.Items)], req.Items)
}

// allowed reports whether policy lets the agent of d erase every one of the items, as they
// are stored. A registry says whether the agent is an eraser; without one the event has to
// claim it.
func (e *eraser) allowed(ctx context.Context, s scope.Scope, d *eventlog.Draft, ids []string) (bool, error) {
	claim := schemas.Agent{Type: "agent", ID: d.Agent, SecurityLevel: schemas.Restricted.String(), Roles: []string{"eraser"}}
	if e.registry == nil {
		claim.Roles = strings.FieldsFunc(d.Extensions[schemas.ExtensionRoles], func(r rune) bool { return r == ',' })
	}
	principal, err := e.registry.Resolve(s.Tenant(), claim, e.loopback)
	if err != nil {
		return false, nil
	}
	who, err := scope.New(s.Tenant(), principal, "erasure")
	if err != nil {
		return false, nil
	}
	records, err := e.items.Get(ctx, who, ids)
	if err != nil {
		return false, fmt.Errorf("read items to erase: %w", err)
	}
	stored := make(map[string]*schemas.Record, len(records))
	for i := range records {
		stored[records[i].ID] = &records[i]
	}
	resources := make([]policies.Resource, len(ids))
	for i, id := range ids {
		if r, ok := stored[id]; ok {
			resources[i] = policies.ResourceOf(r)
		} else {
			resources[i] = policies.Resource{ID: id} // nobody's: its signer is not known
		}
	}
	decision, err := e.pdp.Decide(ctx, who, policies.Request{Action: "erase", Now: e.now(), Resources: resources})
	if err != nil {
		return false, fmt.Errorf("decide erasure: %w", err)
	}
	return !slices.ContainsFunc(decision.Verdicts, func(v policies.Verdict) bool { return !v.Allow }), nil
}
