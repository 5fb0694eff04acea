package encoderref

import (
	"bytes"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"

	"satchel/test/parts"
)

// published returns the model as it was published, and skips the test where it is not to be had.
func published(t *testing.T) *Model {
	t.Helper()
	path := os.Getenv("SATCHEL_TEST_ENCODER_MODEL")
	if path == "" {
		parts.Missing(t, "encoder", "SATCHEL_TEST_ENCODER_MODEL names no model.safetensors; see test/encoderref/README.md")
	}
	m, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The file in the repository is made of the published model by the program beside this test.
func TestFileIsThatOfTheModel(t *testing.T) {
	t.Parallel()
	got, err := published(t).Convert()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../pipeline/model/encoder/model.bin")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the converter makes %d bytes, the repository has %d, and they differ", len(got), len(want))
	}
}

// The float path is ONNX Runtime's.
func TestVectorsAreThoseOfTheRuntime(t *testing.T) {
	t.Parallel()
	m := published(t)
	path := os.Getenv("SATCHEL_TEST_ENCODER_GOLDEN")
	if path == "" {
		path = "../../pipeline/model/encoder/testdata/golden.jsonl.gz"
	}
	cases, err := ReadCases(path)
	if err != nil || len(cases) < 50 {
		t.Fatalf("%s has %d cases: %v", path, len(cases), err)
	}
	least, mean := 1.0, 0.0
	var guard sync.Mutex
	var group sync.WaitGroup
	next := make(chan Case)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for c := range next {
				cos := Cosine(m.Vector(c.Pieces), c.Numbers())
				guard.Lock()
				if cos < .9999 {
					t.Errorf("%.40q: cosine %.6f to the runtime", c.Text, cos)
				}
				least, mean = min(least, cos), mean+cos/float64(len(cases))
				guard.Unlock()
			}
		})
	}
	for _, c := range cases {
		next <- c
	}
	close(next)
	group.Wait()
	t.Logf("cosines of %d texts: least %.8f, mean %.8f", len(cases), least, mean)
}

func TestSmoothChangesNoVector(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	m := Random(rng, Sizes{Pieces: 50, Positions: 20, Dimensions: 64, Layers: 3, Inner: 128})
	var texts [][]int
	for range 20 {
		pieces := make([]int, 1+rng.IntN(20))
		for i := range pieces {
			pieces[i] = rng.IntN(50)
		}
		texts = append(texts, pieces)
	}
	for i := range m.Embedded.Gamma {
		m.Embedded.Gamma[i] *= float32(1 + i%7) // dimensions of different sizes
	}
	var before [][]float32
	for _, pieces := range texts {
		before = append(before, m.Vector(pieces))
	}
	m.Smooth(texts)
	for i, pieces := range texts {
		if cos := Cosine(before[i], m.Vector(pieces)); cos < .9999999 {
			t.Errorf("text %d: cosine %.9f to the vector before", i, cos)
		}
	}
	if low, high := extremes(m.Layers[0].Attended.Restore); low > .5 || high < 2 {
		t.Errorf("dimensions are divided by %v to %v", low, high)
	}
}

func extremes(x []float32) (low, high float32) {
	low, high = x[0], x[0]
	for _, v := range x {
		low, high = min(low, v), max(high, v)
	}
	return low, high
}
