package pack

import (
	"fmt"
	"strings"

	"satchel/pipeline/language"
	"satchel/schemas"
)

// Mermaid draws a causal graph as a Mermaid flowchart. label gives what stands in a
// node below its id, "" for nothing; nothing in it is read as syntax.
func Mermaid(g *schemas.CausalGraph, label func(id string) string) string {
	entities := strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "`", "#96;", "\\", "#92;", "\n", " ")
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	number := make(map[string]int, len(g.Nodes))
	for i, id := range g.Nodes {
		number[id] = i + 1
		text := entities.Replace(language.Shown(id))
		if l := label(id); l != "" {
			text += "<br/>" + entities.Replace(language.Shown(l))
		}
		fmt.Fprintf(&b, "  n%d[\"%s\"]\n", i+1, text)
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "  n%d -->|%s| n%d\n", number[e.From], e.Rel, number[e.To])
	}
	return b.String()
}

// DOT draws a causal graph in the language of Graphviz.
func DOT(g *schemas.CausalGraph, label func(id string) string) string {
	escapes := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ")
	var b strings.Builder
	b.WriteString("digraph causal {\n  rankdir=LR;\n  node [shape=box];\n")
	number := make(map[string]int, len(g.Nodes))
	for i, id := range g.Nodes {
		number[id] = i + 1
		text := escapes.Replace(language.Shown(id))
		if l := label(id); l != "" {
			text += `\n` + escapes.Replace(language.Shown(l))
		}
		fmt.Fprintf(&b, "  n%d [label=\"%s\"];\n", i+1, text)
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "  n%d -> n%d [label=\"%s\"];\n", number[e.From], number[e.To], e.Rel)
	}
	b.WriteString("}\n")
	return b.String()
}
