package op_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"satchel/schemas"
)

// pair is what was written twice in one session: the newer says something else where kind is not "same".
type pair struct{ Kind, Old, New, Differ, Now string }

func readPairs(t *testing.T) (out []pair) {
	t.Helper()
	f, err := os.Open("testdata/versions.jsonl")
	must(t, err)
	t.Cleanup(func() { must(t, f.Close()) })
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var p pair
		must(t, json.Unmarshal(lines.Bytes(), &p))
		out = append(out, p)
	}
	return out
}

// version is an item of a session, written so many days after another.
func version(id, session, text string, days int) schemas.MemoryItem {
	m := memory(id, "level:public", "", text)
	m.Session, m.CreatedAt = session, day.AddDate(0, 0, days-60)
	return m
}

// At every door both texts of a pair are seen, the newer first; what is the same is one item with both dates.
func TestVersionsAreSeenAtEveryDoor(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	pairs := readPairs(t)
	for n, p := range pairs {
		w.put(t, "acme", version(fmt.Sprint("old", n), fmt.Sprint("s", n), p.Old, 0), version(fmt.Sprint("new", n), fmt.Sprint("s", n), p.New, 30))
	}
	s := as(t, "acme", schemas.Public)
	for n, p := range pairs {
		question := strings.Join(strings.Fields(p.Old)[:9], " ")
		res, err := w.engine.Context(t.Context(), s, ask(question))
		must(t, err)
		assembled, err := w.engine.Assemble(t.Context(), s, schemas.AssembleRequest{Query: question})
		must(t, err)
		built, err := w.engine.Build(t.Context(), s, schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Query: question}})
		must(t, err)
		for door, text := range map[string]string{"context": res.Payload.Text, "assemble": assembled.Markdown, "build": built.Context} {
			old, now := strings.Index(text, p.Differ), strings.Index(text, p.Now)
			switch {
			case now < 0:
				t.Errorf("%s, %s %d: the newer is not there:\n%s", door, p.Kind, n, text)
			case old < 0:
				t.Errorf("%s, %s %d: %q is not there:\n%s", door, p.Kind, n, p.Differ, text)
			case p.Kind == "same" && !strings.Contains(text, "(also "):
				t.Errorf("%s, %s %d: the older date is not there:\n%s", door, p.Kind, n, text)
			}
		}
		found, err := w.engine.Search(t.Context(), s, schemas.SearchRequest{Query: question})
		must(t, err)
		if !seenBoth(found.Results, fmt.Sprint("old", n), fmt.Sprint("new", n)) {
			t.Errorf("search, %s %d: %+v", p.Kind, n, found.Results)
		}
	}
}

// seenBoth reports whether the newer is a result, and the older is another or a version of it.
func seenBoth(results []schemas.SearchResult, old, now string) bool {
	hasOld, hasNow := false, false
	for _, r := range results {
		hasOld, hasNow = hasOld || r.Memory.ID == old, hasNow || r.Memory.ID == now
		for _, v := range r.Versions {
			hasOld = hasOld || v.ID == old
		}
	}
	return hasOld && hasNow
}

// An older version stands below the newest, dated and cited; one for which there is no room is accounted for.
func TestAnOlderVersionStandsBelowTheNewest(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	const text = "The reserve pump of the fish ladder, the one with the yellow handle, is kept by %s in the hut at the weir until the inspection."
	for n, name := range []string{"Ada", "Ben", "Cleo"} {
		w.put(t, "acme", version(fmt.Sprint("v", n), "ladder", fmt.Sprintf(text, name), 7*n))
	}
	s := as(t, "acme", schemas.Public)
	res, err := w.engine.Context(t.Context(), s, ask("Who keeps the reserve pump of the fish ladder?"))
	must(t, err)
	dated := func(n int) string { return day.AddDate(0, 0, 7*n-60).Format("2 January 2006") }
	first, second, third := "is kept by Cleo in the hut", "[2] "+dated(1)+": … is kept by Ben in the hut …", "[3] "+dated(0)+": … is kept by Ada in the hut …"
	if at := strings.Index(res.Payload.Text, first); at < 0 || strings.Index(res.Payload.Text, second) < at || strings.Index(res.Payload.Text, third) < strings.Index(res.Payload.Text, second) {
		t.Errorf("want %q, %q and %q in order:\n%s", first, second, third, res.Payload.Text)
	}
	req := ask("Who keeps the reserve pump of the fish ladder?")
	req.Payload.Limit = 1
	res, err = w.engine.Context(t.Context(), s, req)
	must(t, err)
	for _, d := range res.Payload.Drop.Drops {
		if d.Reason != schemas.DropNewer || !strings.Contains(d.Detail, "v2") {
			t.Errorf("%s is dropped for %s, %q", d.ItemID, d.Reason, d.Detail)
		}
	}
	if len(res.Payload.Drop.Drops) != 2 || !strings.Contains(res.Payload.Text, "Cleo") {
		t.Errorf("%d drops:\n%s", len(res.Payload.Drop.Drops), res.Payload.Text)
	}
}

