package pack_test

import (
	_ "embed"
	"strings"
	"testing"

	"satchel/pipeline/pack"
	"satchel/schemas"
)

// Sentences in the style of public incident reports, and harmless ones that have their words. Every third is held out:
// the lists of affordances.yaml were made without it.
//
//go:embed testdata/escalation/serious.txt
var serious string

//go:embed testdata/escalation/harmless.txt
var harmless string

// TestEscalation holds the rule escalate_to_human to the share of serious sentences that it finds, and to silence on the
// harmless ones.
func TestEscalation(t *testing.T) {
	t.Parallel()
	rules, err := pack.NewRules("", nil)
	if err != nil {
		t.Fatal(err)
	}
	escalates := func(text string) bool {
		cs, shown := evidence(.8, text)
		cs[0].Kind, cs[0].Attributes = schemas.KindMemory, nil
		for _, a := range rules.Afford(cs, shown, false) {
			if a.Type == "escalate_to_human" {
				return true
			}
		}
		return false
	}
	for name, tc := range map[string]struct {
		list          string
		want          bool
		tuned, unseen int // wrong at most
	}{
		"serious":  {serious, true, 10, 2},
		"harmless": {harmless, false, 9, 2}, // of the last 65, which have many of the words
	} {
		wrong := [2][]string{}
		for i, text := range strings.Split(strings.TrimSpace(tc.list), "\n") {
			if escalates(text) != tc.want {
				held := min(1, i%3/2)
				wrong[held] = append(wrong[held], text)
			}
		}
		t.Logf("%s: %d wrong, %d of those held out", name, len(wrong[0]), len(wrong[1]))
		if len(wrong[0]) > tc.tuned || len(wrong[1]) > tc.unseen {
			t.Errorf("%s, wrong:\n%s\nand %d held out", name, strings.Join(wrong[0], "\n"), len(wrong[1]))
		}
	}
}
