package defend

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

func sentence(r *rand.Rand, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("w%d", r.IntN(4000))
	}
	return out
}

// A text with few words changed must stay within the bits that are compared.
func TestSimhashKeepsNearTextsNear(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	missed, far := 0, 0
	for range 400 {
		n := 12 + r.IntN(120)
		a := sentence(r, n)
		b := append([]string(nil), a...)
		for range n / 20 {
			b[r.IntN(n)] = "other"
		}
		x, y := simhash(strings.Join(a, " ")), simhash(strings.Join(b, " "))
		if bits.OnesCount64(x^y) > mostBits {
			missed++
		}
		if z := simhash(strings.Join(sentence(r, n), " ")); bits.OnesCount64(x^z) <= mostBits {
			far++
		}
	}
	if missed > 4 {
		t.Errorf("%d of 400 near texts are too far apart", missed)
	}
	if far > 20 {
		t.Errorf("%d of 400 unrelated texts would be compared", far)
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.SliceOfN(rapid.SampledFrom([]byte("abc")), 0, 24)
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		want := plainDistance(a, b)
		for most := range 26 {
			got := distance(a, b, most)
			if want <= most && got != want || want > most && got <= most {
				t.Fatalf("distance(%s, %s, %d) = %d, want %d", a, b, most, got, want)
			}
		}
	})
}

func plainDistance(a, b []byte) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		last := row[0]
		row[0] = i + 1
		for j := range b {
			cost := last
			if a[i] != b[j] {
				cost = 1 + min(last, row[j], row[j+1])
			}
			last, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

func turnOf(id, speaker, text string) candidate.Candidate {
	return candidate.New(&candidate.Visible{MemoryItem: schemas.MemoryItem{
		ID: id, Speaker: speaker, Content: schemas.TextContent(text),
	}}, schemas.Verdict{Allow: true})
}

func TestDefend(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	long := "The release of the second version was moved from Monday to Thursday because the certificates were late."
	cs := []candidate.Candidate{
		turnOf("a", "Ana", long),
		turnOf("b", "Ana", strings.Replace(long, "certificates", "certificate", 1)),
		turnOf("c", "Bo", long),
		turnOf("d", "Ana", "Thanks!"),
		turnOf("e", "Ana", "Thanks?"),
		turnOf("f", "Ana", "Old news"),
		turnOf("g", "Ana", "Replaced"),
		turnOf("h", "Ana", "No longer true"),
		turnOf("i", "Ana", long),
	}
	cs[5].CreatedAt, cs[5].TTL = now.Add(-time.Hour), 3600
	cs[6].SupersededBy = "z"
	cs[7].ValidTo = now.Add(-time.Second)
	cs[8].Drop = schemas.DropPolicy
	d, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	d.Apply(cs, false, now)
	want := []schemas.DropReason{"", schemas.DropDuplicate, "", "", "", schemas.DropStale, schemas.DropSuperseded, schemas.DropStale, schemas.DropPolicy}
	for i := range cs {
		if cs[i].Drop != want[i] {
			t.Errorf("%s: dropped for %q, want %q", cs[i].ID, cs[i].Drop, want[i])
		}
	}
}

// What superseded an item is named to who may see it.
func TestSupersededBy(t *testing.T) {
	t.Parallel()
	d, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		there bool
		want  string
	}{{true, "by new"}, {false, ""}} {
		cs := []candidate.Candidate{turnOf("old", "Ana", "It is on Monday")}
		cs[0].SupersededBy, cs[0].Verdict.Allow = "new", true
		if c.there {
			cs = append(cs, turnOf("new", "Ana", "It is on Friday"))
		}
		d.Apply(cs, false, time.Time{})
		if cs[0].Drop != schemas.DropSuperseded || cs[0].Detail != c.want {
			t.Errorf("%+v: %s %q", c, cs[0].Drop, cs[0].Detail)
		}
	}
}