// A build that shows an older version leaves the item as it was for those who ask next.
func TestABuildChangesNoItem(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	const text = "The reserve pump of the fish ladder, the one with the yellow handle, is kept by %s in the hut at the weir until the inspection."
	for n, name := range []string{"Ada", "Ben"} {
		m := version(fmt.Sprint("v", n), "ladder", fmt.Sprintf(text, name), 7*n)
		m.Speaker = "Dora"
		w.put(t, "acme", m)
	}
	s := as(t, "acme", schemas.Public)
	search := func() string {
		res, err := w.engine.Context(t.Context(), s, ask("Who keeps the reserve pump of the fish ladder?"))
		must(t, err)
		speakers := ""
		for _, r := range res.Payload.Results {
			speakers += r.ID + " " + r.Metadata.Speaker + "; "
		}
		return speakers
	}
	before := search()
	built, err := w.engine.Build(t.Context(), s, schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Query: "Who keeps the reserve pump of the fish ladder?"}})
	must(t, err)
	if after := search(); after != before || !strings.Contains(built.Context, "is kept by Ada in the hut") {
		t.Errorf("%s before, %s after:\n%s", before, after, built.Context)
	}
}

// A version that the reader may not see changes nothing of what the reader gets.
func TestAHiddenVersionMovesNothing(t *testing.T) {
	t.Parallel()
	const text = "The vault of the harbour office is opened by the clerk and the %s together, every Monday at nine, and the book is signed by both."
	ask1 := func(hidden bool) string {
		w := openWorld(t, nil)
		w.put(t, "acme", version("now", "vault", fmt.Sprintf(text, "purser"), 9), version("old", "vault", fmt.Sprintf(text, "master"), 1))
		if hidden {
			m := version("secret", "vault", fmt.Sprintf(text, "warden"), 20)
			m.SecurityLabel = []string{"level:restricted"}
			w.put(t, "acme", m)
		}
		res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Public), ask("Who opens the vault of the harbour office?"))
		must(t, err)
		return res.Payload.Text
	}
	if a, b := ask1(false), ask1(true); a != b || !strings.Contains(a, "purser") || !strings.Contains(a, "master") {
		t.Errorf("without:\n%s\nwith:\n%s", a, b)
	}
}

// A roll-out that was confirmed and later falsified is seen as both.
func TestPremortemShowsBothOutcomes(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	may, september := experience("may", "tills", "all at once", "confirmed", "roll out the new tills", "", ""), experience("september", "tills", "all at once", "falsified", "roll out the new tills", "the queue grew", "")
	september.CreatedAt = may.CreatedAt.Add(time.Hour)
	w.learn(t, "acme", may, september)
	out, err := w.engine.Premortem(t.Context(), as(t, "acme", schemas.Internal), schemas.PremortemRequest{Domain: "tills", Strategy: "all at once"})
	must(t, err)
	for _, want := range []string{"**FALSIFIED**", "**confirmed**", "- **Outcome**: falsified"} {
		if !strings.Contains(out.Markdown, want) {
			t.Errorf("%q is not there:\n%s", want, out.Markdown)
		}
	}
}

// The ranker recency takes the newest of what bears on the question, not the newest of the nearest.
func TestRankerRecencyTakesTheNewest(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	for n := range 150 {
		m := version(fmt.Sprintf("n%03d", n), fmt.Sprint("day", n), fmt.Sprintf("Turbine report %d. The turbine of the mill ran, says %s.", n, strings.Repeat("the turbine ", 1+(150-n)/30)), n-140)
		w.put(t, "acme", m)
	}
	built, err := w.engine.Build(t.Context(), as(t, "acme", schemas.Public), schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Query: "turbine report", Limit: 3}, Ranker: "recency"})
	must(t, err)
	for n, want := range []string{"n149", "n148", "n147"} {
		if len(built.Memories) <= n || built.Memories[n].Memory.ID != want {
			t.Fatalf("place %d is not %s: %d results\n%s", n+1, want, len(built.Memories), built.Context)
		}
	}
}
