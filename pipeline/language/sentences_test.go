package language_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"satchel/pipeline/language"
)

func cut(text string) []string {
	var out []string
	for _, s := range language.Sentences(text) {
		out = append(out, text[s.Start:s.End])
	}
	return out
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                                         nil,
		" \n\t ":                                   nil,
		"One. Two! Three? Four":                    {"One.", "Two!", "Three?", "Four"},
		"Dr. Ines Silva met J. Smith. He ran":      {"Dr. Ines Silva met J. Smith.", "He ran"},
		"It cost 1.50 EUR. It was e.g. cheap":      {"It cost 1.50 EUR.", "It was e.g. cheap"},
		"3. Renew it\n12. Restart. Done":           {"3. Renew it", "12. Restart.", "Done"},
		"He said \"why?\" and left. Then I.":       {"He said \"why?\" and left.", "Then I."},
		"今天下雨。明天呢？好！":                              {"今天下雨。", "明天呢？", "好！"},
		"a\r\n\r\nb":                               {"a", "b"},
		"Es endet am 3. März. Danach nicht":        {"Es endet am 3. März.", "Danach nicht"},
		"**People.** Karin left. **Lab** is shut.": {"**People.**", "Karin left.", "**Lab** is shut."},
		"It was I. Jonas said so.":                 {"It was I.", "Jonas said so."},
	} {
		if diff := cmp.Diff(want, cut(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestSplitLosesNothing: whatever a text is, its sentences are in order, have no white
// space around them, and leave out nothing but white space.
func TestSplitLosesNothing(t *testing.T) {
	t.Parallel()
	pieces := rapid.SampledFrom([]string{"a", "B", "1", ".", "!", "?", " ", "\n", "\"", "Dr.", "。", "\xff", "é", "\u00a0", "e.g.", "..."})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(pieces, 0, 60).Draw(t, "pieces"), "") })).Draw(t, "text")
		at := 0
		for _, s := range language.Sentences(text) {
			if s.Start < at || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("span %+v behind %d of %q", s, at, text)
			}
			if part := text[s.Start:s.End]; strings.TrimSpace(part) != part || strings.TrimSpace(text[at:s.Start]) != "" {
				t.Fatalf("%q, and %q before it", part, text[at:s.Start])
			}
			at = s.End
		}
		if strings.TrimFunc(text[at:], unicode.IsSpace) != "" {
			t.Fatalf("%q is in no sentence", text[at:])
		}
	})
}
