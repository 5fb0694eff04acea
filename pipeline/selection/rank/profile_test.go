package rank_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection/rank"
)

func profileNamed(t testing.TB, name string) rank.Profile {
	t.Helper()
	for _, p := range rank.Profiles() {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("there is no profile %q", name)
	return rank.Profile{}
}

func TestBuiltInProfilesHold(t *testing.T) {
	t.Parallel()
	for _, p := range rank.Profiles() {
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
	}
	seed := profileNamed(t, "seed")
	if seed.Recency != .25 || seed.Relevance != 0 || seed.Lambda != .1 {
		t.Errorf("seed is %+v", seed)
	}
}

func TestOverrides(t *testing.T) {
	t.Parallel()
	seven := map[string]float64{"recency": .4, "frequency": .1, "importance": .1, "causality": .1, "novelty_inverse": .1, "trust": .1, "sensitivity_inverse": .1}
	with := func(m map[string]float64, name string, w float64) map[string]float64 {
		out := map[string]float64{name: w}
		for k, v := range m {
			if _, ok := out[k]; !ok {
				out[k] = v
			}
		}
		return out
	}
	lambda, negative := .5, -1.0
	for name, tc := range map[string]struct {
		base string
		over rank.Override
		want map[string]float64 // some of the weights
		note string
		err  string
	}{
		"nothing":               {"seed", rank.Override{}, map[string]float64{"recency": .25}, "", ""},
		"lambda alone":          {"seed", rank.Override{Lambda: &lambda}, map[string]float64{"recency": .25}, "", ""},
		"a negative lambda":     {"seed", rank.Override{Lambda: &negative}, nil, "", "-1"},
		"the seven":             {"default", rank.Override{Weights: seven}, map[string]float64{"recency": .4, "relevance": 0}, "", ""},
		"the seven, too much":   {"default", rank.Override{Weights: with(seven, "recency", .5)}, nil, "", "sum to 1.1, not to 1"},
		"all eight":             {"default", rank.Override{Weights: with(with(seven, "recency", .1), "relevance", .3)}, map[string]float64{"relevance": .3}, "", ""},
		"all eight, too little": {"default", rank.Override{Weights: with(with(seven, "recency", .1), "relevance", .2)}, nil, "", "sum to 0.9, not to 1"},
		"a part":                {"seed", rank.Override{Weights: map[string]float64{"recency": .5}}, map[string]float64{"recency": .5, "importance": .2 * .5 / .75}, "rescaled", ""},
		"a part that is all":    {"seed", rank.Override{Weights: map[string]float64{"recency": 1}}, map[string]float64{"recency": 1, "importance": 0}, "rescaled", ""},
		"a part of default":     {"default", rank.Override{Weights: map[string]float64{"recency": .3}}, map[string]float64{"recency": .3, "relevance": .7}, "relevance 1 → 0.7", ""},
		"a part over 1":         {"seed", rank.Override{Weights: map[string]float64{"recency": .7, "trust": .6}}, nil, "", "sum to 1.3, more than 1"},
		"nothing to rescale":    {"default", rank.Override{Weights: map[string]float64{"relevance": .5}}, nil, "", "sum to 0.5, not to 1"},
		"no signal":             {"seed", rank.Override{Weights: map[string]float64{"recncy": .5}}, nil, "", `"recncy"`},
		"negative":              {"seed", rank.Override{Weights: map[string]float64{"recency": -.5}}, nil, "", "-0.5"},
		"not a number":          {"seed", rank.Override{Weights: map[string]float64{"recency": math.NaN()}}, nil, "", "NaN"},
	} {
		p, note, err := profileNamed(t, tc.base).With(tc.over)
		if tc.err != "" {
			if !errors.Is(err, rank.ErrWeights) || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: error is %v, want one with %q", name, err, tc.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := p.Weights()
		for signal, w := range tc.want {
			if math.Abs(got[signal]-w) > 1e-9 {
				t.Errorf("%s: %s is %v, want %v", name, signal, got[signal], w)
			}
		}
		if (tc.note == "") != (note == "") || !strings.Contains(note, tc.note) {
			t.Errorf("%s: note is %q, want one with %q", name, note, tc.note)
		}
	}
}

// Whatever is overridden, the result sums to 1 and holds what was asked for, or there
// is an error and nothing else.
func TestOverridesSumToOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		base := rapid.SampledFrom(rank.Profiles()).Draw(r, "base")
		weights := rapid.MapOf(rapid.SampledFrom(candidate.SignalNames()), rapid.Float64Range(0, 1)).Draw(r, "weights")
		if rapid.Bool().Draw(r, "normalised") {
			sum := 0.0
			for _, w := range weights {
				sum += w
			}
			for k := range weights {
				if sum > 0 {
					weights[k] /= sum
				}
			}
		}
		p, note, err := base.With(rank.Override{Weights: weights})
		if err != nil {
			if !errors.Is(err, rank.ErrWeights) || note != "" {
				r.Fatalf("error is %v, note %q", err, note)
			}
			return
		}
		if err := p.Validate(); err != nil {
			r.Fatal(err)
		}
		for name, w := range weights {
			if got := p.Weights()[name]; got != w {
				r.Fatalf("%s is %v, asked for %v", name, got, w)
			}
		}
	})
}
