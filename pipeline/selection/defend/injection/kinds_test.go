package injection

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// spoken is what stands in the items of a session, one after the other.
type spoken struct {
	Kind  string
	Texts []string
}

func readSpoken(t testing.TB, name string) []spoken {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var out []spoken
	for line := range strings.Lines(string(data)) {
		var s spoken
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// caught reports whether all texts are found to inject, alone or with their neighbours.
func (c *Classifier) caught(s spoken) bool {
	shares := c.Across(s.Texts)
	return !slices.ContainsFunc(s.Texts, func(text string) bool {
		return c.Score(text) < Threshold && shares[slices.Index(s.Texts, text)] == NoShare
	})
}

// Texts by hand, which no template makes, turn to their reader in seven ways. Training read none of them.
func TestKinds(t *testing.T) {
	t.Parallel()
	c := setup(t)
	found, all := map[string]int{}, map[string]int{}
	for _, s := range append(readSpoken(t, "attacks.jsonl"), readSpoken(t, "later.jsonl")...) {
		all[s.Kind]++
		if c.caught(s) {
			found[s.Kind]++
		} else {
			t.Logf("%s is not found: %.300q", s.Kind, s.Texts)
		}
	}
	for kind, least := range map[string]int{
		"conditional": 11, "comment": 13, "cell": 14, "polite": 15, "authoritative": 16, "buried": 9, "split": 15,
	} {
		if found[kind] < least || all[kind] < 10 {
			t.Errorf("%s: %d of %d are found, want %d", kind, found[kind], all[kind], least)
		}
	}
}

// Harmless texts of the same forms stay bare.
func TestKindsOfHarmless(t *testing.T) {
	t.Parallel()
	c := setup(t)
	for _, s := range readSpoken(t, "harmless.jsonl") {
		for i, share := range c.Across(s.Texts) {
			if f := c.Judge(s.Texts[i]); f.Score >= Threshold || share != NoShare {
				t.Errorf("%s: %+v, share %d of %q", s.Kind, f, share, s.Texts[i])
			}
		}
	}
}
