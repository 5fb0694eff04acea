package roles_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"satchel/pipeline/isolation/roles"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// history writes what the sentinel watches.
type history struct {
	*world
	t *testing.T
	n int
}

func (h *history) write(eventType, agent string, data any) {
	h.t.Helper()
	raw, err := json.Marshal(data)
	must(h.t, err)
	h.n++
	_, err = h.log.Append(h.t.Context(), eventlog.Batch{Drafts: []eventlog.Draft{{Tenant: "acme", Agent: agent, Type: eventType, Source: "history",
		ID: fmt.Sprint("h", h.n), Subject: "r", Time: time.Now(), Data: raw}}})
	must(h.t, err)
}

// pack writes a pack and its drop report.
func (h *history) pack(session, principal string, budget, tokens int, score float64, drops ...schemas.DropReason) {
	h.t.Helper()
	items := []schemas.ContextItem{{ID: "a", Score: score}, {ID: "b", Score: score}}
	if len(drops) > 0 && drops[0] == schemas.DropPolicy {
		items = nil
	}
	id := fmt.Sprint("pack", h.n)
	h.write(schemas.TypeContextPacked, "satchel", schemas.ContextPack{ID: id, SessionID: session, Principal: principal, TokenBudget: budget, TokenActual: tokens,
		Sections: []schemas.ContextSection{{Items: items}}})
	report := schemas.DropReport{ID: id + ".drop", PackID: id}
	for i, reason := range drops {
		report.Drops = append(report.Drops, schemas.Drop{ItemID: fmt.Sprint(i), Reason: reason})
	}
	h.write(schemas.TypeContextDropped, "satchel", report)
}

