package pack

import (
	"slices"

	"satchel/schemas"
)

// How much of the session's last pack stays where it was.
const (
	holdShare = .5  // of the budget, of the limit of items and of that of bytes, at most
	holdWorth = .25 // of the tokens held, those of items that the pack would show anyway, at least
)

// stay chooses anew with the beginning of the session's last pack where it was, so that
// a prompt cache has it: as much of it as is still there in that order, takes no more than
// half of what the pack may show, and is by a quarter of what would be shown anyway. The
// rest of the pack is the best of what is left, so its evidence is at worst about that
// of a pack of half the size. choice takes the best of what is not taken.
func (w *work) stay(choice func()) {
	n := w.holding()
	w.again = make([]bool, len(w.cs))
	for _, i := range w.req.Before {
		if i >= 0 {
			w.again[i] = true
		}
	}
	w.giveUp(len(w.chosen))
	w.spent, w.bytes, w.heavy = [parts]int{}, 0, nil
	w.limits = w.allotted
	w.runs = [2]covered{newCovered(), newCovered()}
	var last line
	for _, i := range w.req.Before[:n] {
		w.take(i, w.next(&last, i))
	}
	w.held = n
	w.runs[1] = newCovered() // what follows has headings of its own
	choice()
}

// run is what stands over the run of items that i is in.
func (w *work) run(i int) *covered {
	if w.again != nil && w.again[i] {
		return &w.runs[1]
	}
	return &w.runs[0]
}

// holding returns how many items of the last pack stay: the most that may.
func (w *work) holding() int {
	best, tokens, worth, bytes := 0, 0, 0, 0
	var last line
	var spent [parts]int
	for n, i := range w.req.Before {
		if i < 0 || w.part[i] < 0 {
			break
		}
		cost := w.next(&last, i)
		tokens += cost
		spent[w.part[i]] += cost
		bytes += len(w.cs[i].Record.Content.Text())
		if float64(tokens) > holdShare*float64(w.req.Budget) || spent[w.part[i]] > w.allotted[w.part[i]] ||
			float64(n+1) > holdShare*float64(w.req.Limit) || w.req.Bytes > 0 && float64(bytes) > holdShare*float64(w.req.Bytes) {
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

// line is where the text of items stands: below which headings.
type line struct {
	section schemas.SectionType
	day     string
}

// headings returns what stands before item i when it follows at.
func (w *work) headings(at *line, i int) (section, day string) {
	// Below the heading of a day, what has none would be read as of that day.
	if w.kind[i] != at.section || w.day[i] == "" && at.day != "" {
		section = heading(w.kind[i])
		*at = line{section: w.kind[i]}
	}
	if w.day[i] != "" {
		day = w.dates.after(at.day, w.day[i])
		at.day = w.day[i]
	}
	return section, day
}

// next returns the tokens of item i where the text is at, and moves on.
func (w *work) next(at *line, i int) int {
	section, day := w.headings(at, i)
	return w.count(section) + w.count(day) + w.cs[i].Tokens
}

// sequence is the chosen candidates in the order of the text: what stays where it was, the
// rest of what the last pack showed, for it is the likelier to stay next time, and what it
// did not show, each in the order of the sections.
func (w *work) sequence() []int {
	held := w.chosen[:min(w.held, len(w.chosen))]
	out := append(make([]int, 0, len(w.chosen)), held...)
	var rest [2][]int
	for _, kind := range sections {
		for _, i := range w.shown(kind) {
			if run := w.run(i); !slices.Contains(held, i) && run == &w.runs[1] {
				rest[0] = append(rest[0], i)
			} else if run == &w.runs[0] {
				rest[1] = append(rest[1], i)
			}
		}
	}
	return append(append(out, rest[0]...), rest[1]...)
}
