package relevance

import (
	"log/slog"
	"math/bits"
	"strconv"

	"satchel/schemas"
)

// Decision is what a turn needs. The zero Decision includes everything.
type Decision struct {
	Trace    schemas.RelevanceTrace
	gate     *Gate
	included set
	decided  [layers]set // nodes that each layer moved
}

// Layer is a step that can move a node.
type Layer int

// The layers that move nodes, in order; the safeguard only warns.
const (
	TemplateMask Layer = iota
	SignalRuleHard
	SignalRuleSoft
	Urgency
	SoftRecovery
	Dependency
	Safety
	layers
)

// String names the layer.
func (l Layer) String() string {
	names := [layers]string{"template mask", "signal rule (hard)", "signal rule (soft)", "urgency override", "soft recovery", "dependency", "safety override"}
	if l < 0 || l >= layers {
		return "no layer"
	}
	return names[l]
}

// Layer returns the layer that decided a node: the last that moved it. No layer did
// for a node that was included from the start.
func (d *Decision) Layer(node string) (Layer, bool) {
	if d.gate == nil {
		return 0, false
	}
	i, ok := d.gate.index[node]
	for l := layers - 1; ok && l >= 0; l-- {
		if d.decided[l].hasMember(i) {
			return l, true
		}
	}
	return 0, false
}

// All returns the decision that includes everything, for a request that says nothing
// about relevance.
func (g *Gate) All() Decision { return g.includeEverything("", "") }

func (g *Gate) includeEverything(mode, warning string) Decision {
	d := Decision{gate: g, included: g.all}
	d.Trace = schemas.RelevanceTrace{Mode: mode, Included: g.listSetNodes(g.all), TotalIncluded: len(g.names), EstTokens: g.estimateCost(g.all)}
	for _, w := range []string{g.warning, warning} {
		if w != "" {
			d.Trace.Warnings = append(d.Trace.Warnings, w)
		}
	}
	return d
}

func (g *Gate) estimateCost(s set) int {
	sum := 0
	for ; s != 0; s &= s - 1 {
		sum += g.tokens[bits.TrailingZeros64(uint64(s))]
	}
	return sum
}

// Decide runs the seven layers.
func (g *Gate) Decide(in Input) Decision {
	if g.disabled {
		return g.includeEverything(in.Mode, "")
	}
	hard, known := g.masks[in.Mode]
	if !known {
		d := g.includeEverything(in.Mode, "the mode is unknown: everything is included")
		g.addWarnings(&d, &in)
		return d
	}
	byRule, soft := g.applyRules(&in, g.all&^hard)
	d := Decision{gate: g, included: g.all &^ hard &^ byRule &^ soft}
	d.decided[TemplateMask] = hard
	d.decided[SignalRuleHard] = byRule
	d.decided[SignalRuleSoft] = soft
	hard |= byRule
	d.Trace.Mode = in.Mode
	d.Trace.ExcludedHard, d.Trace.ExcludedSoft = g.listSetNodes(hard), g.listSetNodes(soft)

	if urgency, _ := in.Classification["urgency"].(string); urgency == "high" && g.urgent != 0 {
		d.decided[Urgency] = g.urgent &^ d.included
		d.included |= g.urgent
		d.Trace.OverridesApplied = append(d.Trace.OverridesApplied, "urgency")
	}
	recovered := g.recoverNodes(soft&^d.included, in.TokenBudgetRemaining)
	d.included |= recovered
	d.decided[SoftRecovery] = recovered
	d.Trace.RecoveredSoft = g.listSetNodes(recovered)

	added := g.needsOf(d.included) &^ d.included
	d.included |= added
	if forced := g.findForcedNodes(&in) &^ d.included; forced != 0 {
		d.decided[Safety] = forced
		d.included |= forced
		d.Trace.OverridesApplied = append(d.Trace.OverridesApplied, "safety")
		needed := g.needsOf(forced) &^ d.included
		d.included |= needed
		added |= needed
	}
	d.decided[Dependency] = added
	d.Trace.DepsAdded = g.listSetNodes(added)
	d.Trace.Included = g.listSetNodes(d.included)
	d.Trace.TotalIncluded = len(d.Trace.Included)
	d.Trace.EstTokens = g.estimateCost(d.included)
	g.addWarnings(&d, &in)
	return d
}

// addWarnings applies the safeguard, and says which signals are not what the configuration knows.
func (g *Gate) addWarnings(d *Decision, in *Input) {
	if d.Trace.TotalIncluded > g.most {
		d.Trace.Warnings = append(d.Trace.Warnings, strconv.Itoa(d.Trace.TotalIncluded)+" nodes are included, more than the limit of "+strconv.Itoa(g.most))
	}
	d.Trace.Warnings = append(d.Trace.Warnings, g.listMisfits(in.Signals)...)
}

// applyRules returns what the signal rules exclude among candidates.
func (g *Gate) applyRules(in *Input, candidates set) (hard, soft set) {
	for i := range g.rules {
		r := &g.rules[i]
		switch {
		case !candidates.hasMember(r.node):
		case anyHolds(r.hard, in):
			hard |= 1 << r.node
		case anyHolds(r.soft, in):
			soft |= 1 << r.node
		}
	}
	return hard, soft
}

