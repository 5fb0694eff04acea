package encoder

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	port "satchel/pipeline/model"
	"satchel/test/conformance/embedtest"
	"satchel/test/encoderref"
)

// words are the pieces of the small model's vocabulary that begin a word.
func words() []string {
	list := []string{"[UNK]", "[CLS]", "[SEP]", "[", "]", "cls", "sep"}
	for c := 'a'; c <= 'z'; c++ {
		list = append(list, string(c))
	}
	return list
}

func smallVocabulary() string { return strings.Join(words(), "\n") + "\n" }

// small returns a model of random weights that is quick with every kernel.
func small(seed uint64) *encoderref.Model {
	return encoderref.Random(rand.New(rand.NewPCG(seed, 1)),
		encoderref.Sizes{Pieces: len(words()), Positions: 150, Dimensions: 96, Layers: 3, Inner: 160})
}

func openSmall(t testing.TB, config Config, k kernels) *Encoder {
	t.Helper()
	if config.Tokens == 0 {
		config.Tokens = 100
	}
	e, err := openEncoder(string(small(1).File()), smallVocabulary(), config, k)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return e
}

// smallTexts returns texts of up to 80 pieces of the small vocabulary, some of them unknown.
func smallTexts(rng *rand.Rand, n int) []string {
	texts := make([]string, n)
	for i := range texts {
		var text []string
		for range rng.IntN(80) {
			if text = append(text, words()[7+rng.IntN(26)]); rng.IntN(10) == 0 {
				text = append(text, "😀")
			}
		}
		texts[i] = strings.Join(text, " ")
	}
	return texts
}

// sized returns a text of so many tokens, [CLS] and [SEP] included.
func sized(tokens int) string {
	words := strings.Fields("the river rose in the night and took two boats from their places before anybody on the quay woke up")
	var text []string
	for i := range tokens - 2 {
		text = append(text, words[i%16])
	}
	return strings.Join(text, " ")
}

func mustEmbed(t testing.TB, e *Encoder, texts ...string) [][]float32 {
	t.Helper()
	got, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatalf("Embed(%d texts): %v", len(texts), err)
	}
	return got
}

func TestConformance(t *testing.T) {
	t.Parallel()
	e := opened(t, Config{Threads: 2})
	embedtest.Run(t, func(*testing.T) port.Embedder { return e })
}

func TestAVectorIsTheSameBitsInEveryBatchOfEveryKernel(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	texts := smallTexts(rng, 24)
	reference := openSmall(t, Config{}, makeGenericKernels())
	want := map[string][]float32{}
	for _, text := range texts {
		want[text] = mustEmbed(t, reference, text)[0]
	}
	for _, k := range listKernels() {
		for _, threads := range []int{1, 2, 5} {
			t.Run(fmt.Sprint(k.name, threads), func(t *testing.T) {
				t.Parallel()
				shuffled := make([]string, len(texts))
				for i, at := range rand.New(rand.NewPCG(5, uint64(threads))).Perm(len(texts)) {
					shuffled[i] = texts[at]
				}
				e := openSmall(t, Config{Threads: threads}, k)
				for n := 1; len(shuffled) > 0; n += 7 {
					batch := shuffled[:min(n, len(shuffled))]
					shuffled = shuffled[len(batch):]
					for i, v := range mustEmbed(t, e, batch...) {
						if !slices.Equal(v, want[batch[i]]) {
							t.Errorf("%.40q has another vector in a batch of %d", batch[i], len(batch))
						}
					}
				}
			})
		}
	}
}

func TestEveryKernelMakesTheSameVectorsOfTheModel(t *testing.T) {
	t.Parallel()
	texts := []string{sized(3), sized(13), "naïve café, 日本語 안녕 😀 [SEP]"}
	var want [][]float32
	for _, k := range listKernels() {
		e := opened(t, Config{})
		e.kernels = k
		got := mustEmbed(t, e, texts...)
		if want == nil {
			want = got
		}
		for i := range got {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("%s makes another vector of text %d", k.name, i)
			}
		}
	}
}

// Vectors that are stored are compared with those of other machines and later versions.
func TestVectorsAreTheSameBitsEverywhere(t *testing.T) {
	t.Parallel()
	const want = "94de86935ad7685b16fcbb9328ea42016c348b97ad852898fa9540761a36eb6d"
	e := opened(t, Config{})
	sum := sha256.New()
	texts := []string{sized(3), sized(13), "naïve café, 日本語 안녕 😀 [SEP]", "SELECT * FROM t WHERE a >= 1;"}
	for _, v := range mustEmbed(t, e, texts...) {
		for _, n := range v {
			sum.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(n)))
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("the vectors' digest is %s, want %s; on purpose? then change arithmetic in encoder.go, too", got, want)
	}
}

func TestVectorsAreThoseOfTheFloatPath(t *testing.T) {
	t.Parallel()
	e, model := openSmall(t, Config{}, listKernels()[0]), small(1)
	var cosines []float64
	for _, text := range smallTexts(rand.New(rand.NewPCG(7, 8)), 20) {
		s := &state{pieces: make([]uint16, 0, MaxTokens)}
		if !e.addTextPieces(s, text) {
			continue
		}
		pieces := make([]int, len(s.pieces))
		for i, p := range s.pieces {
			pieces[i] = int(p)
		}
		cos := encoderref.Cosine(mustEmbed(t, e, text)[0], model.Vector(pieces))
		if cosines = append(cosines, cos); cos < .99 {
			t.Errorf("%.40q: cosine %.5f to the float path", text, cos)
		}
	}
	report(t, cosines)
}

