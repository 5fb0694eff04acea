package fit

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection/rank"
)

// calibrated is a kind of evidence that is calibrated by itself, and the terms that it has.
type calibrated struct {
	name, comment string
	terms         []string
	see           func(e candidate.Evidence) candidate.Evidence
}

func models(encoded bool) []calibrated {
	all := func(e candidate.Evidence) candidate.Evidence { return e }
	if encoded {
		return []calibrated{
			{"Both", "of items whose words and vectors are compared", []string{"Bias", "Words", "Cosine", "Product", "Encoded", "EncodedSquared", "Near", "Dated"}, all},
			{"ByMeaning", "of items whose vectors alone are compared", []string{"Bias", "Cosine", "CosineSquared", "Encoded", "EncodedSquared", "Dated"},
				func(e candidate.Evidence) candidate.Evidence { e.ByWords = false; return e }},
		}
	}
	return []calibrated{
		{"Both", "of items whose words and vectors are compared", []string{"Bias", "Words", "Cosine", "Product", "Near", "Dated"},
			all},
		{"ByWords", "of items whose words alone are compared", []string{"Bias", "Words", "WordsSquared", "Near", "Dated"},
			func(e candidate.Evidence) candidate.Evidence { e.ByMeaning = false; return e }},
		{"ByMeaning", "of items whose vectors alone are compared", []string{"Bias", "Cosine", "CosineSquared", "Dated"},
			func(e candidate.Evidence) candidate.Evidence { e.ByWords = false; return e }},
	}
}

// report fits the models, draws how they hold on the half of the questions that they were not fitted
// to, and returns the coefficients as Go source, and the probability by the first model.
func report(all []row, models []calibrated, diagram io.Writer) (string, func(*row) float64) {
	var out strings.Builder
	var first func(*row) float64
	rows := slices.DeleteFunc(slices.Clone(all), func(r row) bool { return r.place >= best })
	for _, m := range models {
		var pairs []pair
		for half := range 2 {
			b := fit(rows, m, func(r *row) bool { return r.question%2 != half })
			for i := range rows {
				if r := &rows[i]; r.question%2 == half {
					pairs = append(pairs, pair{probability(m, b, r), r.relevant, r.weight})
				}
			}
		}
		fmt.Fprintf(diagram, "%s: expected calibration error %.3f\n", m.name, draw(pairs, diagram))
		b := fit(rows, m, func(*row) bool { return true })
		if first == nil {
			first = func(r *row) float64 { return probability(m, b, r) }
		}
		fmt.Fprintf(&out, "\t// %s\n\t%s = Calibration{", m.comment, string(m.name[0]|0x20)+m.name[1:])
		for i, term := range m.terms {
			if i > 0 {
				fmt.Fprint(&out, ", ")
			}
			fmt.Fprintf(&out, "%s: %.3f", term, b[i])
		}
		fmt.Fprint(&out, "}\n")
	}
	return out.String(), first
}

func terms(m calibrated, r *row) []float64 {
	all := rank.Terms(m.see(r.Evidence))
	out := make([]float64, len(m.terms))
	for i, name := range m.terms {
		out[i] = all[name]
	}
	return out
}

func probability(m calibrated, b []float64, r *row) float64 { return logistic(b, terms(m, r)) }

// logistic is the probability that a sum of terms says.
func logistic(b, terms []float64) float64 {
	sum := 0.
	for i, x := range terms {
		sum += b[i] * x
	}
	return 1 / (1 + math.Exp(-sum))
}

// unlabelled is how much less a candidate without a label counts when it covers the question.
const unlabelled = .7

// weightOf is the weight of a row in a fit.
func weightOf(r *row) float64 {
	if r.relevant {
		return r.weight
	}
	covers := min(1, max(0, (r.Words*max(0, r.Cosine)-.25)/.3))
	return r.weight * (1 - unlabelled*covers)
}

