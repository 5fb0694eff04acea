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
	"satchel/cmd/internal/lab/measure"
)

// Rot is satchel-lab rot.
type Rot struct {
	From     string   `name:"data" help:"Folder of evaluation sets, as of satchel-lab eval: ask the questions of --set in place of the built-in facts." type:"existingdir" and:"set"`
	Set      string   `help:"Set of the folder: SET/memories.jsonl and SET/queries.jsonl." and:"set"`
	Sizes    []int    `help:"Items of the history." default:"1000,3000,10000"`
	Budgets  []int    `help:"Token budgets of packs." default:"500,1000,2000,4000"`
	Distort  []string `help:"What is done to the history: none, similar, distractors:N, shuffle, stale, duplicates, poison. Default each of them with four distractors; with --data none and shuffle, which are all that a set allows."`
	Seeds    int      `help:"Histories with other facts, from seed 1 on." default:"3"`
	Max      int      `help:"Questions at each point, over all seeds." default:"100"`
	Endpoint string   `help:"OpenAI-compatible endpoint, as https://host/v1, of a model that is asked the same questions; LLM_KEY is its key." and:"model"`
	Model    string   `help:"Name of that model." and:"model"`
	Context  int      `help:"Tokens of history that it is given beside packs." default:"32000"`
	Out      string   `help:"Folder for rot.json, points.jsonl, rot.svg, rot.html and timing.json." required:"" type:"path"`
	Check    string   `help:"Compare with this rot.json; exit code 3 when a point is below the lower end of its interval there." type:"existingfile"`
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
	set            *measure.Set // nil: the built-in facts
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
	names := c.Distort
	switch {
	case len(names) > 0:
	case c.From != "":
		names = []string{distortNone, distortShuffle}
	default:
		names = []string{distortNone, distortSimilar, distortDistract + ":4", distortShuffle, distortStale, distortDuplicates, distortPoison}
	}
	for _, text := range names {
		d, err := parseDistortion(text)
		if err != nil {
			return s, config.Usagef("--distort: %v", err)
		}
		if c.From != "" && d.kind != distortNone && d.kind != distortShuffle {
			return s, config.Usagef("--distort: %s needs the built-in facts; with --data there are none and shuffle", d.kind)
		}
		if slices.Contains(s.distortions, d) {
			return s, config.Usagef("--distort: %q is given twice", text)
		}
		s.distortions = append(s.distortions, d)
	}
	most := maxQuestions
	if c.From != "" {
		if s.set, err = loadSet(c.From, c.Set); err != nil {
			return s, &config.UsageError{Err: err}
		}
		most = len(s.set.Queries)
	}
	switch {
	case s.seeds < 1 || s.seeds > maxSeeds:
		return s, config.Usagef("--seeds must be from 1 to %d", maxSeeds)
	case s.max < s.seeds:
		return s, config.Usagef("--max must be at least --seeds, a question for each")
	case s.max > s.seeds*most:
		return s, config.Usagef("--max must be at most %d, which is %d questions for each seed", s.seeds*most, most)
	}
	for _, d := range s.distortions {
		h, err := s.history(1, d)
		if err != nil {
			return s, err
		}
		if len(h.planted) > s.sizes[0] {
			return s, config.Usagef("--sizes: a history of %d items has no place for the %d memories that %d questions with %s are about",
				s.sizes[0], len(h.planted), len(h.questions), d.name)
		}
	}
	return s, nil
}

// history makes the history of a seed under a distortion, with nothing in it yet.
func (s *settings) history(seed uint64, d distortion) (*history, error) {
	if s.set != nil {
		return setHistory(tenant, seed, d, s.questions(int(seed)), s.set)
	}
	return newHistory(tenant, seed, d, s.questions(int(seed)))
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
	x, err := c.examiner(a)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return config.Usagef("make the folder of --out: %v", err)
	}
	m := &measurer{app: a, settings: s, examiner: x}
	if err := m.measure(ctx); err != nil {
		return err
	}
	report := sumUp(&s, m.rows)
	files := report.files(m.rows, &m.timing)
	var examined *Examined
	if x != nil {
		e := sumUpReplies(&s, x, s.middle(), m.replies)
		examined = &e
		files = append(files, file{"endpoint.json", e.encode}, file{"endpoint.svg", func() ([]byte, error) {
			c := e.chart(s.sizes)
			return []byte(c.alone()), nil
		}})
	}
	if err := errors.Join(writeFiles(c.Out, files), c.print(a, &report, examined)); err != nil {
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

// examiner returns what asks the model of --endpoint, nil for none.
func (c *Rot) examiner(a *app.App) (*examiner, error) {
	if c.Endpoint == "" {
		return nil, nil
	}
	if c.Context < 1 || c.Context > maxBudget {
		return nil, config.Usagef("--context must be from 1 to %d", maxBudget)
	}
	model, err := a.ChatModel(c.Endpoint, c.Model)
	if err != nil {
		return nil, config.Usagef("--endpoint: %v", err)
	}
	return &examiner{model: model, context: c.Context}, nil
}

// print prints the report, and what a model made of the questions if one was asked.
func (c *Rot) print(a *app.App, r *Report, e *Examined) error {
	if a.JSON {
		return command.PrintJSON(a, r)
	}
	err := printReport(a.Out, r)
	if e != nil {
		err = errors.Join(err, e.print(a.Out))
	}
	return err
}

// file is one of the files of a run.
type file struct {
	name   string
	encode func() ([]byte, error)
}

// files are those that every run writes.
func (r *Report) files(rows []Row, t *timing) []file {
	return []file{
		{"rot.json", r.encode}, {"points.jsonl", func() ([]byte, error) { return encodeLines(rows) }},
		{"rot.svg", func() ([]byte, error) { return r.picture(), nil }}, {"rot.html", func() ([]byte, error) { return r.page(), nil }},
		{"timing.json", t.encode},
	}
}

// writeFiles writes files into a folder.
func writeFiles(dir string, files []file) error {
	var errs []error
	for _, f := range files {
		raw, err := f.encode()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f.name), raw, 0o644)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", f.name, err))
		}
	}
	return errors.Join(errs...)
}