func TestOnlyTheFirstTokensCount(t *testing.T) {
	t.Parallel()
	e := openSmall(t, Config{Tokens: 12}, listKernels()[0])
	v := mustEmbed(t, e, "a b c d e f g h i j", "a b c d e f g h i j k l", "a b c d e f g h i", "[CLS] a")
	if !slices.Equal(v[0], v[1]) {
		t.Error("piece 11 changed the vector of 12 tokens")
	}
	if slices.Equal(v[0], v[2]) {
		t.Error("piece 10 did not change the vector of 12 tokens")
	}
	long := opened(t, Config{Tokens: MaxTokens})
	w := mustEmbed(t, long, sized(MaxTokens), sized(MaxTokens+1), sized(MaxTokens-1))
	if !slices.Equal(w[0], w[1]) || slices.Equal(w[0], w[2]) {
		t.Error("not 512 tokens are read")
	}
}

func TestModel(t *testing.T) {
	t.Parallel()
	m := openSmall(t, Config{}, listKernels()[0]).Model()
	if m.Name != "all-MiniLM-L6-v2" || m.Dimensions != 96 || len(m.Revision) != 12 {
		t.Errorf("Model() = %+v", m)
	}
	same, err := openEncoder(string(small(1).File()), smallVocabulary(), Config{Threads: 2, Tokens: 100}, makeGenericKernels())
	if err != nil || same.Model() != m {
		t.Errorf("threads and kernel make %+v of %+v: %v", same.Model(), m, err)
	}
	seen := map[string]bool{m.Revision: true}
	for name, change := range map[string]func() (*Encoder, error){
		"weights": func() (*Encoder, error) {
			return openEncoder(string(small(2).File()), smallVocabulary(), Config{Tokens: 100}, makeGenericKernels())
		},
		"vocabulary": func() (*Encoder, error) {
			return openEncoder(string(small(1).File()), strings.Replace(smallVocabulary(), "z", "ä", 1), Config{Tokens: 100}, makeGenericKernels())
		},
		"tokens": func() (*Encoder, error) {
			return openEncoder(string(small(1).File()), smallVocabulary(), Config{Tokens: 99}, makeGenericKernels())
		},
	} {
		e, err := change()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if seen[e.Model().Revision] {
			t.Errorf("other %s have the revision %s, too", name, e.Model().Revision)
		}
		seen[e.Model().Revision] = true
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	file := string(small(1).File())
	for name, try := range map[string]func() (*Encoder, error){
		"threads": func() (*Encoder, error) {
			return openEncoder(file, smallVocabulary(), Config{Threads: -1, Tokens: 9}, makeGenericKernels())
		},
		"few tokens": func() (*Encoder, error) {
			return openEncoder(file, smallVocabulary(), Config{Tokens: 2}, makeGenericKernels())
		},
		"tokens": func() (*Encoder, error) {
			return openEncoder(file, smallVocabulary(), Config{Tokens: 151}, makeGenericKernels())
		},
		"weights": func() (*Encoder, error) {
			return openEncoder(file[1:], smallVocabulary(), Config{Tokens: 9}, makeGenericKernels())
		},
		"vocabulary": func() (*Encoder, error) { return openEncoder(file, "\n", Config{Tokens: 9}, makeGenericKernels()) },
		"no [SEP]": func() (*Encoder, error) {
			return openEncoder(file, strings.Replace(smallVocabulary(), "[SEP]", "[END]", 1), Config{Tokens: 9}, makeGenericKernels())
		},
	} {
		if e, err := try(); err == nil {
			t.Errorf("%s: opened %+v", name, e.Model())
		}
	}
}

// expiring is a context that ends when it has been asked so many times.
type expiring struct {
	context.Context
	left int
}

func (e *expiring) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestCancellationBetweenLayers(t *testing.T) {
	t.Parallel()
	e := openSmall(t, Config{}, listKernels()[0])
	want := mustEmbed(t, e, "a b c", "d")
	for left := range 4 { // at the start and before each of three layers
		got, err := e.Embed(&expiring{Context: t.Context(), left: left}, []string{"x y z", "w"})
		if !errors.Is(err, context.Canceled) || got != nil {
			t.Errorf("cancelled after %d looks: %v, %v", left, got, err)
		}
	}
	if _, err := e.Embed(&expiring{Context: t.Context(), left: 4}, []string{"x y z", "w"}); err != nil {
		t.Errorf("four looks are enough for a batch: %v", err)
	}
	for i, v := range mustEmbed(t, e, "a b c", "d") {
		if !slices.Equal(v, want[i]) {
			t.Error("a cancelled call changed a later one")
		}
	}
}

func TestEmbedIntoDoesNotAllocate(t *testing.T) {
	e := opened(t, Config{})
	for _, texts := range [][]string{{sized(18)}, {sized(256)}, {"", "naïve café 😀", sized(40), sized(300)}} {
		vectors := mustEmbed(t, e, texts...)
		if n := testing.AllocsPerRun(5, func() {
			if err := e.EmbedInto(t.Context(), vectors, texts); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%d texts allocate %v times", len(texts), n)
		}
	}
}

func TestDigestIsThatOfTheFile(t *testing.T) {
	t.Parallel()
	e := opened(t, Config{})
	if sum := sha256.Sum256([]byte(modelFile()[headerSize:])); string(sum[:]) != e.weights.digest {
		t.Errorf("the file's digest is %x, its header says %x", sum, e.weights.digest)
	}
}
