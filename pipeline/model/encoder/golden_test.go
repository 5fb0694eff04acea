package encoder

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/model/internal/wordpiece"
	"satchel/test/encoderref"
)

// readGolden reads the file that variable names, or else path, of at least so many cases.
func readGolden(t *testing.T, variable, path string, least int) []encoderref.Case {
	t.Helper()
	if named := os.Getenv(variable); named != "" {
		path = named
	}
	cases, err := encoderref.ReadCases(path)
	if err != nil || len(cases) < least {
		t.Fatalf("%s has %d cases, want at least %d: %v", path, len(cases), least, err)
	}
	return cases
}

func golden(t *testing.T) []encoderref.Case {
	t.Helper()
	return readGolden(t, "SATCHEL_TEST_ENCODER_GOLDEN", "testdata/golden.jsonl.gz", 50)
}

// opened returns the model in the binary, or skips the test if there is none.
func opened(t testing.TB, config Config) *Encoder {
	t.Helper()
	if modelFile() == "" {
		t.Skip(ErrNotIncluded)
	}
	e, err := Open(config)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return e
}

func TestGoldenPieces(t *testing.T) {
	t.Parallel()
	e := opened(t, Config{})
	cases := append(golden(t), readGolden(t, "SATCHEL_TEST_ENCODER_PIECES", "testdata/pieces.jsonl.gz", 500)...)
	wrong := 0
	for _, c := range cases {
		got := []int{int(e.first)}
		for _, piece := range e.vocabulary.Cut(nil, c.Text, e.makeLimits()) {
			if piece == wordpiece.Unknown {
				piece = e.unknown
			}
			got = append(got, int(piece))
		}
		got = append(got, int(e.last))
		if diff := cmp.Diff(c.Pieces, got); diff != "" {
			if wrong++; wrong <= 20 {
				t.Errorf("%q (-reference +got):\n%s", c.Text, diff)
			}
		}
	}
	t.Logf("%d of %d texts have other pieces", wrong, len(cases))
}

func TestGoldenVectors(t *testing.T) {
	t.Parallel()
	e := opened(t, Config{Threads: 2})
	cases := golden(t)
	texts := make([]string, len(cases))
	for i, c := range cases {
		texts[i] = c.Text
	}
	got, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatalf("Embed: %v", err)
	}
	var all []float64
	for i, c := range cases {
		cos := encoderref.Cosine(got[i], c.Numbers())
		if all = append(all, cos); cos < .99 {
			t.Errorf("%.40q: cosine %.5f to the reference", c.Text, cos)
		}
	}
	report(t, all)
}

// report logs the least, the lowest hundredth and the mean of cosines.
func report(t *testing.T, cosines []float64) {
	t.Helper()
	slices.Sort(cosines)
	mean := 0.0
	for _, c := range cosines {
		mean += c / float64(len(cosines))
	}
	t.Logf("cosines of %d texts: least %.6f, lowest hundredth %.6f, mean %.6f",
		len(cosines), cosines[0], cosines[len(cosines)/100], mean)
}
