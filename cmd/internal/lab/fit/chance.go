package fit

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// bear notes how much the evidence of each row says that it bears on the question.
func bear(rows []row, by func(*row) float64) {
	for i := range rows {
		rows[i].Bears = math.Round(by(&rows[i])*1e4) / 1e4
	}
}

// group is a kind of items that has a chance of its own, and what it is fitted to.
type group struct {
	name    string
	sets    []string
	bias    bool
	foreign bool // questions of other sets count: most questions ask for no tool
}

func chanceGroups() []group {
	return []group{
		{"memories", []string{"talk", "bfcl-memory", "git-river-changelog"}, false, false},
		{"documents", []string{"git-river-changelog"}, true, false},
		{"tools", []string{"bfcl-tools", "metatool"}, true, true},
	}
}

// chance has the coefficients of the bias, of the logit of what an item bears, and of how far it stands behind the best.
type chance [3]float64

func (c *chance) of(r *row) float64 {
	x := chanceTerms(r)
	return logistic(c[:], x[:])
}

func chanceTerms(r *row) [3]float64 {
	bears := min(max(r.Bears, 1e-4), 1-1e-4)
	return [3]float64{1, math.Log(bears / (1 - bears)), -r.behind}
}

// reportChances fits the chances, draws how they hold on each conversation when it is left out and on the sets that are
// scored alone, and returns them as Go source.
func reportChances(name string, rows, scored []row, diagram io.Writer) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n// %[1]s returns the measured ones.\nfunc %[1]s() [groups]Chance {\n\treturn [groups]Chance{\n", name)
	for _, g := range chanceGroups() {
		of := slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
			return r.foreign && !g.foreign || !slices.Contains(g.sets, r.set)
		})
		c := fitChance(of, g)
		fmt.Fprintf(&out, "\t\t%-10s {Own: %.3f, Behind: %.3f, Bias: %.3f},\n", g.name+":", c[1], c[2], c[0])
		var pairs []pair
		for i := range of {
			if !of[i].foreign {
				pairs = append(pairs, pair{c.of(&of[i]), of[i].relevant, 1})
			}
		}
		fmt.Fprintf(diagram, "%s: expected calibration error %.3f\n", g.name, draw(pairs, diagram))
		if g.name == "memories" {
			fmt.Fprintf(diagram, "each conversation left out: %.3f\n", draw(leftOut(of, g), diagram))
			pairs = nil
			for i := range scored {
				pairs = append(pairs, pair{c.of(&scored[i]), scored[i].relevant, 1})
			}
			fmt.Fprintf(diagram, "scored: %.3f\n", draw(pairs, diagram))
		}
	}
	out.WriteString("\t}\n}\n")
	return out.String()
}

// leftOut are the candidates of each conversation by the chance that the others give.
func leftOut(rows []row, g group) []pair {
	var out []pair
	var parts []string
	for i := range rows {
		if r := &rows[i]; r.set == "talk" && !slices.Contains(parts, r.part) {
			parts = append(parts, r.part)
		}
	}
	for _, part := range parts {
		c := fitChance(slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.part == part }), g)
		for i := range rows {
			if rows[i].part == part {
				out = append(out, pair{c.of(&rows[i]), rows[i].relevant, 1})
			}
		}
	}
	return out
}

// fitChance fits a chance, which has no bias where the group has none.
func fitChance(rows []row, g group) chance {
	b := chance{0, .5, 1}
	from := 1
	if g.bias {
		from = 0
	}
	regress(rows, b[from:], func(r *row) []float64 { x := chanceTerms(r); return x[from:] }, func(*row) float64 { return 1 })
	return b
}
