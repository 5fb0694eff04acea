package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"satchel/pipeline/relevance"
	"satchel/schemas"
)

// gate is the relevance gate of the configured file, read again when the file changes.
// A broken file keeps the gate that includes everything and warns. Safe for
// concurrent use.
type gate struct {
	path   string
	logger *slog.Logger

	mu      sync.Mutex
	current *relevance.Gate
	looked  time.Time
	changed time.Time
}

// gateLook is how long a changed file may go unnoticed.
const gateLook = time.Second

// openGate returns what decides which context a turn needs.
func (a *app) openGate(logger *slog.Logger) (*gate, error) {
	g := &gate{path: a.Relevance, logger: logger}
	if g.path != "" {
		g.load(time.Now())
		return g, nil
	}
	cfg, err := relevance.DefaultConfig()
	if err != nil {
		return nil, fmt.Errorf("read the built-in relevance config: %w", err)
	}
	g.current, err = relevance.New(cfg)
	return g, err
}

func (g *gate) load(now time.Time) {
	g.looked = now
	if info, err := os.Stat(g.path); err == nil {
		if g.current != nil && info.ModTime().Equal(g.changed) {
			return
		}
		g.changed = info.ModTime()
	} else if g.current != nil {
		return // a file that was removed leaves what it said
	}
	next, err := relevance.Load(g.path)
	if err != nil {
		g.logger.Warn("relevance config is broken, everything is included", "file", g.path, "error", err)
	}
	g.current = next
}

func (g *gate) now() *relevance.Gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); g.path != "" && now.Sub(g.looked) >= gateLook {
		g.load(now)
	}
	return g.current
}

// Decide runs the seven layers.
func (g *gate) Decide(in relevance.Input) relevance.Decision { return g.now().Decide(in) }

// answer answers ctx.v1.<tenant>.relevance.
func (g *gate) answer(_ context.Context, _ string, body []byte) (any, error) {
	req, issues := schemas.Decode[schemas.RelevanceRequest](body)
	if err := schemas.Invalid(issues); err != nil {
		return nil, err
	}
	d := g.Decide(relevance.From(&req))
	return schemas.RelevanceReply{Inclusion: d.Inclusion(), Trace: d.Trace}, nil
}

type relevanceCmd struct {
	Mode     string            `help:"Cognitive mode: RESPOND, CLARIFY, ACKNOWLEDGE, ACT or one of your own."`
	Signal   map[string]string `help:"Signals, as in --signal context_warmth=0.7 --signal greeting_pattern=true." placeholder:"K=V"`
	Urgency  string            `help:"classification.urgency."`
	Silent   bool              `name:"returning-from-silence" help:"The user returns from silence."`
	Headroom int               `help:"Tokens left in the prompt." default:"0"`
	Explain  bool              `help:"Say which layer decided each node."`
	Default  bool              `help:"Print the built-in configuration, to start one of your own from."`
}

// Help shows how it is called.
func (relevanceCmd) Help() string {
	return `It runs here, without a server, on --relevance-config or the built-in configuration.

Examples:
  satchel relevance --mode CLARIFY --signal context_warmth=0.8 --signal working_memory_turns=3 --explain
  satchel relevance --default > relevance.json
  satchel relevance --relevance-config relevance.json --mode RESPOND --explain`
}

// relevantNode is one line of the explanation.
type relevantNode struct {
	Node     string `json:"node"`
	Included bool   `json:"included"`
	Layer    string `json:"layer"`
}

// Run decides and prints.
func (c *relevanceCmd) Run(a *app) error {
	if c.Default {
		_, err := a.out.Write(relevance.DefaultJSON())
		return err
	}
	if c.Mode == "" {
		return usagef("name a mode with --mode: RESPOND, CLARIFY, ACKNOWLEDGE, ACT or one of your own")
	}
	g, err := a.openGate(a.logger(a.err))
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
	for _, node := range g.now().Nodes() {
		n := relevantNode{Node: node, Included: d.Includes(node), Layer: "nothing excludes it"}
		if l, ok := d.Layer(node); ok {
			n.Layer = l.String()
		}
		nodes = append(nodes, n)
	}
	if a.JSON {
		out := map[string]any{"inclusion": d.Inclusion(), "trace": d.Trace}
		if c.Explain {
			out["nodes"] = nodes
		}
		return a.printJSON(out)
	}
	fmt.Fprintf(a.out, "mode %s: %d nodes included, about %d tokens\n", d.Trace.Mode, d.Trace.TotalIncluded, d.Trace.EstTokens)
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
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
	return w.Flush()
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
