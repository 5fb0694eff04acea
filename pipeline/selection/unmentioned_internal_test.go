package selection

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNamesIn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"What is the capital of Peru?":               {"Peru"},
		"Is Ursula von der Leyen in Brussels?":       {"Ursula", "Leyen", "Brussels"},
		"Which hat did MIT students wear?":           {"MIT"},
		"Did it rain on Monday in March?":            nil,
		"WHO HAS THE KEYS OF THE HOUSE":              nil,
		"Wo ist die Wohnung von Frau Schneider?":     nil,
		"Hat Jonas den Schlüssel und eine Quittung?": nil,
	} {
		var got []string
		for _, n := range namesIn(text) {
			got = append(got, n.text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
