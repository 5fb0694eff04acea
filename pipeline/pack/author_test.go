package pack

import (
	"strings"
	"testing"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

func TestCredit(t *testing.T) {
	t.Parallel()
	item := func(author, speaker string) candidate.Candidate {
		return candidate.New(&candidate.Visible{MemoryItem: schemas.MemoryItem{Speaker: speaker}, Author: author}, schemas.Verdict{Allow: true})
	}
	said := func(cs []candidate.Candidate) string {
		names := make([]string, len(cs))
		for i := range cs {
			names[i] = Said(&cs[i])
		}
		return strings.Join(names, "; ")
	}
	for _, tc := range []struct {
		cs           []candidate.Candidate
		author, want string
	}{
		{[]candidate.Candidate{item("", "Ann"), item("", "Bob")}, "", "Ann; Bob"},
		{[]candidate.Candidate{item("ann", "Ann"), item("teller", "Boss")}, "", "Ann; Boss (written by teller)"},
		{[]candidate.Candidate{item("imp", "Ann"), item("imp", "Bob"), item("", "Eve")}, "imp", "Ann; Bob; Eve"},
		{[]candidate.Candidate{item("imp", "Ann"), item("imp", "Bob"), item("teller", "Boss"), item("boss", "Boss")}, "imp", "Ann; Bob; Boss (written by teller); Boss (written by boss)"},
		{[]candidate.Candidate{item("b", "Ann"), item("a", "Bob"), item("b", "Bob"), item("a", "Ann")}, "a", "Ann (written by b); Bob; Bob (written by b); Ann"},
	} {
		if got := Credit(tc.cs); got != tc.author {
			t.Errorf("credited %q, want %q", got, tc.author)
		}
		if got := said(tc.cs); got != tc.want {
			t.Errorf("said %q, want %q", got, tc.want)
		}
		if line := AuthorLine(tc.author); (line == "") != (tc.author == "") {
			t.Errorf("line %q for %q", line, tc.author)
		}
	}
}
