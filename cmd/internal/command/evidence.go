package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/evidence"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/infra/files"
	"satchel/pipeline/scope"
)

// Evidence is satchel evidence.
type Evidence struct {
	Pack       string   `arg:"" optional:"" help:"Id of the pack."`
	Since      int64    `help:"Instead of one pack, every pack since this log position, and what was decided, refused and handed over." placeholder:"N"`
	Out        string   `short:"o" help:"The file to write." type:"path" placeholder:"F"`
	NoContent  bool     `help:"Leave out what the packs said; hashes prove it to who has it."`
	Checkpoint string   `help:"A file with the signed head to prove with; default the present one." type:"existingfile"`
	Report     []string `help:"A file to put in, such as a report of an evaluation or a copy of /metrics. May be repeated." type:"existingfile" sep:"none"`
	Sample     int      `help:"Instead, write a table of so many packs, in which people say what is relevant." placeholder:"N"`
	Ratings    string   `help:"Instead, read such a table back. It needs no data folder." type:"existingfile" placeholder:"F.csv"`
	Verify     string   `help:"Check a file instead. It needs no data folder." type:"existingfile" placeholder:"F.zip"`
	Key        string   `help:"With --verify: the verifier key that you know, or a file with it, such as keys/log.pub; default the one in the file."`
}

// Proved is what evidence prints.
type Proved struct {
	File    string `json:"file"`
	Tenant  string `json:"tenant"`
	Origin  string `json:"origin"`
	Size    int64  `json:"size"` // of the log that is proved
	Packs   int    `json:"packs"`
	Entries int    `json:"entries"`
	Files   int    `json:"files"`
	Key     string `json:"key"` // that signed
}

// Run writes evidence, or checks it.
func (c *Evidence) Run(ctx context.Context, a *app.App) error {
	writes := c.Pack != "" || c.Since != 0 || c.Out != "" || c.Sample != 0
	bundles := c.NoContent || c.Checkpoint != "" || len(c.Report) > 0
	switch {
	case c.Verify != "" && c.Ratings != "":
		return config.Usagef("--verify and --ratings read one file each; give one of them")
	case c.Verify != "" && (writes || bundles):
		return config.Usagef("--verify checks a file; it takes --key, and nothing that is for writing one")
	case c.Ratings != "" && (writes || bundles):
		return config.Usagef("--ratings reads a file; it takes nothing that is for writing one")
	case c.Key != "" && c.Verify == "":
		return config.Usagef("--key is for --verify")
	case c.Verify != "":
		return c.check(a)
	case c.Ratings != "":
		return c.rate(a)
	case c.Sample < 0:
		return config.Usagef("--sample is a number of packs, from 1")
	case c.Sample > 0 && (c.Pack != "" || bundles):
		return config.Usagef("--sample chooses the packs and writes a table of what they showed; it takes --since and --out alone")
	case c.Sample == 0 && (c.Pack == "") == (c.Since == 0):
		return config.Usagef("name a pack, or with --since the first log position")
	case c.Since < 0:
		return config.Usagef("--since is a log position, from 1")
	case c.Out == "":
		return config.Usagef("name the file to write with --out")
	}
	return c.write(ctx, a)
}

