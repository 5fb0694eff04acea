package rot

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"satchel/cmd/internal/lab/measure"
	"satchel/schemas"
)

// role says what an item is for the question that it was planted for.
type role int

const (
	filler     role = iota
	gold            // states the answer
	duplicate       // states the answer once more
	distractor      // is about the same thing or the same attribute
	superseded      // states a former answer, and the log says that it is replaced
	outdated        // states a former answer, and only its date says so
	injection       // carries an instruction
)

// The distortions.
const (
	distortNone       = "none"
	distortSimilar    = "similar"
	distortDistract   = "distractors"
	distortShuffle    = "shuffle"
	distortStale      = "stale"
	distortDuplicates = "duplicates"
	distortPoison     = "poison"
)

// similarOneIn items of the filler are about things like those of the questions under the distortion similar, and
// copies is how often a fact is repeated under the distortion duplicates.
const (
	similarOneIn = 5
	copies       = 3
)

// distortion is what a history has beside its facts and its filler.
type distortion struct {
	name        string // as it was given
	kind        string
	distractors int // for each question
}

// parseDistortion reads NAME, or distractors:N with N from 0 to 64.
func parseDistortion(text string) (distortion, error) {
	kind, number, counted := strings.Cut(text, ":")
	d := distortion{name: text, kind: kind}
	switch kind {
	case distortNone, distortSimilar, distortShuffle, distortStale, distortDuplicates, distortPoison:
		if counted {
			return d, fmt.Errorf("%q takes no number", kind)
		}
		return d, nil
	case distortDistract:
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > 64 {
			return d, fmt.Errorf("%q is not distractors:N with N from 1 to 64", text)
		}
		d.distractors = n
		return d, nil
	}
	return d, fmt.Errorf("%q is none of none, similar, distractors:N, shuffle, stale, duplicates, poison", text)
}

// entry is an item of a history and what it is for.
type entry struct {
	item  schemas.MemoryItem
	text  string
	role  role
	asked int // index of its question; -1 for filler
}

// history is the memories of one seed under one distortion. It grows: a larger one holds every smaller one.
type history struct {
	seed      uint64
	distort   distortion
	questions []question
	entries   []entry
	byID      map[string]int // index in entries
	filled    int            // items of filler
	planted   []entry        // not yet in entries
	words     *measure.Corpus
	asker     *asker    // nil for a set
	end       time.Time // of the history, and when it begins
	span      time.Duration
}

// newHistory makes the facts of n questions and what the distortion puts beside them.
func newHistory(tenant string, seed uint64, d distortion, n int) (*history, error) {
	words, err := measure.NewCorpus(tenant, seed)
	if err != nil {
		return nil, err
	}
	a := newAsker(seed)
	h := &history{seed: seed, distort: d, questions: a.questions(n), byID: map[string]int{}, words: words, asker: a, end: now(), span: span}
	for i := range h.questions {
		h.plant(tenant, i)
	}
	return h, nil
}

// plant makes the items of question i.
func (h *history) plant(tenant string, i int) {
	q := &h.questions[i]
	a := h.asker
	at := now().Add(-time.Duration((1 - q.place) * float64(span-margin))).Add(-time.Hour)
	add := func(r role, text string, when time.Time, links ...schemas.Link) string {
		n := len(h.planted)
		item := schemas.MemoryItem{
			ID: fmt.Sprintf("note-%05d", n), Type: schemas.Episodic, Kind: schemas.KindMemory, Scope: schemas.MemoryScope{Tenant: tenant},
			CreatedAt: when.UTC().Truncate(time.Second), Session: fmt.Sprintf("n-%05d", n), Seq: 1, SecurityLabel: []string{"level:internal"},
			Content: schemas.TextContent(text), Links: links,
		}
		h.planted = append(h.planted, entry{item, text, r, i})
		return item.ID
	}
	before := func() time.Time { return at.Add(-time.Duration((.1 + .8*a.Float64()) * 20 * float64(24*time.Hour))) }
	anywhere := func() time.Time { return now().Add(-time.Hour - time.Duration(a.Float64()*float64(span-margin))) }
	for k := range h.distort.distractors {
		add(distractor, a.note(a.beside(q, k)), anywhere())
	}
	if h.distort.kind == distortPoison {
		add(injection, a.injected(q), anywhere())
	}
	if q.absent {
		return
	}
	var replaces []schemas.Link
	if h.distort.kind == distortStale {
		former := a.fresh(a.attribute(q.subject).value)
		replaces = []schemas.Link{{Rel: schemas.RelSupersedes, To: add(superseded, a.note(a.state(q.subject, former)), before())}}
		add(outdated, a.note(a.state(q.subject, a.fresh(a.attribute(q.subject).value))), before())
	}
	add(gold, a.note(a.state(q.subject, q.value)), at, replaces...)
	if h.distort.kind == distortDuplicates {
		for k := range copies {
			add(duplicate, a.note(a.rephrased(q, k)), anywhere())
		}
	}
}

