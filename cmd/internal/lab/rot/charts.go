package rot

import (
	"fmt"
	"slices"
)

// chart is a few curves over the same places of the x axis.
type chart struct {
	title, at string // what, and where it was measured
	x         string
	labels    []string // of the places
	curves    []curve
}

// curve has a value at each place; one that was not measured is nil.
type curve struct {
	name   string
	values []*stat
}

// charts are the pictures of a report, in their order.
func (r *Report) charts() []chart {
	size := r.Sizes[len(r.Sizes)-1]
	budget := r.middle()
	atSize := fmt.Sprintf("%d items", size)
	atBudget := fmt.Sprintf("%d tokens", budget)
	both := atSize + ", " + atBudget
	list := []chart{
		r.overSizes(func(p Part) stat { return p.Evidence }).titled("Evidence in the context, by items of the history", atBudget),
		r.overSizes(func(p Part) stat { return p.Density }).titled("Evidence as part of the tokens, by items of the history", atBudget),
		r.overBudgets(size).titled("Evidence in the context, by token budget", atSize),
		r.overDistortions(budget).titled("Evidence in packs of Satchel, by distortion", atBudget),
		r.overParts("position", r.Position, fifths(), size, budget).titled("Evidence by position of the fact in the history; 0 is the oldest", both),
		r.overParts("words", r.Words, valuesOf(r.Words), size, budget).titled("Evidence by content words that question and fact share", both),
	}
	if c := r.overDistractors(size, budget); len(c.labels) > 1 {
		list = append(list, c.titled("Evidence by distractors for each question", both))
	}
	return list
}

func (c chart) titled(title, at string) chart {
	c.title = title
	c.at = at
	return c
}

// drawOver has a curve of each name over numbers.
func drawOver(x string, numbers []int, names []string, value func(name string, number int) *stat) chart {
	c := chart{x: x}
	for _, n := range numbers {
		c.labels = append(c.labels, fmt.Sprint(n))
	}
	for _, name := range names {
		one := curve{name: name}
		for _, n := range numbers {
			one.values = append(one.values, value(name, n))
		}
		c.curves = append(c.curves, one)
	}
	return c
}

// overSizes has a curve for each line.
func (r *Report) overSizes(of func(Part) stat) chart {
	return drawOver("items", r.Sizes, lineNames(), func(line string, size int) *stat {
		value := of(r.overall(size, line, r.middle()))
		return &value
	})
}

func (r *Report) overBudgets(size int) chart {
	return drawOver("tokens", r.Budgets, lineNames(), func(line string, budget int) *stat {
		value := r.overall(size, line, budget).Evidence
		return &value
	})
}

// overDistortions has a curve of Satchel for each distortion.
func (r *Report) overDistortions(budget int) chart {
	return drawOver("items", r.Sizes, r.Distortions, func(name string, size int) *stat {
		return r.evidenceAt(lineSatchel, size, budget, name)
	})
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
func (r *Report) overParts(x string, parts []Part, values []string, size, budget int) chart {
	c := chart{x: x, labels: values}
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

// valuesOf are the values of parts, in the order in which they come.
func valuesOf(parts []Part) []string {
	var list []string
	for i := range parts {
		if !slices.Contains(list, parts[i].Value) {
			list = append(list, parts[i].Value)
		}
	}
	return list
}

// overDistractors takes none as 0 distractors.
func (r *Report) overDistractors(size, budget int) chart {
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
	return drawOver("distractors", order, lineNames(), func(line string, n int) *stat {
		return r.evidenceAt(line, size, budget, numbers[n])
	})
}
