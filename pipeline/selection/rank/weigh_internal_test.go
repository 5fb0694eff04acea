package rank

import (
	"testing"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection/retrieve"
	"satchel/schemas"
)

func TestWeighings(t *testing.T) {
	t.Parallel()
	s := &Ranker{}
	short, long := s.makeWeighing("", 4), s.makeWeighing("", 40)
	if short.keyword != 1 || short.words != 1 || short.vector != 1 || short.knee != fewestKnee {
		t.Errorf("a short query is weighed %+v", short)
	}
	if long.keyword != 4 || long.words != .2 || long.vector != 1 || long.knee != 32 {
		t.Errorf("a long query is weighed %+v", long)
	}
	if z := short.dampScore(retrieve.NameKeyword, 9); z != 4+damp*5 {
		t.Errorf("a z of 9 counts %v in a short query", z)
	}
	if z := short.dampScore(retrieve.NameVector, 9); z != 9 {
		t.Errorf("vectors are damped to %v", z)
	}
	if z := long.dampScore(retrieve.NameKeyword, 9); z != 9 {
		t.Errorf("a z of 9 counts %v in a long query", z)
	}
	off := &Ranker{cfg: Config{Disable: []string{FeatureWeigh}}}
	if w := off.makeWeighing("", 40); w != evenWeights() {
		t.Errorf("switched off it weighs %+v", w)
	}
}

// A log by several authors, hours apart, is no conversation.
func TestTakesTurns(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		speakers []string
		pause    time.Duration
		want     bool
	}{
		"a talk":          {[]string{"a", "b", "a", "b", "a"}, time.Minute, true},
		"one voice":       {[]string{"a", "a", "a", "a", "a"}, time.Minute, false},
		"authors of days": {[]string{"a", "b", "c", "b", "a"}, 20 * time.Hour, false},
		"too few to tell": {[]string{"a", "b"}, 20 * time.Hour, true},
	} {
		p := newPool(8)
		row := make([]place, 0, len(tc.speakers))
		var rows [][]place
		for i, speaker := range tc.speakers {
			at := p.Add(string(rune('a' + i)))
			p.Grow()
			p.items = lengthenSlice(p.items, len(p.ids))
			p.items[at] = &candidate.Visible{MemoryItem: schemas.MemoryItem{Speaker: speaker, CreatedAt: time.Unix(0, 0).Add(time.Duration(i) * tc.pause)}}
			row = append(row, place{at, 0})
		}
		for i := range row { // each as the middle of its own row
			own := make([]place, len(row))
			for j := range row {
				own[j] = place{row[j].at, int32(j - i)}
			}
			rows = append(rows, own)
		}
		if got := p.takesTurns(rows); got != tc.want {
			t.Errorf("%s: takes turns %t", name, got)
		}
	}
}
