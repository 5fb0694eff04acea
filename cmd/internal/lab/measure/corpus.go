package measure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"

	"satchel/pipeline/token"
	"satchel/schemas"
)

const (
	speakers    = 200
	profiles    = 400
	sessionSize = 20
	maxBytes    = 16 << 10
	copyOneIn   = 12 // texts, of which one repeats an earlier one
	copyWithin  = 64 // items before it
)

// Corpus generates memories and questions for measurements. The same seed gives the
// same items and questions, byte for byte, in any order.
//
// The texts are as those of real sources are, for a worker's costs: lengths are log-normal
// (median 370 bytes, 95th percentile 3.6 KB, at most 16 KB), half have several lines, one in
// ten is not ASCII. Kinds are prose, dialogue, Markdown with lists and tables, logs, code,
// JSON, German, Russian and Chinese prose. One text in twelve repeats an earlier one with a
// few other words, some hold e-mail addresses and telephone numbers. Words are those of a
// tokenizer's vocabulary by Zipf's law over their rank, so that stemming, token counts and
// the embedding table meet what they are made for. Each text states one fact, which questions
// ask for.
//
// Items have sessions of 20 turns by two of 200 speakers and 400 access profiles (level,
// groups, purposes). One in ten is linked to the one before.
//
// It is safe for concurrent use.
type Corpus struct {
	tenant string
	seed   uint64
	words  []string // the frequent ones first
	start  time.Time
}

// NewCorpus returns the corpus of a seed, for a tenant.
func NewCorpus(tenant string, seed uint64) (*Corpus, error) {
	words, err := vocabulary()
	if err != nil {
		return nil, fmt.Errorf("make a vocabulary: %w", err)
	}
	return &Corpus{tenant: tenant, seed: seed, words: words, start: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)}, nil
}

// vocabulary returns the whole words of a tokenizer. Their order is roughly that of their
// frequency.
func vocabulary() ([]string, error) {
	tokens, err := token.Vocabulary()
	if err != nil {
		return nil, err
	}
	word := regexp.MustCompile(`^ [a-z]{2,}$`)
	var list []string
	for _, text := range tokens {
		if word.MatchString(text) {
			list = append(list, text[1:])
		}
	}
	return list, nil
}

// Item returns item i.
func (c *Corpus) Item(i int) schemas.MemoryItem {
	session := i / sessionSize
	w := c.writer(i, 1)
	profile := w.IntN(profiles)
	item := schemas.MemoryItem{
		ID: fmt.Sprintf("item-%09d", i), Type: schemas.Episodic, Kind: schemas.KindMemory,
		Scope: schemas.MemoryScope{Tenant: c.tenant}, CreatedAt: c.start.Add(time.Duration(i) * 7 * time.Second),
		Session: fmt.Sprintf("s-%07d", session), Seq: int64(i%sessionSize + 1),
		Speaker: fmt.Sprintf("speaker%d", (session*2+i%2)%speakers), Content: schemas.TextContent(c.text(i)),
		SecurityLabel: labels(profile),
	}
	if i > 0 && w.IntN(10) == 0 {
		item.Links = []schemas.Link{{Rel: schemas.RelFollows, To: fmt.Sprintf("item-%09d", i-1)}}
	}
	return item
}

// Question returns question k, which asks for the fact of one of the first items.
func (c *Corpus) Question(k, items int) string {
	w := c.writer(k, 2)
	f := c.fact(w.IntN(items))
	switch w.IntN(5) {
	case 0:
		return fmt.Sprintf("Who %s the %s of %s?", f.verb, f.thing, f.system)
	case 1:
		return fmt.Sprintf("why was the %s of %s %s on %s", f.thing, f.system, f.verb, f.day)
	case 2:
		return fmt.Sprintf("What did %s do about %s, and what did the team decide afterwards?", f.person, f.system)
	case 3:
		return fmt.Sprintf("%s %s %s", f.system, f.thing, w.word())
	default:
		return fmt.Sprintf("Can you tell me when %s %s the %s and whether the %s of the %s had something to do with it?", f.person, f.verb, f.thing, w.word(), w.word())
	}
}

// labels are those of an access profile: four levels, of three in ten a group, of one in five a
// purpose. A principal of every level with groups g1 to g5 and the purpose p6 may see four items
// in five.
func labels(profile int) []string {
	l := []string{"level:" + schemas.Level(profile%4).String()}
	if g := profile / 4 % 10; g > 6 {
		l = append(l, fmt.Sprintf("group:g%d", g-3))
	}
	if p := profile / 40; p > 7 {
		l = append(l, fmt.Sprintf("purpose:p%d", p-2))
	}
	return l
}

// writer returns a source of words of its own for a number and a use.
func (c *Corpus) writer(n int, use uint64) *writer {
	rng := rand.New(rand.NewPCG(c.seed<<8|use, uint64(n)))
	return &writer{Rand: rng, zipf: rand.NewZipf(rng, 1.07, 4, uint64(len(c.words)-1)), words: c.words}
}

// text returns the text of item i: its own, or an earlier one with some other words.
func (c *Corpus) text(i int) string {
	w := c.writer(i, 3)
	if w.IntN(copyOneIn) > 0 || i == 0 {
		return c.original(i)
	}
	words := strings.Split(c.original(i-1-w.IntN(min(i, copyWithin))), " ")
	for range 1 + len(words)/30 {
		words[w.IntN(len(words))] = w.word()
	}
	return strings.Join(words, " ")
}

// original writes the fact of item i and goes on in one of the forms to its length.
func (c *Corpus) original(i int) string {
	w := c.writer(i, 4)
	want := min(maxBytes, int(280*math.Exp(1.5*w.NormFloat64())))
	forms := w.forms()
	form := forms[w.IntN(len(forms))]
	w.WriteString(form.opening(c.fact(i)))
	for w.Len() < want {
		form.more()
	}
	return strings.TrimSpace(w.String())
}

// fact is stated by one item.
type fact struct{ person, verb, thing, system, day string }

func (c *Corpus) fact(i int) fact {
	w := c.writer(i, 5)
	pick := func(list string) string { all := strings.Fields(list); return all[w.IntN(len(all))] }
	return fact{
		person: pick("Jonas Amara Priya Mateo Lena Hiroshi Fatima Oleg Chloe Samuel Nadia Viktor Grace Ravi Ingrid Tomas"),
		verb:   pick("renewed reviewed approved postponed cancelled measured rejected replaced deployed restarted moved documented"),
		thing:  pick("certificate contract budget invoice schema dashboard release backup alert quota password migration index deadline report"),
		system: fmt.Sprintf("%s-%s-%d", pick("payment gateway billing search ingest orders identity reporting ledger catalog"), pick("api worker store proxy queue job"), w.IntN(2000)),
		day:    c.start.AddDate(0, 0, w.IntN(400)).Format("2 January 2006"),
	}
}
