package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"satchel/cmd/satchel/internal/eval"
)

// shared is how much of a pack a model's prompt cache has from the turn before.
type shared struct {
	Turns  int     `json:"turns"`
	Repeat string  `json:"repeat"` // of the requests
	Tokens float64 `json:"tokens"` // of a pack, mean
	Prefix float64 `json:"prefix"` // tokens that it begins with and the pack before began with, mean
	Items  float64 `json:"items"`  // part of its items that the pack before showed, mean
}

// turns asks along the last turns of the first conversation of a set, each as the
// user's message of the same task and session, and measures what packs share with the
// pack of the turn before.
func (s *evalSystem) turns(ctx context.Context, set *eval.Set, n, budget int, repeat string) (shared, error) {
	out := shared{Repeat: repeat}
	var talk []eval.Memory
	for i := range set.Memories {
		if m := &set.Memories[i]; m.Tenant == set.Memories[0].Tenant && strings.TrimSpace(m.Text) != "" {
			talk = append(talk, *m)
		}
	}
	talk = talk[max(0, len(talk)-n):]
	before, had := "", map[string]bool{}
	for i := range talk {
		sc, req, err := s.request(&eval.Query{Tenant: talk[i].Tenant, Text: talk[i].Text}, budget)
		if err != nil {
			return out, err
		}
		req.Payload.UserMessage, req.Payload.Task = talk[i].Text, "Keep the conversation going with what is known of the speakers."
		req.Payload.Session, req.Payload.Repeat = "eval-turns-"+repeat, repeat
		res, err := s.engine.Context(ctx, sc, req)
		if err != nil {
			return out, fmt.Errorf("turn %d: %w", i+1, err)
		}
		text, has, again := res.Payload.Text, map[string]bool{}, 0
		for _, r := range res.Payload.Results {
			if has[r.ID] = true; had[r.ID] {
				again++
			}
		}
		if i > 0 {
			out.Turns++
			out.Tokens += float64(res.Payload.Pack.TokenActual)
			out.Prefix += float64(s.n.counter("").Count(commonLines(before, text)))
			out.Items += float64(again) / float64(max(1, len(has)))
		}
		before, had = text, has
	}
	if k := float64(out.Turns); k > 0 {
		out.Tokens, out.Prefix, out.Items = out.Tokens/k, out.Prefix/k, out.Items/k
	}
	return out, nil
}

// commonLines is what two texts begin with, in whole lines.
func commonLines(a, b string) string {
	x, y := slices.Collect(strings.Lines(a)), slices.Collect(strings.Lines(b))
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return strings.Join(x[:n], "")
}

func printTurns(w io.Writer, list []shared) {
	for _, t := range list {
		if t.Turns > 0 {
			fmt.Fprintf(w, "turn to turn, repeat %q: the first %.0f of %.0f tokens are those of the pack before (%.1f %%), over %d turns; %.0f %% of the items are\n",
				t.Repeat, t.Prefix, t.Tokens, 100*t.Prefix/max(1, t.Tokens), t.Turns, 100*t.Items)
		}
	}
}
