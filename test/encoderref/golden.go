package encoderref

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
)

//go:embed calibration.jsonl.gz
var calibration []byte

// Case is a text, its pieces and, unless it is left out, its vector by the reference, as
// python/reference.py writes them.
type Case struct {
	Text   string
	Pieces []int
	Vector []byte
}

// Numbers returns the vector.
func (c *Case) Numbers() []float32 {
	v := make([]float32, len(c.Vector)/2)
	for i := range v {
		v[i] = float32(int16(binary.LittleEndian.Uint16(c.Vector[2*i:]))) / math.MaxInt16
	}
	return v
}

// ReadCases reads the cases of a file.
func ReadCases(path string) ([]Case, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseCases(data)
}

func parseCases(data []byte) ([]Case, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var cases []Case
	lines := json.NewDecoder(bufio.NewReader(z))
	for {
		var c Case
		switch err := lines.Decode(&c); err {
		case nil:
			cases = append(cases, c)
		case io.EOF:
			return cases, nil
		default:
			return nil, fmt.Errorf("read case %d: %w", len(cases), err)
		}
	}
}

// Convert returns the encoder's file of weights. It changes the model.
func (m *Model) Convert() ([]byte, error) {
	cases, err := parseCases(calibration)
	if err != nil {
		return nil, err
	}
	var texts [][]int
	for _, c := range cases {
		texts = append(texts, c.Pieces)
	}
	m.Smooth(texts)
	return m.File(), nil
}

// Cosine returns the cosine of two vectors, 1 for two zero ones.
func Cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 && bb == 0 {
		return 1
	}
	return ab / math.Sqrt(aa*bb)
}
