package relevance

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"satchel/schemas"
)

// ErrConfig is wrapped by every error about a configuration's content: unknown
// fields, wrong values, circular dependencies.
var ErrConfig = errors.New("invalid relevance configuration")

// Strength says whether an excluded node can come back.
type Strength string

// The strengths.
const (
	Hard Strength = "hard" // never recovered
	Soft Strength = "soft" // recovered while the token headroom lasts
)

// Defaults of a configuration's numbers.
const (
	DefaultRecoveryBudget = 1500 // tokens
	DefaultMaxNodes       = 12
	DefaultNodeTokens     = 200
	DefaultTurns          = 8   // turns of the session that a request gets which says nothing of relevance
	DefaultTurnTokens     = 500 // at most, of these
	maxNodes              = 64  // nodes a configuration can name
	maxTurns              = 100
)

// Config is the configuration file. The zero value means the built-in configuration.
type Config struct {
	// Enabled set to false includes everything; default true.
	Enabled *bool `json:"enabled,omitempty"`
	// TemplateMasks say per mode which nodes its template references. A node that a
	// mask does not name is included; a mode without a mask includes everything.
	TemplateMasks map[string]map[string]bool `json:"template_masks"`
	// SignalRules exclude a node when any of its rules holds; a hard one wins.
	SignalRules map[string][]Rule `json:"signal_rules,omitempty"`
	// Dependencies name what a node needs. A cycle is an error.
	Dependencies map[string][]string `json:"dependencies,omitempty"`
	// UrgencyOverrides are included when classification.urgency is "high".
	UrgencyOverrides []string `json:"urgency_overrides,omitempty"`
	// SafetyOverrides include a node when any of its conditions holds.
	SafetyOverrides map[string][]Condition `json:"safety_overrides,omitempty"`
	// SoftRecoveryBudget is the headroom in tokens below which nothing is recovered; default 1500.
	SoftRecoveryBudget *int `json:"soft_recovery_budget,omitempty"`
	// SoftRecoveryPriority orders recovery; nodes it does not name follow by name.
	SoftRecoveryPriority []string `json:"soft_recovery_priority,omitempty"`
	// MaxIncludedNodes is where the safeguard warns; default 12.
	MaxIncludedNodes int `json:"max_included_nodes,omitempty"`
	// Nodes say what a node costs and gates, on top of the built-in table.
	Nodes map[string]Node `json:"nodes,omitempty"`
	// Signals say what a signal is, on top of the built-in table. One that is not among
	// them is what the rules compare it with; where they compare it with something else
	// than is said here, that is not held against who sends it.
	Signals map[string]Signal `json:"signals,omitempty"`
}

// Rule excludes a node with a strength when its condition holds.
type Rule struct {
	When     map[string]any `json:"when"`
	Strength Strength       `json:"strength"`
}

// Condition holds when every predicate of When does: "key": value for equality,
// key_gte, key_gt, key_lte, key_lt for numbers, key_eq for equality. A signal that is
// missing fails its predicate. returning_from_silence is always known.
type Condition struct {
	When map[string]any `json:"when"`
}

// Node is what a node costs and what it gates.
type Node struct {
	Tokens     int        `json:"est_tokens,omitempty"` // estimate; default 200
	Items      []Selector `json:"items,omitempty"`
	Retrievers []string   `json:"retrievers,omitempty"`
	Turns      int        `json:"session_turns,omitempty"` // the node is the last turns of the request's session, this many at most
}

// Selector matches items: every field given must agree.
type Selector struct {
	Kind     schemas.Kind       `json:"kind,omitempty"`
	Type     schemas.MemoryType `json:"type,omitempty"`
	Category string             `json:"category,omitempty"`
}

// Signal is what a signal can be. Any other value gives a warning.
type Signal struct {
	Type SignalType `json:"type"`
	Min  *float64   `json:"min,omitempty"` // of a number
	Max  *float64   `json:"max,omitempty"` // of a number
}

