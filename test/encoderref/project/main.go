// Command project fits the map from the sentence encoder's vectors to the space of the static table,
// in which vectors of both can be compared:
//
//	go run ./test/encoderref/project texts.json pipeline/embed/encoder/projection.bin
//
// texts.json has the texts that the table was trained on, as test/training/static leaves them in
// its work folder; each fourth counts. The map is a ridge regression from the encoder's vector of a
// text to the table's.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"

	"satchel/pipeline/embed/encoder"
	"satchel/pipeline/embed/static"
)

const (
	every = 4   // text counts
	batch = 512 // texts at once
	ridge = 1.  // added to the diagonal: texts count about one each
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: project TEXTS.json OUT")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in, out string) error {
	raw, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	var texts, some []string
	if err := json.Unmarshal(raw, &texts); err != nil {
		return fmt.Errorf("read %s: %w", in, err)
	}
	for i := 0; i < len(texts); i += every {
		some = append(some, texts[i])
	}
	from, err := encoder.Open(encoder.Config{Threads: 2})
	if err != nil {
		return err
	}
	to, err := static.New()
	if err != nil {
		return err
	}
	s := newSums(from.Model().Dimensions, to.Model().Dimensions)
	for i := 0; i < len(some); i += batch {
		part := some[i:min(i+batch, len(some))]
		x, err := from.Embed(ctx, part)
		if err != nil {
			return err
		}
		y, err := to.Embed(ctx, part)
		if err != nil {
			return err
		}
		for j := range x {
			s.add(x[j], y[j])
		}
		fmt.Fprintf(os.Stderr, "\r%d of %d", i+len(part), len(some))
	}
	rows, err := s.solve()
	if err != nil {
		return err
	}
	return os.WriteFile(out, file(rows, s.from), 0o644)
}

// sums are those of the normal equations. The last column of x is 1.
type sums struct {
	from, to int
	xx, xy   [][]float64
}

func newSums(from, to int) *sums {
	s := &sums{from: from, to: to, xx: make([][]float64, from+1), xy: make([][]float64, from+1)}
	for i := range s.xx {
		s.xx[i], s.xy[i] = make([]float64, from+1), make([]float64, to)
	}
	return s
}

func (s *sums) add(x, y []float32) {
	wide := append(x[:s.from:s.from], 1)
	for i, a := range wide {
		for j, b := range wide[:i+1] {
			s.xx[i][j] += float64(a) * float64(b)
		}
		for j, b := range y {
			s.xy[i][j] += float64(a) * float64(b)
		}
	}
}

// solve returns for each dimension of y its weights and its offset, by Cholesky's decomposition.
func (s *sums) solve() ([][]float64, error) {
	n := s.from + 1
	l := s.xx
	for i := range n {
		if i < s.from {
			l[i][i] += ridge
		}
		for j := range i + 1 {
			sum := l[i][j]
			for k := range j {
				sum -= l[i][k] * l[j][k]
			}
			switch {
			case i != j:
				l[i][j] = sum / l[j][j]
			case sum <= 0:
				return nil, errors.New("too few texts")
			default:
				l[i][i] = math.Sqrt(sum)
			}
		}
	}
	out := make([][]float64, s.to)
	for d := range out {
		w := make([]float64, n)
		for i := range n {
			sum := s.xy[i][d]
			for k := range i {
				sum -= l[i][k] * w[k]
			}
			w[i] = sum / l[i][i]
		}
		for i := n - 1; i >= 0; i-- {
			sum := w[i]
			for k := i + 1; k < n; k++ {
				sum -= l[k][i] * w[k]
			}
			w[i] = sum / l[i][i]
		}
		out[d] = w
	}
	return out, nil
}

// file has the format that encoder.ParseProjection reads.
func file(rows [][]float64, from int) []byte {
	out := []byte("PROJECT1")
	out = binary.LittleEndian.AppendUint32(out, uint32(from))
	out = binary.LittleEndian.AppendUint32(out, uint32(len(rows)))
	for _, r := range rows {
		for _, w := range r[:from] {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(w)))
		}
	}
	for _, r := range rows {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(r[from])))
	}
	return out
}
