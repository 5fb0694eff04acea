package op_test

import (
	"strings"
	"testing"
	"time"

	"satchel/schemas"
)

// TestADateIsADayOfTheAsker asks from Tokyo and from UTC about what was written at 08:30 of 2 May in Tokyo.
func TestADateIsADayOfTheAsker(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	m := memory("tokyo", "level:public", "", "Aiko closed the warehouse in Osaka.")
	m.Session, m.CreatedAt = "", time.Date(2026, 5, 1, 23, 30, 0, 0, time.UTC)
	w.put(t, "acme", append(crowd(20), m)...)
	now := time.Date(2026, 5, 2, 16, 0, 0, 0, time.UTC) // 3 May in Tokyo
	for _, tc := range []struct{ question, tz, day, heading string }{
		{"What did Aiko close on 2 May?", "Asia/Tokyo", "For 2 May 2026", "2 May 2026:"},
		{"What did Aiko close on 2 May?", "", "For 2 May 2026", "1 May 2026:"},
		{"What did Aiko close yesterday?", "+09:00", "For 2 May 2026", "2 May 2026:"},
		{"What did Aiko close yesterday?", "", "For 1 May 2026", "1 May 2026:"},
	} {
		req := ask(tc.question)
		req.Payload.Now, req.Payload.TZ = now, tc.tz
		res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Public), req)
		must(t, err)
		if text := res.Payload.Text; !strings.Contains(text, tc.day) || !strings.Contains(text, "\n"+tc.heading) {
			t.Errorf("%q in %q:\n%s", tc.question, tc.tz, text)
		}
	}
	for tz, want := range map[string]int{"Asia/Tokyo": 1, "": 0} {
		in := schemas.SearchRequest{Query: "warehouse Osaka", TZ: tz, Filters: schemas.Filters{"created_at": "2026-05-02"}}
		out, err := w.engine.Search(t.Context(), as(t, "acme", schemas.Public), in)
		must(t, err)
		if len(out.Results) != want {
			t.Errorf("search of 2 May in %q: %d results, want %d", tz, len(out.Results), want)
		}
	}
	for _, bad := range []string{"Local", "Mars/Olympus", "../etc/passwd", "9"} {
		req := ask("What did Aiko close?")
		req.Payload.TZ = bad
		if _, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Public), req); err == nil || !strings.Contains(err.Error(), "/payload/tz") {
			t.Errorf("zone %q: %v", bad, err)
		}
	}
}
