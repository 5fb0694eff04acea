package pack

import (
	"cmp"
	"math"
	"slices"
)

// How much of the session's last pack stays where it was.
const (
	holdShare = .5  // of the budget, of the limit of items and of that of bytes, at most
	holdWorth = .25 // of the tokens held, those of items that the pack would show anyway, at least
)

// keepOrder chooses again with the beginning of the session's last pack where it was, so that
// a prompt cache has it: as much of it as is still there in that order, takes no more than
// half of what the pack may show, and is by a quarter of what would be shown anyway. The
// rest of the pack is the best of what is left, so its evidence is at worst about that
// of a pack of half the size. choice takes the best of what is not taken.
func (w *packer) keepOrder(choice func()) {
	n := w.countHeldItems()
	w.again = make([]bool, len(w.cs))
	for _, i := range w.req.Before {
		if i >= 0 {
			w.again[i] = true
		}
	}
	w.undoChoices(len(w.chosen))
	w.spent = [parts]int{}
	w.bytes = 0
	w.heavy = nil
	w.runs = [2]covered{}
	last := makeTopLine()
	for _, i := range w.req.Before[:n] {
		w.takeItem(i, w.countNextItem(&last, i))
	}
	w.held = n
	w.runs[1] = covered{} // what follows has headings of its own
	choice()
}

// findItemRun is what is above the run of items that i is in.
func (w *packer) findItemRun(i int) *covered {
	if of := w.newest[i]; of >= 0 {
		i = of
	}
	if w.again != nil && w.again[i] {
		return &w.runs[1]
	}
	return &w.runs[0]
}

// countHeldItems returns how many items of the last pack stay: the most that may.
func (w *packer) countHeldItems() int {
	var best, tokens, worth, bytes int
	last := makeTopLine()
	var spent [parts]int
	for n, i := range w.req.Before {
		if i < 0 || w.part[i] < 0 {
			break
		}
		if of := w.newest[i]; of >= 0 && !slices.Contains(w.req.Before[:n], of) {
			break // it was there whole
		}
		cost := w.countNextItem(&last, i)
		tokens += cost
		spent[w.part[i]] += cost
		bytes += shownBytes(&w.cs[i])
		byteLimit := cmp.Or(w.req.Bytes, math.MaxInt)
		isTooMuch := isMost(tokens, w.req.Budget) || isMost(n+1, w.req.Limit) || isMost(bytes, byteLimit)
		if isTooMuch || spent[w.part[i]] > w.limits[w.part[i]] {
			break
		}
		if w.taken[i] {
			worth += cost
		}
		if float64(worth) >= holdWorth*float64(tokens) {
			best = n + 1
		}
	}
	return best
}

// isMost reports whether so much is more of a limit than what stays of the last pack may take.
func isMost(n, limit int) bool { return float64(n) > holdShare*float64(limit) }

// line is a place in the text of items: below which headings.
type line struct {
	section int8 // in sections, −1 for none
	day     day
}

// makeTopLine is above all items.
func makeTopLine() line { return line{section: -1} }

// findItemHeadings returns the headings before item i when it follows at, and its tokens.
func (w *packer) findItemHeadings(at *line, i int) (section, day string, tokens int) {
	// Below the heading of a day, what has none would be read as of that day.
	if w.kind[i] != at.section || w.day[i] == noDay && at.day != noDay {
		section = findSectionHeading(int(w.kind[i]))
		tokens = w.heads[w.kind[i]]
		*at = line{section: w.kind[i]}
	}
	if w.day[i] != noDay {
		text, more := w.dates.chooseHeading(at.day, w.day[i])
		day = text
		at.day = w.day[i]
		tokens += more
	}
	return section, day, tokens
}

// countNextItem returns the tokens of item i where the text is at, and moves on.
func (w *packer) countNextItem(at *line, i int) int {
	_, _, tokens := w.findItemHeadings(at, i)
	return tokens + w.cs[i].Tokens
}

// orderChosen is the chosen candidates in the order of the text: what stays where it was, the
// rest of what the last pack showed, for it is the likelier to stay next time, and what it
// did not show, each in the order of the sections.
func (w *packer) orderChosen() []int {
	held := w.chosen[:min(w.held, len(w.chosen))]
	out := append(make([]int, 0, len(w.chosen)), held...)
	var rest [2][]int
	for kind := range sections {
		for _, i := range w.listShownItems(int8(kind)) {
			if run := w.findItemRun(i); !slices.Contains(held, i) && run == &w.runs[1] {
				rest[0] = append(rest[0], i)
			} else if run == &w.runs[0] {
				rest[1] = append(rest[1], i)
			}
		}
	}
	return append(append(out, rest[0]...), rest[1]...)
}
