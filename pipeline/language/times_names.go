package language

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What a word can be in a date. The number beside it says which. kindNames has their names in the files, in the same order.
type kind uint8

const (
	other  kind = iota
	number      // 1 to 31, written as a word
	month
	weekday // Sunday is 0
	unit    // of units
	season  // its first month
	alone   // a season or a feast that is a date without a preposition
	lasting // a season or a feast lasts behind it
	english // stands before an English noun
	loose   // no English noun begins with it: what stands before it is no attribute
	when    // a feast stands behind it
	begins  // the first word of a name of more words
	feast   // 10 times its day, and how many days it has
	holiday // the same of one whose name is other things, too
	single  // of how many days it is: one day, one weekend
	near    // a day by its distance from today
	side    // last −1, this 0, next +1
	ago     // the distance stands before it, or behind it in German, Spanish and French
	recent  // the last days, weeks…
	from
	to // 1 where only what lies between can be meant
	before
	since
	after
	until
	in      // a month or a year stands behind it
	of      // what stands behind it belongs to what stands before it
	hours   // a part of a day
	part    // a third of what stands behind it: the first, the second, the last
	verb    // a part only where no word but "of" stands between: it did not end in March
	tail    // 10 times a piece, and of how many, of what stands before it
	ordinal // first, second…
	pieces  // of how many an ordinal says which, and of what
	latest  // asks for the newest; 1 where most has to stand before it
	most    // stands before what is newest where that word alone does not ask
	thing   // what a last one is
	fill    // says nothing between the parts of a date
	asking  // asks for what there is of a time, whatever it is
)

const (
	unitDay = iota
	unitWeek
	unitMonth
	unitYear
	unitWeekend
	unitQuarter
)

// What a name of pieces takes the pieces of where no whole is named.
const (
	ofNone = 10 * iota
	ofYear
	ofMonth
)

type meaning struct {
	kind kind
	n    int
}

var kindNames = [...]string{
	"other", "number", "month", "weekday", "unit", "season", "alone", "lasting", "english", "loose", "when", "begins", "feast", "holiday", "single",
	"near", "side", "ago", "recent", "from", "to", "before", "since", "after", "until", "in", "of", "hours", "part", "verb", "tail", "ordinal", "pieces",
	"latest", "most", "thing", "fill", "asking",
}

// IsTimeName reports whether a word, whatever its case, names a month or a day of the week.
func IsTimeName(word string) bool { return Default().Is(timeName, strings.ToLower(word)) }

// numbers are what the names in the files stand for.
var numbers = map[string]int{
	"day": unitDay, "week": unitWeek, "month": unitMonth, "year": unitYear, "weekend": unitWeekend, "quarter": unitQuarter,
	"beginning": 1, "middle": 2, "end": 3,
	"half": ofNone + 2, "half_of_year": ofYear + 2, "half_of_month": ofMonth + 2, "quarter_of_year": ofYear + 4,
	"alone": 0, "behind_most": 1, "either": 0, "range": 1,
	"spring": 3, "summer": 6, "autumn": 9, "winter": 12,
	"before_yesterday": -2, "yesterday": -1, "today": 0, "tomorrow": 1, "after_tomorrow": 2,
	"last": -1, "this": 0, "next": 1,
}

// addDates adds the words of dates: of a kind they are a text, a list that counts from 1, of weekdays from 0, or the words of
// each of its numbers.
func (l *Lexicon) addDates(dates map[string]any) error {
	for name, value := range dates {
		k := kind(max(0, slices.Index(kindNames[:], name)))
		if k == other {
			return fmt.Errorf("kind %q of dates is not known", name)
		}
		switch value := value.(type) {
		case string:
			l.addMeaning(meaning{k, 0}, value)
		case []any:
			first := 1
			if k == weekday {
				first = 0
			}
			for i, words := range value {
				l.addMeaning(meaning{k, first + i}, fmt.Sprint(words))
			}
		case map[string]any:
			for key, words := range value {
				n, err := readNumber(key, k)
				if err != nil {
					return err
				}
				l.addMeaning(meaning{k, n}, fmt.Sprint(words))
			}
		default:
			return fmt.Errorf("kind %q of dates has no words", name)
		}
	}
	return nil
}

// addMeaning adds what words mean. A name of more words begins with the first of them.
func (l *Lexicon) addMeaning(m meaning, words string) {
	add := func(word string, m meaning) {
		if !slices.Contains(l.dates[word], m) {
			l.dates[word] = append(l.dates[word], m)
		}
	}
	for word := range strings.FieldsSeq(words) {
		add(word, m)
		if start, _, several := strings.Cut(word, "_"); several {
			add(start, meaning{begins, 0})
		}
	}
}

// addTimeNames adds the months with an s, "des Oktobers", and the classes of months and weekdays.
func (l *Lexicon) addTimeNames() {
	for word, means := range l.dates {
		t := token{means: means}
		if len(word) > 3 && t.isAny(month) && word[len(word)-1] != 's' && l.dates[word+"s"] == nil {
			l.dates[word+"s"] = means
		}
	}
	for word, means := range l.dates {
		t := token{means: means}
		switch classes := l.words[word]; {
		case !t.isAny(month, weekday) || classes&smallOnly != 0:
		case classes&ambiguous != 0:
			l.words[word] |= timeName
		default:
			l.words[word] |= timeName | OnlyTime
		}
	}
}

// readNumber reads the number of a kind: a name, or the day of a feast, "1224", "easter-2 for 4".
func readNumber(key string, k kind) (int, error) {
	if k != feast && k != holiday {
		if n, ok := numbers[key]; ok {
			return n, nil
		}
		return strconv.Atoi(key)
	}
	day, length, several := strings.Cut(key, " for ")
	base := 0
	days := 1
	for name, from := range map[string]int{"easter": fromEaster, "thanksgiving": fromThanksgiving} {
		if after, ok := strings.CutPrefix(day, name); ok {
			base = from
			day = "0" + after
			if after != "" {
				day = after
			}
		}
	}
	n, err := strconv.Atoi(day)
	if err == nil && several {
		days, err = strconv.Atoi(length)
	}
	return 10*(base+n) + days, err
}
