package pack

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// wordSet is what a vocabulary holds of a text, as a set.
func wordSet(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range language.Analyze(text) {
		out[w] = true
	}
	return out
}

// pickBySets is pick with sets of words instead of their numbers.
func pickBySets(from []sentence, query string, n int) (texts []string) {
	said, cited, gone := map[string]bool{}, map[int]bool{}, map[int]bool{}
	part := func(words map[string]bool, is func(string) bool) float64 {
		hits := 0
		for w := range words {
			if is(w) {
				hits++
			}
		}
		return computeShare(hits, len(words))
	}
	for len(texts) < n && len(gone) < len(from) {
		best, value := -1, 0.0
		for i, s := range from {
			if gone[i] {
				continue
			}
			its := wordSet(s.text)
			asked, others := wordSet(query), wordSet(withoutNames(query))
			about := len(others) == 0
			for w := range others {
				about = about || its[w]
			}
			v := s.score + coverWeight*part(asked, func(w string) bool { return about && its[w] && !said[w] }) -
				repeatWeight*part(its, func(w string) bool { return said[w] })
			if cited[s.item] {
				v -= sameWeight
			}
			if best < 0 || v > value {
				best, value = i, v
			}
		}
		gone[best] = true
		if slices.Contains(texts, from[best].text) {
			continue
		}
		texts = append(texts, from[best].text)
		cited[from[best].item] = true
		for w := range wordSet(from[best].text) {
			said[w] = true
		}
	}
	return texts
}

// TestPickBySets holds the numbered words to what sets of them say.
func TestPickBySets(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"garden", "Garden", "harbour", "the", "14", "1", "Äpfel", "日本", "日本語", "a", "\xff", "lost", "İstanbul", "don't", "2x"})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "words"), rapid.SampledFrom([]string{" ", ", ", ""}).Draw(t, "glue"))
		})
		query := text.Draw(t, "query")
		v := newVocabulary(query)
		var from []sentence
		for i, words := range rapid.SliceOfN(text, 0, 12).Draw(t, "sentences") {
			s := sentence{item: i / 2, text: words, score: float64(i%5) / 10}
			s.words, s.wanted = v.readTerms(words)
			from = append(from, s)
		}
		n := rapid.IntRange(0, 6).Draw(t, "n")
		var got []string
		for _, s := range pickSentences(slices.Clone(from), v, n) {
			got = append(got, s.text)
		}
		if d := gocmp.Diff(pickBySets(from, query, n), got); d != "" {
			t.Fatalf("(-sets +numbers):\n%s", d)
		}
	})
}

// TestDayHeadings names the days of times on both sides of 1970, first and again.
func TestDayHeadings(t *testing.T) {
	t.Parallel()
	counter, err := token.New("")
	if err != nil {
		t.Fatal(err)
	}
	c := newCosts()
	for range 2 {
		d := newDates(counter, c, nil)
		for _, at := range []time.Time{
			time.Date(2026, 1, 31, 23, 59, 59, 0, time.UTC), time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC),
			time.Date(1969, 12, 31, 12, 0, 0, 0, time.UTC), time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(1900, 2, 28, 23, 0, 0, 0, time.FixedZone("", -7200)),
		} {
			want := at.UTC().Format("2 January 2006") + ":\n"
			got, tokens := d.chooseHeading(noDay, d.findDayIndex(at))
			if got != want || tokens != counter.Count(want) {
				t.Errorf("%v: %q of %d tokens, want %q of %d", at, got, tokens, want, counter.Count(want))
			}
		}
	}
}

