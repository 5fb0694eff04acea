package selection

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"satchel/pipeline/candidate"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

func readerOf(t *testing.T, tenant, id string) scope.Scope {
	t.Helper()
	s, err := scope.New(tenant, scope.Principal{Kind: "agent", ID: id}, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func turnOf(id, speaker, text string) candidate.Candidate {
	return candidate.New(&candidate.Visible{MemoryItem: schemas.MemoryItem{
		ID: id, Speaker: speaker, Content: schemas.TextContent(text),
	}}, schemas.Verdict{Allow: true})
}

const longTurn = "The release of the second version was moved from Monday to Thursday because the certificates were late, so the demo moves too."

func pack(position int64) []candidate.Candidate {
	tool := turnOf("tool", "", longTurn)
	tool.Kind = schemas.KindTool
	cs := []candidate.Candidate{turnOf("long", "Ana", longTurn), turnOf("short", "Ana", "Thanks!"), tool, turnOf("dropped", "Bo", longTurn)}
	cs[0].Position = position
	cs[3].Drop = schemas.DropBudget
	return cs
}

func TestAbbreviate(t *testing.T) {
	t.Parallel()
	s, ana := NewHistory(HistoryConfig{Packs: 3}), readerOf(t, "acme", "ana")
	cs := pack(7)
	if n := s.Abbreviate(ana, "chat", cs); n != 0 {
		t.Fatalf("%d references before anything was shown", n)
	}
	s.Add(ana, "chat", cs, []int{0, 1, 2}, false)
	for name, test := range map[string]struct {
		scope    scope.Scope
		session  string
		position int64
		want     int
	}{
		"again":             {ana, "chat", 7, 1},
		"another session":   {ana, "other", 7, 0},
		"no session":        {ana, "", 7, 0},
		"another principal": {readerOf(t, "acme", "bo"), "chat", 7, 0},
		"another tenant":    {readerOf(t, "else", "ana"), "chat", 7, 0},
		"changed since":     {ana, "chat", 8, 0},
	} {
		cs := pack(test.position)
		if n := s.Abbreviate(test.scope, test.session, cs); n != test.want {
			t.Errorf("%s: %d references, want %d", name, n, test.want)
		}
	}
	again := pack(7)
	s.Abbreviate(ana, "chat", again)
	text := again[0].Content.Text()
	if !strings.HasPrefix(text, "(shown 1 pack ago) The release of") || len(text) > shortEnough {
		t.Errorf("the reference is %q", text)
	}
	if again[3].Content.Text() != longTurn || again[2].Abbreviated || again[1].Abbreviated {
		t.Error("what was not shown, a tool or a short text was shortened")
	}
	// References do not count as showings: three packs later it is shown whole.
	for round := 2; round <= 4; round++ {
		cs := pack(7)
		if n := s.Abbreviate(ana, "chat", cs); n != 1 {
			t.Errorf("round %d: %d references", round, n)
		}
		s.Add(ana, "chat", cs, []int{0}, false)
	}
	if n := s.Abbreviate(ana, "chat", pack(7)); n != 0 {
		t.Errorf("%d references after three packs", n)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	s, ana := NewHistory(HistoryConfig{Packs: 2, Sessions: 3}), readerOf(t, "acme", "ana")
	for i := range 10 {
		for range 5 {
			cs := []candidate.Candidate{turnOf(fmt.Sprintf("i%d", i), "", longTurn)}
			s.Add(ana, fmt.Sprintf("s%d", i), cs, []int{0}, false)
		}
	}
	if len(s.known) != 3 || s.recent.Len() != 3 {
		t.Errorf("%d and %d sessions are kept", len(s.known), s.recent.Len())
	}
	if n := s.Abbreviate(ana, "s9", []candidate.Candidate{turnOf("i9", "", longTurn)}); n != 1 {
		t.Error("the last session is forgotten")
	}
	off := NewHistory(HistoryConfig{Packs: -1})
	off.Add(ana, "s", pack(1), []int{0}, false)
	if n := off.Abbreviate(ana, "s", pack(1)); n != 0 {
		t.Error("references though they are off")
	}
}

// TestLast holds that the last pack's order is known to the session alone, and to the one
// pack that follows.
func TestLast(t *testing.T) {
	t.Parallel()
	s, ana := NewHistory(HistoryConfig{}), readerOf(t, "acme", "ana")
	s.Add(ana, "chat", pack(7), []int{2, 0}, true)
	if got := SessionPlaces(s.Last(ana, "chat"), pack(7)); !slices.Equal(got, []int{2, 0}) {
		t.Errorf("the last pack was %v", got)
	}
	if got := SessionPlaces(s.Last(ana, "chat"), pack(8)); !slices.Equal(got, []int{2, -1}) {
		t.Errorf("with one that changed since it is %v", got)
	}
	for _, other := range []struct {
		scope   scope.Scope
		session string
	}{{ana, "other"}, {readerOf(t, "acme", "bo"), "chat"}, {readerOf(t, "else", "ana"), "chat"}} {
		if last := s.Last(other.scope, other.session); last != nil {
			t.Errorf("another session knows %v", last)
		}
	}
	s.Add(ana, "chat", pack(7), []int{0}, false)
	if last := s.Last(ana, "chat"); last != nil {
		t.Errorf("%v is left of the pack before the last", last)
	}
}
