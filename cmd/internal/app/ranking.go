package app

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml"

	"satchel/cmd/internal/config"
	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/op"
	"satchel/pipeline/selection/rank"
)

// rankingFile is the file of H4R_PROFILES.
type rankingFile struct {
	Profiles map[string]struct {
		Base    string             `yaml:"base"` // profile whose weights it changes; default "default"
		Weights map[string]float64 `yaml:"weights"`
		Lambda  *float64           `yaml:"recency_decay_lambda"`
	} `yaml:"profiles"`
	Tenants map[string]string `yaml:"tenants"` // tenant → profile
	Rankers map[string]struct {
		Similarity float64 `yaml:"similarity"`
		Recency    float64 `yaml:"recency"`
		Confidence float64 `yaml:"confidence"`
	} `yaml:"rankers"` // of build and preview
}

// ranking is how requests are ranked and what they are given, by the settings. Notes
// say which weights were rescaled.
type ranking struct {
	Profiles []rank.Profile
	Tenants  map[string]string
	Rankers  []op.Ranker
	Notes    []string
}

// Rankings reads the settings of H4R.
func (a *App) Rankings() (ranking, error) {
	r := ranking{}
	known := map[string]rank.Profile{}
	for _, p := range rank.Profiles() {
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
		return r, config.Usagef("H4R_PROFILE: %v: %q, there are %v", rank.ErrProfile, a.Profile, slices.Sorted(maps.Keys(known)))
	}
	p, note, err := base.With(over)
	if err != nil {
		return r, config.Usagef("H4R_WEIGHT_*: %v", err)
	}
	if note != "" {
		r.Notes = append(r.Notes, "H4R_WEIGHT_*: "+note)
	}
	known[a.Profile] = p
	for _, name := range slices.Sorted(maps.Keys(known)) {
		r.Profiles = append(r.Profiles, known[name])
	}
	for _, tenant := range slices.Sorted(maps.Keys(r.Tenants)) {
		if _, ok := known[r.Tenants[tenant]]; !ok {
			return r, config.Usagef("H4R_PROFILES: tenant %q: %v: %q", tenant, rank.ErrProfile, r.Tenants[tenant])
		}
	}
	return r, nil
}

// read adds the profiles of a file to the known ones.
func (r *ranking) read(path string, known map[string]rank.Profile) error {
	if path == "" {
		return nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return config.Usagef("read ranking profiles: %v", err)
	}
	var f rankingFile
	if err := yaml.UnmarshalWithOptions(raw, &f, yaml.Strict()); err != nil {
		return config.Usagef("read ranking profiles %s: %v", path, err)
	}
	r.Tenants = f.Tenants
	for _, name := range slices.Sorted(maps.Keys(f.Rankers)) {
		w := f.Rankers[name]
		own := op.Ranker{Name: name, Similarity: w.Similarity, Recency: w.Recency, Confidence: w.Confidence}
		if err := own.Validate(); err != nil {
			return config.Usagef("ranking profiles %s: %v", path, err)
		}
		r.Rankers = append(r.Rankers, own)
	}
	builtIn := maps.Clone(known)
	for _, name := range slices.Sorted(maps.Keys(f.Profiles)) {
		spec := f.Profiles[name]
		spec.Base = cmp.Or(spec.Base, rank.ProfileDefault)
		base, ok := builtIn[spec.Base]
		if !ok {
			return config.Usagef("ranking profiles %s: profile %q: base %q is none of %v", path, name, spec.Base, slices.Sorted(maps.Keys(builtIn)))
		}
		p, note, err := base.With(rank.Override{Weights: spec.Weights, Lambda: spec.Lambda})
		if err != nil {
			return config.Usagef("ranking profiles %s: profile %q: %v", path, name, err)
		}
		if note != "" {
			r.Notes = append(r.Notes, fmt.Sprintf("profile %q: %s", name, note))
		}
		p.Name = name
		known[name] = p
	}
	return nil
}

// override is what H4R_WEIGHT_* and H4R_RECENCY_DECAY_LAMBDA say.
func (a *App) override() (rank.Override, error) {
	o := rank.Override{Weights: map[string]float64{}}
	for _, w := range []struct{ env, signal, text string }{
		{"H4R_WEIGHT_RECENCY", candidate.SignalRecency, a.WeightRecency},
		{"H4R_WEIGHT_FREQUENCY", candidate.SignalFrequency, a.WeightFrequency},
		{"H4R_WEIGHT_IMPORTANCE", candidate.SignalImportance, a.WeightImportance},
		{"H4R_WEIGHT_CAUSALITY", candidate.SignalCausality, a.WeightCausality},
		{"H4R_WEIGHT_NOVELTY", candidate.SignalFamiliarity, a.WeightNovelty},
		{"H4R_WEIGHT_TRUST", candidate.SignalTrust, a.WeightTrust},
		{"H4R_WEIGHT_SENSITIVITY", candidate.SignalOpenness, a.WeightSensitivity},
		{"H4R_WEIGHT_RELEVANCE", candidate.SignalRelevance, a.WeightRelevance},
		{"H4R_RECENCY_DECAY_LAMBDA", "", a.Lambda},
	} {
		if w.text == "" {
			continue
		}
		v, err := strconv.ParseFloat(w.text, 64)
		switch {
		case err != nil:
			return o, config.Usagef("%s %q is not a number", w.env, w.text)
		case w.signal == "":
			o.Lambda = &v
		default:
			o.Weights[w.signal] = v
		}
	}
	return o, nil
}

// rank sets how an engine ranks and what it gives.
func (a *App) rank(cfg *op.Config) ([]string, error) {
	r, err := a.Rankings()
	if err != nil {
		return nil, err
	}
	cfg.Profiles = r.Profiles
	cfg.Tenants = r.Tenants
	cfg.Standard = a.Profile
	cfg.MinScore = a.MinScore
	cfg.Rankers = r.Rankers
	cfg.Slice = pipeline.Budget{Bytes: a.MaxBytes, Tokens: a.MaxTokens, Items: a.MaxItems}
	cfg.TLDR, cfg.Graphs = a.Sentences, a.Graph
	if cfg.TLDR == 0 {
		cfg.TLDR = -1 // to the engine 0 is its default
	}
	return r.Notes, nil
}
