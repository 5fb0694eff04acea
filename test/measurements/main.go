// Command measurements scores a binary on labelled sets and prints docs/measurements.md. make measurements runs it.
//
//	go run ./test/measurements -lab bin/satchel-lab test/talk test/held DIR:locomo,beam100k
//
// Of a folder without names all sets are taken.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// report is what satchel-lab eval --json prints of a set.
type report struct {
	Set      string
	Memories int
	Lines    []line
	Compared []struct {
		Variant string
		Mean    struct{ Recall10 float64 }
	}
	Unanswerable struct {
		Queries, Empty int
		Tokens         float64
	}
}

// line is one kind of questions; the last of a report is all of them.
type line struct {
	Category string
	Queries  int
	Empty    int
	Mean     struct {
		Recall5, Recall10, NDCG10, Session5, Common float64
		Evidence, Tokens                            map[string]float64
	}
	Bins []struct {
		Items, Relevant int
		Score           float64
	}
}

func (r *report) all() *line { return &r.Lines[len(r.Lines)-1] }

// measured are the reports of a folder, of packs that end and of those that take their budget.
type measured struct {
	name         string
	ended, whole []report
}

// others is the name of sets that are given by name.
const others = "others"

var budgets = []string{"500", "1000", "2000"}

// fewest is how many items a tenth of the scores has that is printed.
const fewest = 30

const head = `# Measurements

` + "`make measurements`" + ` printed this page on %s, at commit %s. It runs ` + "`satchel-lab eval`" + ` with default settings on
[test/talk](../test/talk), [test/held](../test/held) and the development halves of public sets. What ships is fitted on
test/talk, bfcl-tools, bfcl-memory, metatool and git-river-changelog ([how](explanation/ranking.md#scores)). The others are scored, and
nothing is fitted on them. No question is judged by a language model.

- **common**: the share of the question's words, but for those that every text has, that stand in what is relevant
- **R@5, R@10, nDCG@10**: the ranking before any budget, beside BM25 and the vectors alone over the same indexes; **session@5**: a relevant session is among the first five
- **evidence**: the share of the relevant items that a pack of so many tokens shows; **tokens**: what it takes of 2,000
- **empty**: answerable questions whose pack shows nothing
`

