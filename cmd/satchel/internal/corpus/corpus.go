// Package corpus generates memories for measurements: the same seed gives the same
// items, byte for byte.
//
// Shape: 20–60 words an item (mean 40), words drawn from 60,000 made-up ones by Zipf's
// law (exponent 1.05), half the items name one of 20,000 entities, sessions of 20
// turns by two of 200 speakers, 400 access profiles (level, groups, purposes), one item
// in ten linked to the one before.
package corpus

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"satchel/schemas"
)

const (
	vocabulary  = 60_000
	entities    = 20_000
	speakers    = 200
	profiles    = 400
	sessionSize = 20
)

// Generator makes items one after another. It is not safe for concurrent use.
type Generator struct {
	tenant string
	rng    *rand.Rand
	zipf   *rand.Zipf
	words  []string
	next   int
	start  time.Time
}

// New returns a generator for a tenant.
func New(tenant string, seed uint64) *Generator {
	rng := rand.New(rand.NewPCG(seed, 0x5a7c4e1))
	g := &Generator{tenant: tenant, rng: rng, zipf: rand.NewZipf(rng, 1.05, 8, vocabulary-1), start: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)}
	g.words = words()
	return g
}

// words makes the vocabulary: syllables, the frequent words short.
func words() []string {
	consonants, vowels := "bcdfghklmnprstvw", "aeiou"
	list := make([]string, vocabulary)
	for i := range list {
		var b strings.Builder
		for n := i + 12; n > 0; n /= 80 {
			b.WriteByte(consonants[n%16])
			b.WriteByte(vowels[n/16%5])
		}
		list[i] = b.String()
	}
	return list
}

// Item returns the next item.
func (g *Generator) Item() schemas.MemoryItem {
	i := g.next
	g.next++
	session := i / sessionSize
	profile := g.rng.IntN(profiles)
	item := schemas.MemoryItem{
		ID: fmt.Sprintf("item-%09d", i), Type: schemas.Episodic, Kind: schemas.KindMemory,
		Scope: schemas.MemoryScope{Tenant: g.tenant}, CreatedAt: g.start.Add(time.Duration(i) * 7 * time.Second),
		Session: fmt.Sprintf("s-%07d", session), Seq: int64(i%sessionSize + 1),
		Speaker: fmt.Sprintf("speaker%d", (session*2+i%2)%speakers), Content: schemas.TextContent(g.text()),
		SecurityLabel: labels(profile),
	}
	if i > 0 && g.rng.IntN(10) == 0 {
		item.Links = []schemas.Link{{Rel: schemas.RelFollows, To: fmt.Sprintf("item-%09d", i-1)}}
	}
	return item
}

// labels are those of an access profile: four levels, ten groups, ten purposes.
func labels(profile int) []string {
	l := []string{"level:" + schemas.Level(profile%4).String()}
	if g := profile / 4 % 10; g > 0 {
		l = append(l, fmt.Sprintf("group:g%d", g))
	}
	if p := profile / 40; p > 5 {
		l = append(l, fmt.Sprintf("purpose:p%d", p))
	}
	return l
}

func (g *Generator) text() string {
	n := 20 + g.rng.IntN(41)
	entity := -1
	if g.rng.IntN(2) == 0 {
		entity = g.rng.IntN(n)
	}
	var b strings.Builder
	b.Grow(n * 8)
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		if i == entity {
			fmt.Fprintf(&b, "Project-%d", g.rng.IntN(entities))
			continue
		}
		b.WriteString(g.words[g.zipf.Uint64()])
	}
	b.WriteByte('.')
	return b.String()
}

// Query returns a question of three to six words that are not among the hundred most
// frequent.
func (g *Generator) Query() string {
	n := 3 + g.rng.IntN(4)
	list := make([]string, 0, n)
	for len(list) < n {
		if w := g.zipf.Uint64(); w >= 100 {
			list = append(list, g.words[w])
		}
	}
	return strings.Join(list, " ")
}
