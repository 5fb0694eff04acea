package erasure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/worker/transport"
)

// eraseRest erases the packs of a plan, and content that was logged after the erasure was planned
// and before it was logged.
func (e *Eraser) eraseRest(ctx context.Context, s scope.Scope, plan *erasure) error {
	if _, err := e.cfg.Log.EraseAttachments(ctx, s, plan.packs); err != nil {
		return fmt.Errorf("erase packs: %w", err)
	}
	rest, err := e.listUnerased(ctx, s, plan.positions)
	if err != nil || len(rest) == 0 {
		return err
	}
	if _, err := e.cfg.Log.Erase(ctx, s, rest); err != nil {
		return fmt.Errorf("erase entries: %w", err)
	}
	return nil
}

// listUnerased returns the positions whose content is there.
func (e *Eraser) listUnerased(ctx context.Context, s scope.Scope, positions []int64) (there []int64, err error) {
	for _, at := range positions {
		entry, err := e.cfg.Log.Entry(ctx, s, at)
		if err != nil {
			return nil, err
		}
		if !entry.Erased {
			there = append(there, at)
		}
	}
	return there, nil
}

// checkLog makes sure that the log has none of the erased content any more.
func (e *Eraser) checkLog(ctx context.Context, s scope.Scope, list []pending) error {
	for i := range list {
		there, err := e.listUnerased(ctx, s, list[i].plan.positions)
		if err != nil {
			return fmt.Errorf("check log: %w", err)
		}
		if len(there) > 0 {
			return fmt.Errorf("check log: the content of position %d is still there", there[0])
		}
		for _, at := range list[i].plan.packs {
			if _, err := e.cfg.Log.Attachment(ctx, s, at); !errors.Is(err, eventlog.ErrErased) {
				return fmt.Errorf("check log: what position %d shows is still there: %w", at, err)
			}
		}
	}
	return nil
}

// draftReceipt makes the entry of an erasure's receipt. That a store was checked, or emptied, is what scrub has made
// sure of. A stream's counts are of all erasures that were finished together, a store's of the items asked for.
// behind names the partitions that the erasure is not finished for, nil for none.
func (e *Eraser) draftReceipt(s scope.Scope, p *pending, found map[string]transport.Scrubbed, behind *transport.BehindError) (eventlog.Draft, error) {
	packs := append(eventlog.SplitPositions(p.entry.Extensions[eventlog.ErasedAttachments]), p.plan.packs...)
	slices.Sort(packs)
	receipt := schemas.ErasureReceipt{Items: p.er.Items, Positions: p.plan.positions, Packs: slices.Compact(packs), ErasedAt: e.cfg.Clock().UTC()}
	for _, stream := range slices.Sorted(maps.Keys(found)) {
		n := found[stream]
		store := schemas.StoreErasure{Store: stream, Removed: n.Removed, Undecided: n.Undecided, Absent: n.Undecided == 0 && n.Left == 0}
		if stream == artifactsStore && p.kept > 0 {
			store.Absent = false
			store.Kept = p.kept
		}
		if behind != nil && stream == behind.Stream {
			store.Absent = false
			store.Missing = behind.Partitions
		}
		receipt.Stores = append(receipt.Stores, store)
	}
	for _, sc := range e.cfg.Scrubbers {
		receipt.Stores = append(receipt.Stores, schemas.StoreErasure{Store: sc.Store, Removed: len(p.er.Items), Absent: true})
	}
	if held := p.entry.Extensions[holdsExtension]; held != "" {
		receipt.Holds = strings.Split(held, ",")
	}
	receipt.ReasonSHA256 = p.er.ReasonSHA256
	er := p.er
	er.Receipt = &receipt
	er.Reason = ""
	er.ReasonSHA256 = ""
	data, err := json.Marshal(er)
	if err != nil {
		return eventlog.Draft{}, fmt.Errorf("encode receipt: %w", err)
	}
	return eventlog.Draft{Tenant: s.Tenant(), Agent: systemAgent, Type: schemas.TypeMemoryErased, Source: p.entry.Source,
		ID: p.receiptID, Subject: eventlog.ErasureSubject, Time: receipt.ErasedAt, Data: data}, nil
}

