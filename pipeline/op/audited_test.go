package op_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// For an auditor the question is asked again, over what policy hides too. The answer stays that of the first search.
func TestAnAuditorIsShownTheFailuresThatOthersAre(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := []schemas.MemoryItem{experience("seen", "debugging", "bisect", "falsified", "the cache was blamed", "", "")}
	for i := range 40 {
		hidden := experience(fmt.Sprint("hidden", i), "debugging", "bisect", "falsified", "failures and issues", "", "")
		hidden.SecurityLabel = []string{"level:confidential"}
		list = append(list, hidden)
	}
	w.put(t, "acme", list...)
	failures := func(s scope.Scope) string {
		out, err := w.engine.Premortem(t.Context(), s, schemas.PremortemRequest{Domain: "debugging"})
		must(t, err)
		return out.Markdown
	}
	want := failures(as(t, "acme", schemas.Internal))
	if diff := cmp.Diff(want, failures(asAuditor(t, "acme", schemas.Internal))); diff != "" || want == "" {
		t.Errorf("(-reader +auditor):\n%s", diff)
	}
}
