// It finds the days that a text names: "18 March 2026", "am 18. März", "la semana pasada", "昨天",
// "between 5 and 9 October", "the end of February". A date without a year is the last one that has come; a week begins
// on Monday. A day is one of the zone that the present time is given in.

package language

import (
	"fmt"
	"slices"
	"time"
)

// Interval is the days from From up to and without To. A zero end is open.
type Interval struct {
	From, To time.Time
	AnyYear  bool // no year is named: it is the last one that has come
}

// Has reports whether a time is in the interval.
func (i Interval) Has(t time.Time) bool {
	return !t.IsZero() && (i.From.IsZero() || !t.Before(i.From)) && (i.To.IsZero() || t.Before(i.To))
}

// found is a date in a text.
type found struct {
	Interval
	start, end int    // tokens
	around     bool   // it lies around a day: "two weeks ago"
	never      string // the day that it names and no calendar has; "" where there is one
}

// FindTimes returns the days that a text names, at a time.
func FindTimes(text string, now time.Time) []Interval {
	list, _ := ReadTimes(text, now)
	return list
}

// ReadTimes is Find, and has the days in words that the text names and that no calendar has, as 30 February.
func ReadTimes(text string, now time.Time) (list []Interval, never []string) {
	p := parser{tokens: splitTokens(text), today: truncateToDay(now)}
	var dates []found
	for _, f := range p.findAllDates() {
		if f.never != "" {
			never = append(never, f.never)
		} else {
			dates = append(dates, f)
		}
	}
	return p.joinRanges(dates), never
}

// findAllDates are the dates of the text.
func (p *parser) findAllDates() (list []found) {
	for i := 0; i < len(p.tokens); {
		if f, ok := p.findDateAt(i); ok {
			list = append(list, f)
			i = f.end
			p.last = f.end
			continue
		}
		i++
	}
	return list
}

type parser struct {
	tokens []token
	today  time.Time
	last   int // end of the last date that was found
}

// IntervalOf is the day of a time, in its zone.
func IntervalOf(t time.Time) Interval {
	return Interval{From: truncateToDay(t), To: truncateToDay(t).AddDate(0, 0, 1)}
}

