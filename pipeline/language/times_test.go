package language_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/language"
)

// now is a Saturday.
func now() time.Time { return time.Date(2026, 11, 28, 15, 4, 0, 0, time.UTC) }

// spans writes intervals as "2026-03-18" and "2026-03-01..2026-03-31"; a side that is open is empty.
func spans(list []language.Interval) string {
	var out []string
	for _, i := range list {
		from, to := "", ""
		if !i.From.IsZero() {
			from = i.From.Format(time.DateOnly)
		}
		if !i.To.IsZero() {
			to = i.To.AddDate(0, 0, -1).Format(time.DateOnly)
		}
		if from == to {
			out = append(out, from)
		} else {
			out = append(out, from+".."+to)
		}
	}
	return strings.Join(out, " ")
}

// A day that no calendar has is no other, and no month of its own.
func TestNoSuchDay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"What was repaired on 30 February?":       "30 February",
		"Was wurde am 31. Juni 2026 repariert?":   "31 June 2026",
		"What was repaired on 2026-02-29?":        "29 February 2026",
		"Что починили 31 апреля?":                 "31 April",
		"2026年2月30日修了什么?":                         "30 February 2026",
		"What happened from 5 to 31 June?":        "31 June",
		"What happened in the week of 31 April?":  "31 April",
		"¿Qué se reparó el 30 de febrero?":        "30 February",
		"What was repaired on the 31st of April?": "31 April",
	} {
		if list, never := language.ReadTimes(text, now()); len(list) > 0 || strings.Join(never, " ") != want {
			t.Errorf("%s: %v, and there is no %q, want %q", text, list, never, want)
		}
	}
	list, never := language.ReadTimes("What was repaired on 29 February?", now())
	if got := list; len(never) > 0 || len(got) != 1 || got[0].From.Format(time.DateOnly) != "2024-02-29" {
		t.Errorf("29 February: %v, and there is no %q", got, never)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"What did Nora repair on 4 May 2026?":                            "2026-05-04",
		"What did Nora repair on May 4th, 2026?":                         "2026-05-04",
		"What was repaired on 2026-05-04?":                               "2026-05-04",
		"Was wurde am 4.5.2026 repariert?":                               "2026-05-04",
		"Was wurde am 4. Mai 2026 repariert?":                            "2026-05-04",
		"¿Qué se reparó el 4 de mayo de 2026?":                           "2026-05-04",
		"Qu'est-ce qui a été réparé le 4 mai 2026 ?":                     "2026-05-04",
		"Что починили 4 мая 2026?":                                       "2026-05-04",
		"2026年5月4日修了什么?":                                                 "2026-05-04",
		"What was repaired on May 4?":                                    "2026-05-04",
		"What was repaired on December 3?":                               "2025-12-03", // the last one that has come
		"What was repaired in October?":                                  "2026-10-01..2026-10-31",
		"What was repaired in December?":                                 "2025-12-01..2025-12-31",
		"Was war im Oktober?":                                            "2026-10-01..2026-10-31",
		"What happened yesterday?":                                       "2026-11-27",
		"Was war gestern?":                                               "2026-11-27",
		"Qu'est-ce qui s'est passé hier ?":                               "2026-11-27",
		"¿Qué pasó ayer?":                                                "2026-11-27",
		"Что было вчера?":                                                "2026-11-27",
		"昨天发生了什么?":                                                       "2026-11-27",
		"What happened two days ago?":                                    "2026-11-26",
		"Was war vor zwei Tagen?":                                        "2026-11-26",
		"What happened on Monday?":                                       "2026-11-23",
		"What happened last week?":                                       "2026-11-16..2026-11-22",
		"What happened this week?":                                       "2026-11-23..2026-11-29",
		"What happened in the week of 18 November?":                      "2026-11-16..2026-11-22",
		"Was war in der Woche vom 18. November?":                         "2026-11-16..2026-11-22",
		"What was decided from 20 to 25 November?":                       "2026-11-20..2026-11-25",
		"What was decided from 20 November to 25 November?":              "2026-11-20..2026-11-25",
		"What was decided between 1 February and 1 March 2026?":          "2026-02-01..2026-03-01",
		"Was wurde zwischen dem 1. Februar und dem 1. März beschlossen?": "2026-02-01..2026-03-01",
		"What happened before March?":                                    "..2026-02-28",
		"What happened after 20 November?":                               "2026-11-21..",
		"What happened since 21 November?":                               "2026-11-21..",
		"What happened until 5 June?":                                    "..2026-06-05",
		"Was geschah vor dem 1. März?":                                   "..2026-02-28",
		"How did Q1 go?":                                                 "2026-01-01..2026-03-31",
		"How did Q2 2025 go?":                                            "2025-04-01..2025-06-30",
		"What did we do in the first half of October?":                   "2026-10-01..2026-10-15",
		"second half of 2025":                                            "2025-07-01..2025-12-31",
		"the end of February":                                            "2026-02-19..2026-02-28",
		"beginning of March":                                             "2026-03-01..2026-03-10",
		"mid-June":                                                       "2026-06-11..2026-06-20",
		"mid June":                                                       "2026-06-11..2026-06-20",
		"middle of May":                                                  "2026-05-11..2026-05-20",
		"in early April":                                                 "2026-04-01..2026-04-10",
		"late August 2025":                                               "2025-08-21..2025-08-31",
		"at the end of last month":                                       "2026-10-21..2026-10-31",
		"at the start of this week":                                      "2026-11-23..2026-11-24",
		"the end of Q1":                                                  "2026-03-01..2026-03-31",
		"in H1 2026":                                                     "2026-01-01..2026-06-30",
		"What runs on the H2 database?":                                  "",
		"first quarter of 2026":                                          "2026-01-01..2026-03-31",
		"in the second quarter":                                          "2026-04-01..2026-06-30",
		"last quarter":                                                   "2026-07-01..2026-09-30",
		"the last week of October":                                       "2026-10-25..2026-10-31",
		"first week of May":                                              "2026-05-01..2026-05-07",
		"What happened in the first week of the project?":                "",
		"What is the first half of the plan?":                            "",
		"What is the end of the story?":                                  "",
		"start the server":                                               "",
		"end the session in May":                                         "2026-05-01..2026-05-31",
		"the middle of the road":                                         "",
		"late fee":                                                       "",
		"early riser":                                                    "",
		"half of the team":                                               "",
		"second half":                                                    "",
		"What was the last thing he did?":                                "",
		"Was war Anfang März?":                                           "2026-03-01..2026-03-10",
		"Mitte Mai":                                                      "2026-05-11..2026-05-20",
		"Ende Februar":                                                   "2026-02-19..2026-02-28",
		"in der ersten Januarhälfte":                                     "2026-01-01..2026-01-15",
		"in der ersten Hälfte des Oktobers":                              "2026-10-01..2026-10-15",
		"am Monatsende":                                                  "2026-11-21..2026-11-30",
		"im ersten Halbjahr 2026":                                        "2026-01-01..2026-06-30",
		"im ersten Quartal":                                              "2026-01-01..2026-03-31",
		"letztes Quartal":                                                "2026-07-01..2026-09-30",
		"letzten März":                                                   "2026-03-01..2026-03-31",
		"letzten Sommer":                                                 "2026-06-01..2026-08-31",
		"gestern Abend":                                                  "2026-11-27",
		"heute Morgen":                                                   "2026-11-28",
		"am Morgen":                                                      "",
		"Morgen kommt Lena":                                              "2026-11-29",
		"bis morgen":                                                     "..2026-11-29",
		"übermorgen":                                                     "2026-11-30",
		"début mars":                                                     "2026-03-01..2026-03-10",
		"mi-mars":                                                        "2026-03-11..2026-03-20",
		"fin février":                                                    "2026-02-19..2026-02-28",
		"la première moitié d'octobre":                                   "2026-10-01..2026-10-15",
		"au début d'octobre":                                             "2026-10-01..2026-10-10",
		"l'été dernier":                                                  "2026-06-01..2026-08-31",
		"mars dernier":                                                   "2026-03-01..2026-03-31",
		"première quinzaine de mai":                                      "2026-05-01..2026-05-15",
		"premier trimestre 2026":                                         "2026-01-01..2026-03-31",
		"hier soir":                                                      "2026-11-27",
		"a principios de marzo":                                          "2026-03-01..2026-03-10",
		"a mediados de junio":                                            "2026-06-11..2026-06-20",
		"a finales de febrero":                                           "2026-02-19..2026-02-28",
		"la primera mitad de octubre":                                    "2026-10-01..2026-10-15",
		"el primer trimestre":                                            "2026-01-01..2026-03-31",
		"ayer por la noche":                                              "2026-11-27",
		"esta mañana":                                                    "2026-11-28",
		"por la mañana":                                                  "",
		"marzo pasado":                                                   "2026-03-01..2026-03-31",
		"el verano pasado":                                               "2026-06-01..2026-08-31",
		"la primera semana de mayo":                                      "2026-05-01..2026-05-07",
		"в начале марта":                                                 "2026-03-01..2026-03-10",
		"в середине июня":                                                "2026-06-11..2026-06-20",
		"в конце февраля":                                                "2026-02-19..2026-02-28",
		"в первой половине октября":                                      "2026-10-01..2026-10-15",
		"прошлым летом":                                                  "2026-06-01..2026-08-31",
		"в прошлом году":                                                 "2025-01-01..2025-12-31",
		"в первом квартале 2026 года":                                    "2026-01-01..2026-03-31",
		"2月底":                          "2026-02-19..2026-02-28",
		"三月初":                          "2026-03-01..2026-03-10",
		"三月发生了什么":                      "2026-03-01..2026-03-31",
		"3月做了什么":                       "2026-03-01..2026-03-31",
		"2025年上半年":                     "2025-01-01..2025-06-30",
		"上半年":                          "2026-01-01..2026-06-30",
		"去年":                           "2025-01-01..2025-12-31",
		"上周三":                          "2026-11-25",
		"昨晚":                           "2026-11-27",
		"去年三月":                         "2025-03-01..2025-03-31",
		"last March":                   "2026-03-01..2026-03-31",
		"last November":                "2025-11-01..2025-11-30",
		"next Friday":                  "2026-12-04",
		"this March":                   "2026-03-01..2026-03-31",
		"yesterday's meeting":          "2026-11-27",
		"Monday's call":                "2026-11-23",
		"October's invoices":           "2026-10-01..2026-10-31",
		"last week's report":           "2026-11-16..2026-11-22",
		"in may":                       "2026-05-01..2026-05-31",
		"since march":                  "2026-03-01..",
		"may I enter":                  "",
		"what may a parcel weigh?":     "",
		"on a March day":               "2026-03-01..2026-03-31",
		"el primero de marzo de 2026":  "2026-03-01",
		"am ersten März 2026":          "2026-03-01",
		"on the first of March":        "2026-03-01",
		"le premier mars":              "2026-03-01",
		"am ersten März":               "2026-03-01",
		"1er mars 2026":                "2026-03-01",
		"el primero de marzo":          "2026-03-01",
		"первого марта":                "2026-03-01",
		"What happened on Sunday?":     "2026-11-22",
		"two quarters ago":             "2026-04-01..2026-06-30",
		"a couple of weeks ago":        "2026-11-11..2026-11-17",
		"in the past month":            "2026-10-28..2026-11-28",
		"in the last week":             "2026-11-16..2026-11-22",
		"the past week":                "2026-11-21..2026-11-28",
		"over the last year":           "2025-01-01..2025-12-31",
		"the last 30 days":             "2026-10-29..2026-11-28",
		"nächste Woche":                "2026-11-30..2026-12-06",
		"on the 18th":                  "2026-11-18",
		"am 18.":                       "2026-11-18",
		"between Monday and Wednesday": "2026-11-23..2026-11-25",
		"from Monday to Wednesday":     "2026-11-23..2026-11-25",
		"von Montag bis Mittwoch":      "2026-11-23..2026-11-25",
		"du lundi au mercredi":         "2026-11-23..2026-11-25",
		"de lunes a miércoles":         "2026-11-23..2026-11-25",
		"с понедельника по среду": "2026-11-23..2026-11-25",
		"周一到周三":                              "2026-11-23..2026-11-25",
		"18th of March":                      "2026-03-18",
		"March 18th through March 20th":      "2026-03-18..2026-03-20",
		"18-20 March 2026":                   "2026-03-18..2026-03-20",
		"Mar 2026":                           "2026-03-01..2026-03-31",
		"2026-03":                            "2026-03-01..2026-03-31",
		"03/2026":                            "2026-03-01..2026-03-31",
		"24/12/2025":                         "2025-12-24",
		"the day after tomorrow":             "2026-11-30",
		"earlier this week":                  "2026-11-23..2026-11-29",
		"earlier today":                      "2026-11-28",
		"late last week":                     "2026-11-20..2026-11-22",
		"early this month":                   "2026-11-01..2026-11-10",
		"late yesterday":                     "2026-11-27",
		"end of last week":                   "2026-11-20..2026-11-22",
		"by the end of June":                 "..2026-06-30",
		"since the beginning of June":        "2026-06-01..",
		"between early March and late April": "2026-03-01..2026-04-30",
		"from mid-March to the end of April": "2026-03-11..2026-04-30",
		"What may Nora repair?":              "",
		"March to the gate and sit in the second row.": "",
		"Which of the 12 pumps has 3 valves?":          "",
		"Is version 1.2.3 out?":                        "",
		"Who sat next to Mona?":                        "",
		"quant q4 of the model":                        "",
		"Where is part 2026-13-45?":                    "",
		"release 2026.40.1":                            "",
	} {
		if got := spans(language.FindTimes(text, now())); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// Whatever is written, an interval is no day that cannot be, and does not end before it begins.
func FuzzFind(f *testing.F) {
	for _, text := range []string{"31 February 2026", "between May and 3 April", "0.0.0", "2026-13-45", "¿el 31 de junio?", "从2026年13月", "the week of 99 May", "first quarter of last quarter", "1 December 2025 to 30 November 2025", "from 1 December to 30 November", strings.Repeat("5 and ", 40) + "May"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, i := range language.FindTimes(text, now()) {
			if !i.From.IsZero() && !i.To.IsZero() && !i.From.Before(i.To) {
				t.Errorf("%q: %s", text, fmt.Sprint(i.From, i.To))
			}
		}
	})
}
