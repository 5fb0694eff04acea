package erasure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/policies"
	"satchel/policies/hold"
	"satchel/schemas"
	"satchel/worker/authorship"
)

// Found is what an erasure of items would take.
type Found struct {
	Items    []string  // those asked for, then the summaries derived from them
	Searched int64     // how much of the log was searched for that
	Held     hold.Held // the legal holds that cover them
	unless   []eventlog.Unless
}

// Refuses returns why the agent of d may not erase the items as they are now, nil when it
// may, and then what an erasure would take.
func (e *Eraser) Refuses(ctx context.Context, s scope.Scope, d *write.Prepared, ids []string) (
	refused *write.Rejection, found Found, err error,
) {
	who, ok := authorship.PrincipalOf(e.cfg.Registry, e.cfg.Loopback, d, "erasure")
	if !ok {
		return mayNotErase(), Found{}, nil
	}
	return e.refusesWhom(ctx, s, who, d.Level, ids)
}

// refusesWhom is Refuses of who, which claims a clearance.
func (e *Eraser) refusesWhom(ctx context.Context, s, who scope.Scope, claimed schemas.Level, ids []string) (
	refused *write.Rejection, found Found, err error,
) {
	head, err := e.cfg.Log.Head(ctx, s)
	if err != nil {
		return nil, found, err
	}
	if head.Size == 0 { // of a tenant without a log nothing is kept
		return mayNotErase(), found, nil
	}
	if err := e.cfg.Indexes.Await(ctx, s, head.Size); err != nil {
		return nil, found, fmt.Errorf("wait for the indexes: %w", err)
	}
	found.Searched = head.Size
	if found.Items, err = e.addDerivedItems(ctx, s, ids); err != nil {
		return nil, found, err
	}
	allowed, err := e.Allows(ctx, s, who, claimed, found.Items)
	if err != nil {
		return nil, found, err
	}
	if !allowed {
		return mayNotErase(), found, nil
	}
	if refused, err = e.refuseUnknown(ctx, s, ids); refused != nil || err != nil {
		return refused, found, err
	}
	found.Held, err = e.findHolds(ctx, s, found.Items)
	found.unless = []eventlog.Unless{hold.Unless(found.Held.Position)}
	if err == nil && len(found.Held.Live) > 0 {
		refused = underHold(found.Held.Live)
	}
	return refused, found, err
}

func mayNotErase() *write.Rejection {
	return &write.Rejection{Reason: write.PolicyDenied, Cause: "this agent may not erase these items"}
}

// refuseUnknown refuses an erasure of items of which the log does not hold the content of all: a
// receipt for what is not there would certify nothing. It names them.
func (e *Eraser) refuseUnknown(ctx context.Context, s scope.Scope, ids []string) (*write.Rejection, error) {
	var gone []string
	first := 0
	for i, id := range ids {
		recorded, err := e.readRecorded(ctx, s, id)
		if err != nil {
			return nil, err
		}
		if len(recorded) > 0 || slices.Contains(gone, id) {
			continue
		}
		reason, err := e.hasReason(ctx, s, id)
		if err != nil {
			return nil, err
		}
		if reason {
			continue
		}
		if len(gone) == 0 {
			first = i
		}
		gone = append(gone, id)
	}
	if len(gone) == 0 {
		return nil, nil
	}
	why, err := e.explainMissing(ctx, s, gone)
	if err != nil {
		return nil, err
	}
	const named = 8
	names := strings.Join(gone[:min(len(gone), named)], ", ")
	if more := len(gone) - named; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	if why == "" {
		why = ", nothing was erased"
	} else if len(gone) < len(ids) {
		why += "; nothing was erased now"
	}
	return &write.Rejection{Reason: write.UnknownItem, Pointer: "/data/items/" + strconv.Itoa(first), Cause: names + ": no such item" + why}, nil
}

// explainMissing says of items that the log has no content of why that is, as far as one erasure
// took them all.
func (e *Eraser) explainMissing(ctx context.Context, s scope.Scope, ids []string) (string, error) {
	entries, err := e.cfg.Log.BySubject(ctx, s, eventlog.ErasureSubject, schemas.TypeMemoryErased)
	if err != nil {
		return "", fmt.Errorf("find erasures: %w", err)
	}
	for i := range slices.Backward(entries) {
		var er schemas.MemoryErased
		if json.Unmarshal(entries[i].Data, &er) != nil || slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(er.Items, id) }) {
			continue
		}
		if er.Receipt == nil {
			return fmt.Sprintf(": its erasure, log position %d, is under way", entries[i].Position), nil
		}
		if missing := er.Receipt.Missing(); len(missing) > 0 {
			return fmt.Sprintf(": it was erased, and what was on the disk before goes when partition %s gets on; the receipt is at log position %d", strings.Join(missing, ", "), entries[i].Position), nil
		}
		return fmt.Sprintf(": it was erased, and the receipt is at log position %d", entries[i].Position), nil
	}
	return "", nil
}

