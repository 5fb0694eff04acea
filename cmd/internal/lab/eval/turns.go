package eval

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"satchel/cmd/internal/lab/measure"
	"satchel/cmd/internal/terminal"
)

// shared is how much of a pack a model's prompt cache has from the turn before, over the
// turns of several conversations.
type shared struct {
	Conversations int     `json:"conversations"`
	Turns         int     `json:"turns"`
	Repeat        string  `json:"repeat"`        // of the requests
	Tokens        float64 `json:"tokens"`        // of a pack, mean
	Prefix        float64 `json:"prefix"`        // tokens that it begins with and the pack before began with, mean
	Median        float64 `json:"prefix_median"` // the same, median
	Part          float64 `json:"part"`          // of a pack that these are, mean
	PartMedian    float64 `json:"part_median"`   // the same, median
	Items         float64 `json:"items"`         // part of its items that the pack before showed, mean
}

// conversations are at most this many, the first of a set.
const conversations = 8

// turns asks along the last turns of the first conversations of a set, each as the
// user's message of the same task and session, and measures what packs share with the
// pack of the turn before.
func (s *system) turns(ctx context.Context, set *measure.Set, n, budget int, repeat string) (shared, error) {
	var tenants []string
	talks := map[string][]*measure.Memory{}
	for i := range set.Memories {
		m := &set.Memories[i]
		if strings.TrimSpace(m.Text) == "" {
			continue
		}
		if talks[m.Tenant] == nil {
			tenants = append(tenants, m.Tenant)
		}
		talks[m.Tenant] = append(talks[m.Tenant], m)
	}
	tenants = tenants[:min(len(tenants), conversations)]
	out := shared{Repeat: repeat, Conversations: len(tenants)}
	var prefixes, partsOf []float64
	for _, tenant := range tenants {
		talk := talks[tenant]
		before := ""
		had := map[string]bool{}
		for i, m := range talk[max(0, len(talk)-n):] {
			sc, req, err := s.request(&measure.Query{Tenant: tenant, Text: m.Text}, budget)
			if err != nil {
				return out, err
			}
			req.Payload.UserMessage = m.Text
			req.Payload.Task = "Keep the conversation going with what is known of the speakers."
			req.Payload.Session = "eval-turns-" + repeat
			req.Payload.Repeat = repeat
			res, err := s.engine.Context(ctx, sc, req)
			if err != nil {
				return out, fmt.Errorf("turn %d: %w", i+1, err)
			}
			text := res.Payload.Text
			has := map[string]bool{}
			again := 0
			for _, r := range res.Payload.Results {
				has[r.ID] = true
				if had[r.ID] {
					again++
				}
			}
			if i > 0 {
				tokens := float64(res.Payload.Pack.TokenActual)
				prefix := float64(s.n.Counter("").Count(commonLines(before, text)))
				prefixes = append(prefixes, prefix)
				partsOf = append(partsOf, prefix/max(1, tokens))
				out.Tokens += tokens
				out.Items += float64(again) / float64(max(1, len(has)))
			}
			before = text
			had = has
		}
	}
	out.Turns = len(prefixes)
	if out.Turns > 0 {
		k := float64(out.Turns)
		out.Tokens = out.Tokens / k
		out.Items = out.Items / k
		out.Prefix, out.Median = middle(prefixes)
		out.Part, out.PartMedian = middle(partsOf)
	}
	return out, nil
}

// middle returns mean and median of at least one number, which it sorts.
func middle(list []float64) (mean, median float64) {
	slices.Sort(list)
	for _, x := range list {
		mean += x
	}
	return mean / float64(len(list)), list[len(list)/2]
}

// commonLines is what two texts begin with, in whole lines.
func commonLines(a, b string) string {
	x := slices.Collect(strings.Lines(a))
	y := slices.Collect(strings.Lines(b))
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return strings.Join(x[:n], "")
}

func printTurns(w io.Writer, list []shared) {
	for _, t := range list {
		if t.Turns > 0 {
			fmt.Fprintf(w, "turn to turn, repeat %q, %s: of %.0f tokens the first %.0f (median %.0f) are those of the pack before, %.1f %% (median %.1f %%); of the items %.0f %% are\n",
				t.Repeat, terminal.Plural(t.Turns, "turn", "turns")+" of "+terminal.Plural(t.Conversations, "conversation", "conversations"),
				t.Tokens, t.Prefix, t.Median, 100*t.Part, 100*t.PartMedian, 100*t.Items)
		}
	}
}
