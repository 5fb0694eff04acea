package httpclient

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestBreaker holds a breaker to what it promises under any order of requests, ends and
// time passing.
func TestBreaker(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(0, 0)
		limit, cooldown := rapid.IntRange(1, 4).Draw(t, "failures"), time.Duration(rapid.IntRange(1, 5).Draw(t, "cooldown"))
		b := NewBreaker(BreakerConfig{Failures: limit, Cooldown: cooldown, Clock: func() time.Time { return now }})
		var under []bool // requests under way, true for a trial
		row, opened := 0, now
		trials := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch {
			case rapid.Bool().Draw(t, "pass time"):
				now = now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "time")))
			case len(under) == 0 || rapid.Bool().Draw(t, "enter"):
				trial, ok := b.startCall()
				closed := row < limit
				if want := closed || trials == 0 && !now.Before(opened.Add(cooldown)); ok != want || trial != (ok && !closed) {
					t.Fatalf("enter: trial %t, %t, want %t; %d failures in a row, %d trials", trial, ok, want, row, trials)
				}
				if ok {
					under = append(under, trial)
				}
				if trial {
					trials++
				}
			default:
				o := rapid.SampledFrom([]Outcome{Answered, Failed, Unknown}).Draw(t, "outcome")
				b.finishCall(under[0], o)
				if under[0] {
					trials--
				}
				under = under[1:]
				switch o {
				case Answered:
					row = 0
				case Failed:
					if row++; row >= limit {
						opened = now
					}
				}
			}
			want := Closed
			if row >= limit {
				want = HalfOpen
				if now.Before(opened.Add(cooldown)) {
					want = Open
				}
			}
			if got := b.State(); got != want {
				t.Fatalf("it is %s, want %s", got, want)
			}
		}
	})
}
