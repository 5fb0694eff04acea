package rot

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/language"
)

// shared counts the terms of a question that a text has.
func shared(question, text string) int {
	there, n := language.Analyze(text), 0
	terms := language.Analyze(question)
	slices.Sort(terms)
	for _, term := range slices.Compact(terms) {
		if slices.Contains(there, term) {
			n++
		}
	}
	return n
}

func TestQuestionsShareAsManyWordsAsTheySay(t *testing.T) {
	t.Parallel()
	a := newAsker(1)
	for topic := range a.topics {
		for thing := range a.topics[topic].things {
			for quality := range a.qualities {
				for attribute := range 2 {
					s := subject{topic, thing, quality, attribute}
					for range 5 { // each of the sentences around it
						text := a.note(a.state(s, ""))
						for _, words := range []int{3, 1, 0} {
							q := a.ask(s, words)
							if n := shared(q, text); n != words && !(words == 3 && n > 3) {
								t.Fatalf("%q shares %d words with %q, not %d", q, n, text, words)
							}
						}
					}
				}
			}
		}
	}
}

func distortions(t *testing.T) []distortion {
	t.Helper()
	var list []distortion
	for _, text := range []string{"none", "similar", "distractors:4", "shuffle", "stale", "duplicates", "poison"} {
		d, err := parseDistortion(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d)
	}
	return list
}

func TestOnlyTheFactStatesTheAnswer(t *testing.T) {
	t.Parallel()
	for _, d := range distortions(t) {
		h, err := newHistory("t", 1, d, 60)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.grow("t", 3000); err != nil {
			t.Fatal(err)
		}
		stated, planted := map[int]int{}, map[role]int{}
		for i := range h.entries {
			e := &h.entries[i]
			planted[e.role]++
			for n := range h.questions {
				q := &h.questions[n]
				if q.absent || !strings.Contains(e.text, q.value) {
					continue
				}
				if stated[n]++; e.asked != n || e.role != gold && e.role != duplicate {
					t.Errorf("%s: %q answers %q", d.name, e.text, q.text)
				}
			}
			if !e.item.CreatedAt.Before(now()) {
				t.Errorf("%s: %s is of the future: %s", d.name, e.item.ID, e.item.CreatedAt)
			}
		}
		const answerable, asked = 54, 60
		want := map[role]int{gold: answerable}
		switch d.kind {
		case distortDistract:
			want[distractor] = 4 * asked
		case distortSimilar:
			want[distractor] = planted[distractor]
			if n := planted[distractor]; n < 500 || n > 620 {
				t.Errorf("%d of 3000 items are about similar things", n)
			}
		case distortStale:
			want[superseded], want[outdated] = answerable, answerable
		case distortDuplicates:
			want[duplicate] = copies * answerable
		case distortPoison:
			want[injection] = asked
		}
		delete(planted, filler)
		if diff := cmp.Diff(want, planted); diff != "" {
			t.Errorf("%s: %s", d.name, diff)
		}
		for n := range h.questions {
			if want := map[bool]int{true: 1 + copies, false: 1}[d.kind == distortDuplicates]; !h.questions[n].absent && stated[n] != want {
				t.Errorf("%s: %d items answer %q", d.name, stated[n], h.questions[n].text)
			}
		}
	}
}

func TestQuestionsAreThoseOfTheSeedUnderEveryDistortion(t *testing.T) {
	t.Parallel()
	var first []string
	for _, d := range distortions(t) {
		h, err := newHistory("t", 2, d, 30)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, q := range h.questions {
			list = append(list, q.text+" "+q.value)
		}
		if first == nil {
			first = list
		} else if diff := cmp.Diff(first, list); diff != "" {
			t.Errorf("%s: %s", d.name, diff)
		}
	}
	other, err := newHistory("t", 3, distortion{kind: distortNone}, 30)
	if err != nil {
		t.Fatal(err)
	}
	if other.questions[0].text == first[0] && other.questions[1].text == first[1] {
		t.Error("another seed has the same questions")
	}
}

func TestHistoriesGrow(t *testing.T) {
	t.Parallel()
	for _, d := range distortions(t) {
		var texts [2][]string
		for run := range texts {
			h, err := newHistory("t", 1, d, 12)
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{200, 500} {
				fresh, err := h.grow("t", size)
				if err != nil || len(h.entries) != size {
					t.Fatalf("%s: %d entries, %v", d.name, len(h.entries), err)
				}
				for i := range fresh {
					texts[run] = append(texts[run], fresh[i].item.ID+fresh[i].item.CreatedAt.String()+fresh[i].item.Session+fresh[i].text)
				}
			}
			for id, n := range h.byID {
				if h.entries[n].item.ID != id {
					t.Fatalf("%s: entry %d is %s, not %s", d.name, n, h.entries[n].item.ID, id)
				}
			}
		}
		if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
			t.Errorf("%s is not the same twice: %s", d.name, diff)
		}
		h, err := newHistory("t", 1, d, 12)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.grow("t", 5); err == nil {
			t.Errorf("%s: 12 questions fit into 5 items", d.name)
		}
	}
}
