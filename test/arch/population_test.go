package arch

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestStatisticsAreOfOnePopulation finds every question to a store whose answer holds statistics: common
// words, lengths, moments of scores, crowds. It must be asked of the items that facets decide on, and
// nothing but these says who is among them: schemas.Filter.Settled for a principal, isolation.Indexed and
// isolation.Population for an item.
func TestStatisticsAreOfOnePopulation(t *testing.T) {
	t.Parallel()
	asked := map[string]bool{}
	for _, f := range sources(t) {
		operator := strings.HasPrefix(f.pkg, "cmd/") || f.pkg == "worker/erasure" // shows no principal a figure
		if f.test || operator || strings.HasPrefix(f.pkg, "test/") || strings.HasPrefix(f.pkg, "pipeline/store/") || isSuite(f.pkg) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if name := made(n); slices.Contains([]string{"keyword.Query", "vector.Query", "graph.Walk"}, name) {
					asked[name] = true
					if !settled(n) {
						t.Errorf("%s: %s has no Population that ends in .Settled(): hidden items would move its statistics", f.set.Position(n.Pos()), name)
					}
				}
			case *ast.SelectorExpr:
				if n.Sel.Name == "LabelUnsettled" && f.name != "pipeline/isolation/public.go" {
					t.Errorf("%s: who counts is said by pipeline/isolation/public.go alone", f.set.Position(n.Pos()))
				}
			}
			return true
		})
	}
	if len(asked) < 3 {
		t.Errorf("found questions %v alone", asked)
	}
}

// settled reports whether a literal has the field Population with the result of a call of Settled.
func settled(lit *ast.CompositeLit) bool {
	return slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool {
		field, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		key, named := field.Key.(*ast.Ident)
		call, called := field.Value.(*ast.CallExpr)
		if !named || !called || key.Name != "Population" {
			return false
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "Settled"
	})
}

// TestNoveltyComparesWithinOnePopulation holds the scorer to the facets of its population: it looks at no
// field of an item by itself.
func TestNoveltyComparesWithinOnePopulation(t *testing.T) {
	t.Parallel()
	asks := false
	for _, f := range sources(t) {
		if f.test || !strings.HasPrefix(f.name, "worker/projection/novelty") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch x, _ := sel.X.(*ast.Ident); {
			case x != nil && x.Name == "isolation" && sel.Sel.Name == "Population":
				asks = true
			case slices.Contains([]string{"Labels", "SecurityLabel", "Level", "Groups", "Purposes", "Sensitivity", "Trust"}, sel.Sel.Name):
				t.Errorf("%s: reads %s: isolation.Population says which items are compared", f.set.Position(n.Pos()), sel.Sel.Name)
			}
			return true
		})
	}
	if !asks {
		t.Error("the scorer does not ask isolation.Population")
	}
}
