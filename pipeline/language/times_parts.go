package language

import (
	"strings"
	"time"
)

// readPart reads "the end of February", "mid-June", "first half of October", "the last week of May", "2月底", "Q2's
// beginning", and what its pieces are of: a month, a quarter, a year, or a week.
func (p *parser) readPart(i int) (found, bool) {
	if n, ok := p.findToken(i).findMeaning(tail); ok && n%10 == 2 { // 上半年
		return p.cutPiece(p.makeUnitSpan(unitYear, 0, i, i+1), n/10, n%10, i, i+1), strings.HasSuffix(p.findToken(i).text, "年")
	}
	if f, ok := p.findLongPeriod(i); ok {
		if n, ok := p.findToken(f.end).findMeaning(tail); ok {
			return p.cutPiece(f, n/10, n%10, i, f.end+1), true
		}
		if day, ok := p.nthBehind(f, i); ok {
			return day, true
		}
		if _, unit := p.findToken(i).findMeaning(unit); unit { // a week alone is no date
			return found{}, false
		}
	}
	if n, ok := p.findToken(i).findMeaning(part); ok {
		if next := p.findToken(i + 1); p.findToken(i).isAny(verb) && next.isAny(english) && !next.isAny(of) {
			return found{}, false
		}
		if f, ok := p.findLongPeriod(p.skipPartConnector(i + 1)); ok {
			return p.cutPiece(f, n, 3, i, f.end), true
		}
		return found{}, false
	}
	which := p.readOrdinal(i)
	if which == 0 {
		return found{}, false
	}
	if u, ok := p.findToken(i + 1).findMeaning(unit); ok && u == unitWeek {
		f, ok := p.findLongPeriod(p.skipPartConnector(i + 2))
		ok = ok && f.From.AddDate(0, 1, 0).Equal(f.To)
		if !ok {
			return found{}, false
		}
		if which < 0 {
			f.From = f.To.AddDate(0, 0, -7)
		} else {
			f.From = f.From.AddDate(0, 0, 7*which-7)
			f.To = f.From.AddDate(0, 0, 7)
		}
		f.start = i
		return p.choosePastYear(f), true
	}
	of, ok := p.findToken(i + 1).findMeaning(pieces)
	if !ok || which < 0 || which > of%10 {
		return found{}, false
	}
	f, ok := p.findLongPeriod(p.skipPartConnector(i + 2))
	switch {
	case ok:
		return p.cutPiece(f, which, of%10, i, f.end), true
	case of >= ofMonth:
		return p.cutPiece(p.makeUnitSpan(unitMonth, 0, i, i+2), which, of%10, i, i+2), true
	case of >= ofYear:
		f := p.makeUnitSpan(unitYear, 0, i, i+2)
		f.AnyYear = true
		return p.cutPiece(f, which, of%10, i, i+2), true
	}
	return found{}, false
}

// readOrdinal is what an ordinal says: first 1, second 2, last −1, else 0.
func (p *parser) readOrdinal(i int) int {
	t := p.findToken(i)
	if n, ok := t.findMeaning(ordinal); ok {
		return n
	}
	if n, ok := t.findMeaning(side); ok && n < 0 {
		return -1
	}
	if _, digits := t.findMeaning(number); !digits && t.value >= 1 && t.value <= 4 {
		return t.value
	}
	return 0
}

// skipPartConnector passes what stands between a part and its whole.
func (p *parser) skipPartConnector(i int) int {
	if p.findToken(i).text == "-" {
		return i + 1
	}
	i = p.skipFillers(i)
	if p.findToken(i).isAny(of) {
		i = p.skipFillers(i + 1)
	}
	return i
}

// findLongPeriod finds a week or more, "the year" among them.
func (p *parser) findLongPeriod(i int) (found, bool) {
	if u, ok := p.findToken(i).findMeaning(unit); ok && u != unitDay && u != unitWeekend && p.findToken(i).value < 0 {
		if f, ok := p.findWholePeriod(i); ok {
			return f, true
		}
		return p.makeUnitSpan(u, 0, i, i+1), true
	}
	f, ok := p.findWholePeriod(i)
	return f, ok && !f.From.IsZero() && !f.To.IsZero() && !f.To.Before(f.From.AddDate(0, 0, 7))
}

// cutPiece is the k-th of n equal parts.
func (p *parser) cutPiece(f found, k, n, start, end int) found {
	from := f.From
	at := func(k int) time.Time {
		if months := 12*(f.To.Year()-from.Year()) + int(f.To.Month()-from.Month()); months > 1 && months%n == 0 && from.Day() == 1 {
			return from.AddDate(0, months*k/n, 0)
		}
		days := int(f.To.Sub(from).Hours()+12) / 24
		return from.AddDate(0, 0, days*k/n)
	}
	f.From, f.To, f.start, f.end = at(k-1), at(k), start, end
	return p.choosePastYear(f)
}

// choosePastYear is the last such days that have come, where no year is named.
func (p *parser) choosePastYear(f found) found {
	if f.AnyYear && f.From.After(p.today) {
		return p.shiftYears(f, -1)
	}
	return f
}

// shiftYears are the days of a last, this or next year: those of a last one have ended.
func (p *parser) shiftYears(f found, n int) found {
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
func (p *parser) isHours(i int) bool { return p.findToken(i).isAny(hours) }

// isMorning reports whether a word for tomorrow means the morning: "am Morgen", "por la mañana".
func (p *parser) isMorning(i int) bool {
	t := p.findToken(i)
	return t.text == "morgen" && t.title && i > 0 || t.text == "mañana" && (p.findToken(i-1).text == "la" || p.findToken(i-1).text == "esta")
}

// AsksNewest reports whether a text asks for the newest there is: "most recently", "the last time", "zuletzt", "la
// última vez". Where it names days it asks for those.
func AsksNewest(text string, now time.Time) bool {
	p := parser{tokens: splitTokens(text), today: truncateToDay(now)}
	for i := range p.tokens {
		n, ok := p.findToken(i).findMeaning(latest)
		switch which, last := p.findToken(i).findMeaning(side); {
		case ok && n == 0, ok && p.findToken(i-1).isAny(most):
			return len(p.findAllDates()) == 0
		case last && which < 0 && p.findToken(i+1).isAny(thing):
			return len(p.findAllDates()) == 0
		}
	}
	return false
}

// AsksAll reports whether a text asks for what there is of a time, whatever it is: "What happened in August?",
// "Summarise last week", "Was war im Mai los?".
func AsksAll(text string, now time.Time) bool {
	p := parser{tokens: splitTokens(text), today: truncateToDay(now)}
	named := false
	for i := 0; i < len(p.tokens); {
		if f, ok := p.findDateAt(i); ok {
			named = true
			i = f.end
			p.last = f.end
			continue
		}
		if !p.tokens[i].isAny(asking, fill, from, to, before, since, after, until, in, of) && p.tokens[i].text != "-" {
			return false
		}
		i++
	}
	return named
}

// isDayMarker reports whether a token stands before a day: "on the 18th", "am 18."
func (p *parser) isDayMarker(i int) bool {
	t := p.findToken(i).text
	return t == "the" && p.findToken(i-1).text == "on" || t == "am" || t == "el" || t == "le"
}

// lastDay is the last day with that number in its month that has come.
func (p *parser) lastDay(d, start, end int) (found, bool) {
	for back := range 4 {
		t := p.makeDate(p.today.Year(), int(p.today.Month())-back, d)
		if t.Day() == d && !t.After(p.today) {
			return p.makeSpan(t, 0, 0, 1, start, end), true
		}
	}
	return found{}, false
}
