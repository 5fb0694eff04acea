package itemstest

import (
	"encoding/json"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// epoch is when the suite's items were created.
func epoch() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// Record returns a record of a dialogue turn: n decides its speaker, time and labels.
func Record(id, session string, n int) *schemas.Record {
	r := &schemas.Record{Terms: 5 + n%7, RecordedAt: epoch().Add(time.Hour)}
	r.ID, r.Session, r.Type, r.Kind = id, session, schemas.Episodic, schemas.KindMemory
	r.Scope = schemas.MemoryScope{Tenant: "t1", Project: "p", Session: session}
	r.CreatedAt = epoch().Add(time.Duration(n) * time.Minute)
	r.Speaker = [...]string{"Ann", "Bob", "user"}[n%3]
	r.SecurityLabel = []string{"level:" + schemas.Level(n%4).String(), "team:x"}
	r.Provenance = schemas.Provenance{SourceURI: "test:" + id, Signer: schemas.Unsigned}
	r.Content = schemas.TextContent(fmt.Sprintf("Turn %d of %s: the quick brown fox jumps over the lazy dog, and nobody minds.", n, session))
	r.Facets = r.MemoryItem.Facets()
	return r
}

// fullRecord returns a record with every field set.
func fullRecord(id string) *schemas.Record {
	r := Record(id, "s", 1)
	half, one := 0.5, 1.0
	r.Session, r.Scope.Session, r.Scope.Org = "s-own", "s-scope", "org"
	r.UpdatedAt, r.ValidFrom, r.ValidTo = epoch().Add(1), epoch().Add(2), epoch().Add(3)
	r.TTL, r.Seq, r.Role, r.Category = 3600, 7, "tool", "notes"
	r.DecayFn = &schemas.DecayFn{Kind: "linear", Days: 3, Lambda: 0.1}
	r.Confidence, r.Importance, r.Trust, r.Sensitivity, r.Novelty = &half, &one, &half, &half, &one
	r.PIIFlags, r.EmbeddingRef, r.GraphRefs = []string{"email"}, "e", []string{"g1", "g2"}
	r.Provenance.PolicyTags, r.Provenance.Checksum, r.Signer = []string{"p"}, "sha256:00", "key"
	r.Content = schemas.JSONContent(json.RawMessage(`{"a":1}`))
	r.Summary = &schemas.Summary{Text: "short", DroppedSpans: []schemas.Span{{Start: 1, End: 4}}}
	r.Links = []schemas.Link{{Rel: schemas.RelFollows, To: "x"}}
	r.Attributes = json.RawMessage(`{"file":"a.go"}`)
	r.Tokens = 12
	r.Facets = r.MemoryItem.Facets()
	return r
}

// changes draws a log: a few ids, few sessions, every kind of change.
func changes() *rapid.Generator[[]items.Change] {
	return rapid.Custom(func(t *rapid.T) []items.Change {
		id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "0198c0de-0000-7000-8000-0123456789ab"})
		list := rapid.SliceOfN(id, 1, 3)
		log := make([]items.Change, rapid.IntRange(1, 40).Draw(t, "length"))
		position := int64(0)
		for i := range log {
			position += int64(rapid.SampledFrom([]int{1, 1, 1, 3}).Draw(t, "step"))
			c := items.Change{Position: position, At: epoch().Add(time.Duration(i) * time.Second)}
			switch rapid.IntRange(0, 10).Draw(t, "kind") {
			case 0:
				c.Link = &schemas.MemoryLinked{From: id.Draw(t, "from"), Links: []schemas.Link{{Rel: schemas.RelCausedBy, To: id.Draw(t, "to")}}}
			case 1:
				c.Superseded = &schemas.MemorySuperseded{Item: id.Draw(t, "item"), By: id.Draw(t, "by")}
			case 2:
				c.Accessed = list.Draw(t, "accessed")
			case 9:
				c.Novelty = map[string]float64{id.Draw(t, "judged"): float64(rapid.IntRange(0, 8).Draw(t, "novelty")) / 8}
			case 3, 4:
				c.Erased = list.Draw(t, "erased")
			default:
				session := rapid.SampledFrom([]string{"", "s1", "s2"}).Draw(t, "session")
				c.Put = Record(id.Draw(t, "put"), session, rapid.IntRange(0, 9).Draw(t, "n"))
				c.Put.Seq = rapid.Int64Range(0, 3).Draw(t, "seq")
				c.Put.Position = position
				if rapid.IntRange(0, 4).Draw(t, "claims") == 0 {
					claim := .3
					c.Put.Novelty = &claim
				}
			}
			log[i] = c
		}
		return log
	})
}
