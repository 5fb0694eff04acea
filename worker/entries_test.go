package worker_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"satchel/schemas"
)

func (w *world) ledgerPage(t *testing.T, tenant string, req schemas.EntriesRequest) (schemas.EntriesReply, error) {
	t.Helper()
	if req.From == nil {
		req.From = &schemas.Agent{Type: "agent", ID: "reader", SecurityLevel: "confidential"}
	}
	out, err := w.worker.Service.Entries(within(t), tenant, encode(t, req))
	if err != nil {
		return schemas.EntriesReply{}, err
	}
	return out.(schemas.EntriesReply), nil
}

// The pages of the log are what the ledger shows: every entry once, in both directions, without
// content, and of the kinds that policy lets the caller follow.
func TestEntriesAreTheLedger(t *testing.T) {
	t.Parallel()
	w := setup(t)
	p := w.packed(t, "reader", "confidential")
	head, err := w.log.Head(within(t), system(t, "acme"))
	must(t, err)
	auditor := &schemas.Agent{Type: "agent", ID: "audit", Roles: []string{"auditor"}}
	all, err := w.ledgerPage(t, "acme", schemas.EntriesRequest{From: auditor})
	must(t, err)
	if int64(len(all.Entries)) != head.Size || all.Next != 0 {
		t.Fatalf("%d entries of %d, next %d", len(all.Entries), head.Size, all.Next)
	}
	raw, err := json.Marshal(all)
	must(t, err)
	if bytes.Contains(raw, []byte("lake")) {
		t.Errorf("the entries have content: %s", raw)
	}
	for name, first := range map[string]schemas.EntriesRequest{
		"newest first": {From: auditor, Limit: 2}, "oldest first": {From: auditor, Limit: 2, After: 1},
	} {
		var seen []int64
		for req := first; ; {
			page, err := w.ledgerPage(t, "acme", req)
			must(t, err)
			for i := range page.Entries {
				seen = append(seen, page.Entries[i].Position)
			}
			if page.Next == 0 {
				break
			}
			if req.After > 0 {
				req.After = page.Next
			} else {
				req.Before = page.Next
			}
		}
		var want []int64
		for at := head.Size; at >= 1; at-- {
			want = append(want, at)
		}
		if first.After > 0 {
			want = want[:len(want)-1]
			slices.Reverse(want)
		}
		if !slices.Equal(seen, want) {
			t.Errorf("%s: positions %v, want %v", name, seen, want)
		}
	}
	packs, err := w.ledgerPage(t, "acme", schemas.EntriesRequest{Kinds: []schemas.LedgerKind{schemas.LedgerPack}})
	must(t, err)
	if len(packs.Entries) != 1 || packs.Entries[0].ID != p.PackID || packs.Entries[0].Position != p.Positions.Pack {
		t.Errorf("packs: %+v, want %s", packs.Entries, p.PackID)
	}
}

// Drop reports and decisions are for auditors, and nothing crosses to another tenant.
func TestEntriesArePolicysToGive(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.packed(t, "reader", "confidential")
	for _, kind := range []schemas.LedgerKind{schemas.LedgerDrop, schemas.LedgerDecision} {
		_, err := w.ledgerPage(t, "acme", schemas.EntriesRequest{Kinds: []schemas.LedgerKind{schemas.LedgerPack, kind}})
		if err == nil || typed(t, err).Code != schemas.CodePolicyDenied {
			t.Errorf("a reader follows %s: %v", kind, err)
		}
	}
	mine, err := w.ledgerPage(t, "acme", schemas.EntriesRequest{})
	must(t, err)
	for i := range mine.Entries {
		if k := mine.Entries[i].Kind; k == schemas.LedgerDrop || k == schemas.LedgerDecision {
			t.Errorf("a reader is given a %s", k)
		}
	}
	other, err := w.ledgerPage(t, "globex", schemas.EntriesRequest{})
	if err != nil || len(other.Entries) != 0 || other.Next != 0 {
		t.Errorf("another tenant: %+v, %v", other, err)
	}
	for name, from := range map[string]*schemas.Agent{"nobody": {}, "a broken name": {ID: "a/b"}} {
		if _, err := w.ledgerPage(t, "acme", schemas.EntriesRequest{From: from}); err == nil {
			t.Errorf("%s is answered", name)
		}
	}
	for name, req := range map[string]schemas.EntriesRequest{
		"a kind that is none": {Kinds: []schemas.LedgerKind{"secret"}}, "too many": {Limit: 201},
		"both ways": {Before: 2, After: 1}, "a negative position": {Before: -1},
	} {
		if _, err := w.ledgerPage(t, "acme", req); err == nil || typed(t, err).Code != schemas.CodeValidation {
			t.Errorf("%s: %v", name, err)
		}
	}
}
