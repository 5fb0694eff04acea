package pii

import (
	"slices"
	"testing"
	"unicode"

	"satchel/pipeline/language"
)

// No character that shows nothing hides a value: neither one that packs leave out nor one without width.
func TestWhatShowsNothingHidesNothing(t *testing.T) {
	t.Parallel()
	d := newDetector(Config{Types: Types()})
	for r := range rune(unicode.MaxRune) {
		foreign := r >= 0x11000 && r <= 0x14000 // formats signs of old scripts
		if nothing := language.ShownRune(r) < 0 || language.IsInvisible(r) && !foreign; !nothing {
			continue
		}
		text := "the card 4111" + string(r) + "1111" + string(r) + "1111" + string(r) + "1111 is hers"
		spans := d.Find(text)
		if len(spans) != 1 || spans[0].Type != Card || text[spans[0].Start:spans[0].End] != text[9:len(text)-8] {
			t.Errorf("%U hides a card: %v", r, spans)
		}
	}
	if plain, shifts := foldText("a\r\nb\tc\n"); plain != "a\r\nb\tc\n" || len(shifts) != 0 {
		t.Errorf("line ends became %q", plain)
	}
	text := "mail maria@exa\x01mple.com, key AKIA\x00IOSFODNN7EXAMPLQ\n"
	var found []string
	for _, sp := range d.Find(text) {
		found = append(found, text[sp.Start:sp.End])
	}
	if want := []string{"maria@exa\x01mple.com", "AKIA\x00IOSFODNN7EXAMPLQ"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}

// A value that terminal control sequences divide is read as it is shown.
func TestFoldReadsPastEscapes(t *testing.T) {
	t.Parallel()
	text := "a\x1b[31mb\x1b[0m \x1b]8;;mailto:x@y.org\x1b\\me"
	plain, shifts := foldText(text)
	if want := "ab  mailto:x@y.org me"; plain != want || plain != language.Shown(text) {
		t.Errorf("%q, want %q", plain, want)
	}
	if at := findOriginalPlace(shifts, len("ab")-1); text[at] != 'b' {
		t.Errorf("b stands at %d", at)
	}
}
