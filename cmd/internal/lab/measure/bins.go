package measure

// Bins are ranked items by their scores, a tenth each.
type Bins [10]struct {
	Items    int
	Score    float64 // the sum of their scores
	Relevant int
}

// calibrated is how many places of a ranking are held against the labels.
const calibrated = 100

func (b *Bins) add(ranked []Ranked, labels Labels) {
	for _, r := range ranked[:min(calibrated, len(ranked))] {
		bin := &b[max(0, min(len(b)-1, int(r.Score*float64(len(b)))))]
		bin.Items++
		bin.Score += r.Score
		if labels[r.ID] > 0 {
			bin.Relevant++
		}
	}
}

func (b *Bins) sum(of *Bins) {
	for i := range b {
		b[i].Items += of[i].Items
		b[i].Score += of[i].Score
		b[i].Relevant += of[i].Relevant
	}
}
