package language_test

import (
	"strings"
	"testing"
	"time"

	"satchel/pipeline/language"
)

// A weekday of a week is one day.
func TestWeekdayOfAWeek(t *testing.T) {
	t.Parallel()
	sunday := now().AddDate(0, 0, 1)
	for text, want := range map[string]string{
		"What happened two weeks ago on Monday?":   "2026-11-09",
		"What happened on Monday two weeks ago?":   "2026-11-09",
		"a week ago on Friday":                     "2026-11-20",
		"three weeks ago, on Tuesday":              "2026-11-03",
		"last week on Monday":                      "2026-11-16",
		"Monday last week":                         "2026-11-16",
		"Friday of last week":                      "2026-11-20",
		"the Monday of the week of 18 November":    "2026-11-16",
		"next week on Monday":                      "2026-11-30",
		"vor zwei Wochen am Montag":                "2026-11-09",
		"am Montag vor zwei Wochen":                "2026-11-09",
		"letzte Woche Montag":                      "2026-11-16",
		"il y a deux semaines, le lundi":           "2026-11-09",
		"le lundi il y a deux semaines":            "2026-11-09",
		"lundi de la semaine dernière":             "2026-11-16",
		"hace dos semanas el lunes":                "2026-11-09",
		"el lunes de la semana pasada":             "2026-11-16",
		"две недели назад в понедельник":           "2026-11-09",
		"в понедельник на прошлой неделе":          "2026-11-16",
		"两周前的星期一":                                  "2026-11-09",
		"the Monday in the last week of March":     "2026-03-30",
		"el viernes de hace tres semanas":          "2026-11-06",
		"on Monday":                                "2026-11-23",
		"two weeks ago":                            "2026-11-12..2026-11-18",
		"on Monday and last week":                  "2026-11-23 2026-11-16..2026-11-22",
		"What happened last week before Thursday?": "2026-11-16..2026-11-22 ..2026-11-25",
	} {
		if got := spans(language.FindTimes(text, sunday)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// "The first Tuesday of November" is one day.
func TestNthWeekday(t *testing.T) {
	t.Parallel()
	check(t, map[string]string{
		"the first Tuesday of November":       "2026-11-03",
		"last Friday of March":                "2026-03-27",
		"second Monday in June 2025":          "2025-06-09",
		"the 3rd Wednesday of May 2026":       "2026-05-20",
		"on the fifth Sunday of August":       "2026-08-30",
		"the first Tuesday of December":       "2025-12-02",
		"the last Monday of November":         "2025-11-24", // this year's has not come
		"the first Monday of last month":      "2026-10-05",
		"the last Friday of 2025":             "2025-12-26",
		"the first Monday of the month":       "2026-11-02",
		"after the first Tuesday of November": "2026-11-04..",
		"the first day of October":            "2026-10-01",
		"the last day of March":               "2026-03-31",
		"last weekend of March":               "2026-03-28..2026-03-29",
		"der erste Dienstag im November":      "2026-11-03",
		"am letzten Freitag im März":          "2026-03-27",
		"am ersten Montag des Monats":         "2026-11-02",
		"le premier mardi de novembre":        "2026-11-03",
		"le dernier vendredi d'octobre":       "2026-10-30",
		"el primer martes de noviembre":       "2026-11-03",
		"el último viernes de marzo":          "2026-03-27",
		"в первый вторник ноября":             "2026-11-03",
		"в последнюю пятницу марта":           "2026-03-27",
		"11月的第一个星期二":                          "2026-11-03",
		"2026年3月最后一个星期五":                      "2026-03-27",
		"last Friday":                         "2026-11-27",
		"last Friday in the October report":   "2026-11-27 2026-10-01..2026-10-31",
		"last Friday, 20 March":               "2026-11-27 2026-03-20",
		"the first Tuesday of the project":    "2026-11-24",
	})
	if list, never := language.ReadTimes("the fifth Friday of February 2026", now()); len(list) > 0 || strings.Join(never, " ") != "5th Friday of February 2026" {
		t.Errorf("%s, and there is no %q", spans(list), never)
	}
	if got := spans(language.FindTimes("the first Tuesday of November", time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC))); got != "2025-11-04" {
		t.Errorf("before that day has come: %s", got)
	}
}
