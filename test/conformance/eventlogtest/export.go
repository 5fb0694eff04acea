package eventlogtest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/store/eventlog"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

// testExport takes a log with erasures out of one database in two steps and puts it into another,
// where it reads and verifies as the original. What was changed on the way is refused.
func testExport(t *testing.T, open Open) {
	from, to := open(t), open(t)
	l, s := newLog(t, from, nil), folded.Tenant(t, "acme")
	fillWithErasures(t, l)
	var rows []eventlog.Row
	take := func(known eventlog.Head) eventlog.Head {
		t.Helper()
		head, err := l.Export(t.Context(), s, known, func(part []eventlog.Row) error {
			rows = append(rows, part...)
			return nil
		})
		if now, e := l.Head(t.Context(), s); err != nil || e != nil || head != now {
			t.Fatalf("export: %v, %v, want %v, %v", head, err, now, e)
		}
		return head
	}
	first := take(eventlog.Head{})
	add(t, l, draft("acme", "late", "x"))
	last := take(first)
	if len(rows) != 1208 || last.Size != 1208 || take(last) != last {
		t.Fatalf("exported %d rows", len(rows))
	}
	in := eventlog.NewImport(to, "acme")
	for _, part := range [][]eventlog.Row{rows[:700], rows[700:]} {
		must.Do(t, in.Add(t.Context(), part))
	}
	other := newLog(t, to, nil)
	if err := other.Verify(t.Context(), s, &last, nil); err != nil || in.Head() != last {
		t.Errorf("imported %v, %v", in.Head(), err)
	}
	if diff := cmp.Diff(readAll(t, l, "acme"), readAll(t, other, "acme")); diff != "" {
		t.Error(diff)
	}
	for position, want := range map[int64]error{1204: eventlog.ErrErased, 1205: nil, 1206: eventlog.ErrErased} {
		if _, err := other.Attachment(t.Context(), s, position); !errors.Is(err, want) {
			t.Errorf("attachment %d: %v, want %v", position, err, want)
		}
	}
	if in = eventlog.NewImport(to, "acme"); !errors.Is(in.Add(t.Context(), rows[:1]), eventlog.ErrDiffers) {
		t.Error("the database had a log, and it was imported into")
	}

	var ranged []eventlog.Row
	err := l.ExportRange(t.Context(), s, 1203, 1206, func(part []eventlog.Row) error {
		ranged = append(ranged, part...)
		return nil
	})
	if diff := cmp.Diff(rows[1203:1206], ranged); diff != "" || err != nil {
		t.Error(err, diff)
	}
	other1 := eventlog.Head{Size: 3, Root: last.Root}
	if _, err := l.Export(t.Context(), s, other1, nil); !errors.Is(err, eventlog.ErrDiffers) {
		t.Errorf("behind a head of another log: %v", err)
	}
	if _, err := l.Export(t.Context(), s, eventlog.Head{Size: 9999}, nil); !errors.Is(err, eventlog.ErrDiffers) {
		t.Errorf("behind the end: %v", err)
	}
	refuseChanged(t, open, rows[1204])
}

// refuseChanged imports an entry with an attachment that was changed in some way, each of which is damage.
func refuseChanged(t *testing.T, open Open, row eventlog.Row) {
	row.Position = 1
	try := func(row eventlog.Row) error {
		d := open(t)
		newLog(t, d, nil)
		return eventlog.NewImport(d, "acme").Add(t.Context(), []eventlog.Row{row})
	}
	if err := try(row); err != nil {
		t.Errorf("unchanged: %v", err)
	}
	for name, change := range map[string]func(r *eventlog.Row){
		"position":   func(r *eventlog.Row) { r.Position = 2 },
		"data":       func(r *eventlog.Row) { r.Content.Data = []byte("y") },
		"salt":       func(r *eventlog.Row) { r.Content.Salt[0] ^= 1 },
		"refs":       func(r *eventlog.Row) { r.Attached.Refs = nil },
		"attachment": func(r *eventlog.Row) { r.Attached.Data = []byte("y") },
	} {
		changed, content, attached := row, *row.Content, *row.Attached
		changed.Content, changed.Attached = &content, &attached
		change(&changed)
		if err := try(changed); !errors.Is(err, eventlog.ErrCorrupt) {
			t.Errorf("a changed %s: %v", name, err)
		}
	}
}
