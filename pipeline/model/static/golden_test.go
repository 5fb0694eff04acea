package static

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"satchel/pipeline/model/internal/wordpiece"
)

// goldenCase is a line of the golden file, which the trainer writes from the
// reference path.
type goldenCase struct {
	Text   string
	Pieces []uint16
	Vector []byte
}

func golden(t *testing.T) []goldenCase {
	t.Helper()
	f, err := os.Open("testdata/golden.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var cases []goldenCase
	for lines := bufio.NewScanner(z); lines.Scan(); {
		var c goldenCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if len(cases) < 300 {
		t.Fatalf("golden file has %d cases", len(cases))
	}
	return cases
}

func TestGoldenPieces(t *testing.T) {
	t.Parallel()
	v, err := wordpiece.New(wordpiece.Uncased())
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	for _, c := range golden(t) {
		known := slices.DeleteFunc(v.Cut(nil, c.Text, makeLimits()), func(p uint16) bool { return p == wordpiece.Unknown })
		if diff := cmp.Diff(c.Pieces, known, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%.40q (-reference +got):\n%s", c.Text, diff)
		}
	}
}

func TestGoldenVectors(t *testing.T) {
	t.Parallel()
	e, err := New()
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	for _, c := range golden(t) {
		want := make([]float64, Dimensions)
		for i := range want {
			want[i] = float64(int16(binary.LittleEndian.Uint16(c.Vector[2*i:]))) / 32767
		}
		if cos := cosine(e.EmbedInto(nil, c.Text), want); cos < 0.999999 {
			t.Errorf("%.40q: cosine %.9f to the reference path", c.Text, cos)
		}
	}
}

// cosine is 1 for two zero vectors.
func cosine(a []float32, b []float64) float64 {
	var ab, aa, bb float64
	for i := range a {
		x := float64(a[i])
		ab, aa, bb = ab+x*b[i], aa+x*x, bb+b[i]*b[i]
	}
	if aa == 0 && bb == 0 {
		return 1
	}
	return ab / math.Sqrt(aa*bb)
}
