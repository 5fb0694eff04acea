package op_test

import (
	"slices"
	"testing"
	"time"

	"satchel/schemas"
)

// Asking for a past moment ranks as of then, and shows nothing that has expired since.
func TestPolicyGoesByTheClock(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	old := memory("old", "level:public", "Ana", "The Lantern code word is heron.")
	old.CreatedAt = day.Add(-48 * time.Hour)
	old.TTL = 3600
	w.put(t, "acme", old)
	req := ask("Lantern code word")
	req.Payload.Now = old.CreatedAt.Add(time.Minute)
	res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Internal), req)
	must(t, err)
	if slices.Contains(ids(&res), "old") {
		t.Error("an expired item is shown to a request with an earlier now")
	}
}