func (c *Evidence) write(ctx context.Context, a *app.App) (err error) {
	s, err := scope.System(a.Tenant)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	log, err := a.ReadLog(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if err := a.RequireTenant(ctx, log.Log, a.Tenant); err != nil {
		return err
	}
	src := evidence.Source{Log: log.Log, Scope: s}
	if c.Sample > 0 {
		return c.sample(ctx, a, src)
	}
	if log.Unkeyed != "" {
		return config.Usagef("the evidence cannot be signed: %s", log.Unkeyed)
	}
	o := evidence.Options{Pack: c.Pack, Since: c.Since, NoContent: c.NoContent}
	if o.Extra, err = c.extra(a); err != nil {
		return err
	}
	if c.Checkpoint != "" {
		if o.Checkpoint, err = os.ReadFile(c.Checkpoint); err != nil {
			return fmt.Errorf("read checkpoint: %w", err)
		}
	}
	file, sum, err := evidence.Collect(ctx, src, o)
	if errors.Is(err, evidence.ErrNoPack) || errors.Is(err, evidence.ErrTooLarge) {
		return &config.UsageError{Err: err}
	}
	if err != nil {
		return err
	}
	if err := c.save(file); err != nil {
		return err
	}
	return c.print(a, c.Out, "written to", sum)
}

func (c *Evidence) save(file []byte) error {
	if err := files.Write(c.Out, func(w io.Writer) error { _, err := w.Write(file); return err }); err != nil {
		return fmt.Errorf("write evidence: %w", err)
	}
	return nil
}

// sample writes packs for people to rate.
func (c *Evidence) sample(ctx context.Context, a *app.App, src evidence.Source) error {
	file, packs, err := evidence.Sample(ctx, src, c.Since, c.Sample)
	if err != nil {
		return err
	}
	if packs == 0 {
		return config.Usagef("there is no pack to rate: none of %s shows an item and holds its question", a.Tenant)
	}
	if err := c.save(file); err != nil {
		return err
	}
	return PrintReply(a, Sampled{File: c.Out, Tenant: a.Tenant, Packs: packs}, func(w io.Writer) {
		fmt.Fprintf(w, "%s of %s written to %s: write yes or no into the column \"relevant\", then run satchel evidence --ratings\n",
			terminal.Plural(packs, "pack", "packs"), a.Tenant, c.Out)
	})
}

// Sampled is what evidence --sample prints.
type Sampled struct {
	File   string `json:"file"`
	Tenant string `json:"tenant"`
	Packs  int    `json:"packs"`
}

// rate reads a sample back that people have rated.
func (c *Evidence) rate(a *app.App) (err error) {
	file, err := os.Open(c.Ratings)
	if err != nil {
		return fmt.Errorf("read ratings: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r, err := evidence.Ratings(file)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	err = PrintReply(a, r, func(w io.Writer) {
		fmt.Fprintf(w, "%d of %s rated in %s: %d relevant, %.0f %% (95 %% interval %.0f to %.0f %%)\n",
			r.Rated, terminal.Plural(r.Items, "item", "items"), terminal.Plural(r.Packs, "pack", "packs"), r.Relevant, 100*r.Share, 100*r.Low, 100*r.High)
	})
	if err == nil && !r.Good() {
		err = &FoundError{What: fmt.Sprintf("fewer than %.0f %% of the rated items are relevant", 100*r.Wanted)}
	}
	return err
}

// extra are the settings and the reports.
func (c *Evidence) extra(a *app.App) (evidence.Members, error) {
	var settings strings.Builder
	plain := *a
	plain.Out = &settings
	if err := PrintJSON(&plain, a.Effective()); err != nil {
		return nil, err
	}
	extra := evidence.Members{"settings.json": []byte(settings.String())}
	for _, path := range c.Report {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read report: %w", err)
		}
		name := "reports/" + filepath.Base(path)
		if extra[name] != nil {
			return nil, config.Usagef("two reports are called %s", filepath.Base(path))
		}
		extra[name] = data
	}
	return extra, nil
}

// check checks a file.
func (c *Evidence) check(a *app.App) error {
	key := c.Key
	if file, err := os.ReadFile(key); err == nil {
		key = strings.TrimSpace(string(file))
	}
	if _, err := note.NewVerifier(key); key != "" && err != nil {
		return config.Usagef("--key %.80q is neither a verifier key nor a file with one", c.Key)
	}
	raw, err := evidence.Read(c.Verify)
	var sum evidence.Summary
	if err == nil {
		sum, err = evidence.Verify(raw, key)
	}
	var bad *evidence.BadError
	if errors.As(err, &bad) {
		return &FoundError{What: err.Error()}
	}
	if err != nil {
		return err
	}
	return c.print(a, c.Verify, "holds:", sum)
}

func (c *Evidence) print(a *app.App, path, what string, sum evidence.Summary) error {
	out := Proved{File: path, Tenant: sum.Tenant, Origin: sum.Origin, Size: sum.Head.Size, Packs: sum.Packs, Entries: sum.Entries, Files: sum.Files, Key: sum.Key}
	return PrintReply(a, out, func(w io.Writer) {
		proved := fmt.Sprintf("%s and %s of %s, in a log of %s", terminal.Plural(out.Packs, "pack", "packs"), terminal.Plural(out.Entries, "entry", "entries"), out.Tenant,
			terminal.Plural(int(out.Size), "entry", "entries"))
		if c.Verify == "" {
			fmt.Fprintf(w, "%s, %s %s\n", proved, what, path)
			return
		}
		fmt.Fprintf(w, "%s %s %s\nsigned by %s\n", path, what, proved, out.Key)
		if c.Key == "" {
			fmt.Fprintln(w, "that key is from the file itself: compare it with one that you know, or name it with --key")
		}
	})
}
