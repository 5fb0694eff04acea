package pack

import (
	"fmt"
	"strings"

	"satchel/pipeline/language"
	"satchel/schemas"
)

// drawing is a language that graphs are drawn in.
type drawing struct {
	head, foot string
	node, edge string // formats: of a number and a text; of two numbers and a relation, which %[2]s is
	feed       string // between the lines of a node
	escapes    *strings.Replacer
}

// Mermaid draws a causal graph as a Mermaid flowchart. label gives the text in a
// node below its id, "" for nothing; nothing in it is read as syntax.
func Mermaid(g *schemas.CausalGraph, label func(id string) string) string {
	d := drawing{
		head: "flowchart LR\n", node: "  n%d[\"%s\"]\n", edge: "  n%[1]d -->|%[2]s| n%[3]d\n", feed: "<br/>",
		escapes: strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "`", "#96;", "\\", "#92;", "\n", " "),
	}
	return d.draw(g, label)
}

// DOT draws a causal graph in the language of Graphviz.
func DOT(g *schemas.CausalGraph, label func(id string) string) string {
	d := drawing{
		head: "digraph causal {\n  rankdir=LR;\n  node [shape=box];\n", foot: "}\n",
		node: "  n%d [label=\"%s\"];\n", edge: "  n%[1]d -> n%[3]d [label=\"%[2]s\"];\n", feed: `\n`,
		escapes: strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " "),
	}
	return d.draw(g, label)
}

func (d *drawing) draw(g *schemas.CausalGraph, label func(id string) string) string {
	var b strings.Builder
	b.WriteString(d.head)
	number := make(map[string]int, len(g.Nodes))
	for i, id := range g.Nodes {
		number[id] = i + 1
		text := d.escapes.Replace(language.Shown(id))
		if l := label(id); l != "" {
			text += d.feed + d.escapes.Replace(language.Shown(l))
		}
		fmt.Fprintf(&b, d.node, i+1, text)
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&b, d.edge, number[e.From], e.Rel, number[e.To])
	}
	return b.String() + d.foot
}
