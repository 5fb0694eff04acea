package rank

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/schemas"
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

// The built-in profiles.
const (
	ProfileDefault = "default" // relevance alone
	ProfileSeed    = "seed"    // the weights of the H4R document, where relevance has none
)

// Profiles returns the built-in profiles. "default" ranks by relevance alone: on
// labelled data every other signal costs recall. "seed" has the weights of the H4R
// document. The others mix relevance with the signal they are named after.
func Profiles() []Profile {
	return []Profile{
		{Name: ProfileDefault, Relevance: 1, Lambda: .1},
		{
			Name: ProfileSeed, Recency: .25, Frequency: .15, Importance: .20, Causality: .15,
			Familiarity: .10, Trust: .10, Openness: .05, Lambda: .1,
		},
		{Name: "balanced", Relevance: .7, Recency: .1, Importance: .1, Trust: .1, Lambda: .02},
		{Name: "recent", Relevance: .6, Recency: .4, Lambda: .1},
		{Name: "trusted", Relevance: .6, Trust: .3, Openness: .1, Lambda: .1},
		{Name: "causal", Relevance: .6, Causality: .4, Lambda: .1},
	}
}

// The errors of profiles and weights.
var (
	ErrProfile = errors.New("no such ranking profile")
	ErrWeights = errors.New("weights do not hold")
)

// sumTolerance is by how much weights may miss 1, which decimals add up to in float64.
const sumTolerance = 1e-6

// Validate says what the weights sum to when that is not 1. Its error is ErrWeights.
func (p *Profile) Validate() error {
	sum := 0.0
	for name, w := range p.Weights() {
		if !inUnit(w) {
			return fmt.Errorf("profile %q: weight %s is %v, not within 0 and 1: %w", p.Name, name, w, ErrWeights)
		}
		sum += w
	}
	if math.Abs(sum-1) > sumTolerance {
		return fmt.Errorf("profile %q: weights sum to %.4g, not to 1: %w", p.Name, sum, ErrWeights)
	}
	if !(p.Lambda >= 0) || math.IsInf(p.Lambda, 0) {
		return fmt.Errorf("profile %q: recency decay is %v, not 0 or more per day: %w", p.Name, p.Lambda, ErrWeights)
	}
	return nil
}

func inUnit(w float64) bool { return w >= 0 && w <= 1 }

// Weights returns the weights by signal, all eight.
func (p *Profile) Weights() map[string]float64 {
	out := make(map[string]float64, 8)
	for _, name := range candidate.SignalNames() {
		out[name] = *p.findWeight(name)
	}
	return out
}

// findWeight returns the place of a signal's weight, nil for a name that is no signal.
func (p *Profile) findWeight(name string) *float64 {
	switch name {
	case candidate.SignalRelevance:
		return &p.Relevance
	case candidate.SignalRecency:
		return &p.Recency
	case candidate.SignalFrequency:
		return &p.Frequency
	case candidate.SignalImportance:
		return &p.Importance
	case candidate.SignalCausality:
		return &p.Causality
	case candidate.SignalFamiliarity:
		return &p.Familiarity
	case candidate.SignalTrust:
		return &p.Trust
	case candidate.SignalOpenness:
		return &p.Openness
	}
	return nil
}

// Override changes weights of a profile. A complete set (all eight, or the seven of the
// H4R document, which gives relevance none) must sum to 1. A part of them leaves what
// is missing to 1 to the others, rescaled in proportion.
type Override struct {
	Weights map[string]float64
	Lambda  *float64 // recency decay per day; nil: the profile's
}

// With returns the profile with the override, and a sentence on what was rescaled, ""
// for nothing. Its errors are *WeightError.
func (p Profile) With(o Override) (Profile, string, error) {
	if o.Lambda != nil {
		p.Lambda = *o.Lambda
		if !(p.Lambda >= 0) || math.IsInf(p.Lambda, 0) {
			return p, "", &WeightError{Lambda: true, What: fmt.Sprintf("is %v, not 0 or more per day", p.Lambda)}
		}
	}
	if len(o.Weights) == 0 {
		return p, "", nil
	}
	given := 0.0
	for _, name := range slices.Sorted(maps.Keys(o.Weights)) {
		w := o.Weights[name]
		if p.findWeight(name) == nil {
			return p, "", &WeightError{Signal: name, What: "is no signal; there are " + strings.Join(candidate.SignalNames(), ", ")}
		}
		if !inUnit(w) {
			return p, "", &WeightError{Signal: name, What: fmt.Sprintf("is %v, not within 0 and 1", w)}
		}
		given += w
	}
	if namesAllSignals(o.Weights) {
		if math.Abs(given-1) > sumTolerance {
			return p, "", &WeightError{What: fmt.Sprintf("weights sum to %.4g, not to 1", given)}
		}
		for _, name := range candidate.SignalNames() {
			*p.findWeight(name) = o.Weights[name]
		}
		return p, "", nil
	}
	return p.rescaleWeights(o.Weights, given)
}

// namesAllSignals reports whether the weights name every signal, or all but relevance.
func namesAllSignals(weights map[string]float64) bool {
	for _, name := range candidate.SignalNames() {
		if _, ok := weights[name]; !ok && name != candidate.SignalRelevance {
			return false
		}
	}
	return true
}

