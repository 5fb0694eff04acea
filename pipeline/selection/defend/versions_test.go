package defend

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	"satchel/schemas"
)

// note is an item of a day of March 2026.
func note(id string, day int, text string) candidate.Candidate {
	c := turnOf(id, "Ana", text)
	c.CreatedAt = time.Date(2026, 3, day, 9, 0, 0, 0, time.UTC)
	c.Position, c.Session = int64(day), "minutes"
	return c
}

func joined(t *testing.T, cs ...candidate.Candidate) map[string]*candidate.Candidate {
	t.Helper()
	d, err := New(Config{Injection: InjectionOff})
	if err != nil {
		t.Fatal(err)
	}
	d.Apply(cs, false, time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC))
	out := map[string]*candidate.Candidate{}
	for i := range cs {
		out[cs[i].ID] = &cs[i]
	}
	return out
}

const (
	long  = "Minutes of the harbour board. The board looked at the plans for the pier, heard the engineer, spoke with the mayor, and %s the request after a short break. The file goes to the archive of the port."
	short = "The new ferry %s leave the dock on the island without a pilot on board."
)

// A word that differs is never lost: both texts are kept, and the older says what it says otherwise.
func TestADifferenceIsNeverLost(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, old, now string }{
		{long, "approved", "rejected"}, {long, "approved", "approved, but for the pier,"}, {long, "did not support", "did support"}, {long, "postponed 3 parts of", "postponed 7 parts of"},
		{long, "left Jan with", "left Jon with"}, {long, "agreed, at 9 am, to", "agreed, at 9 pm, to"}, {long, "set at -5 °C", "set at 5 °C"}, {long, "put at 1:50", "put at 1.50"},
		{long, "answered ✅ to", "answered ❌ to"}, {long, "moved from Graz to Linz", "moved from Linz to Graz"}, {long, "answered: done?", "answered: done."},
		{short, "can", "cannot"}, {short, "may", "must"}, {short, "can't", "can"},
	} {
		cs := joined(t, note("old", 1, fmt.Sprintf(tc.text, tc.old)), note("now", 9, fmt.Sprintf(tc.text, tc.now)))
		old, now := cs["old"], cs["now"]
		if !old.Kept() || !now.Kept() || now.Newer != "" {
			t.Errorf("%q and %q: old %q, now %q, %q", tc.old, tc.now, old.Drop, now.Drop, now.Newer)
		}
		if old.Newer == "" {
			continue // it is shown whole
		}
		differs := language.Words(tc.old)
		for _, w := range language.Words(old.Difference) {
			differs = slices.DeleteFunc(differs, func(d string) bool { return d == w })
		}
		if old.Newer != "now" || len(differs) > 0 && tc.old != "approved" && !strings.Contains(tc.now, strings.Join(differs, " ")) || len(old.Difference) >= len(fmt.Sprintf(tc.text, tc.old)) {
			t.Errorf("%q and %q: %q is a version of %q", tc.old, tc.now, old.Difference, old.Newer)
		}
	}
}

// What one speaker wrote twice is one item: the newest, which knows the days of the others.
func TestEqualTextsAreOneItem(t *testing.T) {
	t.Parallel()
	const text = "The overall state of the pump house is healthy: 3 of 3 pumps run."
	cs := joined(t, note("c", 16, text), note("a", 2, strings.ToUpper(text)), note("b", 9, strings.ReplaceAll(text, " ", "  ")))
	for id, want := range map[string]schemas.DropReason{"a": schemas.DropDuplicate, "b": schemas.DropDuplicate, "c": ""} {
		if cs[id].Drop != want {
			t.Errorf("%s is dropped for %q, want %q", id, cs[id].Drop, want)
		}
	}
	if len(cs["c"].Also) != 2 || cs["a"].Of != "c" || cs["a"].Detail != "of c" {
		t.Errorf("the newest knows %v; the oldest is of %q", cs["c"].Also, cs["a"].Of)
	}
}

