package eventlogtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

// erasing returns a memory.erased draft.
func erasing(t *testing.T, tenant, id string, e schemas.MemoryErased) eventlog.Draft {
	t.Helper()
	data := must.Get(json.Marshal(e))(t)
	return eventlog.Draft{Tenant: tenant, Type: typeErased, Source: "satchel://engine", ID: id, Data: data}
}

func testErase(t *testing.T, open Open) {
	l, s := newLog(t, open(t), nil), folded.Tenant(t, "acme")
	add(t, l, draft("acme", "1", "secret"), draft("acme", "2", "kept"), packed("acme", "p1", "shows secret", "item-1", "item-2"),
		packed("acme", "p2", "shows kept", "item-2"), draft("acme", "3", "named by position"), packed("acme", "p3", "goes whole", "item-2"))
	before := readAll(t, l, "acme")
	d := erasing(t, "acme", "e1", schemas.MemoryErased{Items: []string{"item-1"}, Receipt: &schemas.ErasureReceipt{Positions: []int64{5, 6}}})
	for i, want := range []eventlog.ErasureOutcome{{Outcome: eventlog.Outcome{Status: eventlog.Appended}, Removed: 5}, {Outcome: eventlog.Outcome{Status: eventlog.Duplicate}}} {
		got, err := l.AppendErasure(t.Context(), s, d, []int64{1, 5, 6}, []int64{3})
		if err != nil || got.Status != want.Status || got.Position != 7 || got.Removed != want.Removed {
			t.Fatalf("erasure %d: %+v, %v", i, got, err)
		}
	}
	must.Do(t, l.Scrub(t.Context()))
	after := readAll(t, l, "acme")
	for _, position := range []int64{1, 5, 6} {
		e := before[position-1]
		e.Erased, e.Data, e.Extensions = true, nil, nil
		if diff := cmp.Diff(e, after[position-1]); diff != "" {
			t.Errorf("position %d: %s", position, diff)
		}
	}
	if diff := cmp.Diff(before[1:4], after[1:4]); diff != "" {
		t.Error("what was not erased has changed:", diff)
	}
	for position, want := range map[int64]error{2: eventlog.ErrNotFound, 3: eventlog.ErrErased, 4: nil, 6: eventlog.ErrErased} {
		if _, err := l.Attachment(t.Context(), s, position); !errors.Is(err, want) {
			t.Errorf("attachment %d: %v, want %v", position, err, want)
		}
	}
	if _, err := l.Content(t.Context(), s, 1); !errors.Is(err, eventlog.ErrErased) {
		t.Errorf("erased content: %v", err)
	}
	if got, err := l.Referring(t.Context(), s, []string{"item-1", "item-2"}); err != nil || cmp.Diff([]int64{4}, got) != "" {
		t.Errorf("referring = %v, %v", got, err)
	}
	if out := add(t, l, draft("acme", "1", "secret"), draft("acme", "1", "else")); out[0].Status != eventlog.Erased || out[1].Status != eventlog.Erased || out[0].Position != 1 {
		t.Errorf("an erased key: %v", out)
	}
	if err := l.VerifyAll(t.Context(), nil); err != nil {
		t.Error(err)
	}
	// Until there is a receipt, the erasure lists what data does not name.
	at := add(t, l, packed("acme", "p4", "shows item-3, and does not name it"))[0].Position
	d = erasing(t, "acme", "e2", schemas.MemoryErased{Items: []string{"item-3"}})
	d.Extensions = map[string]string{eventlog.ErasedAttachments: eventlog.JoinPositions([]int64{at})}
	if _, err := l.AppendErasure(t.Context(), s, d, nil, []int64{at}); err != nil {
		t.Fatal(err)
	}
	if err := l.VerifyAll(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// testOvertaken appends erasures on the condition that no hold was placed, one after the other and at once
// with holds: of a hold that is before an erasure, the erasure knows.
func testOvertaken(t *testing.T, open Open) {
	const typeHeld = "io.satchel.hold.placed.v1"
	held := func(id string) eventlog.Draft {
		d := draft("acme", id, "")
		d.Type, d.Source, d.Subject = typeHeld, "satchel://holds", "hold"
		return d
	}
	l, s := newLog(t, open(t), nil), folded.Tenant(t, "acme")
	add(t, l, draft("acme", "1", "secret"))
	at := add(t, l, held("h"))[0].Position
	first := erasing(t, "acme", "e", schemas.MemoryErased{Items: []string{"item-1"}})
	if _, err := l.AppendErasureUnless(t.Context(), s, first, []int64{1}, nil, eventlog.Unless{Subject: "hold", Type: typeHeld}); !errors.Is(err, eventlog.ErrOvertaken) {
		t.Fatalf("an erasure behind a hold that it does not know: %v", err)
	}
	if e, err := l.Entry(t.Context(), s, 1); err != nil || e.Erased {
		t.Fatalf("it erased: %v", err)
	}
	if got, err := l.AppendErasureUnless(t.Context(), s, first, []int64{1}, nil, eventlog.Unless{Subject: "hold", Type: typeHeld, After: at}); err != nil || got.Removed != 1 {
		t.Fatalf("an erasure that knows the hold: %+v, %v", got, err)
	}
	for round := range 40 {
		id := fmt.Sprint("r", round)
		known := add(t, l, draft("acme", id, "x"))[0].Position
		var placed, erased int64
		var wait sync.WaitGroup
		for n := range 4 { // while these commit, the two wait for one transaction
			wait.Go(func() { add(t, l, draft("acme", fmt.Sprint(id, "-", n), "x")) })
		}
		wait.Go(func() { placed = add(t, l, held("h"+id))[0].Position })
		wait.Go(func() {
			d := erasing(t, "acme", "e"+id, schemas.MemoryErased{Items: []string{"item-" + id}})
			got, err := l.AppendErasureUnless(t.Context(), s, d, []int64{known}, nil, eventlog.Unless{Subject: "hold", Type: typeHeld, After: known})
			if err != nil && !errors.Is(err, eventlog.ErrOvertaken) {
				t.Error(err)
			}
			erased = got.Position
		})
		wait.Wait()
		if erased > placed {
			t.Fatalf("the erasure at %d passed the hold at %d", erased, placed)
		}
	}
	if err := l.VerifyAll(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// testUnexplained erases without the entry that says so.
func testUnexplained(t *testing.T, open Open) {
	l, s := newLog(t, open(t), nil), folded.Tenant(t, "acme")
	add(t, l, erasing(t, "acme", "early", schemas.MemoryErased{Items: []string{"item-1"}}), draft("acme", "1", "x"), draft("acme", "2", "x"), packed("acme", "p", "r", "item-1"))
	if n, err := l.EraseAttachments(t.Context(), s, []int64{4, 4, 2}); err != nil || n != 1 {
		t.Fatalf("erased %d attachments, %v", n, err)
	}
	expect(t, "attachment", 4, l.Verify(t.Context(), s, nil, nil))
	if n, err := l.Erase(t.Context(), s, []int64{2, 99}); err != nil || n != 1 {
		t.Fatalf("erased %d, %v", n, err)
	}
	expect(t, "an earlier erasure explains nothing", 2, l.Verify(t.Context(), s, nil, nil))
	add(t, l, erasing(t, "acme", "late", schemas.MemoryErased{Items: []string{"item-1"}}))
	if err := l.Verify(t.Context(), s, nil, nil); err != nil {
		t.Error(err)
	}
	refused := erasing(t, "acme", "late", schemas.MemoryErased{Items: []string{"item-2"}})
	if got, err := l.AppendErasure(t.Context(), s, refused, []int64{3}, nil); err != nil || got.Status != eventlog.IDConflict || got.Removed != 0 {
		t.Errorf("a refused erasure: %+v, %v", got, err)
	}
	if e, err := l.Entry(t.Context(), s, 3); err != nil || e.Erased {
		t.Errorf("a refused erasure erased: %v", err)
	}
}

func testVerify(t *testing.T, open Open) {
	l, s := newLog(t, open(t), nil), folded.Tenant(t, "acme")
	var drafts []eventlog.Draft
	for i := range 1500 {
		drafts = append(drafts, draft("acme", fmt.Sprint(i), "x"))
	}
	add(t, l, drafts...)
	var calls []int64
	known := must.Get(l.Head(t.Context(), s))(t)
	must.Do(t, l.Verify(t.Context(), s, &known, func(done, total int64) { calls = append(calls, done, total) }))
	if diff := cmp.Diff([]int64{1000, 1500, 1500, 1500}, calls); diff != "" {
		t.Error("progress:", diff)
	}
	known.Root[3]++
	expect(t, "another root", 1500, l.Verify(t.Context(), s, &known, nil))
}

// testFencedErasure appends an erasure whose fence someone has taken since, and one with the present fence.
func testFencedErasure(t *testing.T, open Open) {
	l, s := newLog(t, open(t), nil), folded.Tenant(t, "acme")
	add(t, l, draft("acme", "1", "secret"))
	fence, _, err := l.TakeFence(t.Context(), "retain/acme")
	if err != nil {
		t.Fatal(err)
	}
	newer, _, err := l.TakeFence(t.Context(), "retain/acme")
	if err != nil {
		t.Fatal(err)
	}
	d := erasing(t, "acme", "e", schemas.MemoryErased{Items: []string{"item-1"}})
	if _, err := l.AppendErasureUnless(t.Context(), s, d, []int64{1}, nil, eventlog.Unless{Subject: "retain/acme", Fence: fence}); !errors.Is(err, eventlog.ErrOvertaken) {
		t.Fatalf("an erasure whose fence was taken: %v", err)
	}
	if e, err := l.Entry(t.Context(), s, 1); err != nil || e.Erased {
		t.Fatalf("it erased: %v", err)
	}
	if got, err := l.AppendErasureUnless(t.Context(), s, d, []int64{1}, nil, eventlog.Unless{Subject: "retain/acme", Fence: newer}); err != nil || got.Removed != 1 {
		t.Fatalf("an erasure with the present fence: %+v, %v", got, err)
	}
}