// scrubStores removes the remains from the streams and every store, checks that none is left, and
// returns the counts of the streams, and for which partitions it is not finished, nil for none. When
// every receipt has said so before, that is an error.
func (e *Eraser) scrubStores(ctx context.Context, s scope.Scope, list []pending) (found map[string]transport.Scrubbed, behind *transport.BehindError, err error) {
	e.cfg.Reviewer.Forget(s.Tenant())
	var positions []int64
	there := map[string]bool{} // by item, whether it was remembered anew
	for i := range list {
		positions = append(positions, list[i].plan.positions...)
		if len(list[i].plan.positions) == 0 { // of the reason of another erasure, which its event in the stream has, too
			gone := append(eventlog.SplitPositions(list[i].entry.Extensions[eventlog.ErasedAttachments]), list[i].plan.packs...)
			reasons, err := e.selectErasures(ctx, s, gone)
			if err != nil {
				return nil, nil, err
			}
			positions = append(positions, reasons...)
		}
		for _, id := range list[i].er.Items {
			there[id] = slices.Contains(list[i].plan.again, id)
		}
	}
	copies, err := e.listCopies(ctx, s, positions)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(there)) {
		copies = append(copies, transport.Copy{Item: id})
	}
	found, err = e.cfg.Streams.Scrub(ctx, s.Tenant(), copies)
	news := slices.ContainsFunc(list, func(p pending) bool { return !p.told })
	if err != nil && !(errors.As(err, &behind) && news) {
		return nil, nil, fmt.Errorf("scrub streams: %w", err)
	}
	e.cfg.Failpoint("erase.after_streams")
	if e.cfg.Artifacts != nil {
		n, err := e.dropArtifacts(ctx, s, list)
		if err != nil {
			return nil, nil, err
		}
		found[artifactsStore] = transport.Scrubbed{Removed: n}
	}
	maps.DeleteFunc(there, func(_ string, anew bool) bool { return anew })
	gone := slices.Sorted(maps.Keys(there))
	for _, sc := range e.cfg.Scrubbers {
		if err := sc.Scrub(ctx, s); err != nil {
			return nil, nil, fmt.Errorf("scrub %s: %w", sc.Store, err)
		}
		if sc.Remaining == nil {
			continue
		}
		left, err := sc.Remaining(ctx, s, gone)
		if err == nil && left > 0 { // or is there anew, since it was planned
			if gone, err = e.notAnew(ctx, s, list, gone); err == nil {
				left, err = sc.Remaining(ctx, s, gone)
			}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("check %s: %w", sc.Store, err)
		}
		if left > 0 {
			return nil, nil, fmt.Errorf("check %s: %d of %d erased items are still there", sc.Store, left, len(gone))
		}
	}
	return found, behind, nil
}

// notAnew returns those of the erased items that were not remembered anew.
func (e *Eraser) notAnew(ctx context.Context, s scope.Scope, list []pending, gone []string) ([]string, error) {
	erased := map[string]int64{}
	for i := range list {
		for _, id := range list[i].er.Items {
			erased[id] = max(erased[id], list[i].entry.Position)
		}
	}
	var left []string
	for _, id := range gone {
		entries, err := e.cfg.Log.BySubject(ctx, s, id, schemas.TypeMemoryRecorded)
		if err != nil {
			return nil, fmt.Errorf("find entries of item %q: %w", id, err)
		}
		if len(entries) == 0 || entries[len(entries)-1].Position < erased[id] {
			left = append(left, id)
		}
	}
	return left, nil
}

// listCopies names the events behind the erased positions, as the streams know them.
func (e *Eraser) listCopies(ctx context.Context, s scope.Scope, positions []int64) ([]transport.Copy, error) {
	copies := make([]transport.Copy, 0, len(positions))
	for _, position := range positions {
		entry, err := e.cfg.Log.Entry(ctx, s, position)
		if err != nil {
			return nil, err
		}
		copies = append(copies, transport.Copy{Source: entry.Source, ID: entry.ID})
	}
	return copies, nil
}
