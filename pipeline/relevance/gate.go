package relevance

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"satchel/schemas"
)

// set is a set of nodes, one bit a node.
type set uint64

func (s set) hasMember(i int) bool { return s&(1<<i) != 0 }

// Gate is a compiled configuration. It is safe for concurrent use.
type Gate struct {
	disabled   bool   // includes everything
	warning    string // said in each decision
	names      []string
	index      map[string]int
	tokens     []int
	all        set
	masks      map[string]set // mode → nodes excluded by its template
	rules      []nodeRules
	needs      []set // node → everything it needs, transitively
	urgent     set
	safety     []nodeConditions
	priority   []int // order of soft recovery
	headroom   int
	most       int
	selectors  []gated
	given      []Given // by node
	retrievers map[string]set
	signals    map[string]signal // what each may be
}

type nodeRules struct {
	node       int
	hard, soft []condition
}

type nodeConditions struct {
	node int
	any  []condition
}

type gated struct {
	Selector
	nodes set
}

// New compiles a configuration; the zero Config means the built-in one. The error
// wraps ErrConfig.
func New(c Config) (*Gate, error) {
	builtin, err := DefaultConfig()
	if err != nil {
		return nil, err
	}
	if c.isZero() {
		c = builtin
	}
	// Nodes of the built-in table keep their costs and gates unless redefined.
	nodes := maps.Clone(builtin.Nodes)
	maps.Copy(nodes, c.Nodes)
	c.Nodes = nodes
	signals := maps.Clone(builtin.Signals)
	maps.Copy(signals, c.Signals)
	c.Signals = signals
	if err := c.Validate(); err != nil {
		return nil, err
	}
	g := &Gate{disabled: c.Enabled != nil && !*c.Enabled, names: c.listAllNodes(), index: map[string]int{}, masks: map[string]set{},
		headroom: DefaultRecoveryBudget, most: DefaultMaxNodes, retrievers: map[string]set{}}
	for i, name := range g.names {
		g.index[name] = i
		g.all |= 1 << i
	}
	if c.SoftRecoveryBudget != nil {
		g.headroom = *c.SoftRecoveryBudget
	}
	if c.MaxIncludedNodes > 0 {
		g.most = c.MaxIncludedNodes
	}
	for mode, mask := range c.TemplateMasks {
		var out set
		for node, in := range mask {
			if !in {
				out |= 1 << g.index[node]
			}
		}
		g.masks[mode] = out
	}
	g.urgent = g.setOf(c.UrgencyOverrides)
	g.compileNodes(c.Nodes)
	g.compileNeeds(c.Dependencies)
	g.compilePriority(c.SoftRecoveryPriority)
	if err := g.compileConditions(&c); err != nil {
		return nil, err
	}
	g.compileSignals(c.Signals)
	return g, nil
}

// includeAll includes every node of the built-in configuration.
func includeAll(warning string) *Gate {
	g, err := New(Config{})
	if err != nil {
		g = &Gate{} // it is compiled in, and a test compiles it
	}
	g.disabled = true
	g.warning = warning
	return g
}

func (g *Gate) setOf(names []string) set {
	var s set
	for _, n := range names {
		s |= 1 << g.index[n]
	}
	return s
}

func (g *Gate) compileNodes(nodes map[string]Node) {
	g.tokens = make([]int, len(g.names))
	g.given = make([]Given, len(g.names))
	selectors := map[Selector]set{}
	for i, name := range g.names {
		node := nodes[name]
		g.tokens[i] = node.Tokens
		if node.Tokens == 0 {
			g.tokens[i] = DefaultNodeTokens
		}
		g.given[i] = Given{Node: name, Turns: node.Turns, Tokens: g.tokens[i]}
		for _, s := range node.Items {
			selectors[s] |= 1 << i
			if s.Category != "" {
				g.given[i].Items = append(g.given[i].Items, s)
			}
		}
		for _, r := range node.Retrievers {
			g.retrievers[r] |= 1 << i
		}
	}
	for s, nodes := range selectors {
		g.selectors = append(g.selectors, gated{s, nodes})
	}
	slices.SortFunc(g.selectors, func(a, b gated) int {
		return strings.Compare(fmt.Sprint(a.Selector), fmt.Sprint(b.Selector))
	})
}

