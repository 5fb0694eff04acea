package pack

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/cache"
	"satchel/pipeline/language"
	"satchel/schemas"
)

//go:embed affordances.yaml
var builtinRules []byte

// evidenceBytes is how much of an item's text the rules read.
const evidenceBytes = 2048

// Rules suggest actions from patterns in the shown items; affordances.yaml says how one
// is written. They are safe for concurrent use.
type Rules struct {
	list       []rule
	attributes bool    // an expression reads them
	textual    ruleSet // rules whose each reads nothing but the text and the state
	texts      *cache.Memo[ruleSet]
}

type rule struct {
	Type        string            `yaml:"type"`
	Description string            `yaml:"description"`
	Each        string            `yaml:"each"`
	When        string            `yaml:"when"`
	Confidence  string            `yaml:"confidence"`
	Parameters  map[string]string `yaml:"parameters"`

	each, when, confidence *vm.Program
	parameters             map[string]*vm.Program
	attributes             bool // an expression reads them
}

// cause is an item as a rule reads it.
type cause struct {
	ID         string         `expr:"id"`
	Kind       string         `expr:"kind"`
	Type       string         `expr:"type"`
	Category   string         `expr:"category"`
	Speaker    string         `expr:"speaker"`
	Role       string         `expr:"role"`
	Source     string         `expr:"source"`
	Session    string         `expr:"session"`
	Score      float64        `expr:"score"`
	Tokens     int            `expr:"tokens"`
	Text       string         `expr:"text"`
	Reports    bool           `expr:"reports"` // it may say what happened: no code or document, and not over
	Failed     bool           `expr:"failed"`  // its status says so
	Attributes map[string]any `expr:"attributes"`
}

// pattern is a pack as a rule reads it.
type pattern struct {
	Items    int     `expr:"items"`
	Score    float64 `expr:"score"`
	Shown    int     `expr:"shown"`
	Best     float64 `expr:"best"`
	Words    int     `expr:"words"`
	Found    int     `expr:"found"`
	Doubtful bool    `expr:"doubtful"`
}

// NewRules returns the built-in rules and those of a file, which may be nil. An error
// names the file and the line.
func NewRules(name string, raw []byte) (*Rules, error) {
	list, err := readRules("affordances.yaml", builtinRules)
	if err != nil {
		return nil, err
	}
	own, err := readRules(name, raw)
	if err != nil {
		return nil, err
	}
	for _, r := range own {
		if i := slices.IndexFunc(list, func(x rule) bool { return x.Type == r.Type }); i >= 0 {
			list[i] = r
		} else {
			list = append(list, r)
		}
	}
	r := &Rules{list: list, texts: cache.NewMemo[ruleSet](rulesBytes)}
	for i := range list {
		r.attributes = r.attributes || list[i].attributes
		if list[i].each != nil && readsText(list[i].each) {
			r.textual |= 1 << i // none for the 65th and later
		}
	}
	return r, nil
}

func readRules(name string, raw []byte) ([]rule, error) {
	if len(strings.TrimSpace(string(raw))) == 0 {
		return nil, nil
	}
	var doc struct {
		Lists map[string]string `yaml:"lists"` // of phrases, by name
		Rules []rule            `yaml:"rules"`
	}
	if err := yaml.UnmarshalWithOptions(raw, &doc, yaml.DisallowUnknownField()); err != nil {
		line := 1
		message := "not YAML"
		var located interface {
			GetMessage() string
			GetToken() *token.Token
		}
		if errors.As(err, &located) {
			message = located.GetMessage()
			if at := located.GetToken(); at != nil {
				line = at.Position.Line
			}
		}
		return nil, fmt.Errorf("read rules %s:%d: %s", name, line, message)
	}
	tree, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return nil, fmt.Errorf("read rules %s: %w", name, err)
	}
	for i := range doc.Rules {
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(doc.Lists))) { // a longer name before its beginning
			doc.Rules[i].Each = strings.ReplaceAll(doc.Rules[i].Each, "$"+name, strings.ReplaceAll(doc.Lists[name], "| ", "|"))
		}
		if field, err := doc.Rules[i].compileRule(); err != nil {
			return nil, fmt.Errorf("read rules %s:%d: rule %q: %s: %w", name, lineOf(tree, i, field), doc.Rules[i].Type, field, err)
		}
	}
	return doc.Rules, nil
}

// lineOf is the line of a field of rule i, or else of the rule.
func lineOf(tree *ast.File, i int, field string) int {
	for _, path := range []string{fmt.Sprintf("$.rules[%d].%s", i, field), fmt.Sprintf("$.rules[%d]", i)} {
		p, err := yaml.PathString(path)
		if err != nil {
			continue
		}
		if node, err := p.FilterFile(tree); err == nil && node != nil {
			return node.GetToken().Position.Line
		}
	}
	return 1
}

