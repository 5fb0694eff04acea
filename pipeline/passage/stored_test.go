package passage

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/candidate"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// storedPassages says of one item that a passage of it is near.
type storedPassages struct {
	scores []vector.ChunkScore
	err    error
	asked  []string
}

func (s *storedPassages) ScoreChunks(_ context.Context, _ scope.Scope, q vector.Query, ids []string) ([][]vector.ChunkScore, error) {
	if q.Axis != vector.AxisPassage {
		return nil, errors.New("asked for something else")
	}
	s.asked = append(s.asked, ids...)
	out := make([][]vector.ChunkScore, len(ids))
	for i := range ids {
		out[i] = s.scores
	}
	return out, s.err
}

func recordOf(kind schemas.Kind, text string) *schemas.Record {
	return &schemas.Record{MemoryItem: schemas.MemoryItem{ID: "q", Kind: kind, Content: schemas.TextContent(text)}}
}

func TestTextsAreThePassages(t *testing.T) {
	t.Parallel()
	list := Texts(recordOf(schemas.KindCode, queueConfig))
	config := item(t, "q", schemas.KindCode, queueConfig, nil)
	parts := newMemo().analyseItem("acme", &config, readWhole).parts
	if len(list) < 2 || len(list) != len(parts) {
		t.Fatalf("%d texts, %d passages", len(list), len(parts))
	}
	for i, l := range list {
		if l.Span != parts[i].span || l.Text == "" {
			t.Errorf("text %d: %+v of %+v", i, l, parts[i].span)
		}
	}
	if one := Texts(recordOf(schemas.KindCode, "var x = 1")); one != nil {
		t.Errorf("of one passage: %v", one)
	}
	if talk := Texts(recordOf(schemas.KindMemory, queueConfig)); talk != nil {
		t.Errorf("of a conversation: %v", talk)
	}
}

// first is the passage that stands first where the stored vectors speak for number near.
func first(t *testing.T, s *storedPassages, change func(*candidate.Candidate)) int {
	t.Helper()
	cs := []candidate.Candidate{item(t, "q", schemas.KindCode, queueConfig, nil)}
	change(&cs[0])
	r := reader(t, Config{Passages: s})
	ranking := r.Score(t.Context(), system(t), Query{Text: "zebra", Vector: []float32{1}}, cs)
	if !errors.Is(ranking.Err, s.err) {
		t.Errorf("%v, want %v", ranking.Err, s.err)
	}
	return ranking.list[0].part
}

func TestStoredVectorsOrderPassages(t *testing.T) {
	t.Parallel()
	var near []vector.ChunkScore
	for _, l := range Texts(recordOf(schemas.KindCode, queueConfig)) {
		near = append(near, vector.ChunkScore{Span: l.Span})
	}
	last := len(near) - 1
	near[last].Score = .9
	whole := func(*candidate.Candidate) {}
	for name, c := range map[string]struct {
		stored *storedPassages
		change func(*candidate.Candidate)
		want   int
		asked  []string
	}{
		"stored":           {&storedPassages{scores: near}, whole, last, []string{"q"}},
		"another version":  {&storedPassages{scores: near[1:]}, whole, 0, []string{"q"}},
		"no answer":        {&storedPassages{scores: near, err: errors.New("away")}, whole, 0, []string{"q"}},
		"hidden in part":   {&storedPassages{scores: near}, func(c *candidate.Candidate) { v := *c.Visible; v.Masked, c.Visible = true, &v }, 0, nil},
		"policy redacts":   {&storedPassages{scores: near}, func(c *candidate.Candidate) { c.Verdict.Redact = true }, 0, nil},
		"other boundaries": {&storedPassages{scores: moved(near)}, whole, 0, []string{"q"}},
	} {
		if got := first(t, c.stored, c.change); got != c.want {
			t.Errorf("%s: passage %d is first, want %d", name, got, c.want)
		}
		if diff := cmp.Diff(c.asked, c.stored.asked); diff != "" {
			t.Errorf("%s: asked for (-want +got):\n%s", name, diff)
		}
	}
}

// moved are scores of other passages.
func moved(list []vector.ChunkScore) []vector.ChunkScore {
	out := slices.Clone(list)
	for i := range out {
		out[i].Span.End++
	}
	return out
}
