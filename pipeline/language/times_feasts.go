package language

import (
	"strings"
	"time"
)

// The day of a feast is 100 times its month and its day, or counted from another day.
const (
	moving           = 4000 // greater ones move with the year
	fromEaster       = 5000
	fromThanksgiving = 9000 // the fourth Thursday of November
)

// named is a name of a feast in a text.
type named struct {
	code   int // 10 times the day, and how many days
	end    int
	always bool // it names nothing else
}

// readFeastDate reads "Easter Sunday", "at Christmas", "last Easter", "Good Friday 2025", "Noël dernier".
func (p *parser) readFeastDate(start int) (found, bool) {
	before, i := p.yearBefore(start)
	n, sided := p.findToken(i).findMeaning(side)
	if sided {
		i++
	}
	name, ok := p.feastName(i)
	if !ok {
		return found{}, false
	}
	y, end := p.readYear(name.end)
	y = max(y, before)
	if y > 0 {
		return p.feastOf(name.code, y, start, end), true
	}
	if last, ok := p.sideBehind(end); ok && !sided {
		n = last
		sided = true
		end = end + 1
	}
	if !p.isFeast(name, i, sided) {
		return found{}, false
	}
	f := p.feastBeside(name.code, n, sided, start, end)
	f.AnyYear = !sided && name.code/10 < moving
	return f, true
}

// feastName finds the name of a feast. Of names that begin alike it takes the longer one.
func (p *parser) feastName(i int) (named, bool) {
	t := p.findToken(i)
	if t.isAny(begins) {
		second := i + 1
		if p.findToken(second).isAny(of) {
			second++
		}
		if p.findToken(second).apart {
			return named{}, false
		}
		two := t.text + "_" + p.findToken(second).text
		if name, ok := nameOf(Default().dates[two+"_"+p.findToken(second+1).text], second+2); ok {
			return name, true
		}
		if name, ok := nameOf(Default().dates[two], second+1); ok {
			return name, true
		}
	}
	return nameOf(t.means, i+1)
}

// nameOf is the feast among what a name means.
func nameOf(means []meaning, end int) (named, bool) {
	t := token{means: means}
	if n, ok := t.findMeaning(feast); ok {
		return named{n, end, true}, true
	}
	n, ok := t.findMeaning(holiday)
	return named{n, end, false}, ok
}

// isFeast reports whether a name means the feast, and is no part of another name: "the Good Friday Agreement", "Easter
// Island", "the Christmas tree", "a good Friday". beside says that "last" or its like stands beside it.
func (p *parser) isFeast(name named, i int, beside bool) bool {
	next := p.findToken(name.end)
	words := name.end - i
	switch {
	case name.always && words > 1:
		adjective := p.findToken(i+1).isAny(weekday) && p.findToken(i+1).title && !p.findToken(i).title
		return !adjective && (!next.title || next.apart || !p.findToken(i).title)
	case name.always:
		return true
	case p.isAttributive(i, name.end) || words > 1 && !p.findToken(i).title:
		return false
	}
	before := p.findToken(i - 1)
	return beside || !p.findToken(i).apart && (before.isAny(when, lasting) || before.text != "the" && p.hasDateOpener(i))
}

// feastOf is the feast of a year.
func (p *parser) feastOf(code, year, start, end int) found {
	from := code / 10
	days := code % 10
	switch {
	case from > fromThanksgiving:
		first := p.makeDate(year, 11, 1)
		thursday := first.AddDate(0, 0, (int(time.Thursday-first.Weekday())+7)%7+21)
		return p.makeSpan(thursday.AddDate(0, 0, from-fromThanksgiving), 0, 0, days, start, end)
	case from > moving:
		return p.makeSpan(p.computeEaster(year).AddDate(0, 0, from-fromEaster), 0, 0, days, start, end)
	}
	return p.makeSpan(p.makeDate(year, from/100, from%100), 0, 0, days, start, end)
}

// feastBeside is the last feast that has come, this year's where "this" stands beside it, or the next one. A last one has
// ended.
func (p *parser) feastBeside(code, n int, sided bool, start, end int) found {
	year := p.today.Year()
	f := p.feastOf(code, year, start, end)
	switch {
	case sided && n == 0:
	case n > 0 && !f.From.After(p.today):
		f = p.feastOf(code, year+1, start, end)
	case n <= 0 && f.From.After(p.today), n < 0 && f.To.After(p.today):
		f = p.feastOf(code, year-1, start, end)
	}
	return f
}

// computeEaster is Easter Sunday of a year of the Gregorian calendar, as Meeus, Jones and Butcher compute it.
func (p *parser) computeEaster(year int) time.Time {
	a := year % 19
	b := year / 100
	c := year % 100
	h := (19*a + b - b/4 - (b-(b+8)/25+1)/3 + 15) % 30
	l := (32 + 2*(b%4) + 2*(c/4) - h - c%4) % 7
	m := (a + 11*h + 22*l) / 451
	n := h + l - 7*m + 114
	return p.makeDate(year, n/31, n%31+1)
}

// inName reports whether a weekday is part of a name, as in "Good Friday" or "on Casual Friday". "Did Ada tell Bob Monday"
// has none, and only English writes a name and a weekday as two words.
func (p *parser) inName(i int) bool {
	t := p.findToken(i)
	first := p.findToken(i - 1)
	if first.isAny(begins) && (first.title || !t.title) && Default().dates[first.text+"_"+t.text] != nil {
		return true
	}
	return strings.HasSuffix(t.text, "day") && t.title && !t.apart && first.title && first.means == nil && !first.apart &&
		p.findToken(i-2).isAny(fill, side, before, after)
}