func truncateToDay(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// makeDate is the beginning of a day.
func (p *parser) makeDate(y, m, d int) time.Time {
	return time.Date(y, time.Month(m), d, 0, 0, 0, 0, p.today.Location())
}

// findDateAt finds a date that begins at token i.
func (p *parser) findDateAt(i int) (found, bool) {
	f, ok := findFirstDate(i, p.readFeastDate, p.readNthDay, p.dayOf, p.readPart, p.findWholePeriod)
	return p.onDay(f), ok
}

// findWholePeriod finds days, weeks, months and years that are not parts of others.
func (p *parser) findWholePeriod(i int) (found, bool) {
	return findFirstDate(i, p.readDigitDate, p.dayMonth, p.readRelativeDate, p.monthOrYear)
}

// findFirstDate is what the first that finds a date at token i finds.
func findFirstDate(i int, tries ...func(int) (found, bool)) (found, bool) {
	for _, try := range tries {
		if f, ok := try(i); ok {
			return f, true
		}
	}
	return found{}, false
}

func (p *parser) findToken(i int) *token {
	if i < 0 || i >= len(p.tokens) {
		return &token{value: -1}
	}
	return &p.tokens[i]
}

// mostFill is how many words that say nothing stand between two parts of a date.
const mostFill = 4

// skipFillers passes words that say nothing within a date.
func (p *parser) skipFillers(i int) int {
	for range mostFill {
		if _, ok := p.findToken(i).findMeaning(fill); !ok || p.findToken(i).value >= 0 && p.findToken(i).text != "a" {
			break
		}
		i++
	}
	return i
}

// isLatin reports whether a word is of letters that English, German, Spanish and French share.
func isLatin(word string) bool { return word[0] < 0xd0 }

func isYear(v int) bool { return v >= 1900 && v <= 2100 }

func (p *parser) makeSpan(from time.Time, years, months, days, start, end int) found {
	return found{Interval: Interval{From: from, To: from.AddDate(years, months, days)}, start: start, end: end}
}

// leap is the most years between two days of one date.
const leap = 8

// oneDay is the day of a date; without a year, 0, the last one that has come.
func (p *parser) oneDay(y, m, d, start, end int) (found, bool) {
	if m < 1 || m > 12 || d < 1 || d > 31 {
		return found{}, false
	}
	noYear := y == 0
	if noYear {
		y = p.today.Year()
	}
	t := p.makeDate(y, m, d)
	for back := 1; noYear && back <= leap && (t.After(p.today) || t.Day() != d); back++ {
		t = p.makeDate(y-back, m, d)
	}
	if t.Day() != d {
		never := fmt.Sprintf("%d %s", d, time.Month(m))
		if !noYear {
			never += fmt.Sprintf(" %d", y)
		}
		return found{start: start, end: end, never: never}, true
	}
	f := p.makeSpan(t, 0, 0, 1, start, end)
	f.AnyYear = noYear
	return f, true
}

// readDigitDate reads 2026-03-18, 18.03.2026, 3/18/2026, 18.3., 5/14 and 2026年3月18日.
func (p *parser) readDigitDate(i int) (found, bool) {
	a := p.findToken(i)
	b := p.findToken(i + 1)
	c := p.findToken(i + 2)
	end := i + 3
	if b.text == "-" && c.value >= 0 { // a dash is a token of its own
		a = p.findToken(i)
		b = p.findToken(i + 2)
		c = p.findToken(i + 4)
		end = i + 5
		if p.findToken(i+3).text != "-" {
			c = &token{value: -1}
		}
		b = &token{value: b.value, glued: '-'}
	}
	if a.value < 0 {
		return found{}, false
	}
	if b.text == "年" && p.findToken(i+3).text == "月" {
		if p.findToken(i+4).value > 0 && (p.findToken(i+5).text == "日" || p.findToken(i+5).text == "号") {
			return p.oneDay(a.value, c.value, p.findToken(i+4).value, i, i+6)
		}
		return p.makeSpan(p.makeDate(a.value, c.value, 1), 0, 1, 0, i, i+4), c.value >= 1 && c.value <= 12
	}
	if b.text == "月" && a.value <= 12 && a.value > 0 && !(c.value > 0 && (p.findToken(i+3).text == "日" || p.findToken(i+3).text == "号")) {
		f, _ := p.oneDay(0, a.value, 1, i, i+2)
		f.To = f.From.AddDate(0, 1, 0)
		return f, true
	}
	if b.text == "月" && c.value > 0 && (p.findToken(i+3).text == "日" || p.findToken(i+3).text == "号") {
		return p.oneDay(0, a.value, c.value, i, i+4)
	}
	if a.value >= 1 && a.value <= 31 && (b.text == "号" || end == i+3 && i == len(p.tokens)-1 && p.isDayMarker(i-1)) { // on the 18th
		return p.lastDay(a.value, i, min(i+2, len(p.tokens)))
	}
	switch {
	case isYear(a.value) && b.glued != 0 && b.value > 0 && b.value <= 12 && (c.value < 0 || c.glued == 0):
		return p.makeSpan(p.makeDate(a.value, b.value, 1), 0, 1, 0, i, end-1-(end-i)/5), true
	case a.value >= 1 && a.value <= 12 && a.glued == 0 && (b.glued == '/' || b.glued == '.') && isYear(b.value):
		return p.makeSpan(p.makeDate(b.value, a.value, 1), 0, 1, 0, i, i+2), true
	case b.glued == '.' && c.glued == '.' && len(c.text) == 2 && c.value >= 0 && p.findToken(i-1).isAny(in, from, since, until, fill):
		return p.oneDay(2000+c.value, b.value, a.value, i, end)
	case isYear(a.value) && b.glued != 0 && b.value > 0 && c.value > 0:
		return p.oneDay(a.value, b.value, c.value, i, end)
	case b.glued != 0 && b.value > 0 && isYear(c.value):
		if b.glued == '.' || a.value > 12 {
			return p.oneDay(c.value, b.value, a.value, i, end)
		}
		return p.oneDay(c.value, a.value, b.value, i, end)
	case b.glued == '.' && b.value > 0 && b.value <= 12 && c.glued == 0 && p.findToken(i-1).text == "am":
		return p.oneDay(0, b.value, a.value, i, i+2)
	case b.glued == '/' && b.value > 0 && p.findToken(i-1).text == "on":
		return p.oneDay(0, a.value, b.value, i, i+2)
	}
	return found{}, false
}

// dayNumber is the number of a day of a month, in digits or as an ordinal; −1 for none, as for the article of "may a".
func (p *parser) dayNumber(i int) int {
	t := p.findToken(i)
	if _, written := t.findMeaning(number); written {
		if _, ok := t.findMeaning(ordinal); !ok {
			return -1
		}
	}
	return t.value
}

// dayMonth reads "18 March 2026", "March 18", "am 18. März", "5 and 9 October", "May 3-7, 2025".
func (p *parser) dayMonth(i int) (found, bool) {
	first := p.dayNumber(i)
	second := -1
	m := 0
	if n, ok := p.findToken(i).findMeaning(ordinal); ok && p.findToken(i+1).text == "of" { // the first of March
		first = n
	}
	if first >= 1 && first <= 31 {
		at := p.skipFillers(i + 1)
		if _, ok := p.findToken(at).findMeaning(to); ok {
			if v := p.findToken(p.skipFillers(at + 1)).value; v >= 1 && v <= 31 {
				second = v
				at = p.skipFillers(p.skipFillers(at+1) + 1)
			}
		}
		if n, ok := p.findToken(at).findMeaning(month); ok {
			y, end := p.readYear(at + 1)
			return p.daysOf(y, n, first, second, i, end)
		}
	}
	m, ok := p.findToken(i).findMeaning(month)
	first = p.dayNumber(p.skipFillers(i + 1))
	if !ok || first < 1 || first > 31 {
		return found{}, false
	}
	at := p.skipFillers(i+1) + 1
	if _, ok := p.findToken(at).findMeaning(to); ok {
		if v := p.findToken(at + 1).value; v >= 1 && v <= 31 {
			if _, again := p.findToken(at + 2).findMeaning(month); !again {
				second = v
				at = at + 2
			}
		}
	}
	y, end := p.readYear(at)
	return p.daysOf(y, m, first, second, i, end)
}

// readYear reads the year behind a month: "2026", "last year", "del año pasado".
func (p *parser) readYear(at int) (y, end int) {
	i := p.skipFillers(at)
	if v := p.findToken(i).value; isYear(v) {
		return v, i + 1
	}
	for _, order := range [][2]int{{i, i + 1}, {i + 1, i}} {
		n, ok := p.findToken(order[0]).findMeaning(side)
		if u, year := p.findToken(order[1]).findMeaning(unit); ok && year && u == unitYear {
			return p.today.Year() + n, i + 2
		}
	}
	return 0, at
}

func (p *parser) daysOf(y, m, first, last, start, end int) (found, bool) {
	f, ok := p.oneDay(y, m, first, start, end)
	if last > first && ok && f.never == "" {
		if until, _ := p.oneDay(y, m, last, start, end); until.never != "" {
			return until, true
		}
		f.To = f.From.AddDate(0, 0, last-first+1)
	}
	return f, ok
}

// makeUnitSpan is the unit that a day is in, n units away.
func (p *parser) makeUnitSpan(u, n, start, end int) found {
	t := p.today
	switch u {
	case unitWeek:
		return p.makeSpan(t.AddDate(0, 0, 7*n-(int(t.Weekday())+6)%7), 0, 0, 7, start, end)
	case unitMonth:
		return p.makeSpan(p.makeDate(t.Year(), int(t.Month())+n, 1), 0, 1, 0, start, end)
	case unitQuarter:
		return p.makeSpan(p.makeDate(t.Year(), (int(t.Month())-1)/3*3+1+3*n, 1), 0, 3, 0, start, end)
	case unitYear:
		return p.makeSpan(p.makeDate(t.Year()+n, 1, 1), 1, 0, 0, start, end)
	case unitWeekend:
		saturday := t.AddDate(0, 0, 7*n+6-int(t.Weekday()))
		if t.Weekday() == time.Sunday {
			saturday = saturday.AddDate(0, 0, -7)
		}
		return p.makeSpan(saturday, 0, 0, 2, start, end)
	}
	return p.makeSpan(t.AddDate(0, 0, n), 0, 0, 1, start, end)
}

// findTimeAgo is a length of time before today.
func (p *parser) findTimeAgo(u, n, start, end int) found {
	t := p.today
	switch u {
	case unitWeek:
		f := p.makeSpan(t.AddDate(0, 0, -7*n-3), 0, 0, 7, start, end)
		f.around = true
		return f
	case unitMonth:
		return p.makeSpan(t.AddDate(0, -n, -10), 0, 0, 21, start, end)
	case unitYear:
		return p.makeSpan(t.AddDate(-n, 0, -90), 0, 0, 181, start, end)
	case unitQuarter, unitWeekend:
		return p.makeUnitSpan(u, -n, start, end)
	}
	return p.makeSpan(t.AddDate(0, 0, -n), 0, 0, 1, start, end)
}

// readRelativeDate reads "yesterday", "last week", "la semana pasada", "3 days ago", "vor drei Tagen", "il y a trois jours",
// "in the last 3 days", "on Monday".
func (p *parser) readRelativeDate(i int) (found, bool) {
	t := p.findToken(i)
	if t.text == "day" && p.findToken(i+1).isAny(before, after) {
		if n, ok := p.findToken(i + 2).findMeaning(near); ok && n != 0 { // the day before yesterday
			return p.makeUnitSpan(unitDay, 2*n, i, i+3), true
		}
	}
	if n, ok := t.findMeaning(near); ok && !p.isMorning(i) {
		end := i + 1
		if at := p.skipFillers(end); p.isHours(at) { // gestern Abend, ayer por la noche
			end = at + 1
		}
		return p.makeUnitSpan(unitDay, n, i, end), true
	}
	if n, ok := t.findMeaning(side); ok && n <= 0 && p.isHours(i+1) {
		return p.makeUnitSpan(unitDay, n, i, i+2), true
	}
	if _, ok := t.findMeaning(recent); ok {
		n := p.findToken(i + 1).value
		at := p.skipFillers(i + 2)
		if _, last := t.findMeaning(side); n < 0 && !last { // the past week
			n = 1
			at = i + 1
		}
		if u, ok := p.findToken(at).findMeaning(unit); ok && u <= unitYear && n > 0 {
			f := p.makeUnitSpan(unitDay, 1, i, at+1)
			f.To = f.From
			f.From = p.today.AddDate([4]int{3: -n}[u], [4]int{2: -n}[u], -[4]int{0: n, 1: 7 * n}[u])
			return f, true
		}
	}
	if n, ok := t.findMeaning(side); ok {
		if u, ok := p.findToken(i + 1).findMeaning(unit); ok {
			if u == unitWeekend && n < 0 && p.today.Weekday() != time.Saturday && p.today.Weekday() != time.Sunday {
				n = -1
			}
			if f, ok := findFirstDate(i+2, p.readDigitDate, p.dayMonth, p.monthOrYear); ok && u == unitYear && f.AnyYear && f.start == i+2 { // 去年三月
				f.From, f.To = f.From.AddDate(p.today.Year()+n-f.From.Year(), 0, 0), f.To.AddDate(p.today.Year()+n-f.From.Year(), 0, 0)
				f.start = i
				f.AnyYear = false
				return f, true
			}
			return p.makeUnitSpan(u, n, i, i+2), true
		}
		if d, ok := p.findToken(i + 1).findMeaning(weekday); ok {
			f := p.findLastWeekday(d, i, i+2)
			if n > 0 {
				f.From, f.To = f.From.AddDate(0, 0, 7), f.To.AddDate(0, 0, 7)
			}
			return f, true
		}
		if f, ok := p.monthOrYear(i + 1); ok && f.AnyYear {
			f.start = i
			return p.shiftYears(f, n), true
		}
	}
	if f, ok := p.weekOf(i); ok {
		return f, true
	}
	if u, ok := t.findMeaning(unit); ok && t.value < 0 {
		if n, ok := p.findToken(i + 1).findMeaning(side); ok {
			return p.makeUnitSpan(u, n, i, i+2), true
		}
	}
	if t.value > 0 && t.value < 1000 {
		at := p.skipFillers(i + 1)
		if u, ok := p.findToken(at).findMeaning(unit); ok {
			switch before, behind := p.findToken(i-1).text, p.findToken(at+1).text; {
			case behind == "ago" || behind == "назад" || behind == "前":
				return p.findTimeAgo(u, t.value, i, at+2), true
			case before == "vor" || before == "hace" || before == "a" && p.findToken(i-2).text == "y":
				return p.findTimeAgo(u, t.value, i-1, at+1), true
			}
		}
	}
	if t.isAny(weekday) {
		if f, ok := p.dayMonth(i + 1); ok { // Wed, 18 Mar 2026
			return f, true
		}
		if d, ok := p.dayName(i); ok {
			return p.findLastWeekday(d, i, i+1), true
		}
	}
	return found{}, false
}

// weekOf reads "the week of 23 November" and "die Woche vom 23. November".
func (p *parser) weekOf(i int) (found, bool) {
	if u, ok := p.findToken(i).findMeaning(unit); !ok || u != unitWeek {
		return found{}, false
	}
	at := p.skipFillers(i + 1)
	if _, ok := p.findToken(at).findMeaning(from); ok {
		at = p.skipFillers(at + 1)
	}
	for _, read := range []func(int) (found, bool){p.readDigitDate, p.dayMonth} {
		f, ok := read(at)
		if at > i+1 && ok && f.To.Equal(f.From.AddDate(0, 0, 1)) {
			f.From = f.From.AddDate(0, 0, -(int(f.From.Weekday())+6)%7)
			f.To = f.From.AddDate(0, 0, 7)
			f.start = i
			return f, true
		}
	}
	return found{}, false
}

// findLastWeekday is the last such day before today.
func (p *parser) findLastWeekday(d, start, end int) found {
	back := (int(p.today.Weekday())-d+6)%7 + 1
	return p.makeUnitSpan(unitDay, -back, start, end)
}

// monthOrYear reads "October 2026", "in March", "2024", "Q2 2026", "summer 2025".
func (p *parser) monthOrYear(i int) (found, bool) {
	t := p.findToken(i)
	before := p.findToken(i - 1)
	if before.text == "-" {
		before = p.findToken(i - 2) // mid-May
	}
	preposition := before.isAny(in, from, part)
	joined := before.isAny(to, side)
	y, end := p.readYear(i + 1)
	last, behind := p.sideBehind(i + 1)
	behind = behind && y == 0 // l'été dernier
	months := func(m, n int) (found, bool) {
		year := y
		if y == 0 {
			year = p.today.Year()
			if p.makeDate(year, m, 1).After(p.today) {
				year--
			}
		}
		f := p.makeSpan(p.makeDate(year, m, 1), 0, n, 0, i, end)
		f.AnyYear = y == 0
		if behind {
			f = p.shiftYears(f, last)
			f.end++
		}
		return f, true
	}
	if m, ok := t.findMeaning(month); ok {
		word := t.text == "may" || t.text == "march" || len(t.text) == 3 || t.text == "sept"
		within := preposition && (t.text == "may" || t.text == "march" || t.text == "mai") // in small letters, too
		if y > 0 || behind || (preposition || joined) && (!word || t.title) || within || !word && len(t.text) > 4 {
			return months(m, 1)
		}
	}
	if m, ok := t.findMeaning(season); ok && (y > 0 || behind || p.isSeason(i)) {
		return months(m, 3)
	}
	if t.text == "h" && p.findToken(i+1).value >= 1 && p.findToken(i+1).value <= 2 && isYear(p.findToken(i+2).value) {
		y = p.findToken(i + 2).value
		end = i + 3
		return months(6*p.findToken(i+1).value-5, 6)
	}
	if t.text == "q" && p.findToken(i+1).value >= 1 && p.findToken(i+1).value <= 4 {
		v := p.findToken(i + 2).value
		y, end = 0, i+2
		if isYear(v) {
			y = v
			end = i + 3
		}
		if y > 0 || t.title {
			return months(3*p.findToken(i+1).value-2, 3)
		}
	}
	if isYear(t.value) && len(t.text) == 4 && t.glued == 0 && !p.threeNumbers(i) {
		end := i + 1
		if p.findToken(end).text == "年" {
			end++
			if m, ok := p.findToken(end).findMeaning(season); ok {
				return p.makeSpan(p.makeDate(t.value, m, 1), 0, 3, 0, i, end+1), true
			}
		}
		return p.makeSpan(p.makeDate(t.value, 1, 1), 1, 0, 0, i, end), true
	}
	return found{}, false
}

// threeNumbers reports whether a number begins three of them, as in 2026-13-45, which is no date.
func (p *parser) threeNumbers(i int) bool {
	a := p.findToken(i + 1)
	b := p.findToken(i + 2)
	c := p.findToken(i + 3)
	d := p.findToken(i + 4)
	return a.glued != 0 && a.value >= 0 && b.glued != 0 && b.value >= 0 || a.text == "-" && b.value >= 0 && c.text == "-" && d.value >= 0
}

// joinRanges joins what "between … and …", "before …" and their like say.
func (p *parser) joinRanges(list []found) (out []Interval) {
	for n := 0; n < len(list); n++ {
		f := list[n]
		head := f.start - 1
		for head >= 0 {
			if _, ok := p.findToken(head).findMeaning(fill); !ok {
				break
			}
			head--
		}
		opens := func(k kind) bool { _, ok := p.findToken(head).findMeaning(k); return ok }
		if n+1 < len(list) {
			next := list[n+1]
			gap := f.end
			reaches, ok := p.findToken(gap).findMeaning(to)
			ok = ok && (opens(from) || f.AnyYear || reaches > 0)
			if ok && p.skipFillers(gap+1) == next.start {
				if f.AnyYear && !next.AnyYear {
					f.From = f.From.AddDate(next.From.Year()-f.From.Year(), 0, 0)
				}
				if f.AnyYear && f.From.After(next.From) && (!next.AnyYear || opens(from) || reaches > 0) {
					f.From = f.From.AddDate(-1, 0, 0)
				}
				if next.To.After(f.From) {
					out = append(out, Interval{f.From, next.To, f.AnyYear && next.AnyYear})
					n++
					continue
				}
			}
		}
		switch {
		case p.findToken(head).text == "до" || opens(before) && p.findToken(head).text != "до":
			out = append(out, Interval{To: f.From})
		case opens(after):
			out = append(out, Interval{From: f.To})
		case opens(until):
			out = append(out, Interval{To: f.To})
		case opens(from) && p.hasTwoDays(f):
			out = append(out, f.Interval)
		case opens(since) && p.findToken(head).text != "с" || opens(since) && f.AnyYear:
			out = append(out, Interval{From: f.From})
		default:
			out = append(out, f.Interval)
		}
	}
	return out
}

// hasTwoDays reports whether a date has two days: "20 to 30 November".
func (p *parser) hasTwoDays(f found) bool {
	return slices.ContainsFunc(p.tokens[f.start:f.end], func(t token) bool { _, ok := t.findMeaning(to); return ok })
}

// String says the days in words.
func (i Interval) String() string {
	const format = "2 January 2006"
	last := i.To.AddDate(0, 0, -1)
	switch {
	case i.From.IsZero():
		return last.Format(format) + " and before"
	case i.To.IsZero():
		return i.From.Format(format) + " and after"
	case last.Equal(i.From):
		return last.Format(format)
	}
	return i.From.Format(format) + " to " + last.Format(format)
}
