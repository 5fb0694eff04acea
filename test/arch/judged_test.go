package arch

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// judge is the package that reads the strings of items for injected instructions.
const judge = "pipeline/selection/defend"

// TestOnlyTheJudgeJudges keeps every other package from calling an item judged: isolation lets nothing leave of one that
// is not.
func TestOnlyTheJudgeJudges(t *testing.T) {
	t.Parallel()
	seen := false
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "SetJudged" {
				return true
			}
			if seen = true; f.pkg != judge {
				t.Errorf("%s: only %s judges items", f.set.Position(n.Pos()), judge)
			}
			return true
		})
	}
	if !seen {
		t.Errorf("%s judges nothing", judge)
	}
}

// unjudged are the types of an item before the defenses have read it.
func unjudged() []string {
	return []string{"candidate.Visible", "schemas.Record", "schemas.MemoryItem"}
}

// unrendered returns the functions of renderers that take an item which nobody judged, and make no text of it.
func unrendered() map[string][]string {
	return map[string][]string{
		"pipeline/pack":                 {"namesSpeaker", "dayNumber"}, // whether a tool is needed; the order
		"pipeline/pack/assembly":        {"Adjust"},                    // a number
		"pipeline/isolation":            {"Public", "Analyse", "Hidden", "Indexed", "isUnsettled", "readConfidence", "StoredArtifact"},
		"pipeline/isolation/roles":      {"listQuotations", "readRecords", "checkLabels", "checkTools", "toolsNamed"}, // kinds, times and checks
		"pipeline/passage":              {"Of", "Texts"},                                                              // whether it has passages; what is embedded
		"pipeline/compaction":           nil,
		"pipeline/pack/template":        nil,
		"pipeline/compaction/verify":    nil,
		"pipeline/selection/explain.go": nil,
		"emitters/gateway/mcp":          {"rememberText"}, // writes one
		"emitters/gateway/console":      nil,
		"cmd/internal/terminal":         nil,
	}
}

// TestRenderersTakeJudgedItems keeps whatever makes texts of items to candidates, which the defenses have judged, and to
// results, which are made of these.
func TestRenderersTakeJudgedItems(t *testing.T) {
	t.Parallel()
	allowed, seen := unrendered(), map[string]bool{}
	for _, f := range sources(t) {
		functions, renders := allowed[f.pkg]
		if !renders {
			functions, renders = allowed[f.name] // a file that renders in a package that does not
		}
		if f.test || !renders {
			continue
		}
		for _, decl := range f.ast.Decls {
			name := ""
			if d, ok := decl.(*ast.FuncDecl); ok {
				name = d.Name.Name
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok || !slices.Contains(unjudged(), qualified(sel)) {
					return true
				}
				seen[f.pkg+"."+name] = true
				if !slices.Contains(functions, name) {
					t.Errorf("%s: %s takes a %s, which nobody has judged: take a candidate.Candidate", f.set.Position(n.Pos()), name, qualified(sel))
				}
				return true
			})
		}
	}
	for pkg, functions := range allowed {
		for _, name := range functions {
			if !seen[pkg+"."+name] {
				t.Errorf("%s.%s takes no item: take it out of unrendered", pkg, name)
			}
		}
	}
}

func qualified(sel *ast.SelectorExpr) string {
	if x, ok := sel.X.(*ast.Ident); ok {
		return x.Name + "." + sel.Sel.Name
	}
	return ""
}

// bare returns the functions outside the pipeline that take a content as it is, by their file: they write it, or look
// at its flag.
func bare() []string {
	return []string{
		"cmd/internal/command/artifact.go Run",                                            // what was just stored
		"cmd/internal/command/ask.go beginning", "cmd/internal/command/dropped.go begins", // "" of what is flagged
		"cmd/internal/command/reembed.go compare", // a probe of the index
		"emitters/artifact.go lightenItem", "emitters/emitter.go buildRecordedEvent",
		"emitters/gateway/mcp/tools.go oneLine",
	}
}

// TestReadersAreShownQuotations keeps the doors to ResultItem.Quoted, which shows what is flagged as a quotation.
func TestReadersAreShownQuotations(t *testing.T) {
	t.Parallel()
	allowed, seen := bare(), map[string]bool{}
	for _, f := range sources(t) {
		door := strings.HasPrefix(f.pkg, "emitters") || strings.HasPrefix(f.pkg, "cmd/satchel") || f.pkg == "cmd/internal/command" || f.pkg == "cmd/internal/terminal"
		if f.test || !door {
			continue
		}
		for _, decl := range f.ast.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := f.name + " " + d.Name.Name
			ast.Inspect(d, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Text" {
					if content, ok := sel.X.(*ast.SelectorExpr); ok && content.Sel.Name == "Content" {
						if seen[name] = true; slices.Contains(allowed, name) {
							return true
						}
						t.Errorf("%s: %s shows a content whatever its flag: use Quoted", f.set.Position(n.Pos()), d.Name.Name)
					}
				}
				return true
			})
		}
	}
	for _, name := range allowed {
		if !seen[name] {
			t.Errorf("%s shows no content: take it out of bare", name)
		}
	}
}
