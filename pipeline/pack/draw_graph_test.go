package pack_test

import (
	"testing"

	"satchel/pipeline/pack"
	"satchel/schemas"
)

func TestGraphsAreDrawn(t *testing.T) {
	t.Parallel()
	g := &schemas.CausalGraph{Nodes: []string{"a", "b"}, Edges: []schemas.Edge{{From: "a", Rel: schemas.RelCausedBy, To: "b"}}}
	label := func(id string) string { return map[string]string{"a": "say \"no\"];\n<b>#1 \\ `x`"}[id] }
	if got, want := pack.Mermaid(g, label), "flowchart LR\n  n1[\"a<br/>say #quot;no#quot;]; #lt;b#gt;#35;1 #92; #96;x#96;\"]\n  n2[\"b\"]\n  n1 -->|caused_by| n2\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	want := "digraph causal {\n  rankdir=LR;\n  node [shape=box];\n  n1 [label=\"a\\nsay \\\"no\\\"]; <b>#1 \\\\ `x`\"];\n  n2 [label=\"b\"];\n  n1 -> n2 [label=\"caused_by\"];\n}\n"
	if got := pack.DOT(g, label); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
