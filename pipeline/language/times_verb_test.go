package language_test

import (
	"testing"
	"time"

	"satchel/pipeline/language"
)

// A verb is no part of the time that stands behind it.
func TestVerbsAreNoParts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for verb, whole := range map[string]string{
		"did Agnes start last December?": "last December", "did it end in March?": "in March", "did the lease end last year?": "last year",
	} {
		got, want := language.FindTimes(verb, now), language.FindTimes(whole, now)
		if len(got) != 1 || len(want) != 1 || got[0] != want[0] {
			t.Errorf("%s: %v, want %v", verb, got, want)
		}
	}
	for _, part := range []string{"at the end of March", "end March", "the start of last month", "Ende letzten Monats"} {
		if got := language.FindTimes(part, now); len(got) != 1 || got[0].To.Sub(got[0].From) > 12*24*time.Hour {
			t.Errorf("%s: %v", part, got)
		}
	}
}
