package policytest

import (
	"embed"
	"encoding/json"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
	"satchel/test/must"
)

//go:embed cases/*.json
var caseFiles embed.FS

//go:embed one_by_one.rego
var oneByOne []byte

// OneByOne is the built-in policy as rules for one item, in Rego: the plain form to
// which the form that decides on many items at once is held. It lacks the filter.
func OneByOne() []byte { return slices.Clone(oneByOne) }

// decisionCase is a question and its answer, as in cases/*.json.
type decisionCase struct {
	Name    string    `json:"name"`
	Action  string    `json:"action"`
	Purpose string    `json:"purpose"`
	Now     time.Time `json:"now"`
	Subject struct {
		Tenant string   `json:"tenant"`
		ID     string   `json:"id"`
		Kind   string   `json:"kind"`
		Level  int      `json:"level"`
		Groups []string `json:"groups"`
		Roles  []string `json:"roles"`
	} `json:"subject"`
	Items []struct {
		schemas.Facets
		ID        string    `json:"id"`
		PIIFlags  []string  `json:"pii_flags"`
		ExpiresAt time.Time `json:"expires_at"`
		ValidTo   time.Time `json:"valid_to"`
	} `json:"items"`
	Want []struct {
		Allow  bool     `json:"allow"`
		Reason string   `json:"reason"`
		Redact []string `json:"redact"`

		Obligations schemas.Obligations `json:"obligations"`
	} `json:"want"`
}

func runCases(t *testing.T, p policies.PDP) {
	files := must.Get(fs.Glob(caseFiles, "cases/*.json"))(t)
	for _, name := range files {
		raw := must.Get(caseFiles.ReadFile(name))(t)
		var cases []decisionCase
		if err := json.Unmarshal(raw, &cases); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range cases {
			t.Run(cases[i].Name, func(t *testing.T) { cases[i].run(t, p) })
		}
	}
}

func (c *decisionCase) run(t *testing.T, p policies.PDP) {
	s, err := scope.New(c.Subject.Tenant, scope.Principal{
		Kind: c.Subject.Kind, ID: c.Subject.ID, Level: c.Subject.Level,
		Groups: c.Subject.Groups, Roles: c.Subject.Roles,
	}, c.Purpose)
	if err != nil {
		t.Fatal(err)
	}
	r := policies.Request{Action: c.Action, Now: c.Now}
	for _, item := range c.Items {
		r.Resources = append(r.Resources, policies.Resource{
			ID: item.ID, Facets: item.Facets, PIIFlags: item.PIIFlags, ExpiresAt: item.ExpiresAt, ValidTo: item.ValidTo,
		})
	}
	var want []policies.Verdict
	for _, w := range c.Want {
		want = append(want, policies.Verdict{Allow: w.Allow, Reason: w.Reason, Redact: w.Redact, Obligations: w.Obligations})
	}
	for _, turn := range []string{"first", "again"} {
		d := must.Get(p.Decide(t.Context(), s, r))(t)
		if diff := cmp.Diff(want, d.Verdicts, ignoreEmpty()); diff != "" {
			t.Errorf("%s time (-want +got):\n%s", turn, diff)
		}
	}
}
