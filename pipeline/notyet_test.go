package pipeline_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"satchel/schemas"
)

// TestNotYetValid: an item whose valid_from is ahead of the moment that is asked about is
// left out and says so, and is shown to who asks about a later moment.
func TestNotYetValid(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := notes(3)
	list[1].ValidFrom = day.Add(24 * time.Hour)  // after now
	list[2].ValidFrom = day.Add(-24 * time.Hour) // valid since
	w.put(t, "acme", list...)
	for _, c := range []struct {
		now  time.Time
		want []string
	}{
		{day, []string{"n00", "n02"}},
		{day.Add(24 * time.Hour), []string{"n00", "n01", "n02"}},
		{day.Add(-48 * time.Hour), []string{"n00"}},
	} {
		res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), explained(func(p *schemas.RequestPayload) { p.Now = c.now }))
		must(t, err)
		got := ids(&res)
		slices.Sort(got)
		said := slices.ContainsFunc(res.Payload.Explainability.Warnings, func(w string) bool { return strings.Contains(w, "not valid yet") })
		if !slices.Equal(got, c.want) || said != (len(got) < 3) {
			t.Errorf("at %s: %v, warnings %q", c.now, got, res.Payload.Explainability.Warnings)
		}
		for _, d := range res.Payload.Drop.Drops {
			if d.Reason != schemas.DropStale || !strings.HasPrefix(d.Detail, "not valid before 2026-") {
				t.Errorf("dropped %+v", d)
			}
		}
	}
}
