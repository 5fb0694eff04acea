package language

import "strings"

// isSeason reports whether a season without a year is a date: "in summer", "last winter", "летом". It is none where it
// says what kind of thing another noun is: "the summer concert", "le concert d'été".
func (p *parser) isSeason(i int) bool {
	if p.isAttributive(i, i+1) {
		return false
	}
	return p.findToken(i).isAny(alone) && p.findToken(i+1).text != "的" || p.hasDateOpener(i)
}

// hasDateOpener reports whether what stands before a season or a feast makes it a date. "Of" alone does not: "concierto de verano".
func (p *parser) hasDateOpener(i int) bool {
	if p.isRangePart(i) {
		return true
	}
	for j := i - 1; j >= 0 && !p.findToken(j+1).apart; j-- {
		t := p.findToken(j)
		switch {
		case t.isAny(side):
			return j == i-1
		case t.isAny(unit): // last year
			return j == i-1 && p.findToken(j-1).isAny(side)
		case t.isAny(of), t.text == "-": // mid-summer
		case t.isAny(in, from, before, after, since, until, part, lasting):
			return true
		case !t.isAny(fill):
			return false
		}
	}
	return false
}

// isRangePart reports whether a season is the end of a range or stands behind a date: "from spring to autumn", "in spring and autumn".
func (p *parser) isRangePart(i int) bool {
	if next := p.findToken(p.skipFillers(i + 2)); p.findToken(i-1).isAny(from, of) && p.findToken(i+1).isAny(to) && next.isAny(season, month) {
		return true
	}
	j := i - 1
	for j > p.last && p.findToken(j).isAny(fill) {
		j--
	}
	return p.last > 0 && j == p.last && p.findToken(j).isAny(to) && !p.findToken(j+1).apart
}

// isAttributive reports whether a season or a feast says what kind of thing the noun behind it is: "the summer concert", "the
// Winter Olympics", "Sommer-Lager". Only English writes them as two words.
func (p *parser) isAttributive(i, end int) bool {
	if end >= len(p.tokens) {
		return false
	}
	t := p.findToken(i)
	next := p.findToken(end)
	if next.text == "-" {
		second := p.findToken(end + 1)
		return second.glued != 0 && second.value < 0 && !second.isAny(season, month)
	}
	switch {
	case !p.findToken(i - 1).isAny(english), next.apart, p.findToken(end - 1).owner:
		return false
	case next.title:
		return t.title
	case next.text == "of": // the fall of Rome
		return true
	case strings.HasSuffix(next.text, "ed") && !strings.HasSuffix(next.text, "eed") && len(next.text) > 4: // compared
		return false
	}
	return next.value < 0 && !next.isAny(loose, fill, in, to, from, before, after, since, until, side, near, unit, month, season, hours)
}

// sideBehind is "dernier" or "pasado" behind a name. English has none there.
func (p *parser) sideBehind(i int) (int, bool) {
	n, ok := p.findToken(i).findMeaning(side)
	return n, ok && !p.findToken(i).isAny(english)
}

// yearBefore is the year that Chinese writes before a feast, 0 for none, and where the feast begins: "去年圣诞节".
func (p *parser) yearBefore(i int) (y, next int) {
	if p.findToken(i+1).text != "年" {
		return 0, i
	}
	if isYear(p.findToken(i).value) {
		return p.findToken(i).value, i + 2
	}
	if n, ok := p.findToken(i).findMeaning(side); ok {
		return p.today.Year() + n, i + 2
	}
	return 0, i
}
