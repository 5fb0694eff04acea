package pack

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Shares are the parts of the budget that the sections may take before what others
// leave is given to them. They sum to 1.
type Shares struct {
	User   float64 // the user's message and the policy preamble
	Task   float64
	Tools  float64
	Recall float64 // knowledge and memory together
	Safety float64
}

// DefaultShares returns 12.5 / 12.5 / 7.5 / 60 / 7.5 percent.
func DefaultShares() Shares {
	return Shares{User: .125, Task: .125, Tools: .075, Recall: .60, Safety: .075}
}

// ParseShares reads percentages as "12.5/12.5/7.5/60/7.5", in the order of the fields.
func ParseShares(text string) (Shares, error) {
	list := strings.Split(text, "/")
	if len(list) != parts {
		return Shares{}, fmt.Errorf("parse section shares: %d of them, want %d: user/task/tools/recall/safety", len(list), parts)
	}
	var v [parts]float64
	for i, part := range list {
		percent, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return Shares{}, fmt.Errorf("parse section shares: %q is no number", part)
		}
		v[i] = percent / 100
	}
	s := Shares{User: v[partUser], Task: v[partTask], Tools: v[partTools], Recall: v[partRecall], Safety: v[partSafety]}
	return s, s.Validate()
}

// Validate says what the shares sum to when that is not 1.
func (s Shares) Validate() error {
	sum := 0.0
	for _, v := range s.list() {
		if v < 0 || math.IsNaN(v) {
			return fmt.Errorf("section share %v: must not be negative", v)
		}
		sum += v
	}
	if math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("section shares sum to %.4g, not to 1", sum)
	}
	return nil
}

func (s Shares) list() [parts]float64 {
	return [parts]float64{partUser: s.User, partTask: s.Task, partTools: s.Tools, partRecall: s.Recall, partSafety: s.Safety}
}

// The parts of the budget.
const (
	partUser = iota
	partTask
	partTools
	partRecall
	partSafety
	parts
)

// allot gives each part what it demands up to its share, and what is left to those
// that want more, in proportion to their shares, until nothing is left or wanted.
// The result never sums to more than budget.
func allot(budget int, shares, demand [parts]float64) [parts]int {
	var got [parts]float64
	left := float64(budget)
	for range parts + 1 {
		open := 0.0
		for i := range parts {
			if demand[i] > got[i] {
				open += shares[i]
			}
		}
		if open <= 0 || left < 1 {
			break
		}
		pot := left
		for i := range parts {
			if demand[i] > got[i] {
				more := min(demand[i]-got[i], pot*shares[i]/open)
				got[i] += more
				left -= more
			}
		}
	}
	var out [parts]int
	for i, v := range got {
		out[i] = int(math.Floor(v + 1e-9))
	}
	return out
}
