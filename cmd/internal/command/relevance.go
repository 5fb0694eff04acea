package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/pipeline/relevance"
)

// Relevance is satchel relevance.
type Relevance struct {
	Mode     string            `help:"Cognitive mode: RESPOND, CLARIFY, ACKNOWLEDGE, ACT or one of your own."`
	Signal   map[string]string `help:"Signals, as in --signal context_warmth=0.7 --signal greeting_pattern=true." placeholder:"K=V"`
	Urgency  string            `help:"classification.urgency."`
	Silent   bool              `name:"returning-from-silence" help:"The user returns from silence."`
	Headroom int               `help:"Tokens left in the prompt." default:"0"`
	Explain  bool              `help:"Say which layer decided each node."`
	Default  bool              `help:"Print the built-in configuration, to start one of your own from."`
}

// relevantNode is one line of the explanation.
type relevantNode struct {
	Node     string `json:"node"`
	Included bool   `json:"included"`
	Layer    string `json:"layer"`
}

// Run decides and prints.
func (c *Relevance) Run(a *app.App) error {
	if c.Default {
		_, err := a.Out.Write(relevance.DefaultJSON())
		return err
	}
	if c.Mode == "" {
		return config.Usagef("name a mode with --mode: RESPOND, CLARIFY, ACKNOWLEDGE, ACT or one of your own")
	}
	if a.Relevance != "" {
		if _, err := relevance.Load(a.Relevance); err != nil {
			return &config.UsageError{Err: err}
		}
	}
	g, err := a.OpenGate(a.Logger(a.Err))
	if err != nil {
		return err
	}
	in := relevance.Input{Mode: c.Mode, Signals: map[string]any{}, ReturningFromSilence: c.Silent, TokenBudgetRemaining: c.Headroom}
	for k, v := range c.Signal {
		in.Signals[k] = signalValue(v)
	}
	if c.Urgency != "" {
		in.Classification = map[string]any{"urgency": c.Urgency}
	}
	d := g.Decide(in)
	var nodes []relevantNode
	for _, node := range g.Now().Nodes() {
		n := relevantNode{Node: node, Included: d.Includes(node), Layer: "nothing excludes it"}
		if l, ok := d.Layer(node); ok {
			n.Layer = l.String()
		}
		nodes = append(nodes, n)
	}
	out := map[string]any{"inclusion": d.Inclusion(), "trace": d.Trace}
	if c.Explain {
		out["nodes"] = nodes
	}
	return PrintTable(a, out, func(w io.Writer) {
		fmt.Fprintf(w, "mode %s: %d nodes included, about %d tokens\n", d.Trace.Mode, d.Trace.TotalIncluded, d.Trace.EstTokens)
		for _, n := range nodes {
			mark := map[bool]string{true: "+", false: "-"}[n.Included]
			if c.Explain {
				fmt.Fprintf(w, "%s %s\t%s\n", mark, n.Node, n.Layer)
			} else {
				fmt.Fprintf(w, "%s %s\n", mark, n.Node)
			}
		}
		for _, warning := range d.Trace.Warnings {
			fmt.Fprintf(w, "warning: %s\n", warning)
		}
	})
}

// signalValue reads a value as JSON would: number, boolean or text.
func signalValue(text string) any {
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	var b bool
	if json.Unmarshal([]byte(text), &b) == nil {
		return b
	}
	return strings.Trim(text, `"`)
}
