package op_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/op"
	"satchel/pipeline/selection/defend"
	"satchel/schemas"
)

// TestDecayIsJudgedAtTheMomentAskedAbout: what has decayed to nothing by the clock is shown to who asks about a day on
// which it had not, and the reverse.
func TestDecayIsJudgedAtTheMomentAskedAbout(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	for i, kind := range []string{"step", "linear"} {
		m := memory("d-"+kind, "level:public", "", "The "+[]string{"orchard", "boiler"}[i]+" rotation of the harbour is done by Kai.")
		m.Session, m.CreatedAt, m.DecayFn = "", day.AddDate(0, 0, -100), &schemas.DecayFn{Kind: kind, Days: 30}
		w.put(t, "acme", m)
	}
	for _, tc := range []struct {
		now  time.Time
		want bool
	}{{day, false}, {time.Time{}, false}, {day.AddDate(0, 0, -95), true}, {day.AddDate(0, 0, -60), false}} {
		for i, kind := range []string{"step", "linear"} {
			req := ask("Who does the " + []string{"orchard", "boiler"}[i] + " rotation of the harbour?")
			req.Payload.Now = tc.now
			res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Public), req)
			must(t, err)
			if got := slices.Contains(ids(&res), "d-"+kind); got != tc.want {
				t.Errorf("%s at %v: shown is %v", kind, tc.now, got)
			}
		}
	}
}

// TestAFloorOfConfidence has an item below the floor of the engine left out, with the floor.
func TestAFloorOfConfidence(t *testing.T) {
	t.Parallel()
	for floor, want := range map[float64]bool{.5: false, .2: true, -1: true} {
		w := openWorld(t, func(c *op.Config) { c.Defend = defend.Config{Confidence: floor} })
		m, own := memory("x", "level:public", "", "The lantern hangs at gate seven."), .3
		m.Confidence = &own
		w.put(t, "acme", m)
		res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Public), ask("Where does the lantern hang?"))
		must(t, err)
		if got := slices.Contains(ids(&res), "x"); got != want || !want && !strings.Contains(res.Payload.Drop.Drops[0].Detail, "0.30 is below 0.50") {
			t.Errorf("floor %v: shown is %v, %+v", floor, got, res.Payload.Drop.Drops)
		}
	}
}

// TestEvidenceHasTheQuestion: each item of a reply says what was asked, and the log does not.
func TestEvidenceHasTheQuestion(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	fill(t, w)
	long := strings.Repeat("Lantern ünd ", 40)
	for question, want := range map[string]string{"Lantern release": "Lantern release", long: string([]rune(long)[:256])} {
		res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Internal), ask(question))
		must(t, err)
		n := 0
		for _, section := range res.Payload.Pack.Sections {
			for _, item := range section.Items {
				if n++; item.Evidence.Query != want {
					t.Errorf("%s: %q", item.ID, item.Evidence.Query)
				}
			}
		}
		if n == 0 {
			t.Error("nothing is shown")
		}
		logged := res.Payload.Pack.Logged()
		raw, err := json.Marshal(&logged)
		if err != nil || strings.Contains(string(raw), `"query"`) || strings.Contains(string(raw), `"security_label"`) {
			t.Errorf("the log has %s", raw)
		}
	}
}

// TestADebugLogCounts has a line for each request, which counts and names no content.
func TestADebugLogCounts(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := openWorld(t, func(c *op.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	fill(t, w)
	_, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Internal), ask("Lantern release"))
	must(t, err)
	line := ""
	for l := range strings.Lines(out.String()) {
		if strings.Contains(l, "request answered") {
			line = l
		}
	}
	for _, part := range []string{"request=req-1", "operation=request", "tenant=acme", "found=", "keyword:4", "vector:5", "candidates=", "denied=", "shown=", "left_out=", "tokens="} {
		if !strings.Contains(line, part) {
			t.Errorf("the log has no %q: %s", part, line)
		}
	}
	if strings.Contains(out.String(), "Lantern") {
		t.Errorf("the log has content: %s", out.String())
	}
}
