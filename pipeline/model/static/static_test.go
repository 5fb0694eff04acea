package static_test

import (
	"regexp"
	"strings"
	"testing"

	"satchel/pipeline/model"
	"satchel/pipeline/model/static"
	"satchel/test/conformance/embedtest"
)

// turn is a dialogue turn of 33 words.
const turn = "Anna: We drove along the coast last weekend and slept in a tent by the lake. " +
	"My sister's puppy barked at every boat, but the kids loved it and want to go back next summer!"

func open(t testing.TB) *static.Embedder {
	t.Helper()
	e, err := static.New()
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return e
}

func TestConformance(t *testing.T) {
	t.Parallel()
	e := open(t)
	embedtest.Run(t, func(*testing.T) model.Embedder { return e })
}

func TestModel(t *testing.T) {
	t.Parallel()
	m := open(t).Model()
	if m.Name != "satchel-static" || m.Dimensions != static.Dimensions {
		t.Errorf("Model() = %+v", m)
	}
	if !regexp.MustCompile(`^[0-9a-f]{12}$`).MatchString(m.Revision) {
		t.Errorf("Revision = %q, want 12 hexadecimal digits", m.Revision)
	}
}

func TestEmbedIntoWritesOverDestination(t *testing.T) {
	t.Parallel()
	e := open(t)
	dst := make([]float32, static.Dimensions+1)
	for i := range dst {
		dst[i] = 7
	}
	got := e.EmbedInto(dst, turn)
	if &got[0] != &dst[0] || len(got) != static.Dimensions || dst[static.Dimensions] != 7 {
		t.Error("EmbedInto did not write exactly the first 256 numbers")
	}
	for i, v := range e.EmbedInto(got, "") {
		if v != 0 {
			t.Fatalf("number %d of an empty text is %v", i, v)
		}
	}
}

func TestWordVector(t *testing.T) {
	t.Parallel()
	e := open(t)
	dog := e.WordVector(nil, "dog")
	for _, c := range []struct {
		word     string
		min, max float64
	}{{"Dog", 1, 1}, {"puppy", 0.4, 0.99}, {"invoice", -0.5, 0.3}, {"\U0001F600", 0, 0}} {
		var cos float64
		for i, v := range e.WordVector(nil, c.word) {
			cos += float64(v) * float64(dog[i])
		}
		if cos < c.min-1e-6 || cos > c.max+1e-6 {
			t.Errorf("cosine of dog and %s is %.3f, want %v to %v", c.word, cos, c.min, c.max)
		}
	}
}

func TestReadsOnlyTheFirst256Pieces(t *testing.T) {
	t.Parallel()
	e := open(t)
	head := strings.Repeat("river ", 256)
	a, b := e.EmbedInto(nil, head), e.EmbedInto(nil, head+"mountain")
	for i := range a {
		if a[i] != b[i] {
			t.Fatal("piece 257 changed the vector")
		}
	}
}

func TestEmbedIntoDoesNotAllocate(t *testing.T) {
	e := open(t)
	dst := make([]float32, static.Dimensions)
	for _, text := range []string{turn, "naïve café, 日本語 안녕 😀", strings.Repeat("long ", 5000), ""} {
		if n := testing.AllocsPerRun(100, func() { e.EmbedInto(dst, text) }); n != 0 {
			t.Errorf("EmbedInto(%.20q) allocates %v times", text, n)
		}
		if n := testing.AllocsPerRun(100, func() { e.WordVector(dst, text) }); n != 0 {
			t.Errorf("WordVector(%.20q) allocates %v times", text, n)
		}
	}
}

func BenchmarkEmbedInto(b *testing.B) {
	e := open(b)
	dst := make([]float32, static.Dimensions)
	for _, c := range []struct{ name, text string }{
		{"turn", turn},
		{"question", "When did Anna adopt the puppy from the shelter?"},
		{"accents", "Anna: Où est le café où nous avons mangé des crêpes l'été passé, près de l'église?"},
		{"256 pieces", strings.Repeat(turn+" ", 8)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e.EmbedInto(dst, c.text)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		open(b)
	}
}

func TestReads(t *testing.T) {
	t.Parallel()
	e := open(t)
	for text, want := range map[string]float64{"plain words, 12": 1, "": 1, "123": 1, "快递行业": 0, "ab 快递": .5, "écoutez": 1} {
		if got := e.Reads(text); got != want || e.ReadsWords(text) != want {
			t.Errorf("it reads %v of %q, want %v", got, text, want)
		}
	}
}
