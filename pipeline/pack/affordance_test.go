package pack_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pack"
	"satchel/schemas"
)

func evidence(score float64, texts ...string) ([]candidate.Candidate, []int) {
	var cs []candidate.Candidate
	var shown []int
	for i, text := range texts {
		cs = append(cs, whole(candidate.Candidate{Standing: score, Score: score, Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{
			ID: "m" + string(rune('1'+i)), Kind: schemas.KindExperience, Content: schemas.TextContent(text), Attributes: []byte(`{"domain":"debugging","n":3}`)}}}))
		shown = append(shown, i)
	}
	return cs, shown
}

// TestBuiltInRules holds the five of the design to their confidences, parameters and causes.
func TestBuiltInRules(t *testing.T) {
	t.Parallel()
	rules, err := pack.NewRules("", nil)
	if err != nil {
		t.Fatal(err)
	}
	cs, shown := evidence(.04, "The login TEST failed", "Another test broke", "the selector #go is gone", "the spec is flaky again", "an OUTAGE of the service", "nothing")
	got := rules.Afford(cs, shown, false)
	for i := range got {
		if got[i].Description == "" {
			t.Errorf("%s has no description", got[i].Type)
		}
		got[i].Description = ""
	}
	want := []schemas.Affordance{
		{Type: "retry_with_healing", Confidence: .7, Items: []string{"m1", "m2"}, Parameters: map[string]any{"failures": 2}},
		{Type: "suggest_fix", Confidence: .85, Items: []string{"m3"}, Parameters: map[string]any{"affectedTests": 1, "suggestedStrategy": "data-testid"}},
		{Type: "rerun_tests", Confidence: .75, Items: []string{"m4"}, Parameters: map[string]any{"items": 1}},
		{Type: "request_more_context", Confidence: .6, Parameters: map[string]any{"bestScore": .04}},
		{Type: "escalate_to_human", Confidence: .95, Items: []string{"m5"}, Parameters: map[string]any{"items": 1}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	cs, shown = evidence(.9, "one test failed")
	if got := rules.Afford(cs, shown, false); len(got) != 0 {
		t.Errorf("one failure and nothing else suggests %+v", got)
	}
	cs, shown = evidence(.04, "the build is green")
	if got := rules.Afford(cs, shown, false); len(got) != 1 || got[0].Type != "request_more_context" {
		t.Errorf("the only item, which has no word of the query, suggests %+v", got)
	}
	cs[0].Channels = candidate.Channels{{Name: "keyword", Channel: schemas.Channel{Rank: 1, Score: 1.2}}}
	if got := rules.Afford(cs, shown, false); len(got) != 0 {
		t.Errorf("the only item, which has a word of the query, suggests %+v", got)
	}
	if got := rules.Afford(cs, shown, true); len(got) != 1 || got[0].Type != "request_more_context" {
		t.Errorf("what hardly answers suggests %+v", got)
	}
	if got := rules.Afford(nil, nil, false); len(got) != 1 || got[0].Type != "request_more_context" {
		t.Errorf("an empty pack suggests %+v", got)
	}
	for score, want := range map[float64]int{.9: 0, .04: 1} {
		cs, _ = evidence(score, "the build is green")
		cs[0].Drop = schemas.DropBudget
		if got := rules.Afford(cs, nil, false); len(got) != want {
			t.Errorf("a pack with no room for an item that scores %g suggests %+v", score, got)
		}
	}
}

func TestOwnRules(t *testing.T) {
	t.Parallel()
	rules, err := pack.NewRules("own.yaml", []byte(`rules:
  - type: rerun_tests
    description: Not here
    when: "false"
    confidence: "1"
  - type: ask_owner
    description: Ask
    each: kind == "experience" and attributes.domain == "debugging" and text matches "^fl[aA]ky"
    when: items >= 1 and shown < 10
    confidence: 2 * score
    parameters: {share: "items / shown", worst: "0.0 / 0.0 > 1"}
  - type: broken_at_work
    description: Its expression fails on what it meets
    each: attributes.missing.member > 1
    confidence: "1"
`))
	if err != nil {
		t.Fatal(err)
	}
	cs, shown := evidence(.6, "flaky again", "calm")
	want := []schemas.Affordance{{Type: "ask_owner", Description: "Ask", Confidence: .95, Items: []string{"m1"}, Parameters: map[string]any{"share": .5, "worst": false}}}
	if d := cmp.Diff(want, rules.Afford(cs, shown, false)); d != "" {
		t.Error(d)
	}
}

func TestRulesThatAreWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"rules:\n  - type: a\n    each: nope > 1\n    confidence: '1'":                                   `own.yaml:3: rule "a": each: unknown name nope at character 1`,
		"rules:\n  - type: a\n    when: items > 1\n    confidence: items +":                              `own.yaml:4: rule "a": confidence: `,
		"rules:\n  - type: a\n    when: items > 1\n    confidence: '\"x\"'":                              `own.yaml:4: rule "a": confidence: `,
		"rules:\n  - type: a\n    when: items\n    confidence: '1'":                                      `own.yaml:3: rule "a": when: `,
		"rules:\n  - type: a\n    each: 'true'\n    confidence: '1'\n    parameters:\n      x: '1 +* 2'": `own.yaml:6: rule "a": parameters.x: `,
		"rules:\n  - each: 'true'\n    confidence: '1'":                                                  `own.yaml:2: rule "": type: is missing`,
		"rules:\n  - type: a\n    when: items > 0":                                                       `own.yaml:2: rule "a": confidence: is missing`,
		"rules:\n  - type: a\n    confidence: '1'":                                                       `own.yaml:2: rule "a": when: is missing`,
		"rules:\n  - type: a\n    colour: red":                                                           `own.yaml:3: `,
		"rules: [":                                                                                       `own.yaml:1: `,
		"rules: 7":                                                                                       `own.yaml:1: `,
	} {
		if _, err := pack.NewRules("own.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestNoRulesSuggestNothing(t *testing.T) {
	t.Parallel()
	cs, shown := evidence(.5, "The build failed.")
	if got := new(pack.Rules).Afford(cs, shown, false); len(got) != 0 {
		t.Errorf("suggested %v", got)
	}
}

// TestSuggestionsReadWhatIsSaid has for each rule statements that cause it and others that have
// its words and do not.
func TestSuggestionsReadWhatIsSaid(t *testing.T) {
	t.Parallel()
	rules, err := pack.NewRules("", nil)
	if err != nil {
		t.Fatal(err)
	}
	suggests := func(kind string, set func(*candidate.Candidate), texts ...string) bool {
		cs, shown := evidence(.8, texts...)
		for i := range cs {
			cs[i].Attributes = nil
			set(&cs[i])
		}
		for _, a := range rules.Afford(cs, shown, false) {
			if a.Type == kind {
				return true
			}
		}
		return false
	}
	plain := func(*candidate.Candidate) {}
	for kind, texts := range map[string][]string{
		"retry_with_healing": {"Test login-spec-0 failed: expected the dashboard.", "The tests of the cart did not pass.", "Tests: 3 passed, 2 failed.",
			"No, the signup spec failed again.", "The regression suite did not pass: 4 of 90 cases failed.", "The e2e suite broke the test run but the build passed."},
		"suggest_fix": {"Selector #login-button was not found on the login page.", "The XPath locator of the form is stale.", "Playwright says: element not found.", "Locator button.primary resolved to 0 elements."},
		"rerun_tests": {"The checkout test is flaky: it passes on every second run.", "The CI build fails intermittently.", "The cart test passes on retry about half of the time."},
		"escalate_to_human": {"Production down: the payment database was lost, critical data loss.", "There was an outage of the mail service.",
			"A critical error stopped the billing system.", "Data was lost.", "customers are losing data", "It was not a drill but a security breach."},
	} {
		for _, text := range texts {
			if !suggests(kind, plain, text, text+" Again.") {
				t.Errorf("%q does not cause %s", text, kind)
			}
		}
	}
	for kind, texts := range map[string][]string{
		"retry_with_healing": {"The latest invoice had no failures in the contest.", "All login tests passed; none failed.", "Her testimony failed to convince.",
			"0 of the tests crashed: 0 failures.", "Did the test fail?", "If the test fails, call Ann.", "The failing test is fixed.", "He failed his driving test.", "The crop failed after the soil test.",
			"```\nfunc TestFail(t *testing.T) { t.Fatal(\"test failed\") }\n```", "The test didn't fail.", "No test failed."},
		"suggest_fix":       {"The colour selector of the kettle is blue.", "The selectors met on Monday.", "The gear selector is broken."},
		"rerun_tests":       {"The pastry was flaky and light.", "Intermittent rain is expected.", "The checkout test is no longer flaky."},
		"escalate_to_human": {"The film got critical acclaim.", "It is not critical and no outage occurred at the bakery.", "The emergency exit is on the left.", "Critical thinking is taught.", "The payment service is critical to us."},
	} {
		for _, text := range texts {
			if suggests(kind, plain, text, text+" Again.") {
				t.Errorf("%q causes %s", text, kind)
			}
		}
	}
	failed := []string{"The login test failed.", "The cart test failed."}
	for name, set := range map[string]func(*candidate.Candidate){
		"code":        func(c *candidate.Candidate) { c.Kind = schemas.KindCode },
		"a commit":    func(c *candidate.Candidate) { c.Kind = schemas.KindCommit },
		"a document":  func(c *candidate.Candidate) { c.Kind = schemas.KindKnowledge },
		"what passed": func(c *candidate.Candidate) { c.Attributes = []byte(`{"status":"resolved"}`) },
		"the fill": func(c *candidate.Candidate) {
			if c.ID == "m2" {
				c.Score = .1
			}
		},
	} {
		if suggests("retry_with_healing", set, failed...) {
			t.Errorf("%s causes retry_with_healing", name)
		}
	}
	if !suggests("retry_with_healing", func(c *candidate.Candidate) { c.Attributes = []byte(`{"status":"failed"}`) }, "The login test.", "The cart test.") {
		t.Error("two tests of status failed do not cause retry_with_healing")
	}
}
