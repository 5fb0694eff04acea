package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"satchel/pipeline/embed/encoder"
)

func TestAMapIsRecovered(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	want := [][]float64{{.5, -1, 2, .25}, {0, 3, -.5, -1}} // three weights and an offset
	s := newSums(3, 2)
	for range 100_000 {
		x, y := make([]float32, 3), make([]float32, 2)
		for i := range x {
			x[i] = rng.Float32() - .5
		}
		for d, w := range want {
			y[d] = float32(w[0]*float64(x[0]) + w[1]*float64(x[1]) + w[2]*float64(x[2]) + w[3])
		}
		s.add(x, y)
	}
	got, err := s.solve()
	if err != nil {
		t.Fatal(err)
	}
	for d := range want {
		for i := range want[d] {
			if math.Abs(got[d][i]-want[d][i]) > .001 {
				t.Errorf("weight %d of dimension %d is %.4f, want %.4f", i, d, got[d][i], want[d][i])
			}
		}
	}
	if _, err := encoder.ParseProjection(file(got, 3)); err != nil {
		t.Error(err)
	}
}

func TestTooFewTexts(t *testing.T) {
	t.Parallel()
	if _, err := newSums(3, 2).solve(); err == nil {
		t.Error("a map was fitted to no texts")
	}
}
