package rank

// Weights are the parameters of the fuser. They were measured on conversations,
// tools, code and abstracts together; one set serves all.
type Weights struct {
	Keyword float64 // of z(K(BM25))
	Vector  float64 // of z(K(cosine))
	Words   float64 // of z(K(MaxSim)), the closeness of single words
	Near    float64 // kernel weight of a neighbour one turn away
	Far     float64 // kernel weight of a neighbour two turns away
	Damping float64 // terms above which a turn shares less with its neighbours
	Role    float64 // cue: the user said it
	Speaker float64 // cue: its speaker is named in the query
	Date    float64 // cue: it was said at the time the query names
	When    float64 // cue: it holds a time expression and the query asks when
	Short   float64 // cue: it is itself a short question; negative
}

// DefaultWeights returns the measured weights.
func DefaultWeights() Weights {
	return Weights{
		Keyword: .25, Vector: .30, Words: .20,
		Near: .5, Far: .3, Damping: 40,
		Role: .6, Speaker: .8, Date: 1, When: .8, Short: -.8,
	}
}