// rescaleWeights sets the weights that were given and shrinks or stretches the others to
// what is left.
func (p Profile) rescaleWeights(weights map[string]float64, given float64) (Profile, string, error) {
	rest := 0.0
	for name, w := range p.Weights() {
		if _, ok := weights[name]; !ok {
			rest += w
		}
	}
	left := 1 - given
	if left < -sumTolerance {
		return p, "", &WeightError{What: fmt.Sprintf("the weights given sum to %.4g, more than 1", given)}
	}
	left = max(0, left)
	if rest == 0 && left > sumTolerance {
		return p, "", &WeightError{What: fmt.Sprintf("the weights given sum to %.4g, not to 1, and profile %q gives the others nothing that could be rescaled", given, p.Name)}
	}
	var said, others []string
	for _, name := range candidate.SignalNames() {
		at := p.findWeight(name)
		if w, ok := weights[name]; ok {
			said = append(said, name+" "+formatNumber(w))
			*at = w
		} else if *at > 0 {
			was := *at
			*at = was * left / rest
			others = append(others, name+" "+formatNumber(was)+" → "+formatNumber(*at))
		}
	}
	if len(others) == 0 {
		return p, "", nil
	}
	return p, strings.Join(said, ", ") + " as given; the others of profile " + strconv.Quote(p.Name) + " rescaled to sum to 1: " +
		strings.Join(others, ", "), nil
}

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// WeightError says which weight of an override does not hold, and why. It is an
// ErrWeights.
type WeightError struct {
	Signal string // "" for the set as a whole
	Lambda bool   // it is the recency decay
	What   string
}

func (e *WeightError) Error() string {
	switch {
	case e.Lambda:
		return "recency decay " + e.What
	case e.Signal != "":
		return "weight " + strconv.Quote(e.Signal) + " " + e.What
	}
	return e.What
}

func (e *WeightError) Unwrap() error { return ErrWeights }

// scoreSignals is Σ weight × signal.
func (p *Profile) scoreSignals(v *candidate.Signals) float64 {
	return p.Relevance*v.Relevance + p.Recency*v.Recency + p.Frequency*v.Frequency + p.Importance*v.Importance +
		p.Causality*v.Causality + p.Familiarity*v.Familiarity + p.Trust*v.Trust + p.Openness*v.Openness
}

// byRelevance reports whether the profile's order is the order of the fused score.
func (p *Profile) byRelevance() bool { return p.Relevance == 1 }

// Profile returns what a query is ranked by: the profile it names, or its tenant's, or
// the default one, with its own weights over it.
func (r *Ranker) Profile(tenant, name string, own Override) (Profile, string, error) {
	if name == "" {
		name = r.tenants[tenant]
	}
	if name == "" {
		name = r.standard
	}
	at := slices.IndexFunc(r.profiles, func(p Profile) bool { return p.Name == name })
	if at < 0 {
		return Profile{}, "", &schemas.Error{
			Code: schemas.CodeValidation, Field: "/payload/profile",
			Message: fmt.Sprintf("%v: %q; there are %s", ErrProfile, name, strings.Join(r.profileNames(), ", ")), Available: r.profileNames(),
		}
	}
	p, note, err := r.profiles[at].With(own)
	var wrong *WeightError
	if errors.As(err, &wrong) {
		field := "/payload/weights"
		switch {
		case wrong.Lambda:
			field = "/payload/recency_decay_lambda"
		case wrong.Signal != "":
			field += "/" + escapePointer(wrong.Signal)
		}
		return p, "", &schemas.Error{Code: schemas.CodeValidation, Field: field, Message: wrong.What, Available: candidate.SignalNames()}
	}
	return p, note, err
}

func (r *Ranker) profileNames() []string {
	names := make([]string, len(r.profiles))
	for i := range r.profiles {
		names[i] = r.profiles[i].Name
	}
	return names
}

// takeProfiles gathers the profiles and checks that each holds and that those named
// are there.
func (r *Ranker) takeProfiles(cfg Config) error {
	r.profiles = slices.Clone(cfg.Profiles)
	r.tenants = cfg.Tenants
	r.standard = cfg.Standard
	for _, p := range Profiles() {
		if !slices.ContainsFunc(r.profiles, func(own Profile) bool { return own.Name == p.Name }) {
			r.profiles = append(r.profiles, p)
		}
	}
	for i := range r.profiles {
		if err := r.profiles[i].Validate(); err != nil {
			return err
		}
	}
	if r.standard == "" {
		r.standard = ProfileDefault
	}
	names := r.profileNames()
	if !slices.Contains(names, r.standard) {
		return fmt.Errorf("%w: %q", ErrProfile, r.standard)
	}
	for _, tenant := range slices.Sorted(maps.Keys(r.tenants)) {
		if !slices.Contains(names, r.tenants[tenant]) {
			return fmt.Errorf("tenant %q: %w: %q", tenant, ErrProfile, r.tenants[tenant])
		}
	}
	return nil
}

// Trace returns what the scores of a pack were made by.
func (p *Profile) Trace() *schemas.RankingTrace {
	t := &schemas.RankingTrace{Profile: p.Name, Weights: map[string]float64{}, Lambda: p.Lambda}
	for name, w := range p.Weights() {
		if w > 0 {
			t.Weights[name] = fourPlaces(w)
		}
	}
	return t
}

func escapePointer(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}