func (h *history) findings(s scope.Scope, session string) []string {
	h.t.Helper()
	reply, err := h.runner.Execute(h.t.Context(), s, roles.Sentinel, schemas.RoleRequest{Task: "watch", Session: session})
	must(h.t, err)
	var out []string
	for _, f := range reply.Findings {
		out = append(out, f.Anomaly+" "+f.Subject)
		if f.Value < f.Limit && f.Anomaly != schemas.AnomalyRelevanceDrop {
			h.t.Errorf("%s: %g is below its limit %g", f.Anomaly, f.Value, f.Limit)
		}
	}
	return out
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	calm := func(h *history) {
		for range 5 {
			h.pack("s1", "x", 1000, 400, 0.8)
		}
	}
	for name, c := range map[string]struct {
		happens func(h *history)
		want    []string
	}{
		"calm": {calm, nil},
		"budget creep": {func(h *history) {
			for i := range 8 {
				h.pack("s1", "x", 2000, 400+100*i, 0.8)
			}
		}, []string{"budget_creep session:s1"}},
		"a young session creeps not": {func(h *history) {
			for i := range 7 {
				h.pack("s1", "x", 2000, 400+100*i, 0.8)
			}
		}, nil},
		"small contexts are nothing to creep from": {func(h *history) {
			for i := range 8 {
				h.pack("s1", "x", 2000, 30*(i+1), 0.8)
			}
		}, nil},
		"small contexts are nothing to rot from": {func(h *history) {
			for i := range 8 {
				h.pack("s1", "x", 2000, 30*(i+1), 0.8-0.05*float64(i))
			}
		}, nil},
		"larger budgets are no creep": {func(h *history) {
			for i := range 8 {
				h.pack("s1", "x", 500+500*i, 400+400*i, 0.8)
			}
		}, nil},
		"creep beyond larger budgets": {func(h *history) {
			for i := range 8 {
				h.pack("s1", "x", 1000+50*i, 300+150*i, 0.8)
			}
		}, []string{"budget_creep session:s1"}},
		"asks for more, and finds less": {func(h *history) {
			for i, budget := range []int{700, 1200, 2000, 3500, 6000} { // what hardly answers gets a quarter
				h.pack("s1", "x", budget, []int{690, 290, 490, 860, 1480}[i], []float64{.8, .8, .5, .5, .5}[i])
			}
		}, []string{"context_rot session:s1"}},
		"asks for less, and finds less": {func(h *history) {
			for i, budget := range []int{700, 6000, 2000, 3500, 6000} {
				h.pack("s1", "x", budget, []int{690, 290, 490, 860, 1480}[i], []float64{.8, .8, .5, .5, .5}[i])
			}
		}, nil},
		"over budget": {func(h *history) { h.pack("s1", "x", 1000, 1200, 0.8) }, []string{"budget_creep session:s1"}},
		"up and down is no creep": {func(h *history) {
			for _, tokens := range []int{400, 900, 300, 800, 700} {
				h.pack("s1", "x", 1000, tokens, 0.8)
			}
		}, nil},
		"relevance drop": {func(h *history) {
			calm(h)
			h.pack("s1", "x", 1000, 400, 0.3)
			h.pack("s1", "x", 1000, 400, 0.2)
		}, []string{"relevance_drop session:s1"}},
		"other subjects without a session": {func(h *history) {
			for _, relevance := range []float64{.8, .8, .8, .8, .8, .3, .2} {
				h.pack("", "x", 1000, 400, relevance)
			}
		}, nil},
		"one question without an answer": {func(h *history) { calm(h); h.pack("s1", "x", 1000, 400, 0.1) }, nil},
		"context rot": {func(h *history) {
			for i := range 5 {
				h.pack("s1", "x", 1000, 400+100*i, 0.8-0.07*float64(i))
			}
		}, []string{"context_rot session:s1"}},
		"rotten candidates": {func(h *history) {
			d := schemas.DropDuplicate
			h.pack("s1", "x", 1000, 400, 0.8, d, d, d, schemas.DropStale, d, schemas.DropSuperseded, d)
		}, []string{"context_rot session:s1"}},
		"packs written back": {func(h *history) {
			d := schemas.DropRecalled
			h.pack("s1", "x", 1000, 400, 0.8, d, d, d, d, d, d, d)
		}, []string{"context_rot session:s1"}},
		"injection": {func(h *history) { h.pack("s1", "x", 1000, 400, 0.8, schemas.DropInjection) }, []string{"injection session:s1"}},
		"repeated denials": {func(h *history) {
			for range 5 {
				h.write(schemas.TypeRequestRefused, "satchel", schemas.Refusal{Principal: "x", Code: schemas.CodePolicyDenied})
			}
		}, []string{"repeated_denials principal:x"}},
		"what policy emptied is none to the principal": {func(h *history) {
			for range 5 {
				h.pack("s1", "x", 1000, 40, 0, schemas.DropPolicy, schemas.DropPolicy)
			}
		}, nil},
		"four denials are none": {func(h *history) {
			for range 4 {
				h.write(schemas.TypeRequestRefused, "satchel", schemas.Refusal{Principal: "x", Code: schemas.CodePolicyDenied})
			}
		}, nil},
		"another's anomaly": {func(h *history) {
			for i := range 8 {
				h.pack("s1", "y", 2000, 400+100*i, 0.8)
			}
		}, nil},
		"a flood": {func(h *history) {
			for range 250 {
				h.write(schemas.TypeMemoryRecorded, "x", struct{}{})
			}
		}, []string{"writer_flood writer:x"}},
		"another's flood": {func(h *history) {
			for range 250 {
				h.write(schemas.TypeMemoryRecorded, "chatty", struct{}{})
			}
		}, nil},
		"searches are no contexts": {func(h *history) {
			for range 5 {
				h.pack("s1", "x", 1000, 0, 0.8)
			}
			h.pack("s1", "x", 1000, 700, 0.8)
		}, nil},
		"budget creep between searches": {func(h *history) {
			for i := range 8 {
				h.pack("s1", "x", 2000, 0, 0.8)
				h.pack("s1", "x", 2000, 400+100*i, 0.8)
			}
		}, []string{"budget_creep session:s1"}},
		"a search after a creep": {func(h *history) {
			for i := range 8 {
				h.pack("s1", "x", 2000, 400+100*i, 0.8)
			}
			h.pack("s1", "x", 1000, 0, 0.8)
		}, nil},
		"a pack that shows nothing ends no rot": {func(h *history) {
			for i := range 5 {
				h.pack("s1", "x", 1000, 400+100*i, 0.8-0.07*float64(i))
			}
			h.pack("s1", "x", 1000, 20, 0, schemas.DropPolicy)
		}, []string{"context_rot session:s1"}},
		"packs that show nothing do not grow": {func(h *history) {
			calm(h)
			for i := range 5 {
				h.pack("s1", "x", 1000, 20+20*i, 0, schemas.DropPolicy)
			}
		}, []string{"relevance_drop session:s1"}},
		"many writers are none": {func(h *history) {
			for i := range 250 {
				h.write(schemas.TypeMemoryRecorded, fmt.Sprint("agent", i%2), struct{}{})
			}
		}, nil},
		"what cannot be read": {func(h *history) { h.write(schemas.TypeContextPacked, "satchel", "no pack") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &history{world: open(t, nil), t: t}
			c.happens(h)
			if got := h.findings(as(t, "x", schemas.Internal), "s1"); !slices.Equal(got, c.want) {
				t.Errorf("findings %q, want %q", got, c.want)
			}
		})
	}
}

// TestAuditorSeesAll: an auditor is told of every session and of who writes; others of
// nothing that is not theirs.
func TestAuditorSeesAll(t *testing.T) {
	t.Parallel()
	h := &history{world: open(t, nil), t: t}
	h.pack("s1", "y", 1000, 1500, 0.8)
	for range 5 {
		h.pack("s2", "z", 1000, 40, 0, schemas.DropPolicy, schemas.DropPolicy)
	}
	for range 250 {
		h.write(schemas.TypeMemoryRecorded, "chatty", struct{}{})
	}
	auditor := asWith(t, scope.Principal{ID: "audit", Roles: []string{"auditor"}})
	want := []string{"budget_creep principal:y", "repeated_denials principal:z", "budget_creep session:s1", "writer_flood writer:chatty"}
	if got := h.findings(auditor, ""); !slices.Equal(got, want) {
		t.Errorf("findings %q, want %q", got, want)
	}
}
