package op_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

// A request says how far links are followed, which, over what, and from where.
func TestGraphOfARequest(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	item := func(id string, kind schemas.Kind, text string, links ...schemas.Link) schemas.MemoryItem {
		m := memory(id, "level:public", "", text)
		m.Session, m.Kind, m.Links = "", kind, links
		return m
	}
	list := []schemas.MemoryItem{item("root", schemas.KindMemory, "zebra crossing"),
		item("near", schemas.KindKnowledge, "apples", schemas.Link{Rel: schemas.RelCausedBy, To: "root"}),
		item("far", schemas.KindMemory, "pears", schemas.Link{Rel: schemas.RelFollows, To: "near"})}
	for i := range 9 { // more than the best finds that a walk starts from
		list = append(list, item(fmt.Sprint("grapes", i), schemas.KindMemory, fmt.Sprintf("grapes of row %d", i)))
	}
	w.put(t, "acme", list...)
	distances := func(g *schemas.GraphQuery) map[string]float64 {
		t.Helper()
		req := ask("grapes")
		req.Payload.Query.Type, req.Payload.Query.Graph, req.Payload.IncludeScores = schemas.QueryGraph, g, true
		res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), req)
		must(t, err)
		got := map[string]float64{}
		for _, r := range res.Payload.Results {
			if c := r.Metadata.Signals[candidate.SignalCausality]; c > 0 && c < 1 {
				got[r.ID] = c
			}
		}
		return got
	}
	for _, c := range []struct {
		graph *schemas.GraphQuery
		want  map[string]float64
	}{
		{nil, nil},
		{&schemas.GraphQuery{From: []string{"root"}}, map[string]float64{"near": .5, "far": .3333}},
		{&schemas.GraphQuery{From: []string{"root"}, Hops: 1}, map[string]float64{"near": .5}},
		{&schemas.GraphQuery{From: []string{"near"}, Rels: []schemas.Rel{schemas.RelFollows}}, map[string]float64{"far": .5}},
		{&schemas.GraphQuery{From: []string{"root"}, Kinds: []schemas.Kind{schemas.KindMemory}}, nil},
		{&schemas.GraphQuery{From: []string{"near"}, Kinds: []schemas.Kind{schemas.KindMemory}}, map[string]float64{"root": .5, "far": .5}},
		{&schemas.GraphQuery{From: []string{"near"}, Labels: []string{"team:x"}}, nil},
	} {
		if diff := cmp.Diff(c.want, distances(c.graph), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.graph, diff)
		}
	}
	bad := ask("grapes")
	bad.Payload.Query.Graph = &schemas.GraphQuery{Hops: 4, Rels: []schemas.Rel{"likes"}, Kinds: []schemas.Kind{"cat"}, From: []string{"a b"}}
	var fields []string
	for _, issue := range bad.Validate() {
		fields = append(fields, issue.Pointer)
	}
	want := []string{"/payload/query/graph/hops", "/payload/query/graph/rels/0", "/payload/query/graph/kinds/0", "/payload/query/graph/from/0"}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Error(diff)
	}
}