// Nothing else is joined: what differs in more than the date stays whole.
func TestWhatStaysWhole(t *testing.T) {
	t.Parallel()
	equal, near := fmt.Sprintf(long, "approved"), fmt.Sprintf(long, "rejected")
	for name, change := range map[string]func(old, now *candidate.Candidate){
		"speaker":    func(old, _ *candidate.Candidate) { old.Speaker = "Bo" },
		"writer":     func(old, _ *candidate.Candidate) { old.Writer = "eve" },
		"signer":     func(old, _ *candidate.Candidate) { old.Facets.Signer = "UA" },
		"labels":     func(old, _ *candidate.Candidate) { old.Facets.Labels = []string{"level:internal"} },
		"attributes": func(old, _ *candidate.Candidate) { old.Attributes = []byte(`{"outcome":"confirmed"}`) },
		"trust":      func(old, now *candidate.Candidate) { old.Facets.Trust, now.Facets.Trust = .9, .5 },
		"fence":      func(old, _ *candidate.Candidate) { old.Unjudged = true },
		"tool":       func(old, _ *candidate.Candidate) { old.Kind = schemas.KindTool },
	} {
		for _, text := range []string{equal, near} {
			old, now := note("old", 1, equal), note("now", 9, text)
			change(&old, &now)
			if cs := joined(t, old, now); !cs["old"].Kept() || cs["old"].Newer != "" || !cs["now"].Kept() {
				t.Errorf("%s: %q, version of %q", name, cs["old"].Drop, cs["old"].Newer)
			}
		}
	}
	for name, change := range map[string]func(c *candidate.Candidate){
		"session": func(c *candidate.Candidate) { c.Session = "s" }, "role": func(c *candidate.Candidate) { c.Role = "assistant" },
		"source": func(c *candidate.Candidate) { c.Provenance.SourceURI = "agent:bo" }, "kind": func(c *candidate.Candidate) { c.Kind = schemas.KindKnowledge },
		"category": func(c *candidate.Candidate) { c.Category = "question" },
	} {
		old, now := note("old", 1, equal), note("now", 9, near)
		if change(&old); joined(t, old, now)["old"].Newer != "" {
			t.Errorf("%s: near texts are versions", name)
		}
	}
	for _, kind := range []schemas.Kind{schemas.KindCode, schemas.KindCommit} {
		old, now := note("old", 1, equal), note("now", 9, near)
		if old.Kind, now.Kind = kind, kind; joined(t, old, now)["old"].Newer != "" {
			t.Errorf("%s: near texts are versions", kind)
		}
	}
	few, moved := note("old", 1, "The gate opens at nine."), note("now", 9, "The gate opens at ten.")
	if joined(t, few, moved)["old"].Newer != "" {
		t.Error("a short text is shown as a difference")
	}
}

// A date after the log took the item is not believed: who writes a copy in the future does not stand before what
// is recorded later.
func TestAFutureDateIsNotBelieved(t *testing.T) {
	t.Parallel()
	for _, text := range []string{fmt.Sprintf(long, "approved"), fmt.Sprintf(long, "rejected")} {
		future, real := note("future", 5, fmt.Sprintf(long, "approved")), note("real", 9, text)
		future.RecordedAt, future.CreatedAt = future.CreatedAt, time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
		real.RecordedAt = real.CreatedAt
		cs := joined(t, future, real)
		if !cs["real"].Kept() || cs["real"].Newer != "" || cs["future"].Kept() && cs["future"].Newer != "real" {
			t.Errorf("real: %q %q, future: %q %q", cs["real"].Drop, cs["real"].Newer, cs["future"].Drop, cs["future"].Newer)
		}
	}
}

// The newest of several versions stands where the best of them would, and the order of the rest stays. Of equal texts the
// newest stays where it is: it says no more than it says.
func TestTheNewestTakesTheBestPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"approved": "x old y now z", "rejected": "x now old y z"} {
		d, err := New(Config{Injection: InjectionOff})
		if err != nil {
			t.Fatal(err)
		}
		cs := []candidate.Candidate{
			note("x", 3, "The ferry is blue."), note("old", 1, fmt.Sprintf(long, "approved")), note("y", 4, "The dock is wet."), note("now", 9, fmt.Sprintf(long, text)), note("z", 5, "The pier is long."),
		}
		for i := range cs {
			cs[i].Score, cs[i].Standing = .9-.1*float64(i), .8-.1*float64(i)
		}
		d.Apply(cs, false, time.Time{})
		var order []string
		for i := range cs {
			order = append(order, cs[i].ID)
		}
		if got := strings.Join(order, " "); got != want {
			t.Errorf("%s: order %s, want %s", text, got, want)
		}
		if now := cs[1]; text == "rejected" && (now.Score != .8 || now.Standing != .7000000000000001) {
			t.Errorf("score %v, standing %v", now.Score, now.Standing)
		}
	}
}

// The order of the candidates decides nothing.
func TestJoiningIsDeterministic(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	var cs []candidate.Candidate
	for i := range 60 {
		s := turnText(rand.New(rand.NewPCG(1, uint64(i%12))), 3)
		if i%3 > 0 {
			s[1] += fmt.Sprintf(" number %d", i%5)
		}
		cs = append(cs, note(fmt.Sprintf("n%d", i), 1+i%28, strings.Join(s, ". ")))
	}
	said := func(cs []candidate.Candidate) string {
		var out []string
		for id, c := range joined(t, cs...) {
			out = append(out, fmt.Sprint(id, c.Drop, c.Of, c.Newer, c.Difference, len(c.Also)))
		}
		slices.Sort(out)
		return strings.Join(out, "\n")
	}
	want := said(slices.Clone(cs))
	for range 5 {
		again := slices.Clone(cs)
		r.Shuffle(len(again), func(a, b int) { again[a], again[b] = again[b], again[a] })
		if got := said(again); got != want {
			t.Fatalf("another order:\n%s\nwant\n%s", got, want)
		}
	}
}

