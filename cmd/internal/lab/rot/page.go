package rot

import (
	"fmt"
	"html"
	"strings"
)

// page is rot.html: each chart with its figures below it, and a table of every point. It has no script and asks for
// nothing from elsewhere.
func (r *Report) page() []byte {
	var b strings.Builder
	b.WriteString("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Context rot</title>\n<style>\n" +
		"body { font-family: sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #111; background: #fff }\n" +
		"table { border-collapse: collapse; font-size: .85em; margin: 1em 0 2em }\n" +
		"th, td { border: 1px solid #ddd; padding: .2em .6em; text-align: right }\nth:first-child, td:first-child { text-align: left }\n" +
		"svg { max-width: 100%; height: auto }\n</style>\n</head>\n<body>\n<h1>Context rot</h1>\n")
	fmt.Fprintf(&b, "<p>%d questions at each point, of %d histories. Distortions: %s. In brackets the ends of the interval of 95 %%.</p>\n",
		r.Max, r.Seeds, html.EscapeString(strings.Join(r.Distortions, ", ")))
	charts := r.charts()
	for i := range charts {
		c := &charts[i]
		fmt.Fprintf(&b, "<h2>%s</h2>\n%s", html.EscapeString(c.title+" ("+c.at+")"), c.alone())
		c.table(&b)
	}
	r.everyPoint(&b)
	b.WriteString("</body>\n</html>\n")
	return []byte(b.String())
}

// table prints the figures of a chart: a row for each curve.
func (c *chart) table(b *strings.Builder) {
	row(b, "th", append([]string{c.x}, c.labels...)...)
	for _, one := range c.curves {
		cells := []string{one.name}
		for _, v := range one.values {
			if v == nil {
				cells = append(cells, "–")
				continue
			}
			cells = append(cells, fmt.Sprintf("%.3g [%.3g, %.3g]", v.mean, v.low, v.high))
		}
		row(b, "td", cells...)
	}
	b.WriteString("</table>\n")
}

// row prints a row of a table, which a row of th begins.
func row(b *strings.Builder, cell string, texts ...string) {
	if cell == "th" {
		b.WriteString("<table>\n")
	}
	b.WriteString("<tr>")
	for _, text := range texts {
		fmt.Fprintf(b, "<%s>%s</%s>", cell, html.EscapeString(text), cell)
	}
	b.WriteString("</tr>\n")
}

// everyPoint prints the means at every point.
func (r *Report) everyPoint(b *strings.Builder) {
	b.WriteString("<h2>Every point</h2>\n")
	row(b, "th", "context", "items", "distortion", "budget", "questions", "evidence", "answered", "density", "place", "tokens", "distractors", "superseded", "outdated",
		"duplicates", "injections", "fenced", "absent", "abstained", "silent", "unnamed")
	for i := range r.Points {
		p := &r.Points[i]
		cells := []string{p.Line, fmt.Sprint(p.Size), p.Distortion, fmt.Sprint(p.Budget), fmt.Sprint(p.Questions)}
		for _, s := range []stat{p.Evidence, p.Answered, p.Density, p.Place, p.Tokens, p.Distractors, p.Superseded, p.Outdated, p.Duplicates, p.Injections, p.Fenced} {
			cells = append(cells, fmt.Sprintf("%.4g", s.mean))
		}
		row(b, "td", append(cells, fmt.Sprint(p.Absent), fmt.Sprintf("%.3g", p.Abstained.mean), fmt.Sprintf("%.3g", p.Silent.mean), fmt.Sprint(p.Unnamed))...)
	}
	b.WriteString("</table>\n")
}
