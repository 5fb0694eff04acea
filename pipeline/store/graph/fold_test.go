package graph_test

import (
	"testing"

	"satchel/pipeline/store/graph"
	"satchel/schemas"
)

func FuzzDecodeRow(f *testing.F) {
	r := graph.Row{Position: 3, Facets: schemas.Facets{Kind: "memory", Labels: []string{"a:b"}}, Entities: []string{"x"},
		Links: []schemas.Link{{Rel: schemas.RelFollows, To: "y"}}, Added: []graph.Added{{Link: schemas.Link{Rel: "r", To: "z"}, Position: 9}}}
	f.Add(r.Append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := graph.DecodeRow(data)
		if err != nil {
			return
		}
		again, err := graph.DecodeRow(r.Append(nil))
		if err != nil || again.Position != r.Position || len(again.Added) != len(r.Added) || len(again.Links) != len(r.Links) {
			t.Fatalf("a decoded row cannot be encoded again: %v", err)
		}
	})
}