// compileRule reads the expressions; of an error it names the field.
func (r *rule) compileRule() (field string, err error) {
	switch {
	case r.Type == "":
		return "type", errors.New("is missing")
	case r.Confidence == "":
		return "confidence", errors.New("is missing")
	case r.Each == "" && r.When == "":
		return "when", errors.New("is missing, and each too")
	case r.When == "":
		r.When = "items > 0"
	}
	if r.Each != "" {
		if r.each, err = compileExpr(r.Each, cause{}, expr.AsBool()); err != nil {
			return "each", err
		}
		r.attributes = strings.Contains(r.Each, "attributes")
	}
	if r.when, err = compileExpr(r.When, pattern{}, expr.AsBool()); err != nil {
		return "when", err
	}
	if r.confidence, err = compileExpr(r.Confidence, pattern{}, expr.AsFloat64()); err != nil {
		return "confidence", err
	}
	r.parameters = make(map[string]*vm.Program, len(r.Parameters))
	for _, name := range slices.Sorted(maps.Keys(r.Parameters)) {
		if r.parameters[name], err = compileExpr(r.Parameters[name], pattern{}); err != nil {
			return "parameters." + name, err
		}
	}
	return "", nil
}

// compileExpr says of an error what and where it is, on one line.
func compileExpr(source string, env any, options ...expr.Option) (*vm.Program, error) {
	p, err := expr.Compile(source, append(options, expr.Env(env), expr.Function(saysName, saysFunction,
		new(func(string, string) bool), new(func(string, string, string) bool), new(func(string, string, string, string) bool)))...)
	var at *file.Error
	if errors.As(err, &at) {
		return nil, fmt.Errorf("%s at character %d", at.Message, at.Column+1)
	}
	return p, err
}

// saysName is the function says of expressions.
const saysName = "says"

func saysFunction(params ...any) (any, error) {
	list := make([]string, len(params))
	for i, p := range params {
		list[i], _ = p.(string) // the compiler checks the types
	}
	return anySays(list[0], list[1], list[2:]...), nil
}

// Afford suggests actions about the shown candidates, each with the items that caused
// it. Rules read the relevant items alone: what only fills the pack causes nothing. A rule
// that fails on an item takes that item for no cause; one that fails on the pack suggests
// nothing. Where nothing is shown, the best are those that the budget has no room for. A tool is among the best only where
// nothing else is shown. Doubtful is that what was found hardly answers the question.
func (r *Rules) Afford(cs []candidate.Candidate, shown []int, doubtful bool) []schemas.Affordance {
	p := pattern{Shown: len(shown), Found: len(cs), Doubtful: doubtful}
	bestWords := 0.0
	tools := onlyTools(cs)
	for _, i := range orTooLarge(cs, shown) {
		if tools || cs[i].Kind != schemas.KindTool {
			p.Best = max(p.Best, cs[i].Score)
		}
		if words := keywordScore(&cs[i]); words > 0 {
			p.Words++
			bestWords = max(bestWords, words)
		}
	}
	causes := make([]caused, 0, len(shown))
	machine := &vm.VM{}
	for _, i := range shown {
		if cs[i].Score < relevantCause*p.Best && (bestWords == 0 || keywordScore(&cs[i]) < relevantCause*bestWords) {
			continue
		}
		c := caused{Candidate: &cs[i]}
		c.reports, c.failed = stateOf(c.Candidate)
		state := uint8(0)
		for bit, is := range [...]bool{c.reports, c.failed} {
			if is {
				state |= 1 << bit
			}
		}
		c.held = r.texts.Of(evidenceOf(c.Candidate), state, func() (ruleSet, int) { return r.findHeldRules(machine, &c), 8 })
		causes = append(causes, c)
	}
	out := []schemas.Affordance{}
	for i := range r.list {
		if a, ok := r.suggestAffordance(machine, i, p, causes); ok {
			out = append(out, a)
		}
	}
	return out
}

// orTooLarge returns shown, or the candidates that the budget left out where that is empty.
func orTooLarge(cs []candidate.Candidate, shown []int) []int {
	if len(shown) > 0 {
		return shown
	}
	var out []int
	for i := range cs {
		if cs[i].Drop == schemas.DropBudget {
			out = append(out, i)
		}
	}
	return out
}

// relevantCause is the share of the best score, or of the best keyword score, from which an item
// may cause a suggestion.
const relevantCause = .5

