package op_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/op"
	"satchel/schemas"
)

// TestSessionsAreCompactedByThemselves has a request that its session is too long for make
// summaries once, and again when the session has grown.
func TestSessionsAreCompactedByThemselves(t *testing.T) {
	t.Parallel()
	var waiting []func(context.Context)
	w := openWorld(t, func(c *op.Config) {
		c.Background = func(work func(context.Context)) { waiting = append(waiting, work) }
	})
	list := minutes()
	w.put(t, "acme", list...)
	s := as(t, "acme", schemas.Internal)
	summaries := func() (ids []string) {
		entries, err := w.log.Read(t.Context(), s, 0, 10000)
		must(t, err)
		for _, e := range entries {
			if e.Type == schemas.TypeMemoryRecorded && e.Source == schemas.SourceCompaction {
				ids = append(ids, e.Subject)
			}
		}
		return ids
	}
	asking := func(session, mode string, budget int) {
		t.Helper()
		waiting = nil
		req := compactAsk(mode, budget)
		req.Payload.Session, req.Payload.Now = session, time.Time{}
		_, err := w.engine.Context(t.Context(), s, req)
		must(t, err)
		for _, work := range waiting {
			work(t.Context())
		}
	}
	asking("", schemas.CompactionAuto, 600)
	asking("s1", schemas.CompactionOff, 600)
	asking("elsewhere", schemas.CompactionAuto, 600)
	asking("s1", schemas.CompactionAuto, 30000)
	if got := summaries(); len(got) > 0 {
		t.Fatalf("%d summaries of what fits, is off or is no session", len(got))
	}
	asking("s1", schemas.CompactionAuto, 600)
	first := summaries()
	if len(first) == 0 {
		t.Fatal("a session over 80 % of the budget has no summary")
	}
	before, err := w.log.Head(t.Context(), s)
	must(t, err)
	asking("s1", schemas.CompactionAuto, 600)
	after, err := w.log.Head(t.Context(), s)
	must(t, err)
	if got := summaries(); !slices.Equal(got, first) || after.Size != before.Size+3 {
		t.Errorf("asked again: %d summaries of %d, %d entries besides the request's", len(got), len(first), after.Size-before.Size-3)
	}
	for i := range 60 {
		text := fmt.Sprintf("Then Ben said that anchor %d lies in dock %d. %s", i, i*11, strings.Repeat(fmt.Sprintf("Rope %d was coiled twice. ", i), 20))
		m := memory(fmt.Sprintf("n%02d", i), "level:public", "Ben", text)
		m.CreatedAt = day.Add(time.Duration(i) * time.Minute)
		w.put(t, "acme", m)
	}
	asking("s1", schemas.CompactionAuto, 600)
	if got := summaries(); len(got) <= len(first) {
		t.Errorf("after 60 more items there are %d summaries, as before", len(got))
	}
}
