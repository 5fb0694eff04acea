package worker_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/schemas"
)

// asked returns the results of a question by words alone.
func (w *world) asked(t *testing.T, words string, roles ...string) []schemas.ResultItem {
	t.Helper()
	out, err := w.worker.Service.Request(within(t), "acme", request(t, "reader", "internal", words, func(r *schemas.ContextRequest) {
		r.Meta.From.Roles, r.Payload.Query.Type, r.Payload.IncludeScores, r.Payload.Fill = roles, schemas.QueryKeyword, true, true
	}))
	must(t, err)
	return payloadOf(t, out).Results
}

// Only a principal to whom policy shows the whole item finds it by a word that it hides from
// others. For everybody else scores and counts are those of a world without the word.
func TestHiddenWordsAreFoundByReadersWhoSeeThem(t *testing.T) {
	t.Parallel()
	w := setup(t)
	version := 0
	put := func(id, text string, change ...func(map[string]any)) {
		version++
		ev := recorded(t, id, text, change...)
		ev.SetID(fmt.Sprint("version-", version))
		w.put(t, ev, "indexed")
	}
	hide := func(pin, diagnosis string) {
		put("pin", "", func(d map[string]any) {
			d["content"], d["pii_flags"] = map[string]any{"name": "case ninetyone", "pin": pin}, []string{"$.content.pin"}
		})
		put("whole", "the diagnosis is "+diagnosis, func(d map[string]any) {
			d["security_label"] = []string{"level:internal", "pii:medical"}
		})
	}
	put("open", "case ninetytwo has nothing to hide")
	ids := func(words string, roles ...string) (found []string) {
		for _, r := range w.asked(t, words, roles...) {
			found = append(found, r.ID)
		}
		slices.Sort(found)
		return found
	}
	hide("zyxwv", "lupus")
	for _, c := range []struct {
		words string
		roles []string
		want  []string
	}{
		{"zyxwv", nil, nil},
		{"zyxwv", []string{"auditor", "credentials_reader"}, nil},
		{"zyxwv", []string{"pii_reader"}, []string{"pin"}},
		{"lupus", nil, nil},
		{"lupus", []string{"auditor"}, nil},
		{"lupus", []string{"pii_reader"}, []string{"whole"}},
		{"case zyxwv lupus", []string{"pii_reader"}, []string{"open", "pin", "whole"}},
		{"case zyxwv lupus", nil, []string{"open", "pin"}},
	} {
		if diff := cmp.Diff(c.want, ids(c.words, c.roles...)); diff != "" {
			t.Errorf("%q as %v: %s", c.words, c.roles, diff)
		}
	}
	before := w.asked(t, "case zyxwv lupus")
	hide("qqqqq", "gout") // other hidden words, the same items for a reader without roles
	after := w.asked(t, "case zyxwv lupus")
	if diff := cmp.Diff(scoresOf(before), scoresOf(after)); diff != "" {
		t.Errorf("hidden words move scores: %s", diff)
	}
	if found := ids("zyxwv", "pii_reader"); found != nil {
		t.Errorf("a word of an earlier version still finds %v", found)
	}
	w.publish(t, "acme", forgetting(t, "f", "pin"))
	w.receipt(t, "acme", "f")
	if found := ids("qqqqq gout", "pii_reader"); !slices.Equal(found, []string{"whole"}) {
		t.Errorf("after an erasure: %v", found)
	}
	if n, err := w.private.Remaining(within(t), system(t, "acme"), []string{"pin"}); err != nil || n != 0 {
		t.Errorf("the private index still holds %d items, %v", n, err)
	}
}

func scoresOf(results []schemas.ResultItem) map[string]float64 {
	out := map[string]float64{}
	for _, r := range results {
		out[r.ID] = *r.Score
	}
	return out
}