// grow brings the history to a size and returns the entries that are new, in the order in which they are published:
// oldest first, or any under the distortion shuffle.
func (h *history) grow(tenant string, size int) ([]entry, error) {
	from := len(h.entries)
	need := size - len(h.entries) - len(h.planted)
	if need < 0 {
		return nil, fmt.Errorf("a history of %d items has no place for %d notes about %d questions", size, len(h.planted), len(h.questions))
	}
	fresh := h.planted
	h.planted = nil
	for range need {
		fresh = append(fresh, h.fill(h.filled))
		h.filled++
	}
	if h.distort.kind == distortShuffle {
		rng := rand.New(rand.NewPCG(h.seed<<8|9, uint64(size)))
		rng.Shuffle(len(fresh), func(i, j int) { fresh[i], fresh[j] = fresh[j], fresh[i] })
		for i := range fresh {
			h.scatter(&fresh[i], rng, size)
		}
	} else {
		slices.SortFunc(fresh, func(a, b entry) int {
			return cmp.Or(a.item.CreatedAt.Compare(b.item.CreatedAt), cmp.Compare(a.item.ID, b.item.ID))
		})
	}
	for i := range fresh {
		fresh[i].item.Scope.Tenant = tenant
		h.byID[fresh[i].item.ID] = from + i
	}
	h.entries = append(h.entries, fresh...)
	return fresh, nil
}

// margin is kept free at the ends of a history, so that nothing is of the future.
const margin = 24 * time.Hour

// turns is how many items a session of the filler has.
const turns = 20

// fill returns item i of the filler: the corpus of satchel-lab bench, in sessions that are spread over the time of the
// history, for everyone of level internal.
func (h *history) fill(i int) entry {
	item := h.words.Item(i)
	rng := rand.New(rand.NewPCG(h.seed<<8|7, uint64(i/turns)))
	item.CreatedAt = h.end.Add(-h.span).Add(time.Duration(rng.Float64() * float64(h.span-margin))).Add(time.Duration(i%turns) * 30 * time.Second).UTC().Truncate(time.Second)
	item.SecurityLabel = []string{"level:internal"}
	r := filler
	if h.distort.kind == distortSimilar && i%similarOneIn == 2 {
		own := *h.asker
		own.Rand = rand.New(rand.NewPCG(h.seed<<8|8, uint64(i)))
		item.Content = schemas.TextContent(own.note(own.similar()))
		r = distractor
	}
	return entry{item, item.Content.Text(), r, -1}
}

// scatter takes an item out of its session and, unless it states an answer, out of its time.
func (h *history) scatter(e *entry, rng *rand.Rand, size int) {
	e.item.Session = fmt.Sprintf("m-%06d", rng.IntN(max(1, size/turns)))
	e.item.Seq = 0
	e.item.Links = nil
	if e.asked < 0 {
		e.item.CreatedAt = h.end.Add(-time.Hour - time.Duration(rng.Float64()*float64(h.span-margin))).UTC().Truncate(time.Second)
	}
}
