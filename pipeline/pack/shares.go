package pack

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"satchel/pipeline/fill"
)

// Shares are the parts of the budget. The fixed texts and the tools take no more than theirs
// while knowledge and memory want the rest. They sum to 1.
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
	for _, v := range s.listShares() {
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

func (s Shares) listShares() [parts]float64 {
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

// reserveShares is what the fixed texts and the tools have before knowledge and memory: their shares. The task and the
// user's message are whole where the budget has room for them, the smaller first. Tools make room for them.
func reserveShares(budget int, shares [parts]float64, whole [parts]int) [parts]float64 {
	var out [parts]float64
	left := float64(budget)
	for i := range parts {
		out[i] = shares[i] * float64(budget)
		if i != partTools && i != partRecall {
			left -= min(float64(whole[i]), out[i])
		}
	}
	texts := [...]int{partTask, partUser}
	if whole[partUser] < whole[partTask] {
		slices.Reverse(texts[:])
	}
	for _, i := range texts {
		if more := float64(whole[i]) - out[i]; more > 0 && more <= left {
			out[i] = float64(whole[i])
			left -= more
		}
	}
	out[partTools] = min(out[partTools], left)
	return out
}

// allotBudget gives each part what it demands: the fixed texts and the tools up to what is reserved for them,
// knowledge and memory up to the rest. What is left goes to the parts that want more, in
// proportion to their shares. The result never sums to more than budget.
func allotBudget(budget int, shares, reserved, demand [parts]float64) [parts]int {
	var got [parts]float64
	left := float64(budget)
	for i := range parts {
		if i != partRecall {
			got[i] = min(demand[i], reserved[i])
			left -= got[i]
		}
	}
	got[partRecall] = min(demand[partRecall], max(0, left))
	left -= got[partRecall]
	var more [parts]float64
	for i := range parts {
		more[i] = demand[i] - got[i]
	}
	var out [parts]int
	for i, rest := range fill.Divide(left, shares[:], more[:]) {
		out[i] = int(math.Floor(got[i] + rest + 1e-9))
	}
	return out
}
