package rank

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	"satchel/schemas"
)

// letterVectors makes a vector of a word's hash.
type letterVectors struct{}

func (letterVectors) WordVector(dst []float32, word string) []float32 {
	h := fnv.New64a()
	h.Write([]byte(word))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	dst = dst[:0]
	for range 64 {
		dst = append(dst, r.Float32()-.5)
	}
	return dst
}

func (letterVectors) ReadsWords(string) float64 { return 1 }

func recordOf(id string, position int64, text string) *candidate.Visible {
	return &candidate.Visible{Position: position, MemoryItem: schemas.MemoryItem{ID: id, Content: schemas.TextContent(text)}}
}

// Whatever pages come and go, an item has the words that were put last or none, what is
// counted is what is there, and it is within the bound.
func TestWordListsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 40 * 4 * listPage
	l := newWordLists(most)
	r := rand.New(rand.NewPCG(3, 5))
	type item struct {
		tenant string
		id     uint64
	}
	type list struct {
		position int64
		words    []int32
	}
	last := map[item]list{}
	for n := range 60_000 {
		it := item{fmt.Sprint("t", r.IntN(3)), uint64(r.IntN(30_000))}
		words := make([]int32, r.IntN(40))
		for i := range words {
			words[i] = r.Int32N(1000)
		}
		position := int64(n) << 20
		got := l.keepWordList(it.tenant, it.id, position, int32(n), words)
		if !slices.Equal(got.words, words) || got.length != int32(n) {
			t.Fatalf("%v: put %v, got %+v", it, words, got)
		}
		last[it] = list{position, words}
	}
	kept, bytes := 0, 0
	for it, want := range last {
		got, ok := l.findWordList(l.tenants[it.tenant], it.id, want.position)
		if ok && !slices.Equal(got.words, want.words) {
			t.Fatalf("%v: %v, want %v", it, got.words, want.words)
		}
		if _, old := l.findWordList(l.tenants[it.tenant], it.id, want.position-1); old {
			t.Fatalf("%v is known at another position", it)
		}
		if ok {
			kept++
		}
	}
	for _, tenant := range l.tenants {
		bytes += tenant.bytes
		sum := listPlace * len(tenant.at)
		for _, page := range tenant.pages {
			sum += 4 * cap(page)
		}
		if sum != tenant.bytes {
			t.Errorf("%d bytes are counted, %d are there", tenant.bytes, sum)
		}
	}
	if bytes != l.bytes || bytes > most || kept < 10_000 || kept == len(last) {
		t.Errorf("%d of %d items are kept in %d bytes, counted %d of at most %d", kept, len(last), bytes, l.bytes, most)
	}
}

// Who has more than all others loses its own.
func TestAFloodPushesOutItsOwn(t *testing.T) {
	t.Parallel()
	l := newWordLists(20 * 4 * listPage)
	for i := range 1000 {
		l.keepWordList("small", uint64(i), 1, 3, []int32{1, 2, int32(i)})
	}
	for i := range 100_000 {
		l.keepWordList("flood", uint64(i), 1, 3, []int32{1, 2, int32(i)})
	}
	for i := range 1000 {
		if _, ok := l.findWordList(l.tenants["small"], uint64(i), 1); !ok {
			t.Fatalf("item %d of the small tenant is gone", i)
		}
	}
	if _, ok := l.findWordList(l.tenants["flood"], 99999, 1); !ok {
		t.Error("the last item of the flood is gone")
	}
}

// An item that was replaced has the words it has now, and what is forgotten is gone.
func TestTheLexiconForgets(t *testing.T) {
	t.Parallel()
	l := newLexicon(letterVectors{})
	r := []*candidate.Visible{recordOf("a", 1, "The card PIN is 4711")}
	if v := l.lookUpWords("acme", nil, r); len(v.docs[0].words) != 5 || len(l.ids) != 5 {
		t.Fatalf("%d words of %d", len(v.docs[0].words), len(l.ids))
	}
	if v := (view{docs: make([]doc, 1)}); l.readAll("acme", nil, r, &v) != nil || l.readAll("other", nil, r, &v) == nil {
		t.Error("the words are not kept, or for another tenant, too")
	}
	r[0] = recordOf("a", 90, "Something else")
	if v := l.lookUpWords("acme", nil, r); len(v.docs[0].words) != 2 {
		t.Errorf("a replaced item has %d words", len(v.docs[0].words))
	}
	if l.forgetWords(); len(l.ids) != 0 || len(l.lists.tenants) != 0 || l.pages != nil {
		t.Error("something was not forgotten")
	}
}

