package op_test

import (
	"context"
	"encoding/hex"
	"math"
	"sync"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"satchel/pipeline/op"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

func TestProofs(t *testing.T) {
	t.Parallel()
	var log *eventlog.Log
	signed := openWorld(t, func(c *op.Config) {
		log = c.Log.(*eventlog.Log)
		c.Prover, c.Leaves = log, log
	})
	fill(t, signed)
	s := as(t, "acme", schemas.Internal)
	var drafts []eventlog.Draft // entries at the positions that the items point to
	for i := range 6 {
		drafts = append(drafts, eventlog.Draft{Tenant: "acme", Type: schemas.TypeMemoryRecorded, Source: "test", ID: string(rune('a' + i)), Data: []byte("{}")})
	}
	_, err := log.Append(context.Background(), eventlog.Batch{Drafts: drafts})
	must(t, err)
	req := ask("Lantern release")
	req.Payload.IncludeProofs = true
	res, err := signed.engine.Context(context.Background(), s, req)
	must(t, err)
	p := res.Payload.Proof
	if p == nil || p.Checkpoint == "" || p.Inclusion.Position != res.Payload.Positions.Pack {
		t.Fatalf("proof is %+v", p)
	}
	var hashes tlog.RecordProof
	for _, h := range p.Inclusion.Hashes {
		hashes = append(hashes, hash(t, h))
	}
	if err := tlog.CheckRecord(hashes, p.Inclusion.Size, hash(t, p.Inclusion.Root), p.Inclusion.Position-1, hash(t, p.Inclusion.Leaf)); err != nil {
		t.Error(err)
	}
	for _, ref := range res.Payload.Pack.ProvenanceRefs {
		if len(ref.Leaf) != 64 {
			t.Errorf("item %s points to leaf %q", ref.ItemID, ref.Leaf)
		}
	}
}

func hash(t *testing.T, text string) (h tlog.Hash) {
	t.Helper()
	raw, err := hex.DecodeString(text)
	must(t, err)
	copy(h[:], raw)
	return h
}

// Concurrent requests each get their own entries, and the text does not depend on
// who else asks.
func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	w.put(t, "bench", corpus(300, 5)...)
	const callers, each = 4, 12
	questions := []string{"garden by the harbour", "rollback of the schema", "Who lost the umbrella?"}
	alone := make([]string, len(questions))
	for i, q := range questions {
		res, err := w.engine.Context(context.Background(), as(t, "bench", schemas.Internal), ask(q))
		must(t, err)
		alone[i] = res.Payload.Text
	}
	var mu sync.Mutex
	positions := map[int64]bool{}
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				k := (c + i) % len(questions)
				res, err := w.engine.Context(context.Background(), as(t, "bench", schemas.Internal), ask(questions[k]))
				if err != nil || res.Payload.Text != alone[k] {
					t.Errorf("caller %d: error %v, or another text than alone", c, err)
					return
				}
				mu.Lock()
				p := res.Payload.Positions
				positions[p.Pack], positions[p.Drop], positions[p.Decision] = true, true, true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(positions) != 3*callers*each {
		t.Errorf("%d log positions for %d requests", len(positions), callers*each)
	}
}

// What is hidden from the asker changes no score of what is not, through neighbours
// or moments: the ranking is as if the hidden items had never been recorded.
func TestHiddenItemsChangeNoScore(t *testing.T) {
	t.Parallel()
	talk := corpus(60, 9)
	var open []schemas.MemoryItem
	for i := range talk {
		talk[i].SecurityLabel = []string{"level:public"}
		if i%7 == 3 {
			talk[i].SecurityLabel = []string{"level:restricted"}
			continue
		}
		open = append(open, talk[i])
	}
	rank := func(list []schemas.MemoryItem) map[string]float64 {
		w := openWorld(t, func(c *op.Config) { c.Disable = []string{"words"} })
		w.put(t, "bench", list...)
		req := ask("Who planned the garden by the harbour?")
		req.Payload.Query.Type = schemas.QuerySemantic
		found, err := w.engine.Rank(context.Background(), as(t, "bench", schemas.Internal), req)
		must(t, err)
		scores := map[string]float64{}
		for _, c := range found {
			scores[c.ID] = c.Fused
		}
		return scores
	}
	with, without := rank(talk), rank(open)
	if len(with) != len(open) || len(without) != len(open) {
		t.Fatalf("ranked %d and %d, want %d", len(with), len(without), len(open))
	}
	for id, want := range without {
		if got := with[id]; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s scores %v beside hidden items, %v without them", id, got, want)
		}
	}
}