// Repeats reports whether the entry is the erasure of the same request. The entry has no reason: that is attached,
// and a repeated erasure has lost it.
func Repeats(held *eventlog.Entry, req *schemas.MemoryErased) bool {
	var er schemas.MemoryErased
	if held.Type != schemas.TypeMemoryErased || json.Unmarshal(held.Data, &er) != nil || er.Receipt != nil {
		return false
	}
	noted := er.Reason == req.Reason || er.ReasonSHA256 != "" && req.Reason != ""
	return (noted || er.Original != nil) && len(er.Items) >= len(req.Items) && slices.Equal(er.Items[:len(req.Items)], req.Items)
}

// Allows reports whether policy lets who, which claims a clearance, erase every version of the
// items.
func (e *Eraser) Allows(ctx context.Context, s, who scope.Scope, claimed schemas.Level, ids []string) (bool, error) {
	resources, err := e.listVersions(ctx, s, ids)
	if err != nil || authorship.ExceedsClearance(claimed, resources) {
		return false, err
	}
	decision, err := e.cfg.PDP.Decide(ctx, who, policies.Request{Action: "erase", Now: e.cfg.Clock(), Resources: resources})
	if err != nil || len(decision.Verdicts) != len(resources) {
		return false, errors.Join(authorship.ErrNoVerdict, err)
	}
	return !slices.ContainsFunc(decision.Verdicts, func(v policies.Verdict) bool { return !v.Allow }), nil
}

// listVersions lists every version of the items that the log has the content of. An item
// without any is nobody's. A summary that Satchel made is by who signed all that it was made
// of.
func (e *Eraser) listVersions(ctx context.Context, s scope.Scope, ids []string) ([]policies.Resource, error) {
	var resources []policies.Resource
	for _, id := range ids {
		recorded, err := e.readRecorded(ctx, s, id)
		if err != nil {
			return nil, err
		}
		if len(recorded) == 0 {
			resources = append(resources, policies.Resource{ID: id})
		}
		for i := range recorded {
			r := policies.ResourceOf(&recorded[i].Record)
			if recorded[i].own {
				if r.Facets.Signer, err = e.findAuthor(ctx, s, &recorded[i]); err != nil {
					return nil, err
				}
			}
			resources = append(resources, r)
		}
	}
	return resources, nil
}

// version is one of an item.
type version struct {
	schemas.Record
	own   bool   // Satchel itself made it
	agent string // that published it
}

// readRecorded reads the versions of an item whose content is there.
func (e *Eraser) readRecorded(ctx context.Context, s scope.Scope, id string) ([]version, error) {
	return readRecordedVersions(ctx, e.cfg.Log, s, id)
}

func readRecordedVersions(ctx context.Context, log *eventlog.Log, s scope.Scope, id string) ([]version, error) {
	entries, err := log.BySubject(ctx, s, id, schemas.TypeMemoryRecorded)
	if err != nil {
		return nil, fmt.Errorf("find entries of item %q: %w", id, err)
	}
	var list []version
	for i := range entries {
		if entries[i].Erased {
			continue
		}
		item, err := write.Item(entries[i])
		if err != nil {
			return nil, err
		}
		record := schemas.Record{MemoryItem: item, Position: entries[i].Position, Facets: item.Facets()}
		list = append(list, version{record, entries[i].Source == schemas.SourceCompaction, entries[i].Agent})
	}
	return list, nil
}

// findAuthor returns who signed every version of all that a summary of Satchel's was made of,
// Unsigned when there is no one such.
func (e *Eraser) findAuthor(ctx context.Context, s scope.Scope, summary *version) (string, error) {
	signer := ""
	seen := map[string]bool{summary.ID: true}
	for open := []*version{summary}; len(open) > 0; {
		var next []*version
		for _, from := range open {
			for _, l := range from.Links {
				if l.Rel != schemas.RelDerivedFrom || seen[l.To] {
					continue
				}
				seen[l.To] = true
				recorded, err := e.readRecorded(ctx, s, l.To)
				if err != nil {
					return "", err
				}
				for i := range recorded {
					switch r := &recorded[i]; {
					case r.own:
						next = append(next, r)
					case signer != "" && signer != r.Signer:
						return schemas.Unsigned, nil
					default:
						signer = r.Signer
					}
				}
			}
		}
		open = next
	}
	return cmp.Or(signer, schemas.Unsigned), nil
}
