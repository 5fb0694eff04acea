package language_test

import (
	"testing"

	"satchel/pipeline/language"
)

const (
	spring = "2026-03-01..2026-05-31"
	summer = "2026-06-01..2026-08-31"
	autumn = "2026-09-01..2026-11-30"
	winter = "2025-12-01..2026-02-28"
)

// check compares the days that texts name with what they should be.
func check(t *testing.T, cases map[string]string) {
	t.Helper()
	for text, want := range cases {
		if got := spans(language.FindTimes(text, now())); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// A season is a date where its wording makes it one.
func TestSeason(t *testing.T) {
	t.Parallel()
	check(t, map[string]string{
		"What was repaired in summer?":                       summer,
		"What was repaired in the summer and by whom?":       summer,
		"In the summer, concerts were cancelled.":            summer,
		"In the summer Nora painted the fence.":              summer,
		"What did we do in the summer we moved?":             summer,
		"Who joined last winter besides Ada?":                winter,
		"last winter":                                        winter,
		"last winter's timetable":                            winter,
		"Which roof leaked this autumn?":                     autumn,
		"on 4 May and summer concerts":                       "2026-05-04",
		"on 4 May, summer concert":                           "2026-05-04",
		"in the summer months":                               summer,
		"during the winter":                                  winter,
		"over the winter":                                    winter,
		"throughout the spring":                              spring,
		"all summer":                                         summer,
		"since spring":                                       "2026-03-01..",
		"since the spring":                                   "2026-03-01..",
		"before summer":                                      "..2026-05-31",
		"before the summer":                                  "..2026-05-31",
		"after winter":                                       "2026-03-01..",
		"until autumn":                                       "..2026-11-30",
		"the summer of 2025":                                 "2025-06-01..2025-08-31",
		"in the summer of last year":                         "2025-06-01..2025-08-31",
		"spring 2026":                                        spring,
		"the concert of summer 2025":                         "2025-06-01..2025-08-31",
		"Which summer concert was cancelled in spring 2025?": "2025-03-01..2025-05-31",
		"between spring and autumn":                          "2026-03-01..2026-11-30",
		"from spring to autumn":                              "2026-03-01..2026-11-30",
		"between spring and Christmas":                       "2025-03-01..2025-12-26",
		"from October to February":                           "2025-10-01..2026-02-28",
		"off to university in the autumn anyway":             autumn,
		"taken down this winter compared with last":          winter,
		"by rail in summer rather than by car":               summer,
		"I would see them next winter though":                "2026-12-01..2027-02-28",
		"at the end of summer":                               "2026-08-01..2026-08-31",
		"early spring":                                       "2026-03-01..2026-03-31",
		"Was wurde im Sommer repariert?":                     summer,
		"was wurde im winter repariert?":                     winter,
		"Was haben wir im Winter Holz gekauft?":              winter,
		"Was war letzten Winter undicht?":                    winter,
		"diesen Herbst":                                      autumn,
		"vor dem Sommer":                                     "..2026-05-31",
		"nach dem Winter":                                    "2026-03-01..",
		"seit dem Frühling":                                  "2026-03-01..",
		"bis zum Sommer":                                     "..2026-08-31",
		"während des Winters und danach, im Frühjahr 2025":   "2025-03-01..2025-05-31",
		"Sommer 2025":                                        "2025-06-01..2025-08-31",
		"en été":                                             summer,
		"au printemps":                                       spring,
		"cet été":                                            summer,
		"pendant l'hiver":                                    winter,
		"avant l'été":                                        "..2026-05-31",
		"depuis l'automne":                                   "2026-09-01..",
		"l'hiver dernier":                                    winter,
		"l'été 2025":                                         "2025-06-01..2025-08-31",
		"fin d'été":                                          "2026-08-01..2026-08-31",
		"du printemps à l'automne":                           "2026-03-01..2026-11-30",
		"en verano":                                          summer,
		"en el otoño":                                        autumn,
		"este verano":                                        summer,
		"el invierno pasado":                                 winter,
		"durante el invierno":                                winter,
		"antes del verano":                                   "..2026-05-31",
		"a finales de verano":                                "2026-08-01..2026-08-31",
		"desde la primavera":                                 "2026-03-01..",
		"de primavera a otoño":                               "2026-03-01..2026-11-30",
		"à la fin du printemps":                              "2026-05-01..2026-05-31",
		"mid-summer":                                         "2026-07-01..2026-07-31",
		"winter 2024/25":                                     "2024-12-01..2025-02-28",
		"Что починили летом?":                                summer,
		"прошлой зимой":                                      winter,
		"летом 2025 года":                                    "2025-06-01..2025-08-31",
		"после зимы":                                         "2026-03-01..",
		"в начале лета":                                      "2026-06-01..2026-06-30",
		"夏天修了什么?":                                            summer,
		"夏天的时候修了什么?":                                         summer,
		"去年夏天":                                               "2025-06-01..2025-08-31",
		"去年夏天的音乐会":                                           "2025-06-01..2025-08-31",
		"2025年夏天修了什么?":                                       "2025-06-01..2025-08-31",
		"2025年冬季":                                            "2025-12-01..2026-02-28",
	})
}

// A season before a noun, or behind it and "of", says what kind of thing it is.
func TestSeasonOfANoun(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Why was the summer concert cancelled and who delivers our gravel?", "Who plays in the summer concert?",
		"Where is the winter timetable?", "Who leads the spring clean-up?", "before the autumn sale", "after the winter break",
		"since the spring clean-up", "Who came to the last summer party?", "What is in this summer catalogue?", "staff summer party",
		"the Winter Olympics", "in the Winter Olympics", "in the summer-house", "the spring of the valve", "after the fall of Rome",
		"after the spring broke", "Prices fall and rise.", "the summer and winter timetable", "Evening all. New year, new room.", "Keep it for the spring.", "after summer camp", "the autumn seed", "every summer", "in summer time", "at the end of the summer concert",
		"Wann ist das Sommerfest?", "vor dem Sommerfest", "Wer leitet das Sommer-Lager?", "im Sommer-Lager", "Wo ist der Winter-Fahrplan?",
		"Qui joue au concert d'été ?", "les vacances d'hiver", "le concert de printemps", "la fête du printemps",
		"¿Quién toca en el concierto de verano?", "el horario de invierno", "antes de la fiesta de verano",
		"летний концерт", "после зимней распродажи", "夏天的音乐会为什么取消了?", "夏季音乐会",
	} {
		check(t, map[string]string{text: ""})
	}
}
