package pii

import (
	"slices"
	"strings"
	"testing"
)

// What is remembered is what is found, of each detector, and no caller can change it.
func TestMemoFindsTheSame(t *testing.T) {
	t.Parallel()
	all, few := newDetector(Config{Types: Types()}), newDetector(Config{Types: []Type{Email}})
	filler := strings.Repeat("The weather was fine. ", memoFrom/20)
	for _, text := range []string{filler, filler + "Write to jonas@example.org or +49 30 2855748.", filler + "Mail a@example.org.", strings.Repeat("a@example.org ", 50)} {
		for range 3 {
			for _, d := range []*Detector{all, few} {
				want := d.findUncached(text, nil, nil)
				got := d.Find(text)
				if !slices.Equal(got, want) {
					t.Errorf("%d spans are found in %d bytes, want %d", len(got), len(text), len(want))
				}
				clear(got)
			}
		}
	}
}