func main() {
	binary := flag.String("lab", "bin/satchel-lab", "the binary to score with")
	flag.Parse()
	if err := run(os.Stdout, *binary, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "measurements:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, binary string, folders []string) error {
	commit, err := exec.Command("git", "rev-parse", "--short=8", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("name the commit: %w", err)
	}
	var list []measured
	for _, f := range folders {
		m, err := measure(binary, f)
		if err != nil {
			return err
		}
		list = append(list, m)
	}
	fmt.Fprintf(w, head, time.Now().UTC().Format("2 January 2006"), strings.TrimSpace(string(commit)))
	found(w, list)
	shown(w, list)
	byKind(w, list)
	calibrated(w, list)
	unanswerable(w, list)
	return nil
}

// measure scores the sets of a folder twice.
func measure(binary, folder string) (measured, error) {
	dir, names, named := strings.Cut(folder, ":")
	m := measured{name: filepath.Base(dir)}
	sets := []string{"--all"}
	if named {
		sets = []string{"--compare", "--set", names}
		m.name = others
	}
	var err error
	if m.ended, err = eval(binary, dir, sets...); err != nil {
		return m, err
	}
	sets = []string{"--fill"}
	for i := range m.ended {
		sets = append(sets, "--set", m.ended[i].Set)
	}
	m.whole, err = eval(binary, dir, sets...)
	return m, err
}

func eval(binary, dir string, args ...string) (out []report, err error) {
	cmd := exec.Command(binary, append([]string{"eval", "--data", dir, "--json", "--budget", strings.Join(budgets, ",")}, args...)...)
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return out, nil
}

func found(w io.Writer, list []measured) {
	fmt.Fprint(w, "\n## Found\n\n| set | items | questions | common | R@10 of BM25 | of vectors | R@5 | R@10 | nDCG@10 | session@5 | empty |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, m := range list {
		for i := range m.ended {
			r, l := &m.ended[i], m.ended[i].all()
			alone := map[string]float64{}
			for _, c := range r.Compared {
				alone[c.Variant] = c.Mean.Recall10
			}
			fmt.Fprintf(w, "| %s | %d | %d | %.2f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %d |\n", r.Set, r.Memories, l.Queries, l.Mean.Common, alone["BM25"], alone["vectors"], l.Mean.Recall5,
				l.Mean.Recall10, l.Mean.NDCG10, l.Mean.Session5, l.Empty)
		}
	}
}

func shown(w io.Writer, list []measured) {
	fmt.Fprint(w, "\n## Shown\n\nPacks end where more is worth too little for its tokens; with `fill` they take their budget.\n\n")
	fmt.Fprint(w, "| set | evidence in 500 | in 1,000 | in 2,000 | tokens | with `fill` in 500 | in 1,000 | in 2,000 | tokens |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, m := range list {
		for i := range m.ended {
			fmt.Fprintf(w, "| %s |", m.ended[i].Set)
			for _, l := range []*line{m.ended[i].all(), m.whole[i].all()} {
				for _, b := range budgets {
					fmt.Fprintf(w, " %.3f |", l.Mean.Evidence[b])
				}
				fmt.Fprintf(w, " %.0f |", l.Mean.Tokens[budgets[len(budgets)-1]])
			}
			fmt.Fprintln(w)
		}
	}
}

// byKind prints the kinds of questions of each folder, all its sets together.
func byKind(w io.Writer, list []measured) {
	fmt.Fprint(w, "\n## By kind of question\n\n| of | kind | questions | common | R@10 | evidence in 2,000 | with `fill` |\n|---|---|---|---|---|---|---|\n")
	last := budgets[len(budgets)-1]
	for _, m := range list {
		var names []string
		sum := map[string]*[5]float64{}
		for i := range m.ended {
			for k := range m.ended[i].Lines[:len(m.ended[i].Lines)-1] {
				l, whole := &m.ended[i].Lines[k], &m.whole[i].Lines[k]
				name := l.Category
				if m.name == others {
					name = m.ended[i].Set + ": " + name
				}
				s := sum[name]
				if s == nil {
					s = &[5]float64{}
					sum[name], names = s, append(names, name)
				}
				for at, v := range []float64{1, l.Mean.Common, l.Mean.Recall10, l.Mean.Evidence[last], whole.Mean.Evidence[last]} {
					s[at] += v * float64(l.Queries)
				}
			}
		}
		for _, name := range names {
			s := sum[name]
			fmt.Fprintf(w, "| %s | %s | %.0f | %.2f | %.3f | %.3f | %.3f |\n", m.name, name, s[0], s[1]/s[0], s[2]/s[0], s[3]/s[0], s[4]/s[0])
		}
	}
}

func calibrated(w io.Writer, list []measured) {
	fmt.Fprintf(w, "\n## Scores\n\nOf the first hundred items of each question, in tenths of the score: what the scores say, how many are relevant, and of how many items. Tenths of fewer than %d items are left out.\n\n", fewest)
	fmt.Fprint(w, "| of | said | was | items |\n|---|---|---|---|\n")
	row := func(name string, reports []report) {
		for b := range reports[0].all().Bins {
			var items, relevant int
			var score float64
			for i := range reports {
				bin := reports[i].all().Bins[b]
				items, relevant, score = items+bin.Items, relevant+bin.Relevant, score+bin.Score
			}
			if n := float64(items); items >= fewest {
				fmt.Fprintf(w, "| %s | %.3f | %.3f | %d |\n", name, score/n, float64(relevant)/n, items)
			}
		}
	}
	for _, m := range list {
		if m.name != others {
			row(m.name, m.ended)
			continue
		}
		for i := range m.ended {
			row(m.ended[i].Set, m.ended[i:i+1])
		}
	}
}

func unanswerable(w io.Writer, list []measured) {
	fmt.Fprint(w, "\n## What nothing answers\n\n| set | questions | empty packs | tokens |\n|---|---|---|---|\n")
	for _, m := range list {
		for i := range m.ended {
			if u := m.ended[i].Unanswerable; u.Queries > 0 {
				fmt.Fprintf(w, "| %s | %d | %d | %.0f |\n", m.ended[i].Set, u.Queries, u.Empty, u.Tokens)
			}
		}
	}
}
