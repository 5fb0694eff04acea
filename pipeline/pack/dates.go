package pack

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"satchel/pipeline/language"
	"satchel/pipeline/token"
)

// dates are the headings of days, "31 January 2026:". A year that the heading above has
// said already is left out, and so is the mark of a heading, for there is one for every few
// lines and its tokens are the items'.
type dates struct {
	by    token.Counter
	costs *costs
	zone  *time.Location
	known map[int64]day
	list  []date // by day
}

// day is a day whose heading is above items of a pack, noDay none.
type day int32

const noDay day = 0

// covered is what is above a run of items already: sections, the headings of days,
// with their years, and these years.
type covered struct {
	sections [len(sections)]bool
	days     []bool // by day, as far as they are known
	years    []int
}

type date struct {
	whole, short string // the heading with the year and without
	year         int
	cost         int // tokens of short
	more         int // tokens the year adds
}

func newDates(by token.Counter, costs *costs, zone *time.Location) dates {
	return dates{by: by, costs: costs, zone: cmp.Or(zone, time.UTC), known: map[int64]day{}, list: make([]date, 1)}
}

// findDayIndex is that of a time, in the zone.
func (d *dates) findDayIndex(at time.Time) day {
	_, east := at.In(d.zone).Zone()
	here := at.Unix() + int64(east)
	number := here / secondsOfDay
	if here%secondsOfDay < 0 {
		number--
	}
	known, ok := d.known[number]
	if !ok {
		known = day(len(d.list))
		d.known[number] = known
		d.list = append(d.list, dateOf(number, func(text string) int { return d.costs.countCached(d.by, text) }))
	}
	return known
}

const secondsOfDay = 24 * 60 * 60

// dateOf returns the headings of a day, given in days since 1970, as count finds them.
func dateOf(number int64, count func(text string) int) date {
	at := time.Unix(number*secondsOfDay, 0).UTC()
	short := at.Format("2 January")
	x := date{whole: at.Format("2 January 2006") + ":\n", short: short + ":\n", year: at.Year()}
	x.cost = count(x.short)
	x.more = count(x.whole) - x.cost
	return x
}

// countHeadingCost is what the heading adds to a run of items.
func (d *dates) countHeadingCost(c *covered, at day) int {
	if at == noDay || c.hasHeading(at) {
		return 0
	}
	x := &d.list[at]
	if slices.Contains(c.years, x.year) {
		return x.cost
	}
	return x.cost + x.more
}

// hasHeading reports whether the heading of a day is there.
func (c *covered) hasHeading(at day) bool { return int(at) < len(c.days) && c.days[at] }

func (d *dates) markHeadingShown(c *covered, at day) {
	if at == noDay {
		return
	}
	if len(c.days) < len(d.list) {
		c.days = append(c.days, make([]bool, len(d.list)-len(c.days))...)
	}
	c.days[at] = true
	if year := d.list[at].year; !slices.Contains(c.years, year) {
		c.years = append(c.years, year)
	}
}

// chooseHeading returns the heading as it is below another one and its tokens, "" when it is
// the same.
func (d *dates) chooseHeading(last, at day) (heading string, tokens int) {
	x := &d.list[at]
	switch {
	case at == last:
		return "", 0
	case last != noDay && d.list[last].year == x.year:
		return x.short, x.cost
	}
	return x.whole, x.cost + x.more
}

// dayHeading reports whether a line of a content would be read as the heading of a day, whether there is such a day or not.
func dayHeading(line string) bool {
	name, ok := strings.CutSuffix(strings.TrimRightFunc(line, language.IsOverdrawn), ":")
	if !ok {
		return false
	}
	fields := strings.Fields(name)
	if len(fields) == 3 && isNumber(fields[2], 4, 4) { // the year
		fields = fields[:2]
	}
	if len(fields) != 2 || !isNumber(fields[0], 1, 2) {
		return false
	}
	_, err := time.Parse("January", fields[1])
	return err == nil
}

// isNumber reports whether a text is so many digits.
func isNumber(text string, least, most int) bool {
	return len(text) >= least && len(text) <= most && strings.Trim(text, "0123456789") == ""
}
