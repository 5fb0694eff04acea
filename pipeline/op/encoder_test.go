package op_test

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/model/encoder"
	"satchel/pipeline/op"
	"satchel/pipeline/scope"
	inmemory "satchel/pipeline/store/memory"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
	"satchel/test/parts"
)

// encodedWorld is a world with the sentence encoder, and its index.
func encodedWorld(t *testing.T) (*world, func(tenant string, list ...schemas.MemoryItem)) {
	t.Helper()
	made, err := encoder.Open(encoder.Config{Threads: 2})
	must(t, err)
	x, err := inmemory.OpenVector(inmemory.VectorConfig{Model: made.Model().String(), Dimensions: made.Model().Dimensions})
	must(t, err)
	t.Cleanup(func() { must(t, x.Close()) })
	index := vector.New(x)
	w := openWorld(t, func(c *op.Config) { c.Encoder, c.Encoded = made, index })
	at := int64(0)
	return w, func(tenant string, list ...schemas.MemoryItem) {
		t.Helper()
		s, err := scope.System(tenant)
		must(t, err)
		texts := make([]string, len(list))
		for i := range list {
			texts[i] = schemas.SearchText(&list[i])
		}
		vectors, err := made.Embed(context.Background(), texts)
		must(t, err)
		changes := make([]vector.Change, len(list))
		for i := range list {
			at++
			changes[i] = vector.Change{Position: at, Put: &vector.Doc{ID: list[i].ID, Position: at, Facets: list[i].Facets(), Chunks: []vector.Chunk{{Vector: vectors[i]}}}}
		}
		must(t, index.Apply(context.Background(), s, changes, at))
	}
}

// said is a turn of a conversation.
func said(id, session string, n int, text, label string) schemas.MemoryItem {
	return schemas.MemoryItem{ID: id, Kind: schemas.KindMemory, Type: schemas.Episodic, Scope: schemas.MemoryScope{Tenant: "acme"}, SecurityLabel: []string{label},
		CreatedAt: time.Date(2026, 3, 2, 9, n%60, 0, 0, time.UTC), Session: session, Seq: int64(n), Speaker: []string{"Ada", "Ben"}[n%2], Content: schemas.TextContent(text)}
}

// talked are the turns of seven conversations, some 2,600.
func talked(t *testing.T) (list []schemas.MemoryItem) {
	t.Helper()
	paths, err := filepath.Glob("../../test/talk/*/memories.jsonl")
	must(t, err)
	for _, path := range paths {
		for n, m := range lines[struct {
			ID, Session, Speaker, Text string
			TS                         time.Time
		}](t, path) {
			item := said(strings.ReplaceAll(m.ID, ":", "-"), strings.ReplaceAll(m.Session, ":", "-"), n, m.Text, "level:public")
			item.Speaker, item.CreatedAt = m.Speaker, m.TS
			list = append(list, item)
		}
	}
	return list
}

// inOtherWords is a question of one of them.
const inOtherWords = "How did the price of the building work develop from the offer to the last invoice?"

// askEncoded returns the ids of the first results, and the reply.
func askEncoded(t *testing.T, w *world, s scope.Scope, question string) ([]string, *schemas.ContextResult) {
	t.Helper()
	req := ask(question)
	req.Payload.TokenBudget, req.Payload.UserMessage, req.Payload.Task = 2000, "", ""
	res, err := w.engine.Context(context.Background(), s, req)
	must(t, err)
	var list []schemas.ContextItem
	for _, section := range res.Payload.Pack.Sections {
		list = append(list, section.Items...)
	}
	slices.SortStableFunc(list, func(a, b schemas.ContextItem) int { return cmp.Compare(b.Score, a.Score) })
	var ids []string
	for i := range list {
		ids = append(ids, list[i].ID)
	}
	return ids[:min(10, len(ids))], &res
}

