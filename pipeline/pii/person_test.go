package pii_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"satchel/pipeline/pii"
)

func TestPersons(t *testing.T) {
	t.Parallel()
	d := newDetector(t, pii.Config{Types: []pii.Type{pii.Person, pii.Email}})
	for text, want := range map[string][]string{
		"Jonas Weber renewed the certificate.":                    {"person Jonas Weber"},
		"On Tuesday Maria told the team about it":                 {"person Maria"},
		"Please ask Anna, Derek and Hannah.":                      {"person Anna", "person Derek", "person Hannah"},
		"The founders are Kovalev, Lee and Phillips":              {"person Kovalev", "person Lee", "person Phillips"},
		"“It works,” says Hartvigsson.":                           {"person Hartvigsson"},
		"Zoë's notes were read by Björn Ålund":                    {"person Zoë", "person Björn Ålund"},
		"a talk of Ludwig van Houten, and of Hanne I. Kreutzmann": {"person Ludwig van Houten", "person Hanne I. Kreutzmann"},
		"Deanna Capon MD signed":                                  {"person Deanna Capon MD"},
		"Mr. Pálffy is 19":                                        {"person Pálffy"},
		"Ana García called; García called again":                  {"person Ana García", "person García"},
		"have you been to a david lange concert before?":          {"person david lange"},
		"write to Peter Pham at peter.pham@example.com":           {"person Peter Pham", "email peter.pham@example.com"},
		"Jacob lives on 90 Whitchurch Road":                       {"person Jacob"},
		"Will the build turn green? May we ask? Mark it as done.": nil,
		"The Mercury Orchestra played in Barcelona in April":      nil,
		"Paris, Berlin and London are cities of Europe":           nil,
		"We moved to 20 Jackson Street, near Lincoln Park":        nil,
		"Johnson Ltd and the Harvard University":                  nil,
		"The HTTP API of Kubernetes returns JSON":                 nil,
		"user.Name = Max(Jordan_1, params.Scott)":                 nil,
		"@jordan wrote HELLO WORLD":                               nil,
	} {
		if diff := cmp.Diff(want, found(d, text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// Whatever the text, spans are in order and within it, and nobody looks for names unless asked.
func TestPersonsOfAnyText(t *testing.T) {
	t.Parallel()
	d, plain := newDetector(t, pii.Config{Types: pii.Types()}), newDetector(t, pii.Config{})
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"Jonas", "Weber", "Dr.", "MD", "'s", "’s", "-", ", ", " and ", "de", "O'Brien", "a@b.de", "12", "É", "\xff", "McÅ"}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 20).Draw(t, "pieces"), rapid.SampledFrom([]string{"", " "}).Draw(t, "glue"))
		end := 0
		for _, s := range d.Find(text) {
			if s.Start < end || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("span %+v behind %d in %q", s, end, text)
			}
			end = s.End
		}
		for _, s := range plain.Find(text) {
			if s.Type == pii.Person {
				t.Fatalf("a name is found in %q", text)
			}
		}
	})
}
