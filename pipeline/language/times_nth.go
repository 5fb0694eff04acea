package language

import (
	"fmt"
	"time"
)

// readNthDay reads "the first Tuesday of November", "last Friday in March", "the last day of 2025".
func (p *parser) readNthDay(i int) (found, bool) {
	which := p.readOrdinal(i)
	if _, digits := p.findToken(i).findMeaning(number); which == 0 && !digits && p.findToken(i).value == 5 { // the 5th
		which = 5
	}
	if which == 0 || !p.isNth(i+1) {
		return found{}, false
	}
	at := p.skipDayConnector(i + 2)
	if p.findToken(at-1).text == "the" && !p.findToken(at).isAny(unit) { // last Friday in the March report
		return found{}, false
	}
	f, ok := p.findLongPeriod(at)
	if !ok {
		return found{}, false
	}
	return p.nthOf(f, which, i+1, i, f.end)
}

// nthBehind reads what Chinese writes behind its whole: "11月的第一个星期二".
func (p *parser) nthBehind(f found, start int) (found, bool) {
	at := p.skipFillers(f.end)
	which := p.readOrdinal(at)
	at++
	if p.findToken(at-1).text == "最后" {
		which = -1
		if p.findToken(at).text == "一" {
			at++
		}
	}
	if _, day := p.findToken(at).findMeaning(weekday); which == 0 || !day || isLatin(p.findToken(at).text) {
		return found{}, false
	}
	return p.nthOf(f, which, at, start, at+1)
}

// isNth reports whether a token is what an ordinal can stand before: a weekday, a day, a weekend.
func (p *parser) isNth(i int) bool {
	_, day := p.dayName(i)
	return day || p.findToken(i).isAny(single) && p.findToken(i-1).isAny(ordinal, side)
}

// dayName reads a weekday. A short one is one only after "on" and with a capital: "sat", "mar".
func (p *parser) dayName(i int) (int, bool) {
	t := p.findToken(i)
	d, ok := t.findMeaning(weekday)
	short := ok && len(t.text) <= 4 && t.text[0] < 0x80
	return d, ok && !p.inName(i) && (!short || t.title && p.findToken(i-1).text == "on")
}

// nthOf is a weekday, a day or a weekend of a month or more. Without a year it is the last that has come.
func (p *parser) nthOf(f found, which, at, start, end int) (found, bool) {
	if f.To.Before(f.From.AddDate(0, 0, 28)) {
		return found{}, false
	}
	n, day := p.findToken(at).findMeaning(single)
	d := time.Saturday
	name := "Saturday"
	if w, ok := p.findToken(at).findMeaning(weekday); ok {
		d = time.Weekday(w)
		n = 1
		day = false
		name = d.String()
	}
	for back := range leap + 1 {
		from := f.From.AddDate(-back, 0, 0)
		to := f.To.AddDate(-back, 0, 0)
		t := nthDay(from, to, which, d, day && n == 1)
		switch there := t.Before(to); {
		case there && (!f.AnyYear || !t.After(p.today)):
			return p.makeSpan(t, 0, 0, n, start, end), true
		case !f.AnyYear:
			return found{start: start, end: end, never: fmt.Sprintf("%dth %s of %s", which, name, from.Format("January 2006"))}, true
		}
	}
	return found{start: start, end: end, never: fmt.Sprintf("%dth %s of %s", which, name, f.From.Month())}, true
}

// nthDay is the n-th weekday, or the n-th day, of what lies between two days. −1 is the last.
func nthDay(from, to time.Time, n int, d time.Weekday, any bool) time.Time {
	last := to.AddDate(0, 0, -1)
	switch {
	case any && n > 0:
		return from.AddDate(0, 0, n-1)
	case any:
		return last
	case n > 0:
		return from.AddDate(0, 0, (int(d-from.Weekday())+7)%7+7*(n-1))
	}
	return last.AddDate(0, 0, -(int(last.Weekday()-d)+7)%7)
}

// onDay narrows a week to the weekday behind it: "two weeks ago on Monday", "last week Friday".
func (p *parser) onDay(f found) found {
	if !p.isWeek(f) {
		return f
	}
	at := p.skipDayConnector(f.end)
	if d, ok := p.dayName(at); ok {
		return p.inWeek(f, d, f.start, at+1)
	}
	return f
}

// dayOf reads a weekday with its week behind it: "Monday two weeks ago", "lundi de la semaine dernière".
func (p *parser) dayOf(i int) (found, bool) {
	d, ok := p.dayName(i)
	if !ok {
		return found{}, false
	}
	at := p.skipDayConnector(i + 1)
	for _, behind := range []int{0, 1, 3} { // vor zwei Wochen, il y a deux semaines
		for _, read := range []func(int) (found, bool){p.readPart, p.readRelativeDate} {
			if f, ok := read(at + behind); ok && p.isWeek(f) && (f.start == at || p.findToken(at).text == "il") {
				return p.inWeek(f, d, i, f.end), true
			}
		}
	}
	return found{}, false
}

// skipDayConnector passes what stands between a day and what it lies in: "of the", "im", "en", "на".
func (p *parser) skipDayConnector(i int) int {
	for t := p.findToken(i); t.isAny(fill, when) || t.isAny(in) && !t.isAny(side, before, after, since, until, part); t = p.findToken(i) {
		i++
	}
	return i
}

// isWeek reports whether a date is a week that is named as one.
func (p *parser) isWeek(f found) bool {
	if f.never != "" || f.From.IsZero() || !f.To.Equal(f.From.AddDate(0, 0, 7)) {
		return false
	}
	for i := f.start; i < f.end; i++ {
		if u, ok := p.findToken(i).findMeaning(unit); ok && u == unitWeek {
			return true
		}
	}
	return false
}

// inWeek is a weekday of a week. "Two weeks ago" lies around the day two weeks ago. Its Monday is that of the calendar week
// which that day lies in.
func (p *parser) inWeek(f found, d, start, end int) found {
	from := f.From
	if f.around {
		middle := from.AddDate(0, 0, 3)
		from = middle.AddDate(0, 0, -(int(middle.Weekday())+6)%7)
	}
	return p.makeSpan(from.AddDate(0, 0, (d-int(from.Weekday())+7)%7), 0, 0, 1, start, end)
}
