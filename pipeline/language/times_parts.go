package language

import (
	"strings"
	"time"
)

// part reads "the end of February", "mid-June", "first half of October", "the last week of May", "2月底", "Q2's
// beginning", and what its pieces are of: a month, a quarter, a year, or a week.
func (p *parser) part(i int) (found, bool) {
	if n, ok := p.tok(i).is(tail); ok && n%10 == 2 { // 上半年
		return p.piece(p.of(unitYear, 0, i, i+1), n/10, n%10, i, i+1), strings.HasSuffix(p.tok(i).text, "年")
	}
	if f, ok := p.long(i); ok {
		if n, ok := p.tok(f.end).is(tail); ok {
			return p.piece(f, n/10, n%10, i, f.end+1), true
		}
		if day, ok := p.nthBehind(f, i); ok {
			return day, true
		}
		if _, unit := p.tok(i).is(unit); unit { // a week alone is no date
			return found{}, false
		}
	}
	if n, ok := p.tok(i).is(part); ok {
		if next := p.tok(i + 1); p.tok(i).isAny(verb) && next.isAny(english) && !next.isAny(of) {
			return found{}, false
		}
		if f, ok := p.long(p.within(i + 1)); ok {
			return p.piece(f, n, 3, i, f.end), true
		}
		return found{}, false
	}
	which := p.which(i)
	if which == 0 {
		return found{}, false
	}
	if u, ok := p.tok(i + 1).is(unit); ok && u == unitWeek {
		f, ok := p.long(p.within(i + 2))
		if ok = ok && f.From.AddDate(0, 1, 0).Equal(f.To); !ok {
			return found{}, false
		}
		if which < 0 {
			f.From = f.To.AddDate(0, 0, -7)
		} else {
			f.From = f.From.AddDate(0, 0, 7*which-7)
			f.To = f.From.AddDate(0, 0, 7)
		}
		f.start = i
		return p.come(f), true
	}
	of, ok := p.tok(i + 1).is(pieces)
	if !ok || which < 0 || which > of%10 {
		return found{}, false
	}
	f, ok := p.long(p.within(i + 2))
	switch {
	case ok:
		return p.piece(f, which, of%10, i, f.end), true
	case of >= ofMonth:
		return p.piece(p.of(unitMonth, 0, i, i+2), which, of%10, i, i+2), true
	case of >= ofYear:
		f := p.of(unitYear, 0, i, i+2)
		f.AnyYear = true
		return p.piece(f, which, of%10, i, i+2), true
	}
	return found{}, false
}

// which is what an ordinal says: first 1, second 2, last −1, else 0.
func (p *parser) which(i int) int {
	t := p.tok(i)
	if n, ok := t.is(ordinal); ok {
		return n
	}
	if n, ok := t.is(side); ok && n < 0 {
		return -1
	}
	if _, digits := t.is(number); !digits && t.value >= 1 && t.value <= 4 {
		return t.value
	}
	return 0
}

// within passes what stands between a part and its whole.
func (p *parser) within(i int) int {
	if p.tok(i).text == "-" {
		return i + 1
	}
	if i = p.skip(i); p.tok(i).isAny(of) {
		i = p.skip(i + 1)
	}
	return i
}

// long finds a week or more, "the year" among them.
func (p *parser) long(i int) (found, bool) {
	if u, ok := p.tok(i).is(unit); ok && u != unitDay && u != unitWeekend && p.tok(i).value < 0 {
		if f, ok := p.whole(i); ok {
			return f, true
		}
		return p.of(u, 0, i, i+1), true
	}
	f, ok := p.whole(i)
	return f, ok && !f.From.IsZero() && !f.To.IsZero() && !f.To.Before(f.From.AddDate(0, 0, 7))
}

// piece is the k-th of n equal parts.
func (p *parser) piece(f found, k, n, start, end int) found {
	from := f.From
	at := func(k int) time.Time {
		if months := 12*(f.To.Year()-from.Year()) + int(f.To.Month()-from.Month()); months > 1 && months%n == 0 && from.Day() == 1 {
			return from.AddDate(0, months*k/n, 0)
		}
		days := int(f.To.Sub(from).Hours()+12) / 24
		return from.AddDate(0, 0, days*k/n)
	}
	f.From, f.To, f.start, f.end = at(k-1), at(k), start, end
	return p.come(f)
}

// come is the last such days that have come, where no year is named.
func (p *parser) come(f found) found {
	if f.AnyYear && f.From.After(p.today) {
		return p.years(f, -1)
	}
	return f
}

// years are the days of a last, this or next year: those of a last one have ended.
func (p *parser) years(f found, n int) found {
	if n < 0 && !f.To.After(p.today) && !f.From.After(p.today) {
		n = 0
	}
	if n > 0 && f.From.After(p.today) {
		n = 0
	}
	f.From, f.To, f.AnyYear = f.From.AddDate(n, 0, 0), f.To.AddDate(n, 0, 0), false
	return f
}

// isHours reports whether a token is a part of a day.
func (p *parser) isHours(i int) bool { return p.tok(i).isAny(hours) }

// isMorning reports whether a word for tomorrow means the morning: "am Morgen", "por la mañana".
func (p *parser) isMorning(i int) bool {
	t := p.tok(i)
	return t.text == "morgen" && t.title && i > 0 || t.text == "mañana" && (p.tok(i-1).text == "la" || p.tok(i-1).text == "esta")
}

// AsksNewest reports whether a text asks for the newest there is: "most recently", "the last time", "zuletzt", "la
// última vez". Where it names days it asks for those.
func AsksNewest(text string, now time.Time) bool {
	p := parser{tokens: split(text), today: day(now)}
	for i := range p.tokens {
		n, ok := p.tok(i).is(latest)
		switch which, last := p.tok(i).is(side); {
		case ok && n == 0, ok && p.tok(i-1).isAny(most):
			return len(p.all()) == 0
		case last && which < 0 && p.tok(i+1).isAny(thing):
			return len(p.all()) == 0
		}
	}
	return false
}

// AsksAll reports whether a text asks for what there is of a time, whatever it is: "What happened in August?",
// "Summarise last week", "Was war im Mai los?".
func AsksAll(text string, now time.Time) bool {
	p, named := parser{tokens: split(text), today: day(now)}, false
	for i := 0; i < len(p.tokens); {
		if f, ok := p.at(i); ok {
			named, i, p.last = true, f.end, f.end
			continue
		}
		if !p.tokens[i].isAny(asking, fill, from, to, before, since, after, until, in, of) && p.tokens[i].text != "-" {
			return false
		}
		i++
	}
	return named
}

// named reports whether a token stands before a day: "on the 18th", "am 18."
func (p *parser) named(i int) bool {
	t := p.tok(i).text
	return t == "the" && p.tok(i-1).text == "on" || t == "am" || t == "el" || t == "le"
}

// lastDay is the last day with that number in its month that has come.
func (p *parser) lastDay(d, start, end int) (found, bool) {
	for back := range 4 {
		t := p.date(p.today.Year(), int(p.today.Month())-back, d)
		if t.Day() == d && !t.After(p.today) {
			return p.span(t, 0, 0, 1, start, end), true
		}
	}
	return found{}, false
}
