package eventlogtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

func testAppendRead(t *testing.T, open Open) {
	l := newLog(t, open(t), nil)
	bare := eventlog.Draft{Tenant: "acme", Type: "t", Source: "s", ID: "bare"}
	odd := draft("acme", "odd", "π\n\x00 bytes")
	odd.Data = []byte{0, 1, 2, 0xff, 0}
	odd.Subject, odd.Agent, odd.Time = "sub\nject 3 x", "", time.Unix(0, 0)
	long := draft("acme", "long", strings.Repeat("long ", 5000))
	drafts := []eventlog.Draft{bare, odd, long, packed("acme", "pack", "rendered", "item-a", "item-b"), draft("other", "1", "x")}
	out := add(t, l, drafts...)
	entries := append(readAll(t, l, "acme"), readAll(t, l, "other")...)
	if len(entries) != len(drafts) {
		t.Fatalf("%d entries, want %d", len(entries), len(drafts))
	}
	for i, e := range entries {
		d := drafts[i]
		want := eventlog.Entry{
			Tenant: d.Tenant, Position: out[i].Position, Agent: d.Agent, Type: d.Type, Source: d.Source, ID: d.ID, Subject: d.Subject,
			Time: d.Time.UTC(), RecordedAt: recordedAt(), Commitment: e.Commitment, Attachment: e.Attachment, Leaf: out[i].Leaf,
			Attached: d.Attachment.Bytes() != nil, Data: append([]byte{}, d.Data...), Extensions: d.Extensions,
		}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Errorf("entry %d: %s", i, diff)
		}
		one, err := l.Find(t.Context(), folded.Tenant(t, d.Tenant), d.Source, d.ID)
		if diff := cmp.Diff(e, one); err != nil || diff != "" {
			t.Errorf("find %d: %v %s", i, err, diff)
		}
	}
	got, err := l.Attachment(t.Context(), folded.Tenant(t, "acme"), 4)
	if err != nil || string(got) != "rendered" {
		t.Errorf("attachment = %q, %v", got, err)
	}
	tenants, err := l.Tenants(t.Context())
	if diff := cmp.Diff([]string{"acme", "other"}, tenants); err != nil || diff != "" {
		t.Errorf("tenants: %v %s", err, diff)
	}
}

