package rot

import (
	"fmt"
	"slices"
)

// chart is a few curves over the same places of the x axis.
type chart struct {
	title, x string
	labels   []string // of the places
	curves   []curve
}

// curve has a value at each place; one that was not measured is nil.
type curve struct {
	name   string
	values []*stat
}

// charts are the pictures of a report, in their order.
func (r *Report) charts() []chart {
	size, budget := r.Sizes[len(r.Sizes)-1], r.middle()
	list := []chart{
		r.overSizes(fmt.Sprintf("Evidence in the context, by items of the history (%d tokens)", budget), func(p Part) stat { return p.Evidence }),
		r.overSizes(fmt.Sprintf("Evidence as part of the tokens, by items of the history (%d tokens)", budget), func(p Part) stat { return p.Density }),
		r.overBudgets(fmt.Sprintf("Evidence in the context, by token budget (%d items)", size), size),
		r.overDistortions(fmt.Sprintf("Evidence in packs of Satchel, by items of the history (%d tokens)", budget), budget),
		r.overParts(fmt.Sprintf("Evidence by position of the fact in the history, 0 is the oldest (%d items, %d tokens)", size, budget), "position", r.Position, fifths(), size, budget),
		r.overParts(fmt.Sprintf("Evidence by content words that question and fact share (%d items, %d tokens)", size, budget), "words", r.Words, []string{"3", "1", "0"}, size, budget),
	}
	if c := r.overDistractors(fmt.Sprintf("Evidence by distractors for each question (%d items, %d tokens)", size, budget), size, budget); len(c.labels) > 1 {
		list = append(list, c)
	}
	return list
}

// overSizes has a curve for each line.
func (r *Report) overSizes(title string, of func(Part) stat) chart {
	c := chart{title: title, x: "items"}
	for _, size := range r.Sizes {
		c.labels = append(c.labels, fmt.Sprint(size))
	}
	for _, line := range lineNames() {
		one := curve{name: line}
		for _, size := range r.Sizes {
			value := of(r.overall(size, line, r.middle()))
			one.values = append(one.values, &value)
		}
		c.curves = append(c.curves, one)
	}
	return c
}

func (r *Report) overBudgets(title string, size int) chart {
	c := chart{title: title, x: "tokens"}
	for _, budget := range r.Budgets {
		c.labels = append(c.labels, fmt.Sprint(budget))
	}
	for _, line := range lineNames() {
		one := curve{name: line}
		for _, budget := range r.Budgets {
			value := r.overall(size, line, budget).Evidence
			one.values = append(one.values, &value)
		}
		c.curves = append(c.curves, one)
	}
	return c
}

// overDistortions has a curve of Satchel for each distortion.
func (r *Report) overDistortions(title string, budget int) chart {
	c := chart{title: title, x: "items"}
	for _, size := range r.Sizes {
		c.labels = append(c.labels, fmt.Sprint(size))
	}
	for _, d := range r.Distortions {
		one := curve{name: d}
		for _, size := range r.Sizes {
			one.values = append(one.values, r.evidenceAt(lineSatchel, size, budget, d))
		}
		c.curves = append(c.curves, one)
	}
	return c
}

// evidenceAt is the evidence at one point, nil where there is none.
func (r *Report) evidenceAt(line string, size, budget int, distortion string) *stat {
	for i := range r.Points {
		p := &r.Points[i]
		if p.Line == line && p.Size == size && p.Distortion == distortion && (p.Budget == budget || line == lineAll) {
			return &p.Evidence
		}
	}
	return nil
}

// overParts has a curve for each line that has a budget.
func (r *Report) overParts(title, x string, parts []Part, values []string, size, budget int) chart {
	c := chart{title: title, x: x, labels: values}
	for _, line := range lineNames() {
		if line == lineAll {
			continue
		}
		one := curve{name: line, values: make([]*stat, len(values))}
		for i := range parts {
			p := &parts[i]
			if at := slices.Index(values, p.Value); at >= 0 && p.Line == line && p.Size == size && p.Budget == budget {
				one.values[at] = &p.Evidence
			}
		}
		c.curves = append(c.curves, one)
	}
	return c
}

// overDistractors takes none as 0 distractors.
func (r *Report) overDistractors(title string, size, budget int) chart {
	numbers := map[int]string{}
	var order []int
	for i := range r.Points {
		p := &r.Points[i]
		if _, seen := numbers[p.Number]; !seen && (p.Number > 0 || p.Distortion == distortNone) {
			numbers[p.Number] = p.Distortion
			order = append(order, p.Number)
		}
	}
	slices.Sort(order)
	c := chart{title: title, x: "distractors"}
	for _, n := range order {
		c.labels = append(c.labels, fmt.Sprint(n))
	}
	for _, line := range lineNames() {
		one := curve{name: line}
		for _, n := range order {
			one.values = append(one.values, r.evidenceAt(line, size, budget, numbers[n]))
		}
		c.curves = append(c.curves, one)
	}
	return c
}
