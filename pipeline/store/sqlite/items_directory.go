package sqlite

import (
	"math"
	"slices"
	"sort"
	"time"

	"satchel/pipeline/store/internal/columns"
	"satchel/pipeline/store/items"
)

// none marks an item without a session or speaker.
const none = math.MaxUint32

// Flags of an item in a directory.
const (
	flagLive = 1 << iota
	flagUser
)

// directory holds of every item of a tenant what can be asked about many at once, in
// arrays by ordinal. Ordinals ascend with Metadata.First.
type directory struct {
	upTo    int64 // the checkpoint it is at
	ids     *columns.IDs
	facets  *columns.Dict
	profile []uint32
	session []uint32
	seq     []int64
	created []int64 // Unix microseconds
	terms   []uint32
	speaker []uint32
	flags   []uint8
	usage   []usage

	appended, summed int // bytes of the rows of accesses, by what they are

	sessions *columns.IDs
	members  [][]uint32 // by session: ordinals by (seq, ordinal)
	loose    []uint32   // ordinals without a session, ascending
	newest   []int64    // by block of ordinals: no created in it is greater
	speakers speakers

	live, users, turns int
	first, last        int64 // least and greatest created
	spanStale          bool  // first or last may have been removed
}

func newDirectory(n int) *directory {
	return &directory{
		ids: columns.NewIDs(n), facets: columns.NewDict(), sessions: columns.NewIDs(0),
		profile: make([]uint32, 0, n), session: make([]uint32, 0, n), seq: make([]int64, 0, n),
		created: make([]int64, 0, n), terms: make([]uint32, 0, n), speaker: make([]uint32, 0, n), flags: make([]uint8, 0, n), usage: make([]usage, 0, n),
		speakers: speakers{names: columns.NewIDs(0)},
		first:    math.MaxInt64, last: math.MinInt64,
	}
}

// Bytes returns about what memory the directory holds, 0 of a tenant of which there is nothing.
func (d *directory) Bytes() int {
	if d.upTo == 0 {
		return 0
	}
	return d.ids.Bytes() + d.facets.Bytes() + d.sessions.Bytes() + d.speakers.names.Bytes() + 8*cap(d.speakers.count) +
		33*cap(d.seq) + 24*cap(d.usage) + 5*d.turns + 24*cap(d.members) + 4*cap(d.loose) + 8*cap(d.newest) + 1024
}

// profileOf returns the number of encoded facets; codes remembers those seen.
func (d *directory) profileOf(codes map[string]uint32, code, session string) (uint32, error) {
	key := code + session
	p, ok := codes[key]
	if !ok {
		f, err := items.DecodeFacets(code, session)
		if err != nil {
			return 0, err
		}
		p = d.facets.Intern(f)
		codes[key] = p
	}
	return p, nil
}

// putDirectoryItem adds an item, or replaces what is known of it.
func (d *directory) putDirectoryItem(id string, h *items.Metadata, profile uint32) {
	ord, isNew := d.ids.Intern(id)
	if ord == columns.NoID {
		return
	}
	if isNew {
		d.profile = append(d.profile, 0)
		d.session = append(d.session, none)
		d.seq = append(d.seq, 0)
		d.created = append(d.created, 0)
		d.terms = append(d.terms, 0)
		d.speaker, d.flags, d.usage = append(d.speaker, none), append(d.flags, 0), append(d.usage, newUsage(h))
		if int(ord)/blockSize == len(d.newest) {
			d.newest = append(d.newest, math.MinInt64)
		}
	} else {
		d.leaveSession(ord)
	}
	d.profile[ord] = profile
	d.seq[ord] = h.Seq
	d.terms[ord] = uint32(min(h.Terms, math.MaxUint32))
	d.created[ord] = h.Created.UnixMicro()
	d.flags[ord] = flagLive
	if h.Role == "user" || h.Speaker == "user" {
		d.flags[ord] |= flagUser
		d.users++
	}
	d.session[ord] = none
	d.speaker[ord] = none
	if h.Session != "" {
		d.joinSession(ord, h.Session)
		d.turns++
	} else {
		at, _ := slices.BinarySearch(d.loose, ord)
		d.loose = slices.Insert(d.loose, at, ord)
	}
	if h.Speaker != "" {
		d.speaker[ord] = d.speakers.addSpeaker(h.Speaker, ord)
	}
	d.live++
	d.newest[ord/blockSize] = max(d.newest[ord/blockSize], d.created[ord])
	d.first = min(d.first, d.created[ord])
	d.last = max(d.last, d.created[ord])
}