// testExisting: a batch that begins no log leaves nothing for a tenant without one.
func testExisting(t *testing.T, open Open) {
	keep := t.TempDir()
	l := newLog(t, open(t), func(c *eventlog.Config) { c.Keep = keep })
	record := func(id string) []eventlog.Outcome {
		t.Helper()
		return must.Get(l.Append(t.Context(), eventlog.Batch{Existing: true, Drafts: []eventlog.Draft{draft("ghost", id, "x"), draft("ghost", id+"-2", "y")}}))(t)
	}
	absent := []eventlog.Outcome{{Status: eventlog.Absent}, {Status: eventlog.Absent}}
	if diff := cmp.Diff(absent, record("1")); diff != "" {
		t.Errorf("outcomes: %s", diff)
	}
	if _, err := l.SignedHead(t.Context(), folded.Tenant(t, "ghost")); err != nil {
		t.Error(err)
	}
	tenants, err := l.Tenants(t.Context())
	if err != nil || len(tenants) > 0 || len(readAll(t, l, "ghost")) > 0 {
		t.Errorf("tenants %v, %v", tenants, err)
	}
	if files, err := os.ReadDir(keep); err != nil || len(files) > 0 {
		t.Errorf("kept %v, %v", files, err)
	}
	if out := add(t, l, draft("ghost", "0", "it begins")); out[0].Position != 1 {
		t.Errorf("outcome %+v", out)
	}
	if out := record("1"); out[0].Status != eventlog.Appended || out[0].Position != 2 || out[1].Position != 3 {
		t.Errorf("outcomes %+v", out)
	}
	if out := record("1"); out[0].Status != eventlog.Duplicate || out[0].Position != 2 {
		t.Errorf("the same again: %+v", out)
	}
	for name, b := range map[string]eventlog.Batch{
		"two tenants":  {Existing: true, Drafts: []eventlog.Draft{draft("ghost", "3", "x"), draft("other", "3", "x")}},
		"a checkpoint": {Existing: true, Drafts: []eventlog.Draft{draft("ghost", "3", "x")}, Checkpoint: &eventlog.Checkpoint{Name: "c"}},
	} {
		if _, err := l.Append(t.Context(), b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// testLeaf recomputes leaf and commitment by hand, as an auditor would.
func testLeaf(t *testing.T, open Open) {
	l := newLog(t, open(t), nil)
	add(t, l, draft("acme", "1", "first"), packed("acme", "2", "rendered", "a"), eventlog.Draft{Tenant: "acme", Type: "t", Source: "s", ID: "3"})
	for _, e := range readAll(t, l, "acme") {
		if leafOf(&e) != e.Leaf {
			t.Errorf("leaf of position %d differs from the documented one", e.Position)
		}
		preimage, err := l.Preimage(t.Context(), folded.Tenant(t, "acme"), e.Position)
		if sum := sha256.Sum256(append([]byte{0}, preimage...)); err != nil || sum != e.Leaf {
			t.Errorf("preimage of position %d does not give its leaf (%v)", e.Position, err)
		}
	}
	c := must.Get(l.Content(t.Context(), folded.Tenant(t, "acme"), 1))(t)
	ext := sha256.Sum256([]byte("datacontenttype 16 application/json\ntraceparent 4 00-x\n"))
	data := sha256.Sum256([]byte(`{"text":"first"}`))
	opened := sha256.Sum256(slices.Concat(c.Salt[:], ext[:], data[:]))
	if e, err := l.Entry(t.Context(), folded.Tenant(t, "acme"), 1); err != nil || opened != e.Commitment {
		t.Errorf("the commitment differs from the documented one (%v)", err)
	}
}

func testEmpty(t *testing.T, open Open) {
	l, s := newLog(t, open(t), nil), folded.Tenant(t, "acme")
	h, err := l.Head(t.Context(), s)
	if want := (eventlog.Head{Tenant: "acme", Root: sha256.Sum256(nil)}); err != nil || h != want {
		t.Errorf("head = %v, %v", h, err)
	}
	if entries, err := l.Read(t.Context(), s, 0, 10); err != nil || len(entries) != 0 {
		t.Errorf("read = %v, %v", entries, err)
	}
	for what, err := range map[string]error{
		"entry":      second(l.Entry(t.Context(), s, 1)),
		"entry 0":    second(l.Entry(t.Context(), s, 0)),
		"find":       second(l.Find(t.Context(), s, "a", "b")),
		"attachment": second(l.Attachment(t.Context(), s, 1)),
		"content":    second(l.Content(t.Context(), s, 1)),
		"inclusion":  second(l.ProveInclusion(t.Context(), s, 1, 0)),
		"consistent": second(l.ProveConsistency(t.Context(), s, 1)),
	} {
		if !errors.Is(err, eventlog.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", what, err)
		}
	}
	if out, err := l.Append(t.Context(), eventlog.Batch{}); err != nil || out != nil {
		t.Errorf("append nothing = %v, %v", out, err)
	}
	if err := l.VerifyAll(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

func testDedupe(t *testing.T, open Open) {
	l := newLog(t, open(t), nil)
	a, other, retyped := draft("acme", "a", "one"), draft("acme", "a", "two"), draft("acme", "a", "one")
	retyped.Type = "another"
	extended := draft("acme", "a", "one")
	extended.Extensions = map[string]string{"x": "y"}
	elsewhere, tenant := draft("acme", "a", "two"), draft("globex", "a", "two")
	elsewhere.Source = "elsewhere"
	all := []eventlog.Draft{a, a, other, retyped, extended, elsewhere, tenant}
	want := []eventlog.Status{eventlog.Appended, eventlog.Duplicate, eventlog.IDConflict, eventlog.IDConflict, eventlog.IDConflict, eventlog.Appended, eventlog.Appended}
	first := add(t, l, all...)
	if diff := cmp.Diff(want, statuses(first)); diff != "" {
		t.Error("in one batch:", diff)
	}
	want[0], want[5], want[6] = eventlog.Duplicate, eventlog.Duplicate, eventlog.Duplicate
	again := add(t, l, all...)
	if diff := cmp.Diff(want, statuses(again)); diff != "" {
		t.Error("in a later batch:", diff)
	}
	for i := range again {
		if again[i].Position != first[i].Position || again[i].Leaf != first[i].Leaf {
			t.Errorf("draft %d: %v, then %v", i, first[i], again[i])
		}
	}
	if n := len(readAll(t, l, "acme")); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
	many := make([]eventlog.Draft, 50)
	for i := range many {
		many[i] = draft("acme", strings.Repeat("k", i+1), "x")
	}
	add(t, l, many[:33]...)
	for i, o := range add(t, l, many...) {
		if want := i < 33; (o.Status == eventlog.Duplicate) != want || o.Position != int64(i+3) {
			t.Errorf("draft %d: %v", i, o)
		}
	}
}

func testInvalid(t *testing.T, open Open) {
	l := newLog(t, open(t), nil)
	for name, change := range map[string]func(*eventlog.Draft){
		"tenant":       func(d *eventlog.Draft) { d.Tenant = "a/b" },
		"no type":      func(d *eventlog.Draft) { d.Type = "" },
		"no source":    func(d *eventlog.Draft) { d.Source = "" },
		"no id":        func(d *eventlog.Draft) { d.ID = "" },
		"not UTF-8":    func(d *eventlog.Draft) { d.Subject = "\xff" },
		"NUL":          func(d *eventlog.Draft) { d.ID = "a\x00b" },
		"year 1":       func(d *eventlog.Draft) { d.Time = time.Date(1, 2, 3, 0, 0, 0, 0, time.UTC) },
		"year 9999":    func(d *eventlog.Draft) { d.Time = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) },
		"extension":    func(d *eventlog.Draft) { d.Extensions = map[string]string{"a b": ""} },
		"empty ref":    func(d *eventlog.Draft) { d.Attachment = eventlog.Derive([]string{""}, d.Data) },
		"unnamed hash": func(d *eventlog.Draft) { d.Attachment = eventlog.Derive(nil, []byte("not in the data")) },
		"summary as data": func(d *eventlog.Draft) {
			d.Type, d.Source = schemas.TypeMemoryRecorded, schemas.SourceCompaction
		},
		"item of an agent":   func(d *eventlog.Draft) { d.Data, d.Item = nil, summary("a") },
		"summary of nothing": func(d *eventlog.Draft) { *d = summaryDraft(eventlog.Derive(nil, summary("a").Bytes())) },
		"summary without a link to a source": func(d *eventlog.Draft) {
			*d = summaryDraft(eventlog.Derive([]string{"a", "b"}, summary("a").Bytes()))
		},
		"summary that is no item": func(d *eventlog.Draft) { *d = summaryDraft(eventlog.Derive([]string{"a"}, []byte("{"))) },
	} {
		d := draft("acme", "bad", "x")
		change(&d)
		if _, err := l.Append(t.Context(), eventlog.Batch{Drafts: []eventlog.Draft{draft("acme", "good", "x"), d}}); !errors.Is(err, eventlog.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	if n := len(readAll(t, l, "acme")); n != 0 {
		t.Errorf("%d entries were written", n)
	}
}

func testFence(t *testing.T, open Open) {
	l := newLog(t, open(t), nil)
	old, cp, err := l.TakeFence(t.Context(), "append/p07")
	if want := (eventlog.Checkpoint{Name: "append/p07", Fence: 1}); err != nil || old != 1 || cp != want {
		t.Fatalf("first fence %d, %v, %v", old, cp, err)
	}
	at := eventlog.Checkpoint{Name: "append/p07", Fence: old, Epoch: "e1", StreamSeq: 1<<63 + 5, Hash: sha256.Sum256([]byte("m"))}
	if _, err := l.Append(t.Context(), eventlog.Batch{Drafts: []eventlog.Draft{draft("acme", "1", "x")}, Checkpoint: &at}); err != nil {
		t.Fatal(err)
	}
	now, cp, err := l.TakeFence(t.Context(), "append/p07")
	want := at
	want.Fence = 2
	if err != nil || now != 2 || cp != want {
		t.Fatalf("second fence %d, %v, %v", now, cp, err)
	}
	later := at
	later.StreamSeq = 9
	_, err = l.Append(t.Context(), eventlog.Batch{Drafts: []eventlog.Draft{draft("acme", "2", "x")}, Checkpoint: &later})
	if !errors.Is(err, eventlog.ErrFenced) {
		t.Errorf("the old owner got %v, want ErrFenced", err)
	}
	if n := len(readAll(t, l, "acme")); n != 1 {
		t.Errorf("%d entries: the old owner wrote", n)
	}
	if _, cp, err = l.TakeFence(t.Context(), "append/p07"); err != nil || cp.StreamSeq != at.StreamSeq {
		t.Errorf("the old owner moved the checkpoint: %v, %v", cp, err)
	}
	later.Fence = 3
	if _, err = l.Append(t.Context(), eventlog.Batch{Checkpoint: &later}); err != nil {
		t.Errorf("the new owner got %v", err)
	}
}

func testScope(t *testing.T, open Open) {
	l := newLog(t, open(t), nil)
	add(t, l, draft("acme", "1", "x"))
	var none scope.Scope
	for what, err := range map[string]error{
		"read": second(l.Read(t.Context(), none, 0, 1)), "entry": second(l.Entry(t.Context(), none, 1)), "head": second(l.Head(t.Context(), none)),
		"find": second(l.Find(t.Context(), none, "a", "b")), "subject": second(l.BySubject(t.Context(), none, "a")), "latest": second(l.Latest(t.Context(), none, []string{"a"})),
		"refs": second(l.Referring(t.Context(), none, []string{"a"})), "attachment": second(l.Attachment(t.Context(), none, 1)),
		"await": second(l.Await(t.Context(), none, 0)), "sign": second(l.SignedHead(t.Context(), none)),
		"prove": second(l.ProveInclusion(t.Context(), none, 1, 0)), "erase": second(l.Erase(t.Context(), none, []int64{1})),
		"verify": l.Verify(t.Context(), none, nil, nil), "erasure": second(l.AppendErasure(t.Context(), none, draft("acme", "e", ""), nil, nil)),
	} {
		if !errors.Is(err, scope.ErrNone) {
			t.Errorf("%s with the zero scope: %v", what, err)
		}
	}
	other := folded.Tenant(t, "globex")
	if _, err := l.Entry(t.Context(), other, 1); !errors.Is(err, eventlog.ErrNotFound) {
		t.Errorf("another tenant reads: %v", err)
	}
	if n, err := l.Erase(t.Context(), other, []int64{1}); err != nil || n != 0 {
		t.Errorf("another tenant erases: %d, %v", n, err)
	}
	if _, err := l.AppendErasure(t.Context(), other, draft("acme", "e", ""), []int64{1}, nil); err == nil {
		t.Error("an erasure of another tenant was taken")
	}
}

func testLookups(t *testing.T, open Open) {
	l, s := newLog(t, open(t), nil), folded.Tenant(t, "acme")
	linked := draft("acme", "3", "x")
	linked.Type, linked.Subject = "linked", "item-1"
	add(t, l, draft("acme", "1", "x"), draft("acme", "2", "x"), linked,
		packed("acme", "p1", "one", "item-1", "item-2"), packed("acme", "p2", "two", "item-2"), packed("globex", "p3", "three", "item-1"))
	for _, c := range []struct {
		what string
		want []int64
		got  func() ([]int64, error)
	}{
		{"subject", []int64{1, 3}, func() ([]int64, error) { return positionsOf(l.BySubject(t.Context(), s, "item-1")) }},
		{"subject and type", []int64{3}, func() ([]int64, error) { return positionsOf(l.BySubject(t.Context(), s, "item-1", "linked", "none")) }},
		{"subject after a position", []int64{3}, func() ([]int64, error) { return positionsOf(l.BySubjectAfter(t.Context(), s, "item-1", 1)) }},
		{"subject after the last", nil, func() ([]int64, error) { return positionsOf(l.BySubjectAfter(t.Context(), s, "item-1", 3, "linked")) }},
		{"latest", []int64{2, 0, 3, 0, 3}, func() ([]int64, error) {
			return l.Latest(t.Context(), s, []string{"item-2", "none", "item-1", "", "item-1"})
		}},
		{"latest of many", append(make([]int64, 100), 3), func() ([]int64, error) {
			many := make([]string, 100, 101)
			for i := range many {
				many[i] = fmt.Sprint("none-", i)
			}
			return l.Latest(t.Context(), s, append(many, "item-1"))
		}},
		{"latest of none", nil, func() ([]int64, error) { return l.Latest(t.Context(), s, nil) }},
		{"latest of a tenant without a log", []int64{0, 0}, func() ([]int64, error) {
			return l.Latest(t.Context(), folded.Tenant(t, "nowhere"), []string{"item-1", `odd "π"`})
		}},
		{"latest of another tenant", []int64{0, 1}, func() ([]int64, error) {
			return l.Latest(t.Context(), folded.Tenant(t, "globex"), []string{"item-1", "item-p3"})
		}},
		{"no subject", nil, func() ([]int64, error) { return positionsOf(l.BySubject(t.Context(), s, "")) }},
		{"one item", []int64{4}, func() ([]int64, error) { return l.Referring(t.Context(), s, []string{"item-1"}) }},
		{"items", []int64{4, 5}, func() ([]int64, error) { return l.Referring(t.Context(), s, []string{"item-2", "item-1", "none"}) }},
		{"no items", nil, func() ([]int64, error) { return l.Referring(t.Context(), s, nil) }},
	} {
		got, err := c.got()
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", c.what, err, diff)
		}
	}
}

func positionsOf(entries []eventlog.Entry, err error) ([]int64, error) {
	var out []int64
	for _, e := range entries {
		out = append(out, e.Position)
	}
	return out, err
}

// testReusedHoldsCheckpoint: a reused id has to reach the dead letters before the
// checkpoint passes it.
func testReusedHoldsCheckpoint(t *testing.T, open Open) {
	l := newLog(t, open(t), nil)
	fence, _, err := l.TakeFence(t.Context(), "append/p01")
	if err != nil {
		t.Fatal(err)
	}
	append1 := func(seq uint64, drafts ...eventlog.Draft) []eventlog.Status {
		t.Helper()
		cp := &eventlog.Checkpoint{Name: "append/p01", Fence: fence, Epoch: "e", StreamSeq: seq}
		out := must.Get(l.Append(t.Context(), eventlog.Batch{Drafts: drafts, Checkpoint: cp}))(t)
		return statuses(out)
	}
	checkpoint := func(want uint64) {
		t.Helper()
		var cp eventlog.Checkpoint
		var err error
		if fence, cp, err = l.TakeFence(t.Context(), "append/p01"); err != nil || cp.StreamSeq != want {
			t.Fatalf("checkpoint at %d, %v; want %d", cp.StreamSeq, err, want)
		}
	}
	append1(3, draft("acme", "a", "one"))
	checkpoint(3)
	got := append1(7, draft("acme", "b", "x"), draft("acme", "a", "another"), draft("acme", "c", "x"))
	if diff := cmp.Diff([]eventlog.Status{eventlog.Appended, eventlog.IDConflict, eventlog.Appended}, got); diff != "" {
		t.Error(diff)
	}
	checkpoint(3)
	append1(8, draft("acme", "a", "one"), draft("acme", "b", "x")) // duplicates hold nothing up
	checkpoint(8)
	append1(9)
	checkpoint(9)
	if n := len(readAll(t, l, "acme")); n != 3 {
		t.Errorf("%d entries, want 3", n)
	}
	stale := &eventlog.Checkpoint{Name: "append/p01", Fence: fence - 1, Epoch: "e", StreamSeq: 10}
	_, err = l.Append(t.Context(), eventlog.Batch{Drafts: []eventlog.Draft{draft("acme", "a", "another")}, Checkpoint: stale})
	if !errors.Is(err, eventlog.ErrFenced) {
		t.Errorf("a stale owner with a reused id got %v, want ErrFenced", err)
	}
}
