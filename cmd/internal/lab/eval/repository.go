package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/importer"
	"satchel/cmd/internal/lab/measure"
	"satchel/jetstream/embedded"
	"satchel/schemas"
)

// repositoryReport is the result of a set of questions about a repository.
type repositoryReport struct {
	Set        string                   `json:"set"`
	Repository string                   `json:"repository"`
	Lines      []measure.RepositoryLine `json:"lines"`
}

// runRepository imports a repository as a user does, asks every question over NATS and prints
// how many of the texts hold the answer. A line of each reply goes to out.
func (c *Eval) runRepository(ctx context.Context, a *app.App, name string, out io.Writer) (err error) {
	folder, questions, err := measure.Repository(c.From, name, c.Repository)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	if c.Max > 0 {
		questions = questions[:min(c.Max, len(questions))]
	}
	own, n, stop, err := startApart(ctx, a, c.Servers, app.NodeOptions{Port: embedded.RandomPort})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	hide, err := own.ShowAddress(app.AddressFile, n.Server.ClientURL())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hide()) }()
	if err := importRepository(ctx, own, n, folder); err != nil {
		return fmt.Errorf("import %s: %w", folder, err)
	}
	conn, err := command.Dial(ctx, own)
	if err != nil {
		return err
	}
	defer conn.Close()
	report := repositoryReport{Set: name, Repository: filepath.Base(folder)}
	for _, way := range []string{"ask", "assemble"} {
		for _, budget := range c.Budget {
			replies, err := c.askAll(ctx, conn, way, budget, questions)
			if err != nil {
				return err
			}
			report.Lines = append(report.Lines, measure.SumUp(way, budget, replies))
			if out == nil {
				continue
			}
			for i := range replies {
				if err := json.NewEncoder(out).Encode(&replies[i]); err != nil {
					return fmt.Errorf("write the raw run: %w", err)
				}
			}
		}
	}
	if a.JSON {
		return command.PrintJSON(a, []repositoryReport{report})
	}
	return report.print(a.Out)
}

// importRepository publishes the history, the code and the Markdown of a repository and waits
// until all of it is indexed.
func importRepository(ctx context.Context, a *app.App, n *app.Node, folder string) error {
	quiet := *a
	quiet.Out = io.Discard
	quiet.Err = io.Discard
	as := importer.Flags{Agent: "import", Label: []string{"level:internal"}}
	var some *command.FoundError // items that were left out
	err := (&importer.Repo{Flags: as, Dir: folder, Name: filepath.Base(folder)}).Run(ctx, &quiet)
	if err != nil && !errors.As(err, &some) {
		return err
	}
	if _, err = n.AwaitIndexed(ctx, a.Tenant, 1); err != nil {
		return err
	}
	return n.AwaitEncoded(ctx, a.Tenant)
}

// askAll asks every question in one way: for a context pack or for an assembly.
func (c *Eval) askAll(ctx context.Context, conn *command.Client, way string, budget int, questions []measure.Question) ([]measure.Reply, error) {
	out := make([]measure.Reply, len(questions))
	for i := range questions {
		q := &questions[i]
		r := &out[i]
		*r = measure.Reply{Question: q.ID, Way: way, Budget: budget, Source: q.Source}
		start := time.Now()
		var err error
		if way == "ask" {
			var res schemas.ContextResult
			req := (&command.Ask{
				Question: []string{q.Text}, PrincipalFlags: command.PrincipalFlags{As: "cli", Level: "internal"}, Budget: budget, Type: schemas.QueryHybrid, Fill: c.Fill,
			}).Request("")
			res, err = conn.Ask(ctx, req)
			r.Text = res.Payload.Text
			r.Tokens = res.Payload.Pack.TokenActual
		} else {
			var res schemas.FormattedContext
			err = conn.Context(ctx, "assemble", schemas.AssembleRequest{
				From: &schemas.Agent{Type: "user", ID: "cli", SecurityLevel: "internal"}, Query: q.Text, MaxTokens: budget, Fill: c.Fill,
			}, &res)
			r.Text = res.Markdown
			r.Tokens = res.TokenCount
		}
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", way, q.ID, err)
		}
		r.Took(time.Since(start))
		if r.Answered, err = q.Answered(r.Text); err != nil {
			return nil, &config.UsageError{Err: err}
		}
	}
	return out, nil
}

func (r *repositoryReport) print(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s\n", r.Set, r.Repository)
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	for n, l := range r.Lines {
		sources := slices.Sorted(maps.Keys(l.Of))
		if n == 0 {
			fmt.Fprintf(tw, "way\tbudget\tanswered\t%s\ttokens\tunanswerable\tp50 ms\tp95 ms\t\n", strings.Join(sources, "\t"))
		}
		fmt.Fprintf(tw, "%s\t%d\t%d of %d\t", l.Way, l.Budget, l.Answered, l.Questions)
		for _, source := range sources {
			fmt.Fprintf(tw, "%d of %d\t", l.By[source], l.Of[source])
		}
		fmt.Fprintf(tw, "%.0f\t%.0f\t%.1f\t%.1f\t\n", l.Tokens, l.Idle, l.P50, l.P95)
	}
	return tw.Flush()
}
