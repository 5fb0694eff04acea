package eventlogtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

// testCopy copies a log with erasures to another database, interrupted once; the copy
// reads, proves, verifies and goes on as the original.
func testCopy(t *testing.T, open Open) {
	from, to := open(t), open(t)
	l, s := newLog(t, from, nil), folded.Tenant(t, "acme")
	fillWithErasures(t, l)
	fence, _, err := l.TakeFence(t.Context(), "append/p00")
	if err != nil {
		t.Fatal(err)
	}
	cp := &eventlog.Checkpoint{Name: "append/p00", Fence: fence, Epoch: "e", StreamSeq: 42}
	if _, err := l.Append(t.Context(), eventlog.Batch{Checkpoint: cp}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = eventlog.Copy(ctx, from, to, "acme", func(done, _ int64) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	var calls []int64
	for _, tenant := range []string{"acme", "globex"} {
		head, err := eventlog.Copy(t.Context(), from, to, tenant, func(done, _ int64) { calls = append(calls, done) })
		if want, e := l.Head(t.Context(), folded.Tenant(t, tenant)); err != nil || e != nil || head != want {
			t.Fatalf("copy of %s: %v, %v", tenant, head, err)
		}
	}
	if diff := cmp.Diff([]int64{1000, 1207, 1}, calls); diff != "" {
		t.Error("it began anew:", diff)
	}
	must.Do(t, eventlog.CopyCheckpoints(t.Context(), from, to, []string{"append/p00", "append/p01"}))
	other := newLog(t, to, nil)
	if err := other.VerifyAll(t.Context(), nil); err != nil {
		t.Error(err)
	}
	for _, tenant := range []string{"acme", "globex"} {
		if diff := cmp.Diff(readAll(t, l, tenant), readAll(t, other, tenant)); diff != "" {
			t.Errorf("%s: %s", tenant, diff)
		}
	}
	for position, want := range map[int64]error{1204: eventlog.ErrErased, 1205: nil, 1206: eventlog.ErrErased} {
		if _, err := other.Attachment(t.Context(), s, position); !errors.Is(err, want) {
			t.Errorf("attachment %d: %v, want %v", position, err, want)
		}
	}
	if got, at, err := other.TakeFence(t.Context(), "append/p00"); err != nil || got != fence+1 || at.StreamSeq != 42 {
		t.Errorf("checkpoint %v, fence %d, %v", at, got, err)
	}
	out := add(t, other, draft("acme", "5", "x"), draft("acme", "1", "x"), draft("acme", "new", "x"))
	if diff := cmp.Diff([]eventlog.Status{eventlog.Duplicate, eventlog.Erased, eventlog.Appended}, statuses(out)); diff != "" {
		t.Error("the copy goes on:", diff)
	}
	if _, err := eventlog.Copy(t.Context(), from, to, "acme", nil); !errors.Is(err, eventlog.ErrDiffers) {
		t.Errorf("a longer target: %v", err)
	}
	add(t, l, draft("acme", "else", "x"), draft("acme", "more", "x"))
	if _, err := eventlog.Copy(t.Context(), from, to, "acme", nil); !errors.Is(err, eventlog.ErrDiffers) {
		t.Errorf("another target: %v", err)
	}
}

// fillWithErasures makes a log of 1207 entries in the tenant acme, of which one erased others.
func fillWithErasures(t *testing.T, l *eventlog.Log) {
	t.Helper()
	var drafts []eventlog.Draft
	for i := range 1203 {
		drafts = append(drafts, draft("acme", fmt.Sprint(i), "x"))
	}
	add(t, l, drafts...)
	add(t, l, packed("acme", "p1", "shows", "item-1"), packed("acme", "p2", "stays", "item-2"), packed("acme", "p3", "goes whole", "item-3"), draft("globex", "1", "x"))
	gone := erasing(t, "acme", "e", schemas.MemoryErased{Items: []string{"item-1"}, Receipt: &schemas.ErasureReceipt{Positions: []int64{7, 1206}}})
	if _, err := l.AppendErasure(t.Context(), folded.Tenant(t, "acme"), gone, []int64{2, 7, 1206}, []int64{1204}); err != nil {
		t.Fatal(err)
	}
}

func testMark(t *testing.T, open Open) {
	d := open(t)
	newLog(t, d, nil)
	for _, want := range []string{"", "under way", "done", ""} {
		if want != "" {
			must.Do(t, eventlog.Mark(t.Context(), d, "m", want))
		}
		if got, err := eventlog.Marked(t.Context(), d, "m"); want != "" && got != want || err != nil {
			t.Errorf("marked %q, %v, want %q", got, err, want)
		}
	}
	var claims sync.WaitGroup
	var won atomic.Int32
	for i := range 8 {
		claims.Go(func() {
			word := fmt.Sprint("claim ", i)
			switch holder, err := eventlog.Claim(t.Context(), d, "c", word); {
			case err != nil:
				t.Error(err)
			case holder == word:
				won.Add(1)
			}
		})
	}
	claims.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of those that claimed a name at once have it", won.Load())
	}
}