// removeItem forgets an item.
func (d *directory) removeItem(id string) {
	if ord, ok := d.ids.Delete(id); ok {
		d.leaveSession(ord)
	}
}

// leaveSession takes an item out of its session and the statistics.
func (d *directory) leaveSession(ord uint32) {
	if d.flags[ord]&flagUser != 0 {
		d.users--
	}
	if s := d.session[ord]; s != none {
		i := d.findPlace(s, ord)
		d.members[s] = append(d.members[s][:i], d.members[s][i+1:]...)
		d.turns--
	} else if at, ok := slices.BinarySearch(d.loose, ord); ok {
		d.loose = slices.Delete(d.loose, at, at+1)
	}
	if d.created[ord] == d.first || d.created[ord] == d.last {
		d.spanStale = true
	}
	speaker := d.speaker[ord]
	d.speaker[ord] = none
	d.flags[ord] = 0
	if speaker != none {
		d.speakers.removeSpeakerItem(speaker, ord, d.speaker)
	}
	d.live--
}

// joinSession puts an item into its session, in order.
func (d *directory) joinSession(ord uint32, session string) {
	s, isNew := d.sessions.Intern(session)
	if isNew {
		d.members = append(d.members, nil)
	}
	d.session[ord] = s
	list := append(d.members[s], ord)
	if n := len(list); n > 1 && d.isBefore(ord, list[n-2]) {
		i := d.findPlace(s, ord)
		copy(list[i+1:], list[i:n-1])
		list[i] = ord
	}
	d.members[s] = list
}

// findPlace returns where ord stands, or would stand, in session s.
func (d *directory) findPlace(s, ord uint32) int {
	list := d.members[s]
	return sort.Search(len(list), func(i int) bool { return !d.isBefore(list[i], ord) })
}

func (d *directory) isBefore(a, b uint32) bool {
	if d.seq[a] != d.seq[b] {
		return d.seq[a] < d.seq[b]
	}
	return a < b
}

func (d *directory) findNeighbours(ids []string, radius int) map[string][]items.Neighbour {
	out := make(map[string][]items.Neighbour, len(ids))
	all := make([]items.Neighbour, 0, 2*radius*len(ids))
	ends := make([]int, 0, 2*radius*len(ids))
	text := make([]byte, 0, 36*2*radius*len(ids))
	counts := make([]int, len(ids))
	for n, id := range ids {
		ord, ok := d.ids.Lookup(id)
		if !ok || d.session[ord] == none {
			continue
		}
		s := d.session[ord]
		list := d.members[s]
		at := d.findPlace(s, ord)
		for i := max(0, at-radius); i <= min(len(list)-1, at+radius); i++ {
			if i != at {
				text = d.ids.AppendID(text, list[i])
				ends = append(ends, len(text))
				all = append(all, items.Neighbour{Offset: i - at, Terms: int(d.terms[list[i]])})
				counts[n]++
			}
		}
	}
	names := string(text)
	start := 0
	for i := range all {
		all[i].ID = names[start:ends[i]]
		start = ends[i]
	}
	for n, id := range ids {
		if k := counts[n]; k > 0 {
			out[id] = all[:k:k]
			all = all[k:]
		}
	}
	return out
}

func (d *directory) summarizeItems() items.Stats {
	s := items.Stats{Items: d.live, UserTurns: d.users, Turns: d.turns, Speakers: d.speakers.listSpeakers()}
	if d.live > 0 {
		s.FirstCreated, s.LastCreated = time.UnixMicro(d.first).UTC(), time.UnixMicro(d.last).UTC()
	}
	return s
}

// refreshDirectory brings what put and remove left stale up to date.
func (d *directory) refreshDirectory() {
	d.speakers.refreshSpeakers()
	if !d.spanStale {
		return
	}
	d.spanStale = false
	d.first = math.MaxInt64
	d.last = math.MinInt64
	for ord, c := range d.created {
		if d.flags[ord]&flagLive != 0 {
			d.first = min(d.first, c)
			d.last = max(d.last, c)
		}
	}
}
