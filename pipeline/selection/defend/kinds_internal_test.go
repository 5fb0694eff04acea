package defend

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

// sessionsIn returns the items of a file of the classifier's test data, each line as a session, and their kinds.
func sessionsIn(t *testing.T, name string) (cs []candidate.Candidate, kinds []string) {
	t.Helper()
	data, err := os.ReadFile("injection/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var s struct {
			Kind  string
			Texts []string
		}
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		session := fmt.Sprintf("s%d", len(cs))
		for _, text := range s.Texts {
			c := turnOf(fmt.Sprintf("i%d", len(cs)), "", text)
			c.Session, c.Seq = session, int64(len(cs)+1)
			cs, kinds = append(cs, c), append(kinds, s.Kind)
		}
	}
	return cs, kinds
}

// An instruction is left out or within a fence in whichever way it turns to its reader, and harmless
// text in the same forms is shown as it is.
func TestKindsOfInstruction(t *testing.T) {
	t.Parallel()
	d, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)
	cs, kinds := sessionsIn(t, "attacks.jsonl")
	d.ApplyKeepingDuplicates(cs, false, now)
	shown := map[string]int{}
	for i := range cs {
		if cs[i].Drop != schemas.DropInjection && !cs[i].Suspect {
			shown[kinds[i]]++
		}
	}
	for kind, n := range shown {
		if most := 3; n > most { // a split one has three items
			t.Errorf("%s: %d items are shown bare, more than %d", kind, n, most)
		}
	}
	cs, kinds = sessionsIn(t, "harmless.jsonl")
	d.ApplyKeepingDuplicates(cs, false, now)
	for i := range cs {
		if !cs[i].Kept() || cs[i].Fenced() {
			t.Errorf("%s: %q is dropped for %q, suspect %v", kinds[i], cs[i].Content.Text(), cs[i].Drop, cs[i].Suspect)
		}
	}
}
