package fit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/lab/measure"
	"satchel/pipeline/selection/rank"
)

// setting is one choice of the constants for questions in other words.
type setting struct {
	name string
	rank.Meaning
}

// settings are the shipped constants and each of them changed by itself.
func settings(encoded bool) []setting {
	shipped := rank.DefaultWeights().Meaning
	out := []setting{{"shipped", shipped}}
	add := func(name string, change func(m *rank.Meaning)) {
		m := shipped
		change(&m)
		out = append(out, setting{name, m})
	}
	if encoded {
		for _, v := range []float64{.6, 1} {
			add(fmt.Sprintf("Encoder %.2f", v), func(m *rank.Meaning) { m.Encoder = v })
		}
		for _, v := range []float64{0, .3, .6} {
			add(fmt.Sprintf("Session %.2f", v), func(m *rank.Meaning) { m.Session = v })
		}
		for _, v := range []float64{0, .3, .6} {
			add(fmt.Sprintf("Long %.2f", v), func(m *rank.Meaning) { m.Long = v })
		}
		return out
	}
	for _, v := range []float64{.5, .7} {
		add(fmt.Sprintf("Covered %.2f", v), func(m *rank.Meaning) { m.Covered = v })
	}
	for _, v := range []float64{.1, .3} {
		add(fmt.Sprintf("Fading %.2f", v), func(m *rank.Meaning) { m.Fading = v })
	}
	for _, v := range []float64{.15, .35} {
		add(fmt.Sprintf("Vector %.2f", v), func(m *rank.Meaning) { m.Vector = v })
	}
	for _, v := range []float64{0, .3, .7} {
		add(fmt.Sprintf("Brief %.2f", v), func(m *rank.Meaning) { m.Brief = v })
	}
	return out
}

// found is how far up one question's evidence stands, by setting.
type found struct{ recall []float64 }

// tryMeanings prints the recall of each setting on conversations, and what is left of the best of the others when one
// conversation is left out.
func tryMeanings(ctx context.Context, data string, by app.Embedders, out io.Writer) error {
	names, err := measure.Sets(data)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	list := settings(by.Encoder != nil)
	asked := make([][]found, len(names)) // by conversation
	for n, name := range names {
		s, err := measure.Load(data, name)
		if err != nil {
			return &config.UsageError{Err: err}
		}
		if asked[n], err = askWith(ctx, &s, by, list); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "setting\tR@10")
	for k := range list {
		fmt.Fprintf(out, "%s\t%.4f\n", list[k].name, mean(asked, k, -1))
	}
	left := 0.
	for n := range names {
		best := 0
		for k := range list {
			if mean(asked, k, n) > mean(asked, best, n)+1e-9 {
				best = k
			}
		}
		own := mean(asked[n:n+1], best, -1)
		left += own / float64(len(names))
		fmt.Fprintf(out, "without %s\t%s\tR@10 there %.4f\n", names[n], list[best].name, own)
	}
	fmt.Fprintf(out, "left out, mean\t%.4f\n", left)
	return nil
}

// askWith asks the questions of a set with each setting.
func askWith(ctx context.Context, s *measure.Set, by app.Embedders, list []setting) (asked []found, err error) {
	st, err := open(ctx, s, by)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	for k := range list {
		weights := rank.DefaultWeights()
		weights.Meaning = list[k].Meaning
		if err := st.weigh(&weights); err != nil {
			return nil, err
		}
		got, err := st.recall(ctx, s)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			asked = make([]found, len(got))
		}
		for q := range got {
			asked[q].recall = append(asked[q].recall, got[q])
		}
	}
	return asked, nil
}

// mean is the mean recall of a setting over the questions of all conversations but one.
func mean(asked [][]found, k, without int) float64 {
	sum := 0.
	n := 0.
	for c := range asked {
		for q := range asked[c] {
			if c != without {
				sum = sum + asked[c][q].recall[k]
				n = n + 1
			}
		}
	}
	return sum / max(1, n)
}

// recall returns R@10 of each question that has evidence.
func (st *store) recall(ctx context.Context, s *measure.Set) (out []float64, err error) {
	for i := range s.Queries {
		q := &s.Queries[i]
		if len(q.Relevant) == 0 {
			continue
		}
		cs, err := st.ask(ctx, st.tenants[q.Tenant], q.Text, depth, q.TS.Time)
		if err != nil {
			return nil, err
		}
		hits := 0.
		for n := range cs[:min(best, len(cs))] {
			if slices.Contains(q.Relevant, st.ids[cs[n].ID]) {
				hits++
			}
		}
		out = append(out, hits/float64(len(q.Relevant)))
	}
	return out, nil
}
