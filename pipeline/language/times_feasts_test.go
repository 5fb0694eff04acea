package language_test

import (
	"testing"
	"time"

	"satchel/pipeline/language"
)

// A feast is the last one that has come, or that of the year that is named.
func TestFeast(t *testing.T) {
	t.Parallel()
	const easter = "2026-04-03..2026-04-06"
	check(t, map[string]string{
		"Who came on Easter Sunday?":        "2026-04-05",
		"What did we do on good friday?":    "2026-04-03",
		"Good Friday 2025":                  "2025-04-18",
		"Easter Monday last year":           "2025-04-21",
		"last Palm Sunday":                  "2026-03-29",
		"next Easter Sunday":                "2027-03-28",
		"the Easter Sunday lunch":           "2026-04-05",
		"Ash Wednesday":                     "2026-02-18",
		"Whit Monday 2024":                  "2024-05-20",
		"at Easter":                         easter,
		"at Easter 2024":                    "2024-03-29..2024-04-01",
		"last Easter":                       easter,
		"next Easter":                       "2027-03-26..2027-03-29",
		"before Easter":                     "..2026-04-02",
		"after Easter":                      "2026-04-07..",
		"since Easter":                      "2026-04-03..",
		"between Easter and Ascension Day":  "2026-04-03..2026-05-14",
		"Was war an Ostern?":                easter,
		"Karfreitag":                        "2026-04-03",
		"am Ostermontag":                    "2026-04-06",
		"seit Ostern":                       "2026-04-03..",
		"à Pâques":                          easter,
		"le lundi de Pâques":                "2026-04-06",
		"le Vendredi saint":                 "2026-04-03",
		"en Pascua":                         easter,
		"el Viernes Santo":                  "2026-04-03",
		"el Domingo de Ramos":               "2026-03-29",
		"复活节发生了什么?":                         easter,
		"What did we eat at Christmas?":     "2025-12-24..2025-12-26",
		"last Christmas":                    "2025-12-24..2025-12-26",
		"this Christmas":                    "2026-12-24..2026-12-26",
		"Christmas 2024":                    "2024-12-24..2024-12-26",
		"over Christmas":                    "2025-12-24..2025-12-26",
		"on Christmas Eve":                  "2025-12-24",
		"Who called on Christmas Day?":      "2025-12-25",
		"Boxing Day":                        "2025-12-26",
		"zu Weihnachten":                    "2025-12-24..2025-12-26",
		"vor Weihnachten":                   "..2025-12-23",
		"an Heiligabend":                    "2025-12-24",
		"am zweiten Weihnachtstag":          "2025-12-26",
		"à Noël":                            "2025-12-24..2025-12-26",
		"Noël dernier":                      "2025-12-24..2025-12-26",
		"en Navidad":                        "2025-12-24..2025-12-26",
		"en Nochebuena":                     "2025-12-24",
		"圣诞节":                               "2025-12-24..2025-12-26",
		"平安夜":                               "2025-12-24",
		"on New Year's Eve":                 "2025-12-31",
		"New Year's Day 2025":               "2025-01-01",
		"since New Year":                    "2026-01-01..",
		"between Christmas and New Year":    "2025-12-24..2026-01-01",
		"an Silvester":                      "2025-12-31",
		"Neujahr":                           "2026-01-01",
		"en Nochevieja":                     "2025-12-31",
		"на Новый год":                      "2026-01-01",
		"去年圣诞节":                             "2025-12-24..2025-12-26",
		"2024年圣诞节":                          "2024-12-24..2024-12-26",
		"the Christmas of 2024":             "2024-12-24..2024-12-26",
		"on Christmas morning":              "2025-12-24..2025-12-26",
		"la veille de Noël":                 "2025-12-24",
		"Semana Santa":                      "2026-03-29..2026-04-04",
		"Was it a good Friday?":             "2026-11-27",
		"元旦":                                "2026-01-01",
		"What did we sell on Black Friday?": "2026-11-27",
		"How was Black Friday 2024?":        "2024-11-29",
		"Cyber Monday":                      "2025-12-01",
		"Did we meet Black on Friday?":      "2026-11-27",
		"What did Ada tell Bob Monday?":     "2026-11-23",
		"Was hat Lena Montag repariert?":    "2026-11-23",
		"Was Monday free?":                  "2026-11-23",
		"On Monday":                         "2026-11-23",
	})
}

// A name of a feast in a longer name, or of a person or a place, is no date; nor is the weekday in it.
func TestNoFeast(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"What does the Good Friday Agreement say?", "Good Friday Agreement", "Where is Easter Island?", "after Easter Island", "Who hid the Easter eggs?",
		"What did Mr Easter order?", "Where is the Christmas tree?", "before the Christmas party", "Who flew to Christmas Island?", "Father Christmas",
		"What are the New Year plans?", "What is planned for the new year?", "Silvester hat angerufen.", "Weihnachtsfeier", "vor der Osterfeier",
		"l'île de Pâques", "les vacances de Noël", "le père Noël", "la cena de Navidad", "on Casual Friday", "the Bloody Sunday album",
	} {
		check(t, map[string]string{text: ""})
	}
}

// Easter is where the calendar has it.
func TestEaster(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"1961-04-02", "1981-04-19", "2000-04-23", "2008-03-23", "2011-04-24", "2019-04-21", "2038-04-25", "2076-04-19", "2100-03-28"} {
		year, _ := time.Parse(time.DateOnly, want)
		check(t, map[string]string{"Easter Sunday " + year.Format("2006"): want})
	}
	if got := language.FindTimes("on New Year's Eve", time.Date(2026, 12, 31, 23, 0, 0, 0, time.UTC)); spans(got) != "2026-12-31" {
		t.Errorf("on the day itself: %s", spans(got))
	}
}
