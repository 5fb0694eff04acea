package rank

import (
	"math"

	"satchel/pipeline/selection/retrieve"
	"satchel/schemas"
)

// estimateCosines gives the items that have no vector of the encoder yet what their cosine by the table lets expect.
func (p *Pool) estimateCosines() {
	encoder := p.findChannel(retrieve.NameEncoder)
	table := p.findChannel(retrieve.NameVector)
	if encoder == nil {
		return
	}
	for i := range p.ids {
		if !math.IsNaN(encoder.raw[i]) {
			continue
		}
		encoder.raw[i] = encoder.found.Mean
		p.lacking[i] = true
		if table != nil {
			encoder.raw[i] += byTable * repairDeviation(encoder.found.SD) * (table.raw[i] - table.found.Mean) / repairDeviation(table.found.SD)
		}
	}
}

// countUnencoded counts those of the places whose items have no vector of the encoder yet. One that the principal sees otherwise
// than the index holds it never has one of what it sees, and one without text never has any.
func (p *Pool) countUnencoded(at []int32, own []bool) (n int) {
	for _, i := range at {
		if p.lacking[i] && !own[i] && schemas.SearchText(&p.items[i].MemoryItem) != "" {
			n++
		}
	}
	return n
}
