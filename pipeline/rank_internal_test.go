package pipeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

// What became a candidate on another way, as a turn of the session does, is not unread, too: it would be shown and be
// in the drop report.
func TestACandidateIsNotUnread(t *testing.T) {
	t.Parallel()
	of := func(id string) candidate.Candidate {
		return candidate.New(&candidate.Visible{MemoryItem: schemas.MemoryItem{ID: id}}, schemas.Verdict{Allow: true})
	}
	before := Ranked{Candidates: []candidate.Candidate{of("a"), of("given")}, Unread: []candidate.Unread{{ID: "b"}, {ID: "given"}, {ID: "c"}}}
	after := before.WithoutRead()
	var ids []string
	for _, u := range after.Unread {
		ids = append(ids, u.ID)
	}
	if diff := cmp.Diff([]string{"b", "c"}, ids); diff != "" || len(before.Unread) != 3 || before.Unread[1].ID != "given" {
		t.Errorf("(-want +got):\n%s%v", diff, before.Unread)
	}
}