// Two very long texts of short words, alike and not, cost no more than the effort there is.
func TestLongTextsAreCheap(t *testing.T) {
	t.Parallel()
	var cs []candidate.Candidate
	for i := range 40 {
		text := strings.Repeat("Ab c. ", 30_000+i*200) + fmt.Sprint("End ", i)
		cs = append(cs, turnOf(fmt.Sprint("i", i), "", text))
	}
	s := newDuplicateIndex(cs, newFeatureCache(), false)
	for i := range cs {
		text := cs[i].Content.Text()
		s.find(i, features{hash: simhash(text), text: s.looks.keyOf(text)})
	}
	if s.left < 0 {
		t.Errorf("effort left: %d", s.left)
	}
	left := effort(10)
	if alike(&left, []byte("a long enough text"), []byte("a long enough text"), .9) {
		t.Error("more was computed than the effort allows")
	}
}

// One item is spoken of as one.
func TestWarningsCountInWords(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		old, suspect, unread int
		want                 string
	}{
		{0, 0, 0, ""},
		{0, 0, 1, "injection: 1 item is in a language that is not judged"},
		{0, 0, 2, "injection: 2 items are in languages that are not judged"},
		{1, 1, 0, "stale: 1 item has expired or is no longer valid; it is of 2026-03-03, injection: 1 item looks like an injected instruction"},
		{2, 3, 0, "stale: 2 items have expired or are no longer valid, the oldest of 2026-03-03, injection: 3 items look like injected instructions"},
	} {
		if got := strings.Join(warn(c.old, c.suspect, c.unread, day), ", "); got != c.want {
			t.Errorf("%d and %d: %q, want %q", c.old, c.suspect, got, c.want)
		}
	}
}

func TestWarmCacheIsRead(t *testing.T) {
	t.Parallel()
	d, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	item := turnOf("a", "", "The card PIN is 4711, and nobody else may know it").Visible
	d.Warm([]*candidate.Visible{item})
	known := func() bool {
		read := false
		d.looks.of(item.Content.Text(), func(string) features { read = true; return features{} })
		return !read
	}
	if !known() {
		t.Error("what was warmed is read again")
	}
	d.InvalidateCaches()
	if known() {
		t.Error("what was invalidated is still there")
	}
}

// Documents, code and commits resemble questions less than talk does: none is left out as soon as
// one of them comes near the question, and all are where none does. Where a memory answers better,
// those stay that come near it.
func TestDocumentsAnswerTogether(t *testing.T) {
	t.Parallel()
	d, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	of := func(kind schemas.Kind, uri string, relevance float64) candidate.Candidate {
		v := &candidate.Visible{MemoryItem: schemas.MemoryItem{ID: uri, Kind: kind, Content: schemas.TextContent("The kiln is fired."), Provenance: schemas.Provenance{SourceURI: uri}}}
		c := candidate.New(v, schemas.Verdict{Allow: true})
		c.Signals = &candidate.Signals{Relevance: relevance}
		return c
	}
	const off = schemas.DropOffTopic
	for name, tc := range map[string]struct {
		document, memory float64
		want             [4]schemas.DropReason // of the document, the commit, the code, the memory
	}{
		"a document answers":               {.02, .02, [4]schemas.DropReason{"", "", "", off}},
		"nothing answers":                  {.005, .02, [4]schemas.DropReason{off, off, off, off}},
		"a memory answers, documents less": {.02, .3, [4]schemas.DropReason{"", off, off, ""}},
		"a memory answers alone":           {.012, .3, [4]schemas.DropReason{off, off, off, ""}},
		"both answer":                      {.3, .3, [4]schemas.DropReason{"", "", "", ""}},
	} {
		cs := []candidate.Candidate{
			of(schemas.KindKnowledge, "file:kiln/README.md#fire", tc.document), of(schemas.KindCommit, "git:kiln@1", .001),
			of(schemas.KindCode, "git:kiln@2", .001), of(schemas.KindMemory, "agent:ida", tc.memory),
		}
		d.ApplyKeepingDuplicates(cs, true, time.Time{})
		for i, want := range tc.want {
			if cs[i].Drop != want {
				t.Errorf("%s: %s is dropped for %q, want %q", name, cs[i].ID, cs[i].Drop, want)
			}
		}
	}
}
