package encoder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"satchel/test/encoderref"
)

// tiny is the smallest file that there is.
func tiny() []byte {
	return encoderref.Random(rand.New(rand.NewPCG(1, 2)),
		encoderref.Sizes{Pieces: len(words()), Positions: 4, Dimensions: 32, Layers: 1, Inner: 32}).File()
}

func TestParseWeightsRefusesDamage(t *testing.T) {
	t.Parallel()
	good := tiny()
	if _, err := parseWeights(string(good), len(words())); err != nil {
		t.Fatal(err)
	}
	header := func(at int, n uint32) []byte {
		bad := bytes.Clone(good)
		binary.LittleEndian.PutUint32(bad[len(magic)+at*number:], n)
		return bad
	}
	for name, data := range map[string][]byte{
		"empty":          nil,
		"magic":          append([]byte("X"), good[1:]...),
		"pieces":         header(0, 3),
		"positions":      header(1, 5),
		"no positions":   header(1, 0),
		"dimensions":     header(2, 64),
		"odd dimensions": header(2, 33),
		"huge":           header(2, 1<<31),
		"layers":         header(3, 2),
		"many layers":    header(3, 1<<16),
		"inner":          header(4, 64),
		"odd inner":      header(4, 31),
		"short":          good[:len(good)-1],
		"long":           append(bytes.Clone(good), 0),
	} {
		if _, err := parseWeights(string(data), len(words())); !errors.Is(err, errFormat) {
			t.Errorf("%s: error %v, want errFormat", name, err)
		}
	}
}

func FuzzParseWeights(f *testing.F) {
	good := tiny()
	f.Add(good)
	f.Add(good[:headerSize])
	f.Add([]byte(magic))
	flat := bytes.Clone(good)
	clear(flat[headerSize:])
	f.Add(flat)
	wild := bytes.Clone(good)
	for i := range wild[headerSize:] {
		wild[headerSize+i] = 0xff // of floats this is no number
	}
	f.Add(wild)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, k := range listKernels() {
			e, err := openEncoder(string(data), smallVocabulary(), Config{Tokens: 4}, k)
			if err != nil {
				continue
			}
			if got := mustEmbed(t, e, "a b", "", "c"); len(got[0]) != e.Model().Dimensions {
				t.Errorf("%d numbers of %d dimensions", len(got[0]), e.Model().Dimensions)
			}
		}
	})
}
