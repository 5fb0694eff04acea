package selection

import (
	"errors"
	"fmt"
	"math"

	"satchel/schemas"
)

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

// The names of the H4R signals, as results show them.
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

// Profile weighs the eight signals into the final score. The weights sum to 1.
type Profile struct {
	Name        string
	Relevance   float64
	Recency     float64
	Frequency   float64
	Importance  float64
	Causality   float64
	Familiarity float64
	Trust       float64
	Openness    float64
	Lambda      float64 // recency decay per day
}

// ErrProfile is returned for a profile that is not there.
var ErrProfile = errors.New("no such ranking profile")

// Profiles returns the built-in profiles: "default" ranks by relevance alone, "seed"
// has the weights of the H4R document, where relevance has none.
func Profiles() []Profile {
	return []Profile{
		{Name: "default", Relevance: 1, Lambda: .1},
		{
			Name: "seed", Recency: .25, Frequency: .15, Importance: .20, Causality: .15,
			Familiarity: .10, Trust: .10, Openness: .05, Lambda: .1,
		},
	}
}

// Validate says what the weights sum to when that is not 1.
func (p *Profile) Validate() error {
	sum := p.Relevance + p.Recency + p.Frequency + p.Importance + p.Causality + p.Familiarity + p.Trust + p.Openness
	if math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("profile %q: weights sum to %.4g, not to 1", p.Name, sum)
	}
	if p.Lambda < 0 {
		return fmt.Errorf("profile %q: decay must not be negative", p.Name)
	}
	return nil
}

func (p *Profile) score(v *signals) float64 {
	return p.Relevance*v.relevance + p.Recency*v.recency + p.Frequency*v.frequency + p.Importance*v.importance +
		p.Causality*v.causality + p.Familiarity*v.familiarity + p.Trust*v.trust + p.Openness*v.openness
}

// byRelevance reports whether the profile's order is the order of the fused score.
func (p *Profile) byRelevance() bool { return p.Relevance == 1 }

func (s *Selector) profile(name string) (*Profile, error) {
	if name == "" {
		name = "default"
	}
	for i := range s.profiles {
		if s.profiles[i].Name == name {
			return &s.profiles[i], nil
		}
	}
	return nil, &schemas.Error{
		Code: schemas.CodeValidation, Field: "/payload/profile",
		Message: fmt.Sprintf("%v: %q", ErrProfile, name), Available: s.profileNames(),
	}
}

func (s *Selector) profileNames() []string {
	names := make([]string, len(s.profiles))
	for i := range s.profiles {
		names[i] = s.profiles[i].Name
	}
	return names
}
