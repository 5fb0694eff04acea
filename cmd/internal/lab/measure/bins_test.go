package measure

import "testing"

// A ranking counts by the tenths of its scores.
func TestBins(t *testing.T) {
	t.Parallel()
	var b, all Bins
	b.add([]Ranked{{"a", 1}, {"b", .55}, {"c", .51}, {"d", 0}}, Labels{"a": 1, "c": 1})
	all.sum(&b)
	all.sum(&b)
	for i, want := range map[int][2]int{9: {2, 2}, 5: {4, 2}, 0: {2, 0}, 3: {}} {
		if got := [2]int{all[i].Items, all[i].Relevant}; got != want {
			t.Errorf("bin %d: %v, want %v", i, got, want)
		}
	}
	if all[5].Score != 2*(.55+.51) {
		t.Errorf("the scores of bin 5 sum to %v", all[5].Score)
	}
}
