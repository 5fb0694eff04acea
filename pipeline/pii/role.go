package pii

import "satchel/pipeline/language"

// What a word says of a name beside it is its classes in the lexicon. Some say the same here.
const (
	title    = language.Honorific | language.Title // announces a person
	calendar = language.People | language.OnlyTime // is a day, a month or a people, and no name
)

// roleOf returns the classes of a word, whatever its case.
func roleOf(word string) language.Class { return roleIn(language.Default(), word) }

func roleIn(words *language.Lexicon, word string) language.Class {
	var buf [16]byte
	if len(word) > len(buf) {
		return 0
	}
	for i := range len(word) {
		buf[i] = lowerByte(word[i])
	}
	return words.Classes(string(buf[:len(word)]))
}

// anyIs reports whether a word of a text is of one of the classes.
func anyIs(text string, classes language.Class) bool {
	words := language.Default()
	return anyOf(text, func(word string) bool { return words.Is(classes, word) })
}
