package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/infra/files"
	"satchel/pipeline/model"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/vector"
	"satchel/pipeline/write"
	"satchel/schemas"
	"satchel/worker/projection"
)

// Reembed is satchel reembed.
type Reembed struct {
	Shadow  bool `help:"Make the configured model's vectors of the tenant's log beside what serves, and throw them away; an endpoint's stay in its cache."`
	Compare bool `help:"With --shadow: compare what both models find for memories of the log."`
	Queries int  `help:"Queries of the comparison." default:"200"`
}

// Run follows a running process, or tries the configured model.
func (c *Reembed) Run(ctx context.Context, a *app.App) error {
	if c.Compare && !c.Shadow {
		return config.Usagef("--compare needs --shadow")
	}
	if c.Shadow {
		return c.try(ctx, a)
	}
	bar := a.Progress("embedding anew")
	defer bar.End()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := a.ReadStatus(ctx)
		if err != nil {
			return fmt.Errorf("no running Satchel says over HTTP how far it is (%w); satchel up embeds anew when the model has changed", err)
		}
		r := s.Embedding.Reembedding
		e := s.Embedding.Encoder
		switch {
		case r != nil:
			bar.Set(r.Done, r.Total)
		case e != nil && e.Done < e.Total:
			bar.Set(e.Done, e.Total)
		default:
			bar.End()
			return PrintReply(a, s.Embedding, func(w io.Writer) {
				if e != nil {
					fmt.Fprintln(w, e)
				} else {
					fmt.Fprintf(w, "%s serves, nothing is left to embed anew\n", s.Embedding.Model)
				}
			})
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// trial is what the shadow of one model did.
type trial struct {
	Model  string  `json:"model"`
	Millis int64   `json:"ms"`
	Again  float64 `json:"found_again,omitempty"` // mean reciprocal rank at 10

	questions model.Embedder
	index     *vector.Vectors
}

// comparison is what reembed --shadow prints.
type comparison struct {
	Tenant  string  `json:"tenant"`
	Entries int64   `json:"entries"`
	Trials  []trial `json:"models"`
	Queries int     `json:"queries,omitempty"`
	Overlap float64 `json:"overlap_at_10,omitempty"` // share of the first ten that both find
	Same    float64 `json:"same_best,omitempty"`     // share of queries with the same best
}

func (c *Reembed) try(ctx context.Context, a *app.App) error {
	sc, err := scope.System(a.Tenant)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	log, err := a.ReadLog(ctx)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := a.RequireTenant(ctx, log.Log, a.Tenant); err != nil {
		return err
	}
	lock, err := a.LockFolder()
	switch {
	case errors.Is(err, files.ErrHeld):
		a.Beside = true
	case err != nil:
		return err
	default:
		defer lock.Release()
	}
	models, closeModels, err := a.OpenModels(ctx, c.Compare)
	if err != nil {
		return err
	}
	defer closeModels()
	out := comparison{Tenant: a.Tenant}
	for _, m := range models {
		t, err := shadowOf(ctx, a, log.Log, sc, m)
		if err != nil {
			return err
		}
		out.Trials = append(out.Trials, t)
	}
	head, err := log.Head(ctx, sc)
	if err != nil {
		return err
	}
	out.Entries = head.Size
	if c.Compare {
		if err := out.compare(ctx, log.Log, sc, c.Queries); err != nil {
			return err
		}
	}
	return printComparison(a, &out)
}

// shadowOf makes a model's vectors of the tenant's log, in memory.
func shadowOf(ctx context.Context, a *app.App, log *eventlog.Log, sc scope.Scope, m *app.Maker) (trial, error) {
	public, err := a.OpenSanitizer()
	if err != nil {
		return trial{}, err
	}
	model := m.Model()
	index, err := app.NewVectors(model)
	if err != nil {
		return trial{}, err
	}
	t := trial{Model: model.String(), questions: m.Questions, index: index}
	begun := time.Now()
	reindexer := projection.NewReindexer(projection.ReindexerConfig{Log: log, Index: t.index, Embedder: m, Sanitizer: public})
	err = runWithBar(a, "embedding by "+model.Name, func(set progress) error { return reindexer.Fill(ctx, sc, set) })
	t.Millis = time.Since(begun).Milliseconds()
	return t, err
}

// compare asks both models for memories by the first half of their words.
func (out *comparison) compare(ctx context.Context, log *eventlog.Log, sc scope.Scope, limit int) error {
	type query struct{ id, text string }
	var queries []query
	for at := int64(0); ; {
		entries, err := log.Read(ctx, sc, at, 512)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			break
		}
		for i := range entries {
			if entries[i].Erased || entries[i].Type != schemas.TypeMemoryRecorded {
				continue
			}
			item, err := write.Item(entries[i])
			if err != nil {
				return fmt.Errorf("read item at position %d: %w", entries[i].Position, err)
			}
			if words := strings.Fields(item.Content.Text()); len(words) >= 4 {
				queries = append(queries, query{item.ID, strings.Join(words[:min(len(words)/2, 24)], " ")})
			}
		}
		at = entries[len(entries)-1].Position
	}
	if len(queries) == 0 || limit < 1 {
		return errors.New("the log holds nothing to compare by")
	}
	step := max(1, len(queries)/limit)
	for i := 0; i < len(queries) && out.Queries < limit; i += step {
		q := queries[i]
		var found [2][]string
		for m := range out.Trials {
			t := &out.Trials[m]
			vectors, err := t.questions.Embed(ctx, []string{q.text})
			if err != nil {
				return err
			}
			r, err := t.index.Search(ctx, sc, vector.Query{Vector: vectors[0], Limit: 10, Filter: schemas.MatchAll()})
			if err != nil {
				return err
			}
			for _, hit := range r.Hits {
				found[m] = append(found[m], hit.ID)
			}
			if rank := slices.Index(found[m], q.id); rank >= 0 {
				t.Again += 1 / float64(rank+1)
			}
		}
		out.Queries++
		both := 0
		for _, id := range found[0] {
			if slices.Contains(found[1], id) {
				both++
			}
		}
		if n := max(len(found[0]), len(found[1])); n > 0 {
			out.Overlap += float64(both) / float64(n)
		}
		if len(found[0]) > 0 && len(found[1]) > 0 && found[0][0] == found[1][0] {
			out.Same++
		}
	}
	n := float64(out.Queries)
	out.Overlap = out.Overlap / n
	out.Same = out.Same / n
	for m := range out.Trials {
		out.Trials[m].Again /= n
	}
	return nil
}

func printComparison(a *app.App, out *comparison) error {
	return PrintReply(a, out, func(w io.Writer) {
		for i, t := range out.Trials {
			role := "the configured model"
			if i == 0 && len(out.Trials) == 2 {
				role = "the model that serves"
			}
			fmt.Fprintf(w, "%s: %s, %s embedded in %d ms", role, t.Model, terminal.Plural(int(out.Entries), "log entry", "log entries"), t.Millis)
			if out.Queries > 0 {
				fmt.Fprintf(w, ", found again %.3f", t.Again)
			}
			fmt.Fprintln(w)
		}
		if out.Queries > 0 {
			fmt.Fprintf(w, "%d queries: %.0f %% of the first ten are the same, the best is in %.0f %%\n", out.Queries, 100*out.Overlap, 100*out.Same)
		}
	})
}