// compileNeeds closes the dependencies transitively; they are free of circles.
func (g *Gate) compileNeeds(dependencies map[string][]string) {
	g.needs = make([]set, len(g.names))
	done := make([]bool, len(g.names))
	var closeNode func(i int) set
	closeNode = func(i int) set {
		if !done[i] {
			for _, name := range dependencies[g.names[i]] {
				j := g.index[name]
				g.needs[i] |= 1<<j | closeNode(j)
			}
			done[i] = true
		}
		return g.needs[i]
	}
	for i := range g.names {
		closeNode(i)
	}
}

func (g *Gate) compilePriority(listed []string) {
	var seen set
	for _, name := range listed {
		if i := g.index[name]; !seen.hasMember(i) {
			g.priority = append(g.priority, i)
			seen |= 1 << i
		}
	}
	for i := range g.names {
		if !seen.hasMember(i) {
			g.priority = append(g.priority, i)
		}
	}
}

func (g *Gate) compileConditions(c *Config) error {
	for _, name := range slices.Sorted(maps.Keys(c.SignalRules)) {
		r := nodeRules{node: g.index[name]}
		for i, rule := range c.SignalRules[name] {
			where := "signal_rules." + name + "[" + strconv.Itoa(i) + "]"
			when, err := compileCondition(where, rule.When)
			if err != nil {
				return err
			}
			switch rule.Strength {
			case Hard:
				r.hard = append(r.hard, when)
			case Soft:
				r.soft = append(r.soft, when)
			default:
				return fmt.Errorf("%w: %s: strength %q must be hard or soft", ErrConfig, where, rule.Strength)
			}
		}
		g.rules = append(g.rules, r)
	}
	for _, name := range slices.Sorted(maps.Keys(c.SafetyOverrides)) {
		s := nodeConditions{node: g.index[name]}
		for i, override := range c.SafetyOverrides[name] {
			when, err := compileCondition("safety_overrides."+name+"["+strconv.Itoa(i)+"]", override.When)
			if err != nil {
				return err
			}
			s.any = append(s.any, when)
		}
		g.safety = append(g.safety, s)
	}
	return nil
}

// Modes returns every mode that has a mask, sorted.
func (g *Gate) Modes() []string { return slices.Sorted(maps.Keys(g.masks)) }

// Nodes returns every context node the gate knows, sorted.
func (g *Gate) Nodes() []string { return slices.Clone(g.names) }

func (g *Gate) listSetNodes(s set) []string {
	if s == 0 {
		return nil
	}
	names := make([]string, 0, bits.OnesCount64(uint64(s)))
	for ; s != 0; s &= s - 1 {
		names = append(names, g.names[bits.TrailingZeros64(uint64(s))])
	}
	return names
}

// needsOf returns what the nodes of s need.
func (g *Gate) needsOf(s set) set {
	var all set
	for ; s != 0; s &= s - 1 {
		all |= g.needs[bits.TrailingZeros64(uint64(s))]
	}
	return all
}

// Given is what a context node brings into a pack without a search.
type Given struct {
	Node   string
	Items  []Selector // the newest of these; each has a category
	Turns  int        // the last turns of the request's session, at most
	Tokens int        // at most
}

// Input is what a turn looks like. See schemas.RelevanceRequest.
type Input struct {
	Mode                 string
	Signals              map[string]any
	Classification       map[string]any
	ReturningFromSilence bool
	TokenBudgetRemaining int // tokens; 0 means no headroom is known
}

// From returns the input of a request's relevance part.
func From(r *schemas.RelevanceRequest) Input {
	return Input{Mode: r.Mode, Signals: r.Signals, Classification: r.Classification,
		ReturningFromSilence: r.ReturningFromSilence, TokenBudgetRemaining: r.TokenBudgetRemaining}
}
