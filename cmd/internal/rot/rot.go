package rot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
)

// Rot is satchel rot.
type Rot struct {
	Sizes   []int    `help:"Items of the history." default:"1000,3000,10000"`
	Budgets []int    `help:"Token budgets of packs." default:"500,1000,2000,4000"`
	Distort []string `help:"What is planted in the history: none, similar, distractors:N, shuffle, stale, duplicates, poison." default:"none,similar,distractors:4,shuffle,stale,duplicates,poison"`
	Seeds   int      `help:"Histories with other facts, from seed 1 on." default:"3"`
	Max     int      `help:"Questions at each point, over all seeds." default:"100"`
	Out     string   `help:"Folder for rot.json, points.jsonl, rot.svg, rot.html and timing.json." required:"" type:"path"`
	Check   string   `help:"Compare with this rot.json; exit code 3 when a point is below the lower end of its interval there." type:"existingfile"`
}

// Help shows how it is called.
func (Rot) Help() string {
	return `Context rot is answers that get worse as the context grows. This command writes facts into histories of several
sizes, asks for them, and measures what packs hold: the evidence, the answer, how much of the text is evidence and where
it stands, and how much is distractors, replaced or outdated facts, repetitions and injected instructions. BM25, vectors,
the newest items and the whole history fill the same budgets beside it. docs/rot.md says what each figure means.

Memories are published over JetStream, logged, indexed and asked for, in a temporary folder; the data folder of the
settings is not touched. Equal flags give equal files, but for timing.json.

Exit code 3: a pack shows a replaced fact or an injection without its fence, or leaves out an item without naming it; or a
point is below --check.

Examples:
  satchel rot --out rot
  satchel rot --sizes 1000,10000 --distort none,distractors:4,distractors:16 --out rot
  satchel rot --sizes 1000,10000 --max 60 --check rot-before/rot.json --out rot`
}

// The most that makes sense; more is a slip of the finger.
const (
	maxSize   = 10_000_000
	maxBudget = 1_000_000
	maxSeeds  = 100
)

// settings are the checked flags.
type settings struct {
	sizes, budgets []int
	distortions    []distortion
	seeds          int
	max            int
}

// settings checks the flags.
func (c *Rot) settings() (settings, error) {
	s := settings{seeds: c.Seeds, max: c.Max}
	var err error
	if s.sizes, err = numbers("--sizes", c.Sizes, maxSize); err != nil {
		return s, err
	}
	if s.budgets, err = numbers("--budgets", c.Budgets, maxBudget); err != nil {
		return s, err
	}
	for _, text := range c.Distort {
		d, err := parseDistortion(text)
		if err != nil {
			return s, config.Usagef("--distort: %v", err)
		}
		if slices.Contains(s.distortions, d) {
			return s, config.Usagef("--distort: %q is given twice", text)
		}
		s.distortions = append(s.distortions, d)
	}
	switch {
	case len(s.distortions) == 0:
		return s, config.Usagef("--distort names nothing; none is a history without anything planted")
	case s.seeds < 1 || s.seeds > maxSeeds:
		return s, config.Usagef("--seeds must be from 1 to %d", maxSeeds)
	case s.max < s.seeds:
		return s, config.Usagef("--max must be at least --seeds, a question for each")
	case s.max > s.seeds*maxQuestions:
		return s, config.Usagef("--max must be at most %d, which is %d questions for each seed", s.seeds*maxQuestions, maxQuestions)
	}
	for _, d := range s.distortions {
		h, err := newHistory(tenant, 1, d, s.questions(1))
		if err != nil {
			return s, err
		}
		if len(h.planted) > s.sizes[0] {
			return s, config.Usagef("--sizes: a history of %d items has no place for the %d notes of %d questions with %s; --max takes fewer questions",
				s.sizes[0], len(h.planted), len(h.questions), d.name)
		}
	}
	return s, nil
}

// questions is how many questions a seed, counted from 1, has: as many as any other, or one more.
func (s *settings) questions(seed int) int {
	n := s.max / s.seeds
	if seed <= s.max%s.seeds {
		n++
	}
	return n
}

// numbers sorts what a flag lists.
func numbers(flag string, list []int, most int) ([]int, error) {
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	switch {
	case len(sorted) == 0:
		return nil, config.Usagef("%s is empty", flag)
	case sorted[0] < 1 || sorted[len(sorted)-1] > most:
		return nil, config.Usagef("%s must be from 1 to %d", flag, most)
	case len(slices.Compact(slices.Clone(sorted))) < len(sorted):
		return nil, config.Usagef("%s has a number twice", flag)
	}
	return sorted, nil
}

// Run measures every point, writes the files and prints a table.
func (c *Rot) Run(ctx context.Context, a *app.App) error {
	s, err := c.settings()
	if err != nil {
		return err
	}
	var before *Report
	if c.Check != "" {
		if before, err = readReport(c.Check, &s); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return config.Usagef("make the folder of --out: %v", err)
	}
	m := &measurer{app: a, settings: s}
	if err := m.measure(ctx); err != nil {
		return err
	}
	report := sumUp(&s, m.rows)
	if err := write(c.Out, &report, m.rows, &m.timing); err != nil {
		return err
	}
	if a.JSON {
		err = command.PrintJSON(a, report)
	} else {
		err = printReport(a.Out, &report)
	}
	if err != nil {
		return err
	}
	if found := append(report.broken(), report.below(before)...); len(found) > 0 {
		for _, line := range found {
			fmt.Fprintln(a.Err, line)
		}
		return &command.FoundError{What: fmt.Sprintf("%d of the figures are not as they should be; the first: %s", len(found), found[0])}
	}
	return nil
}

// write writes the files of a run into a folder.
func write(dir string, r *Report, rows []Row, t *timing) error {
	type file struct {
		name string
		make func() ([]byte, error)
	}
	var errs []error
	for _, f := range []file{
		{"rot.json", r.encode}, {"points.jsonl", func() ([]byte, error) { return encodeLines(rows) }},
		{"rot.svg", func() ([]byte, error) { return r.picture(), nil }}, {"rot.html", func() ([]byte, error) { return r.page(), nil }},
		{"timing.json", t.encode},
	} {
		raw, err := f.make()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f.name), raw, 0o644)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", f.name, err))
		}
	}
	return errors.Join(errs...)
}
