package language

import (
	"slices"
	"strings"
	"testing"
)

// The hashes of a text are those of its words, whatever letters it has.
func FuzzHashes(f *testing.F) {
	for _, text := range []string{"", "The Barn, the door; 42 keys", "Straße ÄÖÜ, naïve İstanbul x", "日本語 and ascii", "a\xffb \x80", "don't re-read",
		"C++17 or C#, .NET", "B-12 B12 O’Brien's OBrien", "v1.0.0-rc.1 getUserName HTTPServer-2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := []uint64{}
		for _, w := range Words(text) {
			want = append(want, HashWord(w))
		}
		if got := HashWords(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, not %v", text, got, want)
		}
	})
}

// Names are read as people write them.
func TestNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"C# or C++?":               "c# or c++",
		"C++17, c++=1, a+b, i++":   "c++ 17 c 1 a b i++",
		"F#, PR#12 A+ heading#":    "f# pr 12 a+ heading",
		".NET, ASP.NET ...and":     ".net net asp net and",
		"in `.env` end).Next a.b":  "in .env env end next a b",
		"B-12 B12 re-read":         "b 12 b12 b12 re read",
		"AB-1234-X 2026-03-18":     "ab 1234 x ab1234x 2026 03 18",
		"O'Brien's O’Brien OBrien": "o brien s obrien o brien obrien obrien brien",
		"don't it's":               "don t it s",
		"v1.0.0-rc1. 3.5-inch":     "v1 0 0 1.0.0 rc1 3 5 3.5 inch",
		"B-12.5":                   "b 12 b12 5",
	} {
		if got := strings.Join(Words(text), " "); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// The words and the terms of a name have in common what was written with a sign.
func TestNamesInTheIndex(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"C++": "c++", "c#": "c#", ".NET": ".net", "B-12": "b12", "B12": "b12", "O'Brien": "obrien", "OBrien": "obrien", "O’Brien's": "obrien",
		"v1.0.0": "1.0.0", "1.0.0": "1.0.0", "AB-1234-X": "ab1234x", "ab1234X": "ab1234x", "softLogout": "soft", "HTTPServer": "http",
	} {
		if got := Words(name); !slices.Contains(got, want) {
			t.Errorf("%s: the words %q", name, got)
		}
		if got := Analyze(name); !slices.Contains(got, want) {
			t.Errorf("%s: the terms %q", name, got)
		}
	}
}
