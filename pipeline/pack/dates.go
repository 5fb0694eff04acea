package pack

import (
	"strings"
	"time"

	"satchel/schemas"
)

// dates are the headings of days, "31 January 2026:". A year that the heading above has
// said already is left out, and so is the mark of a heading, for one stands for every few
// lines and its tokens are the items'.
type dates struct {
	count func(text string) int
	known map[int64]string // day → heading with the year
	days  map[string]date
}

// covered is what stands over a run of items already: sections, the headings of days,
// with their years, and these years.
type covered struct {
	sections    map[schemas.SectionType]bool
	days, years map[string]bool
}

func newCovered() covered {
	return covered{map[schemas.SectionType]bool{}, map[string]bool{}, map[string]bool{}}
}

type date struct {
	year, short string // short has no year
	cost        int    // tokens of short
	more        int    // tokens the year adds
}

func newDates(count func(string) int) dates {
	return dates{count: count, known: map[int64]string{}, days: map[string]date{}}
}

// day is the heading above the items of a day, with its year.
func (d *dates) day(at time.Time) string {
	number := at.Unix() / 86400
	h, ok := d.known[number]
	if !ok {
		at = at.UTC()
		h = at.Format("2 January 2006") + ":\n"
		d.known[number] = h
		x := date{year: at.Format("2006"), short: at.Format("2 January") + ":\n"}
		x.cost = d.count(x.short)
		x.more = d.count(h) - x.cost
		d.days[h] = x
	}
	return h
}

// cost is what the heading adds to a run of items.
func (d *dates) cost(c *covered, heading string) int {
	if heading == "" || c.days[heading] {
		return 0
	}
	x := d.days[heading]
	if c.years[x.year] {
		return x.cost
	}
	return x.cost + x.more
}

func (d *dates) show(c *covered, heading string) {
	if heading != "" {
		c.days[heading] = true
		c.years[d.days[heading].year] = true
	}
}

// after returns the heading as it stands below another one, "" when it is the same.
func (d *dates) after(last, heading string) string {
	switch {
	case heading == last:
		return ""
	case last != "" && d.days[last].year == d.days[heading].year:
		return d.days[heading].short
	}
	return heading
}

// dayHeading reports whether a line of a content would be read as the heading of a day.
func dayHeading(line string) bool {
	name, ok := strings.CutSuffix(line, ":")
	if !ok || name == "" || name[0] < '0' || name[0] > '9' {
		return false
	}
	for _, layout := range []string{"2 January 2006", "2 January"} {
		if _, err := time.Parse(layout, name); err == nil {
			return true
		}
	}
	return false
}
