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

// RepeatConfig of a Shown. The zero RepeatConfig works.
type RepeatConfig struct {
	Packs    int // of a session, within which an item is not shown again; default 8, negative: none
	Sessions int // that are remembered, the longest unused forgotten first; default 4096
}

const (
	defaultPacks    = 8
	defaultSessions = 4096
	shortEnough     = 96 // bytes of a text that is shown again as it is
	firstWords      = 56 // bytes of a text that a reference shows at most
)

// Shown remembers which items the last packs of a session showed at full length. It
// keeps ids and log positions, never content, in memory: another process, or this one
// after a restart, shows an item once more. An item that has changed since is new. It
// is safe for concurrent use.
type Shown struct {
	packs    int
	sessions int

	mu     sync.Mutex
	known  map[session]*list.Element
	recent *list.List // of *history, the last used first
}

// session is whose packs are remembered together.
type session struct{ tenant, name, principal string }

// history is what a session was shown: the number of its packs, and by item the pack
// that last showed it and the position it had then.
type history struct {
	of    session
	packs int
	items map[string]showing
	last  []Version // the items of the last pack, where it is to be kept to
}

// Version is an item as it was at a log position.
type Version struct {
	ID       string
	Position int64
}

type showing struct {
	pack     int
	position int64
}

// NewShown returns a Shown that has seen nothing.
func NewShown(cfg RepeatConfig) *Shown {
	s := &Shown{packs: cfg.Packs, sessions: cfg.Sessions, known: map[session]*list.Element{}, recent: list.New()}
	if s.packs == 0 {
		s.packs = defaultPacks
	}
	if s.sessions <= 0 {
		s.sessions = defaultSessions
	}
	return s
}

func sessionOf(sc scope.Scope, name string) session {
	return session{sc.Tenant(), name, sc.Principal().ID}
}

// Refer shortens the kept candidates that the session was shown within its last packs:
// their content becomes a line that says how many packs ago, and their first words.
// Tools, whose signatures a model calls by, and short texts stay as they are. It
// returns how many it shortened, 0 for a request without a session.
func (s *Shown) Refer(sc scope.Scope, name string, cs []candidate.Candidate) int {
	if name == "" || s.packs < 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.known[sessionOf(sc, name)]
	if !ok {
		return 0
	}
	h := e.Value.(*history)
	n := 0
	for i := range cs {
		r := &cs[i].Record
		was, ok := h.items[r.ID]
		ago := h.packs - was.pack + 1
		if !ok || !cs[i].Kept() || was.position != r.Position || ago > s.packs || r.Kind == schemas.KindTool {
			continue
		}
		text := r.Content.Text()
		if len(text) <= shortEnough {
			continue
		}
		r.Content, r.Tokens, r.Summary = schemas.TextContent(reminder(text, ago)), 0, nil
		cs[i].Referred = true
		n++
	}
	return n
}

// Last returns what the session's last pack showed, in its order; nil when the next was not
// to keep to it. It MUST NOT be changed.
func (s *Shown) Last(sc scope.Scope, name string) []Version {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.known[sessionOf(sc, name)]
	if !ok {
		return nil
	}
	return e.Value.(*history).last
}

// Places returns the candidates that the versions are, −1 for one that is none or has changed.
func Places(last []Version, cs []candidate.Candidate) []int {
	if len(last) == 0 {
		return nil
	}
	at := make(map[Version]int, len(cs))
	for i := range cs {
		at[Version{cs[i].Record.ID, cs[i].Record.Position}] = i
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

// reminder is the line that stands for a text that was shown.
func reminder(text string, ago int) string {
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
// A reference counts as no showing, so an item comes back at full length in time. keep says
// that the next pack is to keep to its order.
func (s *Shown) Add(sc scope.Scope, name string, cs []candidate.Candidate, shown []int, keep bool) {
	if name == "" || s.packs < 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.history(sessionOf(sc, name))
	h.packs++
	h.last = nil
	if keep {
		h.last = make([]Version, len(shown))
		for n, at := range shown {
			h.last[n] = Version{cs[at].Record.ID, cs[at].Record.Position}
		}
	}
	for _, at := range shown {
		if r := &cs[at].Record; !cs[at].Referred && cs[at].Extract == nil {
			h.items[r.ID] = showing{h.packs, r.Position}
		}
	}
	for id, was := range h.items {
		if h.packs-was.pack >= s.packs {
			delete(h.items, id)
		}
	}
}

// history returns the session's history and makes it the last used.
func (s *Shown) history(of session) *history {
	if e, ok := s.known[of]; ok {
		s.recent.MoveToFront(e)
		return e.Value.(*history)
	}
	if s.recent.Len() >= s.sessions {
		last := s.recent.Back()
		delete(s.known, last.Value.(*history).of)
		s.recent.Remove(last)
	}
	h := &history{of: of, items: map[string]showing{}}
	s.known[of] = s.recent.PushFront(h)
	return h
}