func keywordScore(c *candidate.Candidate) float64 {
	words, _ := c.Channels.Of("keyword")
	return words.Score
}

// stateOf returns whether an item may say what happened, and whether its status says that it
// failed. Code and documents say how things are; what passed or was resolved is no cause.
func stateOf(c *candidate.Candidate) (reports, failed bool) {
	switch c.Kind {
	case schemas.KindMemory, schemas.KindExperience, schemas.KindSummary:
	default:
		return false, false
	}
	if !bytes.Contains(c.Attributes, []byte(`"status"`)) {
		return true, false
	}
	var a struct {
		Status string `json:"status"`
	}
	if json.Unmarshal(c.Attributes, &a) != nil {
		return true, false
	}
	status := strings.ToLower(strings.TrimSpace(a.Status))
	words := language.Default()
	return !words.Is(language.Resolved|language.Over, status), words.Is(language.Failed, status)
}

// caused is a candidate that is shown and what the rules say of it.
type caused struct {
	*candidate.Candidate
	reports, failed bool
	held            ruleSet // of the rules that read nothing but its text and state, those that hold
	env             any     // the cause that it is, once a rule's machine needs it
}

// findHeldRules returns those of the textual rules that hold.
func (r *Rules) findHeldRules(machine *vm.VM, c *caused) (held ruleSet) {
	for i := range r.list {
		if r.textual&(1<<i) != 0 && r.isRuleMet(machine, i, c) {
			held |= 1 << i
		}
	}
	return held
}

// isRuleMet runs rule i on an item.
func (r *Rules) isRuleMet(machine *vm.VM, i int, c *caused) bool {
	if c.env == nil {
		c.env = causeOf(c, r.attributes)
	}
	v, err := machine.Run(r.list[i].each, c.env)
	return err == nil && v == true
}

// evidenceOf is what of an item's text the rules read: of a JSON object its values, a line each.
func evidenceOf(c *candidate.Candidate) string {
	text := c.Content.Text()
	if raw := c.Content.Raw(); raw != nil {
		if of, ok := readMembers(raw); ok {
			lines := make([]string, 0, len(of))
			for _, name := range slices.Sorted(maps.Keys(of)) {
				lines = append(lines, of[name])
			}
			text = strings.Join(lines, "\n")
		}
	}
	return text[:min(len(text), evidenceBytes)]
}

func causeOf(c *caused, attributes bool) cause {
	r := c.Visible
	x := cause{
		ID: r.ID, Kind: string(r.Kind), Type: string(r.Type), Category: r.Category, Speaker: r.Speaker, Role: r.Role, Source: r.Provenance.SourceURI,
		Session: r.SessionID(), Score: c.Score, Tokens: c.Tokens, Text: strings.ToLower(evidenceOf(c.Candidate)),
		Reports: c.reports, Failed: c.failed,
	}
	if attributes && len(r.Attributes) > 0 && json.Unmarshal(r.Attributes, &x.Attributes) != nil {
		x.Attributes = nil
	}
	return x
}

func (r *Rules) suggestAffordance(machine *vm.VM, at int, p pattern, causes []caused) (schemas.Affordance, bool) {
	rule := &r.list[at]
	a := schemas.Affordance{Type: rule.Type, Description: rule.Description}
	for i := range causes {
		if rule.each == nil {
			break
		}
		held := causes[i].held&(1<<at) != 0
		if r.textual&(1<<at) == 0 {
			held = r.isRuleMet(machine, at, &causes[i])
		}
		if held {
			a.Items = append(a.Items, causes[i].ID)
			p.Score = max(p.Score, causes[i].Score)
		}
	}
	p.Items = len(a.Items)
	var env any = p
	if holds, err := machine.Run(rule.when, env); err != nil || holds != true {
		return a, false
	}
	confidence, err := machine.Run(rule.confidence, env)
	v, ok := confidence.(float64)
	if err != nil || !ok || math.IsNaN(v) {
		return a, false
	}
	a.Confidence = math.Round(1e4*min(max(v, 0), maxConfidence)) / 1e4
	for name, program := range rule.parameters {
		v, err := machine.Run(program, env)
		if f, ok := v.(float64); ok {
			v = math.Trunc(f*1e4) / 1e4
			err = errors.Join(err, checkFinite(f))
		}
		if err != nil {
			return a, false
		}
		if a.Parameters == nil {
			a.Parameters = map[string]any{}
		}
		a.Parameters[name] = v
	}
	return a, true
}

// maxConfidence is that of the surest suggestion.
const maxConfidence = .95

func checkFinite(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return errors.New("not a number")
	}
	return nil
}
