package encoder

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"
)

// projectionFile returns the file of a projection: rows, then offsets.
func projectionFile(from, to int, numbers []float32) []byte {
	data := binary.LittleEndian.AppendUint32([]byte(projectionMagic), uint32(from))
	data = binary.LittleEndian.AppendUint32(data, uint32(to))
	for _, n := range numbers {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(n))
	}
	return data
}

func TestProjection(t *testing.T) {
	t.Parallel()
	plain := openSmall(t, Config{}, available()[0])
	numbers := make([]float32, 2*96+2)
	numbers[5], numbers[96+7], numbers[96+8] = 1, 2, -1
	numbers[2*96], numbers[2*96+1] = .5, -.25
	p, err := ParseProjection(projectionFile(96, 2, numbers))
	if err != nil {
		t.Fatal(err)
	}
	mapped := openSmall(t, Config{Projection: p}, available()[0])
	if got := mapped.Model().Dimensions; got != 2 {
		t.Fatalf("%d dimensions, want 2", got)
	}
	texts := []string{"a b c", "x", ""}
	whole, got := mustEmbed(t, plain, texts...), mustEmbed(t, mapped, texts...)
	for i := range texts[:2] {
		x, y := float64(whole[i][5])+.5, 2*float64(whole[i][7])-float64(whole[i][8])-.25
		length := math.Hypot(x, y)
		if math.Abs(float64(got[i][0])-x/length) > 1e-6 || math.Abs(float64(got[i][1])-y/length) > 1e-6 {
			t.Errorf("text %d: %v, want %v %v", i, got[i], x/length, y/length)
		}
	}
	if !slices.Equal(got[2], []float32{0, 0}) {
		t.Errorf("an empty text is %v", got[2])
	}
}

func TestParseProjectionRefusesDamage(t *testing.T) {
	t.Parallel()
	good := projectionFile(2, 1, []float32{1, 2, 3})
	for name, data := range map[string][]byte{
		"empty":     nil,
		"magic":     append([]byte("X"), good[1:]...),
		"from":      projectionFile(3, 1, []float32{1, 2, 3}),
		"from none": projectionFile(0, 1, []float32{1}),
		"to none":   projectionFile(1, 0, nil),
		"huge":      projectionFile(1<<31, 1<<31, nil),
		"short":     good[:len(good)-1],
		"long":      append(good[:len(good):len(good)], 0),
		"infinite":  projectionFile(2, 1, []float32{1, float32(math.Inf(1)), 3}),
		"no number": projectionFile(2, 1, []float32{1, 2, float32(math.NaN())}),
	} {
		if _, err := ParseProjection(data); !errors.Is(err, errProjection) {
			t.Errorf("%s: error %v, want errProjection", name, err)
		}
	}
}

func FuzzParseProjection(f *testing.F) {
	f.Add(projectionFile(2, 1, []float32{1, 2, 3}))
	f.Add(projectionFile(1, 2, []float32{1, 2, 3, 4}))
	f.Add([]byte(projectionMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParseProjection(data)
		if err != nil {
			return
		}
		p.apply(make([]float32, p.to), make([]float32, p.from))
	})
}
