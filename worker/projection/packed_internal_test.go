package projection

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"satchel/schemas"
)

// decodePacked reads all of a pack.
func decodePacked(t interface{ Fatal(args ...any) }, data []byte) (time.Time, []string) {
	var p schemas.ContextPack
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, section := range p.Sections {
		for _, item := range section.Items {
			ids = append(ids, item.ID)
		}
	}
	return p.CreatedAt, ids
}

// samePacked holds readPacked against a decoding of all of the pack.
func samePacked(t interface{ Fatal(args ...any) }, data []byte) {
	at, ids, err := readPacked(data)
	if err != nil {
		t.Fatal(err)
	}
	wantAt, want := decodePacked(t, data)
	if !at.Equal(wantAt) || !cmp.Equal(ids, want) {
		t.Fatal(at, wantAt, cmp.Diff(want, ids), string(data))
	}
}

// Whatever callers have put into a request, and so into its pack, is passed over.
func TestReadPackedIsADecoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`"id":"x"`, `\`, `\"`, `a\\`, "]}", `{"sections":[]}`, "<b>", "\xff", ""}))
		p := schemas.ContextPack{ID: text.Draw(t, "pack"), SessionID: text.Draw(t, "session"), Purpose: text.Draw(t, "purpose"),
			CreatedAt: time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "seconds"), rapid.Int64Range(0, 1e9-1).Draw(t, "nanoseconds")).UTC()}
		if rapid.Bool().Draw(t, "ranked") {
			p.Ranking = &schemas.RankingTrace{Profile: text.Draw(t, "profile"), Weights: map[string]float64{"id": 1, text.Draw(t, "weight"): -1e-9}}
		}
		for range rapid.IntRange(0, 3).Draw(t, "sections") {
			s := schemas.ContextSection{SelectionReason: text.Draw(t, "reason")}
			for range rapid.IntRange(0, 3).Draw(t, "items") {
				s.Items = append(s.Items, schemas.ContextItem{ID: text.Draw(t, "id"), ContentRef: text.Draw(t, "ref"),
					Evidence: schemas.RetrievalEvidence{Retriever: text.Draw(t, "retriever"), Filters: map[string]string{"id": text.Draw(t, "filter")}}})
			}
			p.Sections = append(p.Sections, s)
		}
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		samePacked(t, data)
	})
}

func FuzzReadPacked(f *testing.F) {
	f.Add([]byte(`{"id":"p","created_at":"2026-01-02T03:04:05Z","sections":[{"items":[{"id":"a","x":{"id":"no"}},{"id":"b" }]},{"items":null}]}`))
	f.Add([]byte(`{"created_at":null,"sections" :[{"items":[{"id":"\u003c"}]}],"purpose":"\\\"]}"} `))
	f.Add([]byte(`{"Sections":[{"items":[{"id":"a","id":"\ud800"}]}],"sections":[]}`))
	f.Add([]byte(`{"id":"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p schemas.ContextPack
		if json.Unmarshal(data, &p) == nil {
			samePacked(t, data)
			return
		}
		_, _, _ = readPacked(data) // it need not refuse what it does not read
	})
}

// BenchmarkReadPacked is what a pack as the engine writes it costs, and what a decoding would.
func BenchmarkReadPacked(b *testing.B) {
	p := schemas.ContextPack{ID: "p", CreatedAt: time.Unix(1, 0).UTC()}
	for s := range 5 {
		section := schemas.ContextSection{SelectionReason: "of the ones that were found"}
		for i := range 10 {
			section.Items = append(section.Items, schemas.ContextItem{ID: fmt.Sprint("item-", s, i), ContentRef: "log:1", PIIFlags: []string{},
				Evidence: schemas.RetrievalEvidence{Retriever: "vector", Reranker: "h4r", Channels: map[string]schemas.Channel{"vector": {Rank: 1, Score: 0.123, Z: 0.5}, "keyword": {Rank: 2, Score: 12.3, Z: 1.5}},
					Signals: map[string]float64{"relevance": 0.12345, "recency": 0.5, "frequency": 0.25, "novelty": 0.75}}})
			p.ProvenanceRefs = append(p.ProvenanceRefs, schemas.ProvenanceRef{})
		}
		p.Sections = append(p.Sections, section)
	}
	data, err := json.Marshal(p)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.Run("read", func(b *testing.B) {
		for range b.N {
			if _, _, err := readPacked(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decoded", func(b *testing.B) {
		for range b.N {
			var p packed
			if err := json.Unmarshal(data, &p); err != nil {
				b.Fatal(err)
			}
		}
	})
}
