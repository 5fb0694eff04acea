package language_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"satchel/pipeline/language"
)

func TestEntities(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, speaker string
		want          []string
	}{
		{"Last week I went to San Francisco with Melanie.", "Caroline", []string{"caroline", "san francisco", "melanie"}},
		{"Melanie went home. I saw Melanie there.", "", []string{"melanie"}},
		{"Melanie went home.", "", nil},
		{"Melanie went home.", "Melanie", []string{"melanie"}},
		{"What is Caroline's job?", "user", []string{"caroline"}},
		{"Caroline's job is hard.", "", []string{"caroline"}},
		{"Caroline Smith is here, Bob too", "", []string{"caroline smith", "bob"}},
		{"The Red Cross met on Monday in May.", "", []string{"red cross"}},
		{`I read "Becoming Nicole" and “The Hobbit”, not "just kidding".`, "", []string{"becoming nicole", "the hobbit", "hobbit"}},
		{"ask @dave_x about #release and #42, or dave@example.com", "", []string{"dave_x", "release", "#42"}},
		{"fix parseConfig in pkg/config/load.go, see OPS-1234 and max_retries", "", []string{"parseconfig", "pkg/config/load.go", "ops-1234", "max_retries"}},
		{"see main.go and and/or https://Example.com/Path www.Foo.com", "", []string{"main.go"}},
		{"call +1 555 0100 or 12-34-56", "", nil},
		{"Don't you think I'm right? We've met O'Brien.", "", []string{"o'brien"}},
		{"gestern in Köln bei Ärzte", "", []string{"köln", "ärzte"}},
		{"東京に行きました。今日は寒い。", "", nil},
		{"we use GitHub, NATS and iOS", "", []string{"github", "nats", "ios"}},
		{"", "", nil},
		{"x", "tool", nil},
		{"e.g. this, i.e. that... and U.S. law", "", []string{"u.s"}},
	} {
		if diff := cmp.Diff(c.want, language.Entities(c.text, c.speaker), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestEntitiesAreBounded(t *testing.T) {
	t.Parallel()
	got := language.Entities(strings.Repeat("aB bC cD dE eF fG gH hI iJ jK kL lM mN nO oP pQ qR rS sT ", 3), "")
	if len(got) != 16 {
		t.Errorf("%d names", len(got))
	}
}

func FuzzEntities(f *testing.F) {
	f.Add("Last week I met “The Hobbit” in San Francisco, @x #y a_b A-1.", "Ann")
	f.Fuzz(func(t *testing.T, text, speaker string) {
		names := language.Entities(text, speaker)
		seen := map[string]bool{}
		for _, n := range names {
			if seen[n] || n == "" || len(n) > 64 || utf8.ValidString(text+speaker) && !utf8.ValidString(n) {
				t.Fatalf("name %q in %q", n, names)
			}
			seen[n] = true
			if i := strings.IndexByte(n, '@'); i > 0 && i < len(n)-1 {
				t.Fatalf("address %q", n)
			}
		}
		if len(names) > 16 {
			t.Fatalf("%d names", len(names))
		}
	})
}

func BenchmarkEntities(b *testing.B) {
	const turn = "Hey Mel! Good to see you! Last week I went to an LGBTQ support group in San Francisco and it was so powerful. " +
		"The transgender stories were so inspiring!"
	b.ReportAllocs()
	for b.Loop() {
		language.Entities(turn, "Caroline")
	}
}
