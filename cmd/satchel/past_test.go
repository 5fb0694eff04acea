package main

import (
	"slices"
	"testing"
	"time"

	"satchel/emitters"
	"satchel/schemas"
)

// TestAsOfATimeSaysWhatWasRecordedAgain asks about a moment before an item was recorded
// again, beside one that was not there at all.
func TestAsOfATimeSaysWhatWasRecordedAgain(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	record := func(id, text string) {
		t.Helper()
		n.must(t, "emit", "--id", id, "--text", text)
	}
	record("kiln", "The kiln is fired on Mondays.")
	record("glaze", "The glaze of the kiln is celadon.")
	then := time.Now()
	record("kiln", "The kiln is fired on Tuesdays.")
	record("late", "The kiln has a new door.")
	record("late", "The kiln has a new door of steel.")
	agent, err := emitters.New(n.connect(t), emitters.Config{Tenant: "main", Agent: "asker", Clearance: "internal"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []schemas.RequestPayload{{AsOfTime: then}, {AsOf: 2}} {
		p.Query.Text = "when is the kiln fired?"
		res, err := agent.Ask(t.Context(), schemas.ContextRequest{Payload: p})
		if err != nil {
			t.Fatal(err)
		}
		const want = "as_of: 1 item that was recorded again since is left out: only the last version can be shown"
		if list := res.Payload.Results; len(list) != 1 || list[0].ID != "glaze" || !slices.Contains(res.Payload.Explainability.Warnings, want) {
			t.Errorf("%+v, warnings %q", list, res.Payload.Explainability.Warnings)
		}
	}
}