// What may be seen of an item is read once as well, beside the whole.
func TestTheLexiconKeepsViewsApart(t *testing.T) {
	t.Parallel()
	l := newLexicon(letterVectors{})
	whole, seen := recordOf("a", 1, "The card PIN is 4711"), recordOf("a", 1, "The card PIN is hidden from you")
	seen.Masked = true
	for range 2 {
		if v := l.lookUpWords("acme", nil, []*candidate.Visible{seen, whole}); len(v.docs[0].words) != 7 || len(v.docs[1].words) != 5 {
			t.Fatalf("%d and %d words", len(v.docs[0].words), len(v.docs[1].words))
		}
	}
	if v := (view{docs: make([]doc, 1)}); l.readAll("acme", nil, []*candidate.Visible{seen}, &v) != nil {
		t.Error("what may be seen is read again")
	}
}

// What is learnt is read no more, and is forgotten like the rest.
func TestWarmCacheIsRead(t *testing.T) {
	t.Parallel()
	r := &Ranker{lexicon: newLexicon(letterVectors{})}
	items := []*candidate.Visible{recordOf("a", 1, "The card PIN is 4711, and nobody else may know it"), recordOf("b", 2, "")}
	r.Warm("acme", items)
	known := func() bool {
		v := view{docs: make([]doc, len(items))}
		return r.lexicon.readAll("acme", nil, items, &v) == nil
	}
	if !known() {
		t.Error("what was warmed is read again")
	}
	r.InvalidateCaches()
	if known() {
		t.Error("what was invalidated is still there")
	}
}

// Whoever looks while others do and while all is forgotten gets what a lexicon of its own says,
// also of an item with more words than count.
func TestLooksAtOnce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 6))
	var records []*candidate.Visible
	for i := range 80 {
		n, word, distinct := r.IntN(60), "Word%d ", 3000
		if i%40 == 0 {
			n, word, distinct = 4*docWords, "W%x ", 3*docWords
		}
		var text strings.Builder
		for range n {
			fmt.Fprintf(&text, word, r.IntN(distinct))
		}
		records = append(records, recordOf(fmt.Sprint(i), 1, text.String()))
		records[i].Speaker = "Ana"
	}
	query := []string{"ana", "word1", "word2", "nobody's"}
	df := []float64{20, 3, 0, 0}
	sims := func(l *lexicon) []float64 {
		v := l.lookUpWords("acme", query, records)
		best, _ := findClosestWords(&v)
		return maxSim(&v, best, df, 80)
	}
	want := sims(newLexicon(letterVectors{}))
	for i, record := range records { // one by one, as the words are counted here
		distinct := map[string]bool{}
		ws := language.Words("Ana: " + language.ComparedHead(record.Content.Text()))
		for _, w := range ws {
			distinct[w] = true
		}
		v := newLexicon(letterVectors{}).lookUpWords("acme", nil, records[i:i+1])
		if d := v.docs[0]; len(d.words) != min(docWords, len(distinct)) || int(d.length) != len(ws) {
			t.Fatalf("item %d has %d words of %d, want %d of %d", i, len(d.words), d.length, min(docWords, len(distinct)), len(ws))
		}
	}
	l := newLexicon(letterVectors{})
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 8 {
				if got := sims(l); !slices.Equal(got, want) {
					t.Error("the closeness differs")
				}
			}
		})
	}
	wait.Go(func() {
		for range 8 {
			sims(l)
			l.forgetWords()
		}
	})
	wait.Wait()
}