// recoverNodes takes soft-excluded nodes back, in order of priority, while the headroom is
// at least the budget; each costs its estimate.
func (g *Gate) recoverNodes(soft set, headroom int) set {
	var back set
	for _, node := range g.priority {
		if soft == 0 || headroom <= 0 || headroom < g.headroom {
			break
		}
		if soft.hasMember(node) {
			back |= 1 << node
			soft &^= 1 << node
			headroom -= g.tokens[node]
		}
	}
	return back
}

// findForcedNodes returns the nodes that safety demands.
func (g *Gate) findForcedNodes(in *Input) set {
	var s set
	for i := range g.safety {
		if anyHolds(g.safety[i].any, in) {
			s |= 1 << g.safety[i].node
		}
	}
	return s
}

func anyHolds(conditions []condition, in *Input) bool {
	for _, c := range conditions {
		if c.isConditionMet(in) {
			return true
		}
	}
	return false
}

// Includes reports whether a node is included. A node the gate does not know is.
func (d *Decision) Includes(node string) bool {
	if d.gate == nil {
		return true
	}
	i, ok := d.gate.index[node]
	return !ok || d.included.hasMember(i)
}

// Inclusion returns the inclusion map, node by node.
func (d *Decision) Inclusion() map[string]bool {
	all := map[string]bool{}
	if d.gate != nil {
		for i, name := range d.gate.names {
			all[name] = d.included.hasMember(i)
		}
	}
	return all
}

// NeedsKind reports whether items of a kind can be wanted: some included node selects
// them, or no node does. A selector without a kind selects every kind.
func (d *Decision) NeedsKind(k schemas.Kind) bool {
	if d.gate == nil {
		return true
	}
	gatedAtAll := false
	for i := range d.gate.selectors {
		s := &d.gate.selectors[i]
		if s.Kind != k && s.Kind != "" {
			continue
		}
		if s.nodes&d.included != 0 {
			return true
		}
		gatedAtAll = gatedAtAll || s.Kind == k
	}
	return !gatedAtAll
}

// Given returns what the included nodes bring in without a search.
func (d *Decision) Given() []Given {
	if d.gate == nil {
		return []Given{{Turns: DefaultTurns, Tokens: DefaultTurnTokens}}
	}
	var out []Given
	for i, g := range d.gate.given {
		if d.included.hasMember(i) && (g.Turns > 0 || len(g.Items) > 0) {
			out = append(out, g)
		}
	}
	return out
}

// Kinds returns the kinds to search, in the order of the kind table: those of which an item
// without a category can be wanted. Items of a category come by Given.
func (d *Decision) Kinds() []schemas.Kind {
	var kinds []schemas.Kind
	for _, row := range schemas.Kinds() {
		for _, t := range []schemas.MemoryType{schemas.Episodic, schemas.Procedural, schemas.Semantic} {
			if d.Wants(&schemas.Facets{Kind: row.Kind, Type: t}) {
				kinds = append(kinds, row.Kind)
				break
			}
		}
	}
	return kinds
}

// NeedsSection reports whether a section can hold items. Sections without items of
// the log (user, task, policy) are always needed.
func (d *Decision) NeedsSection(section schemas.SectionType) bool {
	holdsItems := false
	for _, row := range schemas.Kinds() {
		if row.Section == section {
			holdsItems = true
			if d.NeedsKind(row.Kind) {
				return true
			}
		}
	}
	return !holdsItems
}

// NeedsRetriever reports whether a retriever has work: some included node names it,
// or no node does.
func (d *Decision) NeedsRetriever(name string) bool {
	if d.gate == nil {
		return true
	}
	nodes, ok := d.gate.retrievers[name]
	return !ok || nodes&d.included != 0
}

// Wants reports whether an item is wanted: a node that selects it is included, or no
// node selects it. What selectors name by its category is theirs alone: a list is no
// other episodic memory.
func (d *Decision) Wants(f *schemas.Facets) bool {
	if d.gate == nil {
		return true
	}
	selected := false
	named := false
	wanted := false
	for i := range d.gate.selectors {
		s := &d.gate.selectors[i]
		if !s.canSelect(f) || named && s.Category == "" {
			continue
		}
		if s.Category != "" && !named {
			named = true
			wanted = false
		}
		selected = true
		wanted = wanted || s.nodes&d.included != 0
	}
	return wanted || !selected
}

func (s *Selector) canSelect(f *schemas.Facets) bool {
	return (s.Kind == "" || s.Kind == f.Kind) && (s.Type == "" || s.Type == f.Type) && (s.Category == "" || s.Category == f.Category)
}

// LogValue returns the fields of the structured log entry. A mode that the gate has not is a caller's text, which no log
// has.
func (d Decision) LogValue() slog.Value {
	t := &d.Trace
	mode := "unknown"
	if d.gate != nil {
		if _, known := d.gate.masks[t.Mode]; known {
			mode = t.Mode
		}
	}
	return slog.GroupValue(
		slog.String("mode", mode), slog.Any("excluded_hard", t.ExcludedHard), slog.Any("excluded_soft", t.ExcludedSoft),
		slog.Any("recovered_soft", t.RecoveredSoft), slog.Any("deps_added", t.DepsAdded), slog.Any("overrides_applied", t.OverridesApplied),
		slog.Int("total_included", t.TotalIncluded), slog.Int("est_tokens", t.EstTokens), slog.Any("warnings", t.Warnings))
}