// TestRulesAskedAgain holds rules that remember to rules that were never asked.
func TestRulesAskedAgain(t *testing.T) {
	t.Parallel()
	own := []byte(`rules:
  - type: lost
    each: text contains "lost" and score > 0.4
    confidence: score
  - type: long
    each: not (text contains "green") or text matches "[0-9]+"
    confidence: 0.1 * items
  - type: code
    each: kind == "code" and tokens > 5
    confidence: "0.5"
`)
	fresh := func(t *rapid.T) *Rules {
		r, err := NewRules("own.yaml", own)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	text := rapid.SampledFrom([]string{"the test failed", "A Test broke, 14 lost", "green", "flaky selector", "OUTAGE", "", strings.Repeat("x", evidenceBytes) + "critical"})
	rapid.Check(t, func(t *rapid.T) {
		asked := fresh(t)
		for range 3 {
			cs := make([]candidate.Candidate, rapid.IntRange(0, 5).Draw(t, "n"))
			shown := make([]int, len(cs))
			for i := range cs {
				shown[i] = i
				cs[i].Visible = &candidate.Visible{}
				cs[i].Score, cs[i].Tokens = rapid.Float64Range(0, 1).Draw(t, "score"), rapid.IntRange(0, 9).Draw(t, "tokens")
				cs[i].Kind = rapid.SampledFrom([]schemas.Kind{schemas.KindMemory, schemas.KindCode}).Draw(t, "kind")
				cs[i].Content = schemas.TextContent(text.Draw(t, "text"))
			}
			if d := gocmp.Diff(fresh(t).Afford(cs, shown, false), asked.Afford(cs, shown, false)); d != "" {
				t.Fatalf("(-new +asked):\n%s", d)
			}
		}
	})
}

// greedyByList is greedy with a list that is searched for its best, and to its end.
func (w *packer) greedyByList(pot func(part int8) int) {
	type priced struct {
		at    int
		value float64
	}
	var list []priced
	done := make([]bool, len(w.cs))
	for i := range w.cs {
		if w.part[i] >= 0 && !w.taken[i] {
			list = append(list, priced{i, w.value(i)})
		}
	}
	for len(list) > 0 {
		slices.SortStableFunc(list, func(x, y priced) int {
			return cmp.Or(cmp.Compare(y.value, x.value), cmp.Compare(w.cs[x.at].ID, w.cs[y.at].ID))
		})
		i := list[0].at
		list = list[1:]
		cost := w.computeCost(i)
		if done[i] || cost > pot(w.part[i]) || cost > w.countRemaining() {
			continue
		}
		if size := len(w.cs[i].Content.Text()); w.req.Bytes > 0 && w.bytes+size > w.req.Bytes {
			w.heavy = append(w.heavy, i)
			continue
		}
		done[i] = true
		first := w.day[i] != noDay && !w.findItemRun(i).hasHeading(w.day[i])
		w.takeItem(i, cost)
		for same, day := range w.day {
			if first && day == w.day[i] && w.part[same] >= 0 && !w.taken[same] {
				list = append(list, priced{same, w.value(same)})
			}
		}
	}
}

// TestGreedyByList holds what a pack chooses to the same choice made the long way.
func TestGreedyByList(t *testing.T) {
	t.Parallel()
	counter, err := token.New("")
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		cs := make([]candidate.Candidate, rapid.IntRange(0, 40).Draw(t, "n"))
		for i := range cs {
			c := &cs[i]
			c.Visible = &candidate.Visible{}
			c.ID = string(rune('a'+i%26)) + string(rune('a'+i/26))
			c.Kind = rapid.SampledFrom([]schemas.Kind{schemas.KindMemory, schemas.KindMemory, schemas.KindTool, schemas.KindCode}).Draw(t, "kind")
			c.Session = rapid.SampledFrom([]string{"", "s1", "s2"}).Draw(t, "session")
			c.CreatedAt = time.Date(2026, 1, rapid.IntRange(1, 4).Draw(t, "day"), 0, 0, 0, 0, time.UTC)
			c.Content = schemas.TextContent(strings.Repeat("plain words ", rapid.IntRange(1, 9).Draw(t, "words")))
			c.SetScore(float64(rapid.IntRange(0, 9).Draw(t, "score")) / 9)
			c.Drop = rapid.SampledFrom([]schemas.DropReason{"", "", "", schemas.DropOffTopic, schemas.DropStale}).Draw(t, "drop")
		}
		req := Request{UserMessage: "hello", Budget: rapid.IntRange(1, 500).Draw(t, "budget"), Limit: len(cs), Counter: counter, Bytes: rapid.SampledFrom([]int{0, 0, 90}).Draw(t, "bytes")}
		short, long := b.preparePacker(&req, cs), b.preparePacker(&req, cs)
		for _, w := range []*packer{short, long} {
			greedy := w.takeBestItems
			if w == long {
				greedy = w.greedyByList
			}
			w.scarcity = w.budgetScarcity()
			w.worth = w.computeStandings()
			greedy(func(part int8) int { return w.limits[part] - w.spent[part] })
			greedy(func(int8) int { return w.countRemaining() })
		}
		heavy := func(w *packer) []int { return slices.Compact(slices.Sorted(slices.Values(w.heavy))) }
		if !slices.Equal(short.chosen, long.chosen) || !slices.Equal(short.costs, long.costs) || !slices.Equal(heavy(short), heavy(long)) {
			t.Fatalf("chosen %v, heavy %v, want %v and %v", short.chosen, short.heavy, long.chosen, long.heavy)
		}
	})
}
