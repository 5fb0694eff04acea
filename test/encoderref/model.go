// Package encoderref is the reference of pipeline/model/encoder: the model in plain floats as
// it was published, a forward pass that shows what it computes, and the program that makes the
// encoder's file of weights from it. It shares no code with the encoder.
package encoderref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// HeadWidth is how many dimensions an attention head has.
const HeadWidth = 32

// Matrix maps Depth numbers to len(Bias) numbers. Weights has a row of Depth for each of them.
type Matrix struct {
	Depth         int
	Weights, Bias []float32
}

// Norm is the gamma and the beta of a normalisation. Restore is what each dimension of the rows
// before is multiplied with before others are added to them; it is one until [Model.Smooth].
type Norm struct{ Restore, Gamma, Beta []float32 }

// Layer is a layer of the encoder. Attention makes queries, then keys, then values.
type Layer struct {
	Attention, Out, Up, Down Matrix
	Attended, Done           Norm
}

// Model is a BERT-type encoder. Positions include the only segment's row.
type Model struct {
	Dimensions              int
	PieceRows, PositionRows []float32
	Embedded                Norm
	Layers                  []Layer
}

// Read reads a model.safetensors.
func Read(path string) (*Model, error) {
	tensors, err := readSafetensors(path)
	if err != nil {
		return nil, err
	}
	l := loader{tensors: tensors}
	m := &Model{Embedded: l.norm("embeddings.LayerNorm")}
	m.PieceRows = l.get("embeddings.word_embeddings.weight")
	m.PositionRows = l.get("embeddings.position_embeddings.weight")
	segment := l.get("embeddings.token_type_embeddings.weight")
	if l.err != nil {
		return nil, l.err
	}
	m.Dimensions = len(m.Embedded.Gamma)
	for i := range m.PositionRows {
		m.PositionRows[i] += segment[i%m.Dimensions]
	}
	for i := 0; ; i++ {
		p := fmt.Sprintf("encoder.layer.%d.", i)
		if _, ok := tensors[p+"output.dense.weight"]; !ok {
			break
		}
		q, k, v := l.matrix(p+"attention.self.query"), l.matrix(p+"attention.self.key"), l.matrix(p+"attention.self.value")
		m.Layers = append(m.Layers, Layer{
			Attention: Matrix{
				Depth:   q.Depth,
				Weights: slices.Concat(q.Weights, k.Weights, v.Weights),
				Bias:    slices.Concat(q.Bias, k.Bias, v.Bias),
			},
			Out:      l.matrix(p + "attention.output.dense"),
			Attended: l.norm(p + "attention.output.LayerNorm"),
			Up:       l.matrix(p + "intermediate.dense"),
			Down:     l.matrix(p + "output.dense"),
			Done:     l.norm(p + "output.LayerNorm"),
		})
	}
	return m, l.err
}

// loader keeps the first error of what it gets.
type loader struct {
	tensors map[string][]float32
	err     error
}

func (l *loader) get(name string) []float32 {
	numbers, ok := l.tensors[name]
	if !ok && l.err == nil {
		l.err = fmt.Errorf("the model has no %q", name)
	}
	return numbers
}

func (l *loader) matrix(name string) Matrix {
	m := Matrix{Weights: l.get(name + ".weight"), Bias: l.get(name + ".bias")}
	m.Depth = len(m.Weights) / max(1, len(m.Bias))
	return m
}

func (l *loader) norm(name string) Norm {
	gamma := l.get(name + ".weight")
	return Norm{Restore: ones(len(gamma)), Gamma: gamma, Beta: l.get(name + ".bias")}
}

func ones(n int) []float32 { return slices.Repeat([]float32{1}, n) }

// Sizes are those of a model.
type Sizes struct{ Pieces, Positions, Dimensions, Layers, Inner int }

// Random returns a model of these sizes with weights of about the usual size.
func Random(rng *rand.Rand, s Sizes) *Model {
	numbers := func(n int, middle, size float64) []float32 {
		list := make([]float32, n)
		for i := range list {
			list[i] = float32(middle + size*rng.NormFloat64())
		}
		return list
	}
	d := s.Dimensions
	norm := func() Norm { return Norm{Restore: ones(d), Gamma: numbers(d, 1, .1), Beta: numbers(d, 0, .1)} }
	matrix := func(depth, width int) Matrix {
		return Matrix{Depth: depth, Weights: numbers(depth*width, 0, 1/math.Sqrt(float64(depth))), Bias: numbers(width, 0, .1)}
	}
	m := &Model{Dimensions: d, Embedded: norm(),
		PieceRows: numbers(s.Pieces*d, 0, .05), PositionRows: numbers(s.Positions*d, 0, .02)}
	for range s.Layers {
		m.Layers = append(m.Layers, Layer{Attention: matrix(d, 3*d), Out: matrix(d, d), Attended: norm(),
			Up: matrix(d, s.Inner), Down: matrix(s.Inner, d), Done: norm()})
	}
	return m
}
