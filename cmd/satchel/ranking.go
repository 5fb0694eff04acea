package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml"

	"satchel/pipeline"
	"satchel/pipeline/selection"
)

// rankingFile is the file of H4R_PROFILES.
type rankingFile struct {
	Profiles map[string]struct {
		Base    string             `yaml:"base"` // profile whose weights it changes; default "default"
		Weights map[string]float64 `yaml:"weights"`
		Lambda  *float64           `yaml:"recency_decay_lambda"`
	} `yaml:"profiles"`
	Tenants map[string]string `yaml:"tenants"` // tenant → profile
}

// ranking is how requests are ranked and what they are given, by the settings. Notes
// say which weights were rescaled.
type ranking struct {
	profiles []selection.Profile
	tenants  map[string]string
	notes    []string
}

// rankings reads the settings of H4R.
func (a *app) rankings() (ranking, error) {
	r := ranking{}
	known := map[string]selection.Profile{}
	for _, p := range selection.Profiles() {
		known[p.Name] = p
	}
	if err := r.read(a.Profiles, known); err != nil {
		return r, err
	}
	over, err := a.override()
	if err != nil {
		return r, err
	}
	base, ok := known[a.Profile]
	if !ok {
		return r, usagef("H4R_PROFILE: %v: %q, there are %v", selection.ErrProfile, a.Profile, slices.Sorted(maps.Keys(known)))
	}
	p, note, err := base.With(over)
	if err != nil {
		return r, usagef("H4R_WEIGHT_*: %v", err)
	}
	if note != "" {
		r.notes = append(r.notes, "H4R_WEIGHT_*: "+note)
	}
	known[a.Profile] = p
	for _, name := range slices.Sorted(maps.Keys(known)) {
		r.profiles = append(r.profiles, known[name])
	}
	for _, tenant := range slices.Sorted(maps.Keys(r.tenants)) {
		if _, ok := known[r.tenants[tenant]]; !ok {
			return r, usagef("H4R_PROFILES: tenant %q: %v: %q", tenant, selection.ErrProfile, r.tenants[tenant])
		}
	}
	return r, nil
}

// read adds the profiles of a file to the known ones.
func (r *ranking) read(path string, known map[string]selection.Profile) error {
	if path == "" {
		return nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return usagef("read ranking profiles: %v", err)
	}
	var f rankingFile
	if err := yaml.UnmarshalWithOptions(raw, &f, yaml.Strict()); err != nil {
		return usagef("read ranking profiles %s: %v", path, err)
	}
	r.tenants = f.Tenants
	builtIn := maps.Clone(known)
	for _, name := range slices.Sorted(maps.Keys(f.Profiles)) {
		spec := f.Profiles[name]
		if spec.Base == "" {
			spec.Base = selection.ProfileDefault
		}
		base, ok := builtIn[spec.Base]
		if !ok {
			return usagef("ranking profiles %s: profile %q: base %q is none of %v", path, name, spec.Base, slices.Sorted(maps.Keys(builtIn)))
		}
		p, note, err := base.With(selection.Override{Weights: spec.Weights, Lambda: spec.Lambda})
		if err != nil {
			return usagef("ranking profiles %s: profile %q: %v", path, name, err)
		}
		if note != "" {
			r.notes = append(r.notes, fmt.Sprintf("profile %q: %s", name, note))
		}
		p.Name = name
		known[name] = p
	}
	return nil
}

// override is what H4R_WEIGHT_* and H4R_RECENCY_DECAY_LAMBDA say.
func (a *app) override() (selection.Override, error) {
	o := selection.Override{Weights: map[string]float64{}}
	for _, w := range []struct{ env, signal, text string }{
		{"H4R_WEIGHT_RECENCY", selection.SignalRecency, a.WeightRecency},
		{"H4R_WEIGHT_FREQUENCY", selection.SignalFrequency, a.WeightFrequency},
		{"H4R_WEIGHT_IMPORTANCE", selection.SignalImportance, a.WeightImportance},
		{"H4R_WEIGHT_CAUSALITY", selection.SignalCausality, a.WeightCausality},
		{"H4R_WEIGHT_NOVELTY", selection.SignalFamiliarity, a.WeightNovelty},
		{"H4R_WEIGHT_TRUST", selection.SignalTrust, a.WeightTrust},
		{"H4R_WEIGHT_SENSITIVITY", selection.SignalOpenness, a.WeightSensitivity},
		{"H4R_WEIGHT_RELEVANCE", selection.SignalRelevance, a.WeightRelevance},
		{"H4R_RECENCY_DECAY_LAMBDA", "", a.Lambda},
	} {
		if w.text == "" {
			continue
		}
		v, err := strconv.ParseFloat(w.text, 64)
		switch {
		case err != nil:
			return o, usagef("%s %q is not a number", w.env, w.text)
		case w.signal == "":
			o.Lambda = &v
		default:
			o.Weights[w.signal] = v
		}
	}
	return o, nil
}

// rank sets how an engine ranks and what it gives.
func (a *app) rank(cfg *pipeline.Config) ([]string, error) {
	r, err := a.rankings()
	if err != nil {
		return nil, err
	}
	cfg.Profiles, cfg.Tenants, cfg.Standard, cfg.MinScore = r.profiles, r.tenants, a.Profile, a.MinScore
	cfg.Slice = pipeline.Budget{Bytes: a.MaxBytes, Tokens: a.MaxTokens, Items: a.MaxItems}
	if cfg.TLDR, cfg.Graphs = a.Sentences, a.Graph; cfg.TLDR == 0 {
		cfg.TLDR = -1 // to the engine 0 is its default
	}
	return r.notes, nil
}