// A thousand texts that are alike take steps in proportion to their number and length, and no request takes
// more than the effort there is.
func TestManyAlikeAreCheap(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		texts int
		text  func(i int) string
		most  int // steps
	}{
		"near": {1000, func(i int) string { return fmt.Sprintf(long, fmt.Sprint("numbered ", i)) }, 1000 * 100},
		"moved": {500, func(i int) string {
			w := strings.Fields(strings.Repeat(fmt.Sprintf(long, "approved")+" ", 6))
			rand.New(rand.NewPCG(1, uint64(i))).Shuffle(len(w), func(a, b int) { w[a], w[b] = w[b], w[a] })
			return strings.Join(w, " ")
		}, effort + 2*longest},
	} {
		var cs []candidate.Candidate
		for i := range tc.texts {
			cs = append(cs, note(fmt.Sprint("n", i), 1+i%28, tc.text(i)))
		}
		seed := maphash.MakeSeed()
		v := versions{cs: cs, aligner: aligner{left: effort}, equals: map[saying][]int{}, heads: map[statement][]int{}, read: map[int]*reading{}, judge: func(string) bool { return false }}
		for i := range cs {
			v.looks = append(v.looks, features{wording: wordingOf(language.Tokens(cs[i].Content.Text()), seed)})
		}
		for i := range cs {
			v.findVersion(i)
		}
		took := effort - v.left
		t.Logf("%s: %d steps", name, took)
		if took > tc.most {
			t.Errorf("%s: %d steps, want at most %d", name, took, tc.most)
		}
	}
}

// An alignment is the longest that there is, or none where too much differs.
func TestAlign(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.SliceOfN(rapid.Uint64Range(0, 3), 0, 20)
		a, b, most := gen.Draw(t, "a"), gen.Draw(t, "b"), rapid.IntRange(0, 42).Draw(t, "most")
		l := aligner{left: effort}
		same, ok := l.alignTokens(a, b, most)
		if want := len(a) + len(b) - 2*common(a, b); ok != (want <= most) {
			t.Fatalf("aligned: %t; %d differ, at most %d may", ok, want, most)
		}
		if !ok {
			return
		}
		last, kept := -1, 0
		for i, at := range same {
			if at < 0 {
				continue
			}
			if at <= last || a[i] != b[at] {
				t.Fatalf("%v and %v are aligned as %v", a, b, same)
			}
			last = at
			kept++
		}
		if kept != common(a, b) {
			t.Fatalf("%d are kept, want %d", kept, common(a, b))
		}
	})
}

// common is the length of the longest common subsequence.
func common(a, b []uint64) int {
	row := make([]int, len(b)+1)
	for i := range a {
		last := 0
		for j := range b {
			here := row[j+1]
			if row[j+1] = max(here, row[j]); a[i] == b[j] {
				row[j+1] = last + 1
			}
			last = here
		}
	}
	return row[len(b)]
}

// Texts that are alike are likely compared, and others seldom.
func TestSketchTellsWhatIsAlike(t *testing.T) {
	t.Parallel()
	r, seed := rand.New(rand.NewPCG(5, 6)), maphash.MakeSeed()
	read := func(w []string) wording { return wordingOf(language.Tokens(strings.Join(w, " ")), seed) }
	missed, compared := 0, 0
	for range 500 {
		a, others := make([]string, 10+r.IntN(200)), make([]string, 10+r.IntN(200))
		for _, list := range [][]string{a, others} {
			for i := range list {
				list[i] = fmt.Sprint("word", int(r.ExpFloat64()*40)) // some words are everywhere
			}
		}
		b := slices.Clone(a)
		for range 1 + len(a)/20 {
			b[r.IntN(len(b))] = fmt.Sprint("other", r.IntN(100))
		}
		x, y, z := read(a), read(b), read(others)
		if !x.mayAlign(&y) {
			missed++
		}
		if x.mayAlign(&z) {
			compared++
		}
	}
	if missed > 10 || compared > 15 {
		t.Errorf("of 500 texts that are alike %d are not compared, of 500 others %d are", missed, compared)
	}
}

// Tokens that differ are counted whatever their order.
func TestDiffer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.SliceOfN(rapid.Uint64Range(0, 9), 0, 20)
		a, b, most := gen.Draw(t, "a"), gen.Draw(t, "b"), rapid.IntRange(0, 42).Draw(t, "most")
		counts := map[uint64]int{}
		for _, x := range a {
			counts[x]++
		}
		for _, x := range b {
			counts[x]--
		}
		want := 0
		for _, n := range counts {
			want += max(n, -n)
		}
		slices.Sort(a)
		slices.Sort(b)
		if got := countDifferences(a, b, most); got != min(want, most+1) {
			t.Fatalf("%d differ, want %d", got, min(want, most+1))
		}
	})
}
