package rank

import "time"

// fewestPairs is the number of neighbouring turns it takes to judge by.
const fewestPairs = 3

// oneTalk is the longest pause within a conversation.
const oneTalk = 6 * time.Hour

// takesTurns reports whether those who speak in the rows take turns, as in a
// conversation: then what stands next to a turn says something about it. Where one
// voice goes on (a commit log, a list of notes) the next item is about something else.
// What was said hours later is no answer to it either. Too few turns count as a conversation.
func (p *Pool) takesTurns(rows [][]place) bool {
	changes := 0
	pairs := 0
	for _, row := range rows {
		for i := 1; i < len(row); i++ {
			a := row[i-1]
			b := row[i]
			if b.offset != a.offset+1 || a.offset != 0 && b.offset != 0 {
				continue
			}
			left := p.items[a.at]
			right := p.items[b.at]
			if left == nil || right == nil {
				continue
			}
			pairs++
			pause := right.CreatedAt.Sub(left.CreatedAt).Abs()
			if (left.Speaker != right.Speaker || left.Role != right.Role) && pause <= oneTalk {
				changes++
			}
		}
	}
	return pairs < fewestPairs || 2*changes > pairs
}