// fit returns the coefficients of a logistic regression in which no evidence speaks against an item: a term that
// would have a negative one is left out.
func fit(rows []row, m calibrated, of func(*row) bool) []float64 {
	whole := m.terms
	for {
		b := regress(rows, make([]float64, len(m.terms)), func(r *row) []float64 { return terms(m, r) }, func(r *row) float64 {
			if !of(r) {
				return 0
			}
			return weightOf(r)
		})
		kept := []string{whole[0]}
		for i, term := range m.terms[1:] {
			if b[i+1] >= 0 {
				kept = append(kept, term)
			}
		}
		if len(kept) == len(m.terms) {
			out := make([]float64, len(whole))
			for i, term := range m.terms {
				out[slices.Index(whole, term)] = b[i]
			}
			return out
		}
		m.terms = kept
	}
}

// regress returns the coefficients of a logistic regression, by Newton's method from the given ones. Rows without a weight do
// not count. A step that makes the rows less likely is halved.
func regress(rows []row, b []float64, terms func(*row) []float64, weight func(*row) float64) []float64 {
	const halvings = 30
	likely, gradient, hessian := slope(rows, b, terms, weight)
	for range 40 {
		step := solve(hessian, gradient)
		taken := false
		for range halvings {
			next := slices.Clone(b)
			for j, d := range step {
				next[j] += d
				step[j] /= 2
			}
			better, g, h := slope(rows, next, terms, weight)
			taken = better > likely
			if taken {
				copy(b, next)
				likely = better
				gradient = g
				hessian = h
				break
			}
		}
		if !taken {
			break
		}
	}
	return b
}

// slope is how likely the coefficients make the rows, as a logarithm, and its first and second derivatives, the second negative.
func slope(rows []row, b []float64, terms func(*row) []float64, weight func(*row) float64) (likely float64, gradient []float64, hessian [][]float64) {
	gradient = make([]float64, len(b))
	hessian = make([][]float64, len(b))
	for i := range hessian {
		hessian[i] = make([]float64, len(b))
		hessian[i][i] = 1e-9
	}
	for i := range rows {
		r := &rows[i]
		w := weight(r)
		if w == 0 {
			continue
		}
		x := terms(r)
		p := logistic(b, x)
		y := 0.
		if r.relevant {
			y = 1
		}
		likely += w * math.Log(max(1e-300, 1-math.Abs(y-p)))
		for j := range x {
			gradient[j] += w * (y - p) * x[j]
			for k := range x {
				hessian[j][k] += w * p * (1 - p) * x[j] * x[k]
			}
		}
	}
	return likely, gradient, hessian
}

// solve solves a·x = y by elimination; a is positive definite and is overwritten.
func solve(a [][]float64, y []float64) []float64 {
	n := len(y)
	for i := range n {
		for j := i + 1; j < n; j++ {
			f := a[j][i] / a[i][i]
			for k := i; k < n; k++ {
				a[j][k] -= f * a[i][k]
			}
			y[j] -= f * y[i]
		}
	}
	x := make([]float64, n)
	for i := n - 1; i >= 0; i-- {
		x[i] = y[i]
		for k := i + 1; k < n; k++ {
			x[i] -= a[i][k] * x[k]
		}
		x[i] /= a[i][i]
	}
	return x
}

// pair is a probability and what was so.
type pair struct {
	p        float64
	relevant bool
	weight   float64
}

// draw writes ten bins and returns the expected calibration error.
func draw(pairs []pair, w io.Writer) float64 {
	var bins [10]struct{ n, p, y, weight float64 }
	total := 0.
	for _, o := range pairs {
		b := &bins[min(9, int(o.p*10))]
		b.n++
		b.weight += o.weight
		b.p += o.weight * o.p
		if o.relevant {
			b.y += o.weight
		}
		total += o.weight
	}
	wrong := 0.
	for i, b := range bins {
		if b.weight > 0 {
			wrong += math.Abs(b.p-b.y) / total
			fmt.Fprintf(w, "  %.1f  said %.3f  was %.3f  of %.0f\n", float64(i)/10, b.p/b.weight, b.y/b.weight, b.n)
		}
	}
	return wrong
}
