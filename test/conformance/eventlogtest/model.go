package eventlogtest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"satchel/pipeline/store/eventlog"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

// model is what a log must look like, kept in a map and a slice.
type model struct {
	keys map[string]int // tenant/id → index in entries of the tenant
	logs map[string][]modelEntry
}

type modelEntry struct {
	id, text string
	erased   bool
}

func (m *model) append(tenant, id, text string) (eventlog.Status, int64) {
	if i, ok := m.keys[tenant+"/"+id]; ok {
		switch e := m.logs[tenant][i]; {
		case e.erased:
			return eventlog.Erased, int64(i + 1)
		case e.text == text:
			return eventlog.Duplicate, int64(i + 1)
		}
		return eventlog.IDConflict, int64(i + 1)
	}
	m.keys[tenant+"/"+id] = len(m.logs[tenant])
	m.logs[tenant] = append(m.logs[tenant], modelEntry{id: id, text: text})
	return eventlog.Appended, int64(len(m.logs[tenant]))
}

// testModel drives a log and the model with the same random batches and erasures.
func testModel(t *testing.T, open Open) {
	l := newLog(t, open(t), nil)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		m := &model{keys: map[string]int{}, logs: map[string][]modelEntry{}}
		tenants := []string{fmt.Sprintf("a%d", run), fmt.Sprintf("b%d", run)}
		for range rapid.IntRange(1, 5).Draw(rt, "steps") {
			if rapid.IntRange(0, 3).Draw(rt, "kind") > 0 {
				modelAppend(t, rt, l, m, tenants)
				continue
			}
			tenant := rapid.SampledFrom(tenants).Draw(rt, "tenant")
			position := rapid.IntRange(1, 12).Draw(rt, "position")
			want := 0
			if log := m.logs[tenant]; position <= len(log) && !log[position-1].erased {
				log[position-1].erased, want = true, 1
			}
			if n, err := l.Erase(t.Context(), folded.Tenant(t, tenant), []int64{int64(position)}); err != nil || n != want {
				rt.Fatalf("erase %d: %d, %v, want %d", position, n, err, want)
			}
		}
		for _, tenant := range tenants {
			var got []modelEntry
			entries := must.Get(l.Read(t.Context(), folded.Tenant(t, tenant), 0, 0))(rt)
			for _, e := range entries {
				got = append(got, modelEntry{id: e.ID, text: string(e.Data), erased: e.Erased})
			}
			var want []modelEntry
			for _, e := range m.logs[tenant] {
				if e.text = fmt.Sprintf(`{"text":%q}`, e.text); e.erased {
					e.text = ""
				}
				want = append(want, e)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(modelEntry{})); diff != "" {
				rt.Fatalf("tenant %s: %s", tenant, diff)
			}
		}
	})
}

func modelAppend(t *testing.T, rt *rapid.T, l *eventlog.Log, m *model, tenants []string) {
	var drafts []eventlog.Draft
	var want []eventlog.Outcome
	for range rapid.IntRange(1, 20).Draw(rt, "drafts") {
		tenant := rapid.SampledFrom(tenants).Draw(rt, "tenant")
		id, text := fmt.Sprint(rapid.IntRange(0, 15).Draw(rt, "id")), rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "text")
		drafts = append(drafts, draft(tenant, id, text))
		status, position := m.append(tenant, id, text)
		want = append(want, eventlog.Outcome{Status: status, Position: position})
	}
	got := must.Get(l.Append(t.Context(), eventlog.Batch{Drafts: drafts}))(rt)
	for i := range got {
		got[i].Leaf = want[i].Leaf
	}
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatal(diff)
	}
}
