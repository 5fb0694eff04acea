// History remembers which items the last packs of a session showed, so that a later
// pack shows a reference instead of the same text again, and can keep to the order of the
// pack before.

package selection

import (
	"container/list"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"satchel/pipeline/candidate"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// HistoryConfig of a History. The zero Config works.
type HistoryConfig struct {
	Packs    int // of a session, within which an item is not shown again; default 8, negative: none
	Sessions int // that are remembered, the longest unused forgotten first; default 4096
}

const (
	defaultPacks    = 8
	defaultSessions = 4096
	shortEnough     = 96 // bytes of a text that is shown again as it is
	firstWords      = 56 // bytes of a text that a reference shows at most
)

// History remembers which items the last packs of a session showed at full length. It
// keeps ids and log positions, never content, in memory: another process, or this one
// after a restart, shows an item once more. An item that has changed since is new. It
// is safe for concurrent use.
type History struct {
	packs    int
	sessions int

	mu     sync.Mutex
	known  map[key]*list.Element
	recent *list.List // of *packs, the last used first
}

// key says whose packs are remembered together.
type key struct{ tenant, name, principal string }

// packs is what a session was shown: the number of its packs, and by item the pack
// that last showed it and the position it had then.
type packs struct {
	of    key
	count int
	items map[string]shownAt
	last  []candidate.Version // the items of the last pack, where it is to be kept to
}

type shownAt struct {
	pack     int
	position int64
}

// NewHistory returns a History that has seen nothing.
func NewHistory(cfg HistoryConfig) *History {
	s := &History{packs: cfg.Packs, sessions: cfg.Sessions, known: map[key]*list.Element{}, recent: list.New()}
	if s.packs == 0 {
		s.packs = defaultPacks
	}
	if s.sessions <= 0 {
		s.sessions = defaultSessions
	}
	return s
}

func keyOf(sc scope.Scope, name string) key {
	return key{sc.Tenant(), name, sc.Principal().ID}
}

// Abbreviate shortens the kept candidates that the session was shown within its last packs:
// their content becomes a line that says how many packs ago, and their first words.
// Tools, whose signatures a model calls by, and short texts stay as they are. It
// returns how many it shortened, 0 for a request without a session.
func (s *History) Abbreviate(sc scope.Scope, name string, cs []candidate.Candidate) int {
	if name == "" || s.packs < 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.known[keyOf(sc, name)]
	if !ok {
		return 0
	}
	h := e.Value.(*packs)
	n := 0
	for i := range cs {
		r := &cs[i]
		was, ok := h.items[r.ID]
		ago := h.count - was.pack + 1
		if !ok || !cs[i].Kept() || was.position != r.Position || ago > s.packs || r.Kind == schemas.KindTool {
			continue
		}
		text := r.Content.Text()
		if len(text) <= shortEnough {
			continue
		}
		r.Replace(abbreviateText(text, ago))
		r.Abbreviated = true
		n++
	}
	return n
}

// Last returns what the session's last pack showed, in its order; nil when the next was not
// to keep to it. It MUST NOT be changed.
func (s *History) Last(sc scope.Scope, name string) []candidate.Version {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.known[keyOf(sc, name)]
	if !ok {
		return nil
	}
	return e.Value.(*packs).last
}

// SessionPlaces returns the candidates that the versions are, −1 for one that is none or has changed.
func SessionPlaces(last []candidate.Version, cs []candidate.Candidate) []int {
	if len(last) == 0 {
		return nil
	}
	at := make(map[candidate.Version]int, len(cs))
	for i := range cs {
		at[candidate.Version{ID: cs[i].ID, Position: cs[i].Position}] = i
	}
	out := make([]int, len(last))
	for n, v := range last {
		i, ok := at[v]
		if !ok {
			i = -1
		}
		out[n] = i
	}
	return out
}

// abbreviateText is the line that stands for a text that was shown.
func abbreviateText(text string, ago int) string {
	packs := " packs ago) "
	if ago == 1 {
		packs = " pack ago) "
	}
	line := strings.Join(strings.Fields(text[:min(len(text), 4*firstWords)]), " ")
	if len(line) > firstWords {
		end := firstWords
		for end > 0 && !utf8.RuneStart(line[end]) {
			end--
		}
		if space := strings.LastIndexByte(line[:end], ' '); space > firstWords/2 {
			end = space
		}
		line = line[:end]
	}
	return "(shown " + strconv.Itoa(ago) + packs + strings.ToValidUTF8(line, "") + "…"
}

// Add notes the pack that the session was given: the candidates at the indexes shown.
// A reference does not count, so an item comes back at full length in time. keep says
// that the next pack is to keep to its order.
func (s *History) Add(sc scope.Scope, name string, cs []candidate.Candidate, shown []int, keep bool) {
	if name == "" || s.packs < 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.openSession(keyOf(sc, name))
	h.count++
	h.last = nil
	if keep {
		h.last = make([]candidate.Version, len(shown))
		for n, at := range shown {
			h.last[n] = candidate.Version{ID: cs[at].ID, Position: cs[at].Position}
		}
	}
	for _, at := range shown {
		if r := &cs[at]; !r.Abbreviated && r.Extract == nil {
			h.items[r.ID] = shownAt{h.count, r.Position}
		}
	}
	for id, was := range h.items {
		if h.count-was.pack >= s.packs {
			delete(h.items, id)
		}
	}
}

// openSession returns the session's history and makes it the last used.
func (s *History) openSession(of key) *packs {
	if e, ok := s.known[of]; ok {
		s.recent.MoveToFront(e)
		return e.Value.(*packs)
	}
	if s.recent.Len() >= s.sessions {
		last := s.recent.Back()
		delete(s.known, last.Value.(*packs).of)
		s.recent.Remove(last)
	}
	h := &packs{of: of, items: map[string]shownAt{}}
	s.known[of] = s.recent.PushFront(h)
	return h
}
