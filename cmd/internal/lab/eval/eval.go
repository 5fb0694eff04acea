package eval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/lab/measure"
	"satchel/schemas"
)

// Eval is satchel-lab eval.
type Eval struct {
	From       string   `name:"data" help:"Folder of evaluation sets: SET/memories.jsonl (or tools.jsonl) and SET/queries.jsonl, or SET/texts.jsonl with marked personal data or labelled injections." required:"" type:"existingdir"`
	Set        []string `help:"Sets to run." xor:"which"`
	All        bool     `help:"Run every set of the folder." xor:"which"`
	Budget     []int    `help:"Token budgets of packs." default:"500,1000,2000"`
	Out        string   `help:"Write the raw run here, a JSON line a query." type:"path"`
	Compare    bool     `help:"Rank also by BM25 alone and by vectors alone, over the same indexes, and print one table of all sets. --all does."`
	Ablate     bool     `help:"Rank also without each ingredient in turn."`
	Servers    bool     `help:"Use the servers that the settings name for log, items, graph and vectors, in a place of its own that is dropped afterwards; without it the embedded engines."`
	Beside     bool     `help:"Run each set on the embedded engines and, from a copy of the same log, on the servers that the settings name; print what the servers lose, whether every index has the same digest, and how alike the vectors are."`
	Turns      int      `help:"Also ask along this many turns of the set's first conversations, of at most eight, and measure what packs share from turn to turn." default:"0"`
	Shrink     bool     `help:"Compact the packs of the largest budget to 25, 50 and 75 percent and say what evidence is kept, beside truncation and head + tail."`
	Account    bool     `help:"Only hold every pack of every query against its drop report and its citations, and print one table; exit code 3 when one does not answer for all."`
	Kind       string   `name:"assemble" help:"Import the sets as items of this kind, code or commit, and fill packs by the assembler." enum:",code,commit" default:""`
	Repeat     string   `help:"Ask the questions of each tenant as turns of one session, with this repeat: full or stable." enum:",full,stable" default:""`
	Fill       bool     `help:"Ask for packs that take their whole budget."`
	Repository string   `help:"Git repository that a set of questions is about; default the folder beside NAME.questions.jsonl." type:"existingdir"`
	Max        int      `help:"Only this many queries of each set; 0 is all." default:"0"`
}

// Run evaluates the sets one after another.
func (c *Eval) Run(ctx context.Context, a *app.App) error {
	sets := c.Set
	if c.All {
		var err error
		if sets, err = measure.Sets(c.From); err != nil {
			return &config.UsageError{Err: err}
		}
	}
	if len(sets) == 0 {
		return config.Usagef("name a set with --set, or take --all")
	}
	if c.Beside {
		return c.runBeside(ctx, a, sets)
	}
	if c.Account {
		return c.accounts(ctx, a, sets)
	}
	var out io.Writer
	if c.Out != "" {
		f, err := os.Create(c.Out)
		if err != nil {
			return config.Usagef("write the raw run: %v", err)
		}
		defer f.Close()
		out = f
	}
	var reports []Report
	for _, name := range sets {
		r, err := c.one(ctx, a, name, out)
		if err != nil {
			return err
		}
		if r != nil {
			reports = append(reports, *r)
		}
	}
	if !a.JSON && (c.All || c.Compare || c.Ablate) {
		printCompared(a.Out, reports)
	}
	if a.JSON && len(reports) > 0 {
		return command.PrintJSON(a, reports)
	}
	return nil
}

// one evaluates a set by what its files hold, and prints it. Only of a set of memories and queries it returns a report.
func (c *Eval) one(ctx context.Context, a *app.App, name string, out io.Writer) (*Report, error) {
	switch {
	case measure.HasLabels(c.From, name):
		return nil, runInjection(a, c.From, name)
	case measure.HasSpans(c.From, name):
		return nil, runSpans(a, c.From, name)
	case measure.HasQuestions(c.From, name):
		return nil, c.runRepository(ctx, a, name, out)
	}
	r, err := c.runSet(ctx, a, name, out)
	if err != nil || a.JSON {
		return &r, err
	}
	if !c.All {
		printEval(a.Out, r, c.Budget)
	}
	if c.Shrink {
		err = printShrunk(a.Out, r.Set, r.Shrunk)
	}
	return &r, err
}

// set reads a set, with as many queries as are asked for.
func (c *Eval) set(name string) (measure.Set, error) {
	set, err := measure.Load(c.From, name)
	if err != nil {
		return set, &config.UsageError{Err: err}
	}
	if c.Max > 0 {
		set.Queries = set.Queries[:min(c.Max, len(set.Queries))]
	}
	return set, nil
}

// open starts a node of its own with the set in it. The caller MUST call done.
func (c *Eval) open(ctx context.Context, a *app.App, name string) (set measure.Set, sys *system, done func() error, err error) {
	if set, err = c.set(name); err != nil {
		return set, nil, nil, err
	}
	_, n, done, err := startApart(ctx, a, c.Servers, app.NodeOptions{NoListen: true})
	if err != nil {
		return set, nil, nil, err
	}
	sys = newSystem(n, &set)
	sys.kind = schemas.Kind(c.Kind)
	sys.repeat = c.Repeat
	sys.fill = c.Fill
	bar := a.Progress(name + ": importing")
	err = sys.load(ctx, set.Memories, bar.Set)
	bar.End()
	if err != nil {
		return set, nil, nil, errors.Join(fmt.Errorf("import set %q: %w", name, err), done())
	}
	return set, sys, done, nil
}

func (c *Eval) runSet(ctx context.Context, a *app.App, name string, out io.Writer) (r Report, err error) {
	set, sys, done, err := c.open(ctx, a, name)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, done()) }()
	bar := a.Progress(name + ": asking")
	rows, err := measure.Run(ctx, set, sys, measure.Options{Budgets: c.Budget, Out: out,
		Progress: func(done, total int) { bar.Set(int64(done), int64(total)) }})
	bar.End()
	if err != nil {
		return r, err
	}
	r = Report{Set: name, Memories: len(set.Memories), Lines: measure.Report(rows), Unanswerable: measure.CountUnlabelled(rows)}
	for _, repeat := range []string{schemas.RepeatFull, "", schemas.RepeatStable} {
		if c.Turns > 1 {
			t, err := sys.turns(ctx, &set, c.Turns, slices.Max(c.Budget), repeat)
			if err != nil {
				return r, err
			}
			r.Turns = append(r.Turns, t)
		}
	}
	var variants []variant
	if c.Compare || c.All || c.Ablate {
		variants = comparisons()
	}
	if c.Ablate {
		variants = append(variants, ablations()...)
	}
	bar = a.Progress(name + ": comparing")
	r.Compared, err = sys.compare(ctx, set, variants, func(done, total int) { bar.Set(int64(done), int64(total)) })
	bar.End()
	if err != nil || !c.Shrink {
		return r, err
	}
	bar = a.Progress(name + ": shrinking")
	r.Shrunk, err = sys.shrink(ctx, &set, slices.Max(c.Budget), func(done, total int) { bar.Set(int64(done), int64(total)) })
	bar.End()
	return r, err
}