// SignalType is what the values of a signal are.
type SignalType string

// The types of signals.
const (
	Number  SignalType = "number"
	Boolean SignalType = "boolean"
	Text    SignalType = "text"
)

//go:embed default.json
var defaultConfig []byte

// DefaultJSON returns the file that the built-in configuration is read from.
func DefaultJSON() []byte { return bytes.Clone(defaultConfig) }

// DefaultConfig returns the built-in configuration.
func DefaultConfig() (Config, error) { return Parse(defaultConfig) }

// Parse reads a configuration. Unknown fields are refused.
func Parse(data []byte) (Config, error) {
	var c Config
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return Config{}, fmt.Errorf("%w: read it: %w", ErrConfig, err)
	}
	if d.More() {
		return Config{}, fmt.Errorf("%w: there is text after the object", ErrConfig)
	}
	return c, nil
}

// Load reads the file at path. The gate it returns is usable in any case: with an
// error it includes every node of the built-in configuration and says so in the warnings of each decision. A caller
// that must not run on a mistake checks for ErrConfig.
func Load(path string) (*Gate, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return includeAll("the relevance configuration cannot be read: everything is included"), fmt.Errorf("read relevance configuration: %w", err)
	}
	c, err := Parse(data)
	if err == nil {
		var g *Gate
		if g, err = New(c); err == nil {
			return g, nil
		}
	}
	return includeAll("the relevance configuration is invalid: everything is included"), fmt.Errorf("load relevance configuration %q: %w", path, err)
}

// isZero reports whether nothing is configured.
func (c *Config) isZero() bool {
	return c.Enabled == nil && c.TemplateMasks == nil && c.SignalRules == nil && c.Dependencies == nil &&
		c.UrgencyOverrides == nil && c.SafetyOverrides == nil && c.SoftRecoveryBudget == nil &&
		c.SoftRecoveryPriority == nil && c.MaxIncludedNodes == 0 && c.Nodes == nil && c.Signals == nil
}

// listAllNodes returns the nodes there are, sorted.
func (c *Config) listAllNodes() []string { return slices.Sorted(maps.Keys(c.Nodes)) }

// mention is a place that speaks of nodes.
type mention struct {
	where string
	nodes []string
}

// listMentions returns all places that speak of nodes but the nodes section, in a fixed order.
func (c *Config) listMentions() []mention {
	var out []mention
	for _, mode := range slices.Sorted(maps.Keys(c.TemplateMasks)) {
		out = append(out, mention{"template_masks." + mode, slices.Sorted(maps.Keys(c.TemplateMasks[mode]))})
	}
	out = append(out,
		mention{"signal_rules", slices.Sorted(maps.Keys(c.SignalRules))},
		mention{"dependencies", slices.Sorted(maps.Keys(c.Dependencies))})
	for _, node := range slices.Sorted(maps.Keys(c.Dependencies)) {
		out = append(out, mention{"dependencies." + node, c.Dependencies[node]})
	}
	return append(out,
		mention{"urgency_overrides", c.UrgencyOverrides},
		mention{"safety_overrides", slices.Sorted(maps.Keys(c.SafetyOverrides))},
		mention{"soft_recovery_priority", c.SoftRecoveryPriority})
}

// validateMentions refuses a node that is spoken of and that there is not.
func (c *Config) validateMentions() error {
	names := c.listAllNodes()
	for _, m := range c.listMentions() {
		for _, node := range m.nodes {
			if _, ok := c.Nodes[node]; ok {
				continue
			}
			hint := ""
			if near, ok := findNearest(node, names); ok {
				hint = ": is it " + near + "?"
			}
			return fmt.Errorf("%w: %s: node %s is neither built in nor declared in nodes%s", ErrConfig, m.where, quoteName(node), hint)
		}
	}
	return nil
}

