package rank

import (
	"math"
	"strconv"
	"time"

	"satchel/pipeline/selection/words"
)

// moment is a time that a query names: a year, a month, a month of a year, or a day.
type moment struct {
	year  int
	month time.Month
	day   int
}

// closeness says how well an item made at t fits, 0–1: for a day exp(−days/5), for a
// month 1, and .5 the month after (things are told later), for a year .3.
func (m moment) closeness(t time.Time) float64 {
	switch {
	case t.IsZero():
		return 0
	case m.day > 0 && m.year > 0:
		days := t.Sub(time.Date(m.year, m.month, m.day, 12, 0, 0, 0, time.UTC)).Hours() / 24
		return math.Exp(-math.Abs(days) / 5)
	case m.month > 0:
		if m.year > 0 && t.Year() != m.year && !(m.month == time.December && t.Year() == m.year+1) {
			return 0
		}
		switch {
		case t.Month() == m.month && (m.year == 0 || t.Year() == m.year):
			return 1
		case t.Month() == m.month%12+1:
			return .5
		}
		return 0
	case m.year > 0 && t.Year() == m.year:
		return .3
	}
	return 0
}

var monthNames = [...]string{
	"january", "february", "march", "april", "may", "june", "july", "august",
	"september", "october", "november", "december",
}

// month returns the month a lower-case word names. "may" and "march" are words too:
// certain is false for them, and the caller wants a number beside them.
func month(w string) (m time.Month, certain, ok bool) {
	if len(w) < 3 {
		return 0, false, false
	}
	for i, name := range monthNames {
		if w == name || len(w) <= 4 && w == name[:min(len(w), len(name))] {
			return time.Month(i + 1), w != "may" && w != "march" && w != "mar", true
		}
	}
	return 0, false, false
}

func numberWord(w string) (int, bool) {
	n := len(w)
	if n == 0 || n > 6 || w[0] < '0' || w[0] > '9' {
		return 0, false
	}
	if n > 2 && (w[n-2:] == "st" || w[n-2:] == "nd" || w[n-2:] == "rd" || w[n-2:] == "th") {
		w = w[:n-2]
	}
	v, err := strconv.Atoi(w)
	return v, err == nil && len(w) <= 4
}

func isYear(v int) bool { return v >= 1900 && v <= 2100 }

// momentsOf returns the times a query names: "7 May 2023", "May 7, 2023",
// "2023-05-07", "in May", "June 2022", "2021". Words are lower-cased.
func momentsOf(ws []string) []moment {
	var out []moment
	used := make([]bool, len(ws))
	for i, w := range ws {
		m, certain, ok := month(w)
		if !ok {
			continue
		}
		at := moment{month: m}
		for _, j := range []int{i - 1, i + 1, i + 2} {
			if j < 0 || j >= len(ws) || used[j] {
				continue
			}
			v, isNumber := numberWord(ws[j])
			switch {
			case !isNumber:
				if j == i+1 {
					goto done
				}
			case isYear(v) && at.year == 0 && j > i:
				at.year, used[j] = v, true
			case v >= 1 && v <= 31 && at.day == 0 && at.year == 0:
				at.day, used[j] = v, true
			}
		}
	done:
		preposition := i > 0 && (ws[i-1] == "in" || ws[i-1] == "of" || ws[i-1] == "last" || ws[i-1] == "during" || ws[i-1] == "by" || ws[i-1] == "since")
		if certain || at.year > 0 || at.day > 0 || preposition {
			used[i] = true
			out = append(out, at)
		}
	}
	for i, w := range ws {
		v, ok := numberWord(w)
		if used[i] || !ok || len(w) != 4 || !isYear(v) {
			continue
		}
		if at, ok := isoDate(ws[i:]); ok {
			out = append(out, at)
			continue
		}
		out = append(out, moment{year: v})
	}
	return out
}

// isoDate reads "2023 05 07", what is left of 2023-05-07.
func isoDate(ws []string) (moment, bool) {
	if len(ws) < 3 || len(ws[1]) != 2 || len(ws[2]) != 2 {
		return moment{}, false
	}
	y, okY := numberWord(ws[0])
	m, okM := numberWord(ws[1])
	d, okD := numberWord(ws[2])
	if !okY || !okM || !okD || m < 1 || m > 12 || d < 1 || d > 31 {
		return moment{}, false
	}
	return moment{y, time.Month(m), d}, true
}

// asksWhen reports whether the words ask for a time.
func asksWhen(ws []string) bool {
	for i, w := range ws {
		switch w {
		case "when":
			return i <= 3
		case "what", "which":
			if i+1 < len(ws) {
				switch ws[i+1] {
				case "date", "day", "month", "year", "time", "week":
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
	var before string
	found := false
	words.Each(text, func(w string) {
		if found {
			return
		}
		switch w {
		case "yesterday", "tomorrow", "tonight", "today", "ago", "recently", "weekend",
			"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday":
			found = true
		case "week", "month", "year", "night", "summer", "winter", "spring", "fall", "autumn", "weeks", "months", "years", "days", "day", "morning":
			switch before {
			case "last", "next", "this", "past", "previous", "few", "couple", "two", "three", "four", "five", "six", "seven", "ten", "every", "other":
				found = true
			}
		default:
			if _, certain, ok := month(w); ok && certain {
				found = true
			} else if v, ok := numberWord(w); ok && len(w) == 4 && isYear(v) {
				found = true
			}
		}
		before = w
	})
	return found
}
