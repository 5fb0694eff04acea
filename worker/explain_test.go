package worker_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/schemas"
)

// A pack is explained item by item; of what policy denied only an auditor hears.
func TestExplain(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.put(t, recorded(t, "gone", "the lake house key was under the mat", func(d map[string]any) {
		d["created_at"], d["ttl"] = "2020-01-01T00:00:00Z", 60
	}), "")
	w.put(t, recorded(t, "veiled", "the lake house has a door code", func(d map[string]any) {
		d["security_label"] = []string{"level:internal", "pii:home"}
	}), "")
	for _, id := range []string{"b1", "b2", "b3"} {
		w.put(t, recorded(t, id, "something about the lake house and boat "+id+", told at length so that not all of it finds a place"), "")
	}
	w.put(t, recorded(t, "low", "the lake house has a red door"), "indexed")
	out, err := w.worker.Service.Request(within(t), "acme", request(t, "reader", "internal", "which door has the lake house?", func(r *schemas.ContextRequest) {
		r.Payload.Limit, r.Payload.Fill = 1, true
	}))
	must(t, err)
	p := payloadOf(t, out)
	if len(p.Results) != 1 || p.Results[0].ID != "low" || p.Drop.Denied != nil {
		t.Fatalf("results %+v, denied %v", p.Results, p.Drop.Denied)
	}
	explain := func(id string, from *schemas.Agent) schemas.ExplainReply {
		t.Helper()
		out, err := w.worker.Service.Explain(within(t), "acme", encode(t, schemas.ExplainRequest{PackID: p.PackID, ItemID: id, From: from}))
		must(t, err)
		return out.(schemas.ExplainReply)
	}
	reader := &schemas.Agent{Type: "agent", ID: "reader", SecurityLevel: "internal"}
	auditor := &schemas.Agent{Type: "agent", ID: "audit", SecurityLevel: "internal", Roles: []string{"auditor"}}
	if r := explain("low", reader); r.Item == nil || r.Drop != nil || r.Verdict == nil || !r.Verdict.Allow || !strings.Contains(r.Explanation, "kept as number 1 of 1") {
		t.Errorf("shown: %+v", r)
	}
	if r := explain("b2", reader); r.Item != nil || r.Drop == nil || r.Verdict == nil || !strings.Contains(r.Change, "a larger limit may show it") {
		t.Errorf("dropped: %+v", r)
	}
	if r := explain("gone", auditor); r.Verdict == nil || r.Verdict.Allow || r.Verdict.Reason != "expired" || !strings.Contains(r.Explanation, "policy") {
		t.Errorf("denied, to an auditor: %+v", r)
	}
	if r := explain("veiled", auditor); r.Verdict != nil {
		t.Errorf("redacted whole, so that no word of it is found: %+v", r)
	}
	unknown := explain("nosuch", reader)
	for _, id := range []string{"gone", "veiled"} {
		if diff := cmp.Diff(unknown, explain(id, reader)); diff != "" {
			t.Errorf("%s, to the reader, is not as what is not there: %s", id, diff)
		}
	}
	for name, req := range map[string]schemas.ExplainRequest{
		"somebody else": {PackID: p.PackID, ItemID: "low", From: &schemas.Agent{Type: "agent", ID: "other", SecurityLevel: "restricted"}},
		"no such pack":  {PackID: "nosuch", ItemID: "low", From: reader},
		"no item":       {PackID: p.PackID, From: reader},
	} {
		if out, err := w.worker.Service.Explain(within(t), "acme", encode(t, req)); err == nil {
			t.Errorf("%s is told %+v", name, out)
		} else {
			typed(t, err)
		}
	}
}
