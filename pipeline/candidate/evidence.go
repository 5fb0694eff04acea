package candidate

import "satchel/schemas"

// Channels are what the retrievers say of an item, each by its name.
type Channels []Channel

// Channel is what one of them says.
type Channel struct {
	Name string
	schemas.Channel
}

// Of returns what the named retriever says, and whether it says anything.
func (cs Channels) Of(name string) (schemas.Channel, bool) {
	for i := range cs {
		if cs[i].Name == name {
			return cs[i].Channel, true
		}
	}
	return schemas.Channel{}, false
}

// Map returns the channels as evidence shows them, nil for none.
func (cs Channels) Map() map[string]schemas.Channel {
	if len(cs) == 0 {
		return nil
	}
	out := make(map[string]schemas.Channel, len(cs))
	for i := range cs {
		out[cs[i].Name] = cs[i].Channel
	}
	return out
}

// The names of the H4R signals, as results show them and profiles weigh them.
const (
	SignalRelevance   = "relevance"
	SignalRecency     = "recency"
	SignalFrequency   = "frequency"
	SignalImportance  = "importance"
	SignalCausality   = "causality"
	SignalFamiliarity = "novelty_inverse" // 1 − novelty
	SignalTrust       = "trust"
	SignalOpenness    = "sensitivity_inverse" // 1 − sensitivity
)

// SignalNames returns the names of the eight signals. Relevance comes last: the seven
// before it are those the H4R document weighs.
func SignalNames() []string {
	return []string{
		SignalRecency, SignalFrequency, SignalImportance, SignalCausality, SignalFamiliarity, SignalTrust, SignalOpenness,
		SignalRelevance,
	}
}

// Signals are the eight H4R signals of an item, each in 0–1.
type Signals struct {
	Relevance, Recency, Frequency, Importance, Causality, Familiarity, Trust, Openness float64
	Evidence                                                                           Evidence
}

// Evidence is what relevance is made of. It depends on the item, its neighbours in the
// conversation and the question, and on nothing else that is stored.
type Evidence struct {
	Words     float64 // share of the weight of the question's words that the item's words come close to
	NearWords float64 // Words of the neighbour that has the most
	Cosine    float64 // of the item's vector and the question's
	Encoded   float64 // Cosine by the sentence encoder
	Dated     float64 // how near it was recorded to the time that the question names
	ByWords   bool    // words were compared
	ByMeaning bool    // vectors were compared
	ByEncoder bool    // those of the sentence encoder, too
	Bears     float64 // how much all this says that the item bears on the question, whatever else was found; floors read it
}

// Bears is how much the evidence says that the item bears on the question, 0 where nothing was measured.
func (v *Signals) Bears() float64 {
	if v == nil {
		return 0
	}
	return v.Evidence.Bears
}

// Map returns the signals by name, nil where none were measured.
func (v *Signals) Map() map[string]float64 {
	if v == nil {
		return nil
	}
	return map[string]float64{
		SignalRelevance: v.Relevance, SignalRecency: v.Recency, SignalFrequency: v.Frequency, SignalImportance: v.Importance,
		SignalCausality: v.Causality, SignalFamiliarity: v.Familiarity, SignalTrust: v.Trust, SignalOpenness: v.Openness,
	}
}
