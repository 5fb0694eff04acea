package rank

import (
	"math"
	"slices"
	"strings"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	"satchel/schemas"
)

// measureCloseness says how well an item made at t fits days: for a day or a week onDay, for a longer or an
// open time 1; near a day or a week exp(−days/5), in the month after a month .5, for things are told later.
func measureCloseness(d language.Interval, t time.Time) float64 {
	long := d.From.IsZero() || d.To.IsZero() || d.To.Sub(d.From) > 100*day
	switch {
	case t.IsZero():
		return 0
	case d.Has(t) && !long && d.To.Sub(d.From) <= 8*day:
		return onDay
	case d.Has(t):
		return 1
	case long:
		return 0
	case d.To.Sub(d.From) > 21*day:
		if t.After(d.To) && t.Before(d.To.Add(31*day)) {
			return .5
		}
		return 0
	}
	return math.Exp(-min(t.Sub(d.From).Abs(), t.Sub(d.To).Abs()).Hours() / 24 / 5)
}

const (
	day   = 24 * time.Hour
	onDay = 2.5
)

// scoreTimeliness says how well an item fits the days that a question names: by when it was made, and by the days that it names
// itself. A date without a year fits each year, the last one best.
func scoreTimeliness(q *Question, v *candidate.Visible, own func() []language.Interval) float64 {
	best := 0.
	made := v.CreatedAt
	if v.Kind == schemas.KindTool {
		return best // the day on which a tool was recorded says nothing of it
	}
	if q.told && v.Kind == schemas.KindKnowledge && v.FromFile() {
		made = time.Time{}
	}
	for _, d := range q.days {
		best = max(best, measureCloseness(d, made))
		if d.AnyYear && best < 1 && !made.IsZero() {
			years := made.Year() - d.From.Year()
			for _, n := range []int{years - 1, years, years + 1} {
				if n < 0 {
					best = max(best, anyYear*measureCloseness(language.Interval{From: d.From.AddDate(n, 0, 0), To: d.To.AddDate(n, 0, 0)}, made))
				}
			}
		}
	}
	if best >= 1 || own == nil {
		return best
	}
	for _, named := range own() {
		for _, d := range q.days {
			if !named.From.IsZero() && !d.To.IsZero() && named.To.Sub(named.From) <= 31*day && d.Has(named.From) && d.Has(named.To.Add(-1)) {
				return 1
			}
		}
	}
	return best
}

const anyYear = .9

// toldOf reports whether an item that is no document from a file was made on the days of the question, or names them. Then
// documents count by the days that they name: when a file was changed or imported is not when what it says was.
func (r *Ranker) toldOf(q *Question, p *Pool, order []int32) bool {
	return len(q.days) > 0 && slices.ContainsFunc(order, func(i int32) bool {
		v := p.items[i]
		return !(v.Kind == schemas.KindKnowledge && v.FromFile()) && scoreTimeliness(q, v, r.namedDays(v, q.zone)) >= 1
	})
}

// asksWhen reports whether the words ask for a time.
func asksWhen(ws []string) bool {
	for i, w := range ws {
		switch w {
		case "when":
			return i <= 3
		case "what", "which":
			if i+1 < len(ws) {
				if language.Default().Is(language.DatedBy, ws[i+1]) {
					return true
				}
			}
		case "long":
			if i > 0 && ws[i-1] == "how" && i+1 < len(ws) && ws[len(ws)-1] == "ago" {
				return true
			}
		}
	}
	return false
}

// holdsTime reports whether a text has a time expression: a date, a month with a
// number, a weekday, "yesterday", "last week", "two years ago".
func holdsTime(text string) bool {
	words := language.Default()
	before := ""
	found := false
	language.EachWord(text, func(w string) {
		if found {
			return
		}
		switch classes := words.Classes(w); {
		case classes&(language.Moment|language.OnlyTime) != 0:
			found = true
		case classes&language.Period != 0:
			found = words.Is(language.BesidePeriod, before)
		default:
			found = len(w) == 4 && (w[:2] == "19" || w[:2] == "20") && strings.Trim(w, "0123456789") == ""
		}
		before = w
	})
	return found
}

// namedDays returns the days that an item names, seen from when it was made in a zone. Long texts name too many.
func (r *Ranker) namedDays(v *candidate.Visible, zone *time.Location) func() []language.Interval {
	text := v.Content.Text()
	if len(text) > 1000 || !strings.ContainsAny(text, "0123456789") {
		return nil
	}
	return func() []language.Interval {
		made := v.CreatedAt.In(zone)
		from := language.IntervalOf(made).From
		read := func() (named, int) {
			list := language.FindTimes(text, made)
			return named{from, list}, intervalBytes * (1 + cap(list))
		}
		known := r.days.Of(text, 0, read)
		if !known.from.Equal(from) || known.from.Location().String() != zone.String() { // another item says the same, or another zone asks
			known, _ = read()
		}
		return known.days
	}
}

// named is the days that a text names, seen from a day.
type named struct {
	from time.Time // of that day
	days []language.Interval
}

const intervalBytes = 64 // about