// Validate returns an error that wraps ErrConfig and names the first thing wrong. The nodes
// are those of c alone: New adds the built-in ones before.
func (c *Config) Validate() error {
	names := c.listAllNodes()
	if len(names) > maxNodes {
		return fmt.Errorf("%w: %d nodes, at most %d", ErrConfig, len(names), maxNodes)
	}
	for _, n := range names {
		if !schemas.ValidToken(n) {
			return fmt.Errorf("%w: node %q must match [A-Za-z0-9_-]{1,64}", ErrConfig, n)
		}
	}
	for mode := range c.TemplateMasks {
		if !schemas.ValidToken(mode) {
			return fmt.Errorf("%w: mode %q must match [A-Za-z0-9_-]{1,64}", ErrConfig, mode)
		}
	}
	if c.MaxIncludedNodes < 0 {
		return fmt.Errorf("%w: max_included_nodes is negative", ErrConfig)
	}
	if c.SoftRecoveryBudget != nil && *c.SoftRecoveryBudget < 0 {
		return fmt.Errorf("%w: soft_recovery_budget is negative", ErrConfig)
	}
	if cycle := findCycle(c.Dependencies); cycle != nil {
		return fmt.Errorf("%w: dependencies run in a circle: %s", ErrConfig, strings.Join(cycle, " → "))
	}
	if err := c.validateMentions(); err != nil {
		return err
	}
	if err := c.validateSignals(); err != nil {
		return err
	}
	return c.validateNodes()
}

func (c *Config) validateSignals() error {
	for _, name := range slices.Sorted(maps.Keys(c.Signals)) {
		s := c.Signals[name]
		switch {
		case name == returningKey:
			return fmt.Errorf("%w: %s is a field of its own, not a signal", ErrConfig, name)
		case !schemas.ValidToken(name):
			return fmt.Errorf("%w: signal %q must match [A-Za-z0-9_-]{1,64}", ErrConfig, name)
		case s.Type != Number && s.Type != Boolean && s.Type != Text:
			return fmt.Errorf("%w: type %q of signal %q must be number, boolean or text", ErrConfig, s.Type, name)
		case s.Type != Number && (s.Min != nil || s.Max != nil):
			return fmt.Errorf("%w: signal %q is no number and has a min or max", ErrConfig, name)
		case s.Min != nil && s.Max != nil && *s.Min > *s.Max:
			return fmt.Errorf("%w: min of signal %q is above its max", ErrConfig, name)
		}
	}
	return nil
}

func (c *Config) validateNodes() error {
	for _, name := range slices.Sorted(maps.Keys(c.Nodes)) {
		node := c.Nodes[name]
		if node.Tokens < 0 {
			return fmt.Errorf("%w: est_tokens of node %q is negative", ErrConfig, name)
		}
		if node.Turns < 0 || node.Turns > maxTurns {
			return fmt.Errorf("%w: session_turns of node %q must be 0 to %d", ErrConfig, name, maxTurns)
		}
		for _, s := range node.Items {
			if _, ok := s.Kind.Info(); s.Kind != "" && !ok {
				return fmt.Errorf("%w: node %q gates kind %q, which is none", ErrConfig, name, s.Kind)
			}
			if s == (Selector{}) {
				return fmt.Errorf("%w: node %q has an empty selector", ErrConfig, name)
			}
		}
	}
	return nil
}

// findCycle returns a circle of dependencies, its first node repeated at the end, nil for none.
func findCycle(needs map[string][]string) []string {
	const (
		open = 1
		done = 2
	)
	state := map[string]int{}
	var path, cycle []string
	var visit func(node string) bool
	visit = func(node string) bool {
		switch state[node] {
		case done:
			return false
		case open:
			cycle = append(slices.Clone(path[slices.Index(path, node):]), node)
			return true
		}
		state[node] = open
		path = append(path, node)
		if slices.ContainsFunc(needs[node], visit) {
			return true
		}
		path = path[:len(path)-1]
		state[node] = done
		return false
	}
	for _, node := range slices.Sorted(maps.Keys(needs)) {
		if visit(node) {
			return cycle
		}
	}
	return nil
}
