package rot

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The size of one chart, and of what is around its curves.
const (
	chartWidth, chartHeight = 560, 300
	left, right             = 48, 140
	top, bottom             = 46, 44
)

// palette colours curves, and dashes tell them apart without colours.
func palette() []string {
	return []string{"#0b5fa5", "#c2410c", "#15803d", "#7e22ce", "#6b7280", "#b45309", "#be123c", "#0f766e"}
}

func dashes() []string { return []string{"", "6 3", "2 3", "8 3 2 3", "1 4", "4 2", "10 4", "3 6"} }

// picture draws all charts, two beside each other.
func (r *Report) picture() []byte {
	charts := r.charts()
	rows := (len(charts) + 1) / 2
	var b strings.Builder
	begin(&b, 2*chartWidth, rows*chartHeight, "Context rot")
	for i := range charts {
		fmt.Fprintf(&b, "<g transform=\"translate(%d %d)\">\n", i%2*chartWidth, i/2*chartHeight)
		charts[i].draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func begin(b *strings.Builder, width, height int, title string) {
	fmt.Fprintf(b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"11\" role=\"img\">\n<title>%s</title>\n"+
		"<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", width, height, width, height, html.EscapeString(title), width, height)
}

// alone draws one chart as a picture of its own.
func (c *chart) alone() string {
	var b strings.Builder
	begin(&b, chartWidth, chartHeight, c.title)
	c.draw(&b)
	b.WriteString("</svg>\n")
	return b.String()
}

// most is the upper end of the y axis: 1, or less where every value is small.
func (c *chart) most() float64 {
	most := 0.0
	for _, one := range c.curves {
		for _, v := range one.values {
			if v != nil {
				most = max(most, v.high)
			}
		}
	}
	for _, end := range []float64{.01, .02, .05, .1, .2, .5} {
		if most <= end {
			return end
		}
	}
	return 1
}

// draw draws axes, curves with the ends of their intervals, and their names.
func (c *chart) draw(b *strings.Builder) {
	most := c.most()
	x := func(i int) float64 {
		return left + (float64(i)+.5)*(chartWidth-left-right)/float64(max(1, len(c.labels)))
	}
	y := func(v float64) float64 { return chartHeight - bottom - v/most*(chartHeight-top-bottom) }
	fmt.Fprintf(b, "<text x=\"10\" y=\"16\" font-size=\"12\" font-weight=\"bold\" fill=\"#111111\">%s</text><text x=\"10\" y=\"31\" fill=\"#333333\">%s</text>\n",
		html.EscapeString(c.title), html.EscapeString(c.at))
	for i := range 6 {
		v := most * float64(i) / 5
		fmt.Fprintf(b, "<path d=\"M%d %.1fH%d\" stroke=\"#dddddd\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"#333333\">%.3g</text>\n",
			left, y(v), chartWidth-right, left-6, y(v)+4, v)
	}
	for i, label := range c.labels {
		fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#333333\">%s</text>\n", x(i), chartHeight-bottom+16, html.EscapeString(label))
	}
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#333333\">%s</text>\n", (left+chartWidth-right)/2, chartHeight-bottom+34, html.EscapeString(c.x))
	for n, one := range c.curves {
		colour := palette()[n%len(palette())]
		dash := dashes()[n%len(dashes())]
		aside := (float64(n) - float64(len(c.curves)-1)/2) * 2 // so that equal curves and intervals can be seen
		var line strings.Builder
		to := "M"
		for i, v := range one.values {
			if v == nil || math.IsNaN(v.mean) {
				to = "M"
				continue
			}
			fmt.Fprintf(&line, "%s%.1f %.1f", to, x(i)+aside, y(v.mean))
			fmt.Fprintf(b, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"%s\" stroke-opacity=\".35\" stroke-width=\"2\"/><circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"%s\"/>\n",
				x(i)+aside, y(v.low), y(v.high), colour, x(i)+aside, y(v.mean), colour)
			to = "L"
		}
		fmt.Fprintf(b, "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" stroke-dasharray=\"%s\"/>\n", line.String(), colour, dash)
		at := top + 8 + n*16
		fmt.Fprintf(b, "<path d=\"M%d %dh22\" stroke=\"%s\" stroke-width=\"1.6\" stroke-dasharray=\"%s\"/><text x=\"%d\" y=\"%d\" fill=\"#333333\">%s</text>\n",
			chartWidth-right+10, at, colour, dash, chartWidth-right+38, at+4, html.EscapeString(one.name))
	}
}
