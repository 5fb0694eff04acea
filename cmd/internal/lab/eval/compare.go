package eval

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/lab/measure"
	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/op"
	"satchel/pipeline/selection/rank"
	"satchel/schemas"
)

// variant is a way to rank that is measured beside the full pipeline, over the same
// indexes in the same run.
type variant struct {
	name    string
	query   string // query type
	disable []string
	weigh   func(*rank.Weights)
	signal  string // weighs a tenth of the score, relevance the rest; "": relevance alone
}

// cues are the features that are no channel.
func cues() []string {
	return []string{rank.FeatureRole, rank.FeatureSpeaker, rank.FeatureDate, rank.FeatureWhen, rank.FeatureShort}
}

// comparisons are the plain rankings every set is held against.
func comparisons() []variant {
	plain := append(cues(), rank.FeatureWords, rank.FeatureNear, rank.FeatureWeigh, rank.FeatureSpread, rank.FeatureSubject, rank.FeatureAliases, rank.FeatureMeaning)
	return []variant{
		{name: "BM25", query: schemas.QueryKeyword, disable: plain},
		{name: "vectors", query: schemas.QuerySemantic, disable: plain},
		{name: "full", query: schemas.QueryHybrid},
	}
}

// ablations are the full pipeline without one ingredient, and with each of the signals
// besides relevance in the score.
func ablations() []variant {
	list := []variant{
		{name: "− keyword", query: schemas.QueryHybrid, weigh: func(w *rank.Weights) { w.Keyword = 0 }},
		{name: "− vector", query: schemas.QueryHybrid, weigh: func(w *rank.Weights) { w.Vector = 0 }},
		{name: "− words", query: schemas.QueryHybrid, disable: []string{rank.FeatureWords}},
		{name: "− neighbours", query: schemas.QueryHybrid, disable: []string{rank.FeatureNear}},
	}
	for _, feature := range append([]string{rank.FeatureWeigh, rank.FeatureSubject, rank.FeatureSpread, rank.FeatureAliases, rank.FeatureMeaning}, cues()...) {
		list = append(list, variant{name: "− " + feature, query: schemas.QueryHybrid, disable: []string{feature}})
	}
	for _, signal := range candidate.SignalNames() {
		if signal != candidate.SignalRelevance {
			list = append(list, variant{name: "+ " + signal, query: schemas.QueryHybrid, signal: signal})
		}
	}
	return list
}

// engineFor returns an engine over the node's stores that ranks as v says.
func engineFor(n *app.Node, v variant) (*op.Operations, error) {
	w := rank.DefaultWeights()
	if v.weigh != nil {
		v.weigh(&w)
	}
	var profiles []rank.Profile
	if v.signal != "" {
		for _, p := range rank.Profiles() {
			if p.Name != rank.ProfileDefault {
				continue
			}
			p, _, err := p.With(rank.Override{Weights: map[string]float64{v.signal: .1}})
			if err != nil {
				return nil, err
			}
			profiles = append(profiles, p)
		}
	}
	cfg := op.Config{Config: pipeline.Config{
		Stores: pipeline.Stores{Log: n.Log, Items: n.Items, Keyword: n.Keyword, Private: n.Private, Vector: n.Vector, Graph: n.Graph},
		Policy: pipeline.Policy{PDP: n.PDP}, Models: pipeline.Models{Embedder: n.Embedder, Tokens: n.Counter},
		Ranking: pipeline.Ranking{Weights: &w, Disable: v.disable, Profiles: profiles},
	}}
	if v.query == schemas.QueryHybrid {
		n.Encode(&cfg.Config)
	}
	return op.New(cfg)
}

// compare ranks every query of the set by every variant.
func (s *system) compare(ctx context.Context, set measure.Set, variants []variant, progress func(done, total int)) ([]compared, error) {
	var out []compared
	for i, v := range variants {
		engine, err := engineFor(s.n, v)
		if err != nil {
			return nil, err
		}
		other := &system{n: s.n, engine: engine, query: v.query, ids: s.ids, tenants: s.tenants}
		rows, err := measure.Run(ctx, set, other, measure.Options{Progress: func(done, total int) { progress(i*total+done, len(variants)*total) }})
		if err != nil {
			return nil, fmt.Errorf("rank by %s: %w", v.name, err)
		}
		lines := measure.Report(rows)
		out = append(out, compared{Variant: v.name, Mean: lines[len(lines)-1].Mean, Queries: lines[len(lines)-1].Queries})
	}
	return out, nil
}

// compared is one variant's result on one set.
type compared struct {
	Variant string        `json:"variant"`
	Queries int           `json:"queries"`
	Mean    measure.Score `json:"mean"`
}

// printCompared prints one line a set: R@10 and nDCG@10 of each variant.
func printCompared(w io.Writer, reports []Report) {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "set\tqueries\t")
	if len(reports) > 0 {
		for _, c := range reports[0].Compared {
			fmt.Fprintf(tw, "%s R@10\tnDCG@10\t", c.Variant)
		}
	}
	fmt.Fprint(tw, "ev@max\ttokens\tp50 ms\tp95 ms\t\n")
	for _, r := range reports {
		all := r.Lines[len(r.Lines)-1]
		fmt.Fprintf(tw, "%s\t%d\t", r.Set, all.Queries)
		for _, c := range r.Compared {
			fmt.Fprintf(tw, "%.3f\t%.3f\t", c.Mean.Recall10, c.Mean.NDCG10)
		}
		top := 0
		for budget := range all.Mean.Evidence {
			top = max(top, budget)
		}
		fmt.Fprintf(tw, "%.3f\t%.0f\t%.1f\t%.1f\t\n", all.Mean.Evidence[top], all.Mean.Tokens[top], all.P50, all.P95)
	}
	if err := tw.Flush(); err != nil {
		fmt.Fprintln(w, err)
	}
}
