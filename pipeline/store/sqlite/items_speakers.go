package sqlite

import (
	"cmp"
	"slices"

	"satchel/pipeline/store/internal/columns"
)

// maxSpeakers bounds Stats.Speakers.
const maxSpeakers = 51

// speakers counts who speaks, and remembers each one's first item.
type speakers struct {
	names *columns.IDs
	count []uint32
	start []uint32 // ordinal of the first item
	top   []string // the first maxSpeakers of them
	bound uint32   // ordinal of the last of top
	stale bool     // top must be made again
}

func (s *speakers) addSpeaker(name string, ord uint32) uint32 {
	n, isNew := s.names.Intern(name)
	if isNew {
		s.count = append(s.count, 0)
		s.start = append(s.start, ord)
	}
	if s.count[n] == 0 || ord < s.start[n] {
		s.start[n] = ord
		s.stale = s.stale || len(s.top) < maxSpeakers || ord < s.bound
	}
	s.count[n]++
	return n
}

// removeSpeakerItem takes one of n's items away; of tells everyone's speaker.
func (s *speakers) removeSpeakerItem(n, ord uint32, of []uint32) {
	s.count[n]--
	if s.start[n] != ord {
		return
	}
	s.stale = true
	if s.count[n] > 0 {
		s.start[n] += 1 + uint32(slices.Index(of[ord+1:], n))
	}
}

// listSpeakers returns the speakers in order of first use, at most maxSpeakers.
func (s *speakers) listSpeakers() []string { return slices.Clone(s.top) }

func (s *speakers) refreshSpeakers() {
	if !s.stale {
		return
	}
	var live []uint32
	for n := range s.count {
		if s.count[n] > 0 {
			live = append(live, uint32(n))
		}
	}
	slices.SortFunc(live, func(a, b uint32) int { return cmp.Compare(s.start[a], s.start[b]) })
	s.top = s.top[:0]
	s.stale = false
	for _, n := range live[:min(len(live), maxSpeakers)] {
		s.top = append(s.top, s.names.ID(n))
		s.bound = s.start[n]
	}
}
