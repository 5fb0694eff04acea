package source

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/schemas"
)

const nested = `{"id":"ghap_7","created_at":"2026-03-04T05:06:07+01:00","session_id":"s1","domain":"debugging","strategy":"systematic-elimination",
"goal":"find the leak","hypothesis":"the cache grows","action":"bounded it","prediction":"memory stays","iteration_count":2,"extra":[1],
"outcome":{"status":"falsified","result":"still grew"},"surprise":"it was the log","root_cause":{"category":"wrong-assumption","description":"the log kept lines"},
"lesson":{"what_worked":"a heap profile","takeaway":"measure first"},"confidence_tier":"gold"}`

func TestDecodeExperience(t *testing.T) {
	t.Parallel()
	item, issues := DecodeExperience([]byte(nested), "acme", []string{"level:internal"})
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	if item.ID != "ghap:ghap_7" || item.CreatedAt.Format("15:04:05Z07:00") != "04:06:07Z" || item.Session != "s1" || item.Category != "debugging" {
		t.Errorf("item %+v", item)
	}
	const text = "Goal: find the leak\nStrategy: systematic-elimination\nHypothesis: the cache grows\nAction: bounded it\nPrediction: memory stays\nOutcome: falsified - still grew\nSurprise: it was the log\nRoot cause: wrong-assumption: the log kept lines\nLesson: a heap profile\nTakeaway: measure first"
	if d := cmp.Diff(text, item.Content.Text()); d != "" {
		t.Error(d)
	}
	a, err := item.Experience()
	want := schemas.ExperienceAttributes{Domain: "debugging", Strategy: "systematic-elimination", Axis: "full", GHAPID: "ghap_7", Goal: "find the leak", Hypothesis: "the cache grows", Action: "bounded it",
		Prediction: "memory stays", OutcomeStatus: "falsified", OutcomeResult: "still grew", Surprise: "it was the log", RootCause: "wrong-assumption: the log kept lines",
		Lesson: &schemas.Lesson{WhatWorked: "a heap profile", Takeaway: "measure first"}, ConfidenceTier: "gold", IterationCount: 2}
	if d := cmp.Diff(want, a); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	flat, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	again, issues := DecodeExperience(flat, "acme", []string{"level:internal"})
	if len(issues) > 0 || again.Content.Text() != text || again.ID != item.ID || again.CreatedAt.Unix() != 0 {
		t.Errorf("the flat form: %v\n%+v", issues, again)
	}
}

func TestWhatIsWrongWithAnExperienceIsNamed(t *testing.T) {
	t.Parallel()
	good := `{"domain":"d","goal":"g","hypothesis":"h","action":"a","prediction":"p","outcome_status":"confirmed","root_cause":"r","lesson":"l"}`
	if item, issues := DecodeExperience([]byte(good), "acme", []string{"level:internal"}); len(issues) > 0 || !strings.HasPrefix(item.ID, "ghap:") {
		t.Fatal(issues)
	}
	for _, c := range []struct {
		from, to string
		want     []string
	}{
		{`{`, ``, []string{""}}, {good, `[]`, []string{""}}, {good, `null`, []string{"/domain", "/goal", "/hypothesis", "/action", "/prediction", "/outcome_status"}},
		{`"goal":"g"`, `"goal":" "`, []string{"/goal"}}, {`"goal":"g"`, `"goal":7`, []string{"/goal"}}, {`"outcome_status":"confirmed"`, `"outcome":{"status":"won"}`, []string{"/outcome_status"}},
		{`"lesson":"l"`, `"confidence_tier":"tin"`, []string{"/confidence_tier"}}, {`"lesson":"l"`, `"created_at":"yesterday"`, []string{"/created_at"}},
		{`"lesson":"l"`, `"iteration_count":-1`, []string{"/iteration_count"}}, {`"lesson":"l"`, `"axis":"x"`, []string{"/axis"}}, {`"lesson":"l"`, `"security_label":["x"]`, []string{"/security_label/0"}},
	} {
		_, issues := DecodeExperience([]byte(strings.Replace(good, c.from, c.to, 1)), "acme", []string{"level:internal"})
		var got []string
		for _, i := range issues {
			got = append(got, i.Pointer)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.to, issues, c.want)
		}
	}
}

func FuzzDecodeExperience(f *testing.F) {
	f.Add([]byte(nested))
	f.Add([]byte(`{"root_cause":null,"lesson":null,"outcome":null,"created_at":1e300}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		item, issues := DecodeExperience(raw, "acme", []string{"level:internal"})
		if found := item.Validate(); len(issues) == 0 && len(found) > 0 {
			t.Fatal(found)
		}
	})
}
