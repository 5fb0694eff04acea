package measure_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"satchel/cmd/internal/lab/measure"
)

// The corpus has the shape that its comment promises, and is the same in any order.
func TestCorpusHasItsShape(t *testing.T) {
	t.Parallel()
	c, err := measure.NewCorpus("acme", 1)
	if err != nil {
		t.Fatal(err)
	}
	const n = 4000
	var lengths []int
	var lines, foreign, total int
	for i := range n {
		item := c.Item(i)
		text := item.Content.Text()
		lengths = append(lengths, len(text))
		total += len(text)
		if strings.Contains(text, "\n") {
			lines++
		}
		if strings.IndexFunc(text, func(r rune) bool { return r > 127 }) >= 0 {
			foreign++
		}
		if i%100 == 0 && !reflect.DeepEqual(c.Item(i), item) {
			t.Errorf("item %d differs when it is asked for again", i)
		}
	}
	slices.Sort(lengths)
	for _, c := range []struct {
		name           string
		got, low, high int
	}{
		{"median length", lengths[n/2], 300, 450},
		{"95th percentile of length", lengths[n*95/100], 3000, 4300},
		{"mean length", total / n, 700, 1000},
		{"percent of several lines", 100 * lines / n, 45, 62},
		{"percent beyond ASCII", 100 * foreign / n, 8, 22},
	} {
		if c.got < c.low || c.got > c.high {
			t.Errorf("%s is %d, want %d to %d", c.name, c.got, c.low, c.high)
		}
	}
	questions := map[string]bool{}
	for k := range 500 {
		questions[c.Question(k, n)] = true
	}
	if len(questions) < 490 {
		t.Errorf("%d different questions of 500", len(questions))
	}
}