// lacking is what warnings say of items without a vector.
func lacking(r *schemas.ContextResult) string {
	for _, w := range r.Payload.Explainability.Warnings {
		if strings.HasPrefix(w, "encoder: ") {
			return w
		}
	}
	return ""
}

func TestTheEncoderFindsWhatIsAskedInOtherWords(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	list := talked(t)
	plain := openWorld(t, nil)
	plain.put(t, "acme", list...)
	w, encode := encodedWorld(t)
	w.put(t, "acme", list...)
	encode("acme", list...)
	reader := as(t, "acme", schemas.Public)
	gained, lost := 0, 0
	for _, q := range lines[struct {
		Text     string
		Relevant []string
	}](t, "../../test/talk/family-1/queries.jsonl") {
		before, _ := askEncoded(t, plain, reader, q.Text)
		after, res := askEncoded(t, w, reader, q.Text)
		if got := lacking(res); got != "" {
			t.Errorf("every item has its vector, and the pack says %q", got)
		}
		for _, id := range q.Relevant {
			switch id = strings.ReplaceAll(id, ":", "-"); {
			case slices.Contains(after, id) && !slices.Contains(before, id):
				gained++
			case slices.Contains(before, id) && !slices.Contains(after, id):
				lost++
			}
		}
	}
	t.Logf("%d turns are among the first ten only with the encoder, %d only without", gained, lost)
	if gained < 3*lost/2 || gained < 10 {
		t.Errorf("%d turns are among the first ten only with the encoder, %d only without", gained, lost)
	}
}

// An item that lacks its vector is found by its words and by the table, as without the encoder.
func TestAnItemWithoutItsVectorTakesPart(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	list := talked(t)
	late := said("late", "s050", 1009, "Ben adopted a greyhound called Biscuit from the shelter.", "level:public")
	w, encode := encodedWorld(t)
	w.put(t, "acme", append(list, late)...)
	encode("acme", list...)
	if _, res := askEncoded(t, w, as(t, "acme", schemas.Public), "What is the greyhound called?"); !strings.HasPrefix(lacking(res), "encoder: 1 of ") {
		t.Errorf("of one item without a vector the pack says %q", lacking(res))
	}
	for _, question := range []string{"What is the greyhound called?", "Which dog did Ben adopt?"} {
		if ids, _ := askEncoded(t, w, as(t, "acme", schemas.Public), question); !slices.Contains(ids, "late") {
			t.Errorf("%s finds %v, want the item without a vector among them", question, ids)
		}
	}
}

// What a reader may not see changes nothing of what it gets, encoded or not.
func TestHiddenItemsMoveNothingOfTheEncoder(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	list := talked(t)
	var hidden []schemas.MemoryItem
	for n := range 200 {
		hidden = append(hidden, said(fmt.Sprintf("h%03d", n), fmt.Sprintf("s%03d", 50+n/100), 4000+n, fmt.Sprintf("Colleague %d rides a bicycle to work, or takes the train.", n), "level:restricted"))
	}
	answers := make([]string, 3)
	for n := range answers {
		w, encode := encodedWorld(t)
		w.put(t, "acme", list...)
		encode("acme", list[:2500]...)
		if n > 0 {
			w.put(t, "acme", hidden...)
		}
		if n > 1 {
			encode("acme", hidden...)
		}
		_, res := askEncoded(t, w, as(t, "acme", schemas.Public), inOtherWords)
		var all strings.Builder
		for _, section := range res.Payload.Pack.Sections {
			for i := range section.Items {
				item := &section.Items[i]
				fmt.Fprintln(&all, item.ID, item.Score, item.Evidence.Channels)
			}
		}
		fmt.Fprintln(&all, res.Payload.Explainability.Warnings, res.Payload.Text)
		answers[n] = all.String()
	}
	if answers[0] != answers[1] || answers[1] != answers[2] {
		t.Errorf("hidden items move what is found:\n%s\nbeside them\n%s\nencoded\n%s", answers[0], answers[1], answers[2])
	}
}
