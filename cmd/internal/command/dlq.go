package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/jetstream"
)

// Dlq is satchel dlq.
type Dlq struct {
	Ls    dlqLsCmd    `cmd:"" help:"List rejected events with the cause."`
	Show  dlqShowCmd  `cmd:"" help:"Print one rejected event whole."`
	Retry dlqRetryCmd `cmd:"" help:"Publish rejected events again and remove them here."`
	Drop  dlqDropCmd  `cmd:"" help:"Remove rejected events for good."`
}

// DeadLetters opens the dead letters of the running server.
func DeadLetters(ctx context.Context, a *app.App) (*jetstream.DeadLetters, func(), error) {
	conn, err := DialOperator(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.Open(ctx, conn.NC)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	dead, err := jetstream.OpenDeadLetters(ctx, js)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return dead, conn.Close, nil
}

type dlqLsCmd struct {
	From  uint64 `help:"First sequence."`
	Limit int    `help:"How many." default:"100"`
}

// Run lists dead letters.
func (c *dlqLsCmd) Run(ctx context.Context, a *app.App) error {
	dead, done, err := DeadLetters(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	list, err := dead.List(ctx, a.Tenant, c.From, c.Limit)
	if err != nil {
		return err
	}
	if a.JSON {
		return PrintJSON(a, append([]jetstream.DeadLetter{}, list...))
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Out, "no dead letters")
		return nil
	}
	w := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "SEQ\tREASON\tPOINTER\tEVENT\tCAUSE")
	undecided := 0
	for _, l := range list {
		mark := ""
		if l.Undecided {
			undecided++
			mark = "*"
		}
		if l.Foreign {
			fmt.Fprintf(w, "%d%s\tFOREIGN\t\t\tnot written by Satchel; remove it with satchel dlq drop %d\n", l.Seq, mark, l.Seq)
			continue
		}
		fmt.Fprintf(w, "%d%s\t%s\t%s\t%s\t%s\n", l.Seq, mark, l.Reason, terminal.Excerpt(l.Pointer, 200), terminal.Excerpt(l.ID, 200), terminal.Excerpt(l.Cause, 400))
	}
	if err := w.Flush(); err != nil || undecided == 0 {
		return err
	}
	_, err = fmt.Fprintln(a.Out, "* does not name its items: an erasure counts it as undecided")
	return err
}

type dlqShowCmd struct {
	Seq uint64 `arg:"" help:"Sequence, from dlq ls."`
}

// Run prints one dead letter whole.
func (c *dlqShowCmd) Run(ctx context.Context, a *app.App) error {
	dead, done, err := DeadLetters(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	l, err := readLetter(ctx, a, dead, c.Seq)
	if err != nil {
		return err
	}
	if a.JSON {
		return PrintJSON(a, struct {
			jetstream.DeadLetter
			Header map[string][]string `json:"header"`
			Data   string              `json:"data"`
		}{l, l.Header, string(l.Data)})
	}
	if l.Foreign {
		fmt.Fprintf(a.Out, "FOREIGN  not written by Satchel; nothing below can be relied on, remove it with satchel dlq drop %d\n", l.Seq)
	}
	fmt.Fprintf(a.Out, "reason   %s\ncause    %s\npointer  %s\nsubject  %s\nat       %s\n\n", l.Reason, terminal.Excerpt(l.Cause, 2000), OrDocument(terminal.Excerpt(l.Pointer, 2000)), l.Subject, l.At.UTC().Format("2006-01-02T15:04:05Z"))
	for _, name := range slices.Sorted(maps.Keys(l.Header)) {
		for _, v := range l.Header[name] {
			fmt.Fprintf(a.Out, "%s: %s\n", name, v)
		}
	}
	_, err = fmt.Fprintf(a.Out, "\n%s\n", l.Data)
	return err
}

type dlqRetryCmd struct {
	Seqs []uint64 `arg:"" help:"Sequences, from dlq ls."`
}

// Run publishes dead letters again.
func (c *dlqRetryCmd) Run(ctx context.Context, a *app.App) error {
	return eachLetter(ctx, a, c.Seqs, "published again; see satchel dlq ls for the outcome", (*jetstream.DeadLetters).Retry)
}

type dlqDropCmd struct {
	Seqs []uint64 `arg:"" help:"Sequences, from dlq ls."`
}

// Run removes dead letters.
func (c *dlqDropCmd) Run(ctx context.Context, a *app.App) error {
	return eachLetter(ctx, a, c.Seqs, "dropped", (*jetstream.DeadLetters).Drop)
}

func eachLetter(ctx context.Context, a *app.App, seqs []uint64, done string, do func(*jetstream.DeadLetters, context.Context, uint64) error) error {
	dead, closeConn, err := DeadLetters(ctx, a)
	if err != nil {
		return err
	}
	defer closeConn()
	for _, seq := range seqs {
		if _, err := readLetter(ctx, a, dead, seq); err != nil {
			return err
		}
		if err := do(dead, ctx, seq); err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "%d %s\n", seq, done)
	}
	return nil
}

// readLetter reads a dead letter of the tenant.
func readLetter(ctx context.Context, a *app.App, dead *jetstream.DeadLetters, seq uint64) (jetstream.DeadLetter, error) {
	l, err := dead.Read(ctx, seq)
	if errors.Is(err, jetstream.ErrNoDeadLetter) {
		err = &config.UsageError{Err: err}
	}
	if err == nil && l.Tenant != a.Tenant {
		err = config.Usagef("dead letter %d belongs to another tenant", seq)
	}
	return l, err
}
