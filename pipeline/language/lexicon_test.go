package language_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/language"
)

// perLanguage is what every language with a file of its own has to read.
var perLanguage = map[string]struct {
	dates    map[string]string // the days of a text, seen from Wednesday, 18 March 2026
	asksAll  string
	newest   string
	greeting string
	answer   string
	months   []string // as a name begins a sentence
}{
	"en": {
		dates:   map[string]string{"yesterday": "17 March 2026", "on 3 March 2025": "3 March 2025", "last week": "9 March 2026 to 15 March 2026", "in April 2025": "1 April 2025 to 30 April 2025"},
		asksAll: "What happened last week?", newest: "What is the latest?", greeting: "Good morning", answer: "All right", months: []string{"February", "Tuesday"},
	},
	"de": {
		dates:   map[string]string{"gestern": "17 March 2026", "am 3. März 2025": "3 March 2025", "letzte Woche": "9 March 2026 to 15 March 2026", "im April 2025": "1 April 2025 to 30 April 2025"},
		asksAll: "Was geschah letzte Woche?", newest: "Was war zuletzt?", greeting: "Guten Morgen", answer: "Ja bitte", months: []string{"Februar", "Dienstag"},
	},
	"es": {
		dates:   map[string]string{"ayer": "17 March 2026", "el 3 de marzo de 2025": "3 March 2025", "la semana pasada": "9 March 2026 to 15 March 2026", "en abril de 2025": "1 April 2025 to 30 April 2025"},
		asksAll: "¿Qué pasó la semana pasada?", newest: "la última vez", greeting: "Buenos días", answer: "De acuerdo", months: []string{"Febrero", "Martes"},
	},
	"fr": {
		dates:   map[string]string{"hier": "17 March 2026", "le 3 mars 2025": "3 March 2025", "la semaine dernière": "9 March 2026 to 15 March 2026", "en avril 2025": "1 April 2025 to 30 April 2025"},
		asksAll: "Que s'est-il passé la semaine dernière ?", newest: "la dernière fois", greeting: "Bonne journée", answer: "D'accord", months: []string{"Février", "Mardi"},
	},
	"ru": {
		dates:   map[string]string{"вчера": "17 March 2026", "3 марта 2025": "3 March 2025", "на прошлой неделе": "9 March 2026 to 15 March 2026", "в апреле 2025": "1 April 2025 to 30 April 2025"},
		asksAll: "Что произошло на прошлой неделе?", newest: "последний раз", greeting: "Доброе утро", answer: "Хорошо", months: []string{"Февраль", "Вторник"},
	},
	"zh": {
		dates:   map[string]string{"昨天": "17 March 2026", "2025年3月3日": "3 March 2025", "上周": "9 March 2026 to 15 March 2026"},
		asksAll: "上周发生了什么", newest: "最新", greeting: "早上好", answer: "好的", months: []string{"星期二"},
	},
}

func TestEachLanguage(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 18, 12, 0, 0, 0, time.UTC)
	for code, want := range perLanguage {
		for text, days := range want.dates {
			var got []string
			for _, i := range language.FindTimes(text, now) {
				got = append(got, i.String())
			}
			if !slices.Equal(got, []string{days}) {
				t.Errorf("%s: %q is %q, want %q", code, text, got, days)
			}
		}
		if !language.AsksAll(want.asksAll, now) || !language.AsksNewest(want.newest, now) {
			t.Errorf("%s: %q asks for all: %v, %q for the newest: %v", code, want.asksAll, language.AsksAll(want.asksAll, now), want.newest, language.AsksNewest(want.newest, now))
		}
		if l := language.Of(code); !l.Is(language.Greeting, strings.ToLower(want.greeting)) || !l.Is(language.Answer, strings.ToLower(want.answer)) {
			t.Errorf("%s: does not know %q, %q", code, want.greeting, want.answer)
		}
		for _, month := range want.months {
			if !language.IsTimeName(month) || slices.Contains(language.Entities("Then "+month+" came.", ""), strings.ToLower(month)) {
				t.Errorf("%s: %q is a name", code, month)
			}
		}
	}
}

// TestClasses has a word of each class, so that a class is not taken for its neighbour.
func TestClasses(t *testing.T) {
	t.Parallel()
	english := language.Of("en")
	for word, class := range map[string]language.Class{
		"the": language.Stop, "moreover": language.Opener, "whose": language.Asking, "hardly": language.Denial, "unless": language.Supposed, "solved": language.Resolved,
		"skipped": language.Over, "broken": language.Failed, "ago": language.Moment, "autumn": language.Period, "couple": language.BesidePeriod, "month": language.DatedBy,
		"take care": language.Greeting, "yep": language.Answer, "for everything": language.Pleasantry, "toward": language.Frequent, "madam": language.Honorific,
		"senator": language.Title, "boulevard": language.Thing, "american": language.People, "i'm": language.Copula, "names": language.Introduced, "starring": language.Caller,
		"cousin": language.Relation, "contact": language.Companion, "near": language.Place, "our": language.Article, "renewed": language.Deed, "esq": language.Degree,
		"fax": language.Phone, "desk": language.Contact, "isbn": language.Number, "visa": language.Card, "equals": language.Link, "literally": language.Between,
		"rotated": language.Setting, "bearer": language.Ordinary, "attempts": language.Counted, "ible": language.Ending, "quist": language.SurnameEnding,
		"passphrase": language.SecretPhrase, "credentials": language.SecretPassword, "api key": language.SecretToken, "door code": language.SecretPIN, "cvv": language.SecretCode,
	} {
		if !english.Is(class, word) || !slices.Contains(english.Words(class), word) {
			t.Errorf("%q is not of its class", word)
		}
	}
	if !language.Of("de").Is(language.Function, "zum") || !language.Of("nl").Is(language.Particle, "van") || !language.Of("ru").Is(language.SecretWide, "пароль") {
		t.Error("a class that English lacks is not read")
	}
	if language.Of("en").Is(language.Asking, "warum") || len(language.Of("none").Words(language.Stop)) > 0 {
		t.Error("a language has words of another")
	}
	if got := language.Languages(); len(got) < 20 || !slices.IsSorted(got) || !slices.Contains(got, "de") {
		t.Errorf("languages %q", got)
	}
}
