// Command calibrate fits the probability that a candidate bears on a question to labelled sets, and prints
// the coefficients and a reliability diagram. Run it from the root of the repository:
//
//	go run ./test/calibrate -data DIR > pipeline/selection/rank/calibration.go
//
// DIR has the sets, as docs/selection.md describes them. Each set counts alike. A question of
// another set, which nothing in a set answers, stands for every fourth question. Labels are
// incomplete: a candidate without one that covers the question by words and by meaning counts less.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/embed/static"
)

// sets are those that it is fitted to. Where a question has one label and many answers, as in cosqa, a
// label says too little.
const sets = "locomo,beam100k,metatool,bfcl-tools,scifact,git-river-changelog"

// row is a candidate of a question, and whether it is labelled.
type row struct {
	set      string
	question int
	relevant bool
	weight   float64
	candidate.Evidence
}

func main() {
	data := flag.String("data", "", "folder of the sets")
	names := flag.String("sets", sets, "sets, with commas")
	most := flag.Int("most", 200, "questions of each set")
	flag.Parse()
	if err := run(context.Background(), *data, strings.Split(*names, ","), *most, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, data string, names []string, most int, out, diagram io.Writer) error {
	embedder, err := static.New()
	if err != nil {
		return err
	}
	all := make([]set, len(names))
	for i, name := range names {
		if all[i], err = readSet(data, name); err != nil {
			return err
		}
	}
	var rows []row
	for i := range all {
		got, err := gather(ctx, &all[i], &all[(i+1)%len(all)], embedder, most)
		if err != nil {
			return fmt.Errorf("gather %s: %w", names[i], err)
		}
		rows = append(rows, got...)
	}
	return report(rows, out, diagram)
}

// best is how many candidates of a question count.
const best = 10

// gather asks the questions of a set, and some of another.
func gather(ctx context.Context, s, other *set, embedder *static.Embedder, most int) ([]row, error) {
	st, err := open(ctx, s, embedder)
	if err != nil {
		return nil, err
	}
	var rows []row
	ask := func(n int, tenant, text string, relevant []string) error {
		found, err := st.ask(ctx, tenant, text, best)
		for i := range found {
			is := slices.Contains(relevant, st.ids[found[i].ID])
			rows = append(rows, row{set: s.name, question: n, relevant: is, Evidence: found[i].Signals.Evidence})
		}
		return err
	}
	step := max(1, len(s.questions)/most)
	for n := 0; n < len(s.questions) && err == nil; n += step {
		q := &s.questions[n]
		if len(q.Relevant) > 0 {
			err = ask(n/step, st.tenants[q.Tenant], q.Text, q.Relevant)
		}
		if err == nil && n/step%foreign == 0 {
			err = ask(n/step, st.tenants[q.Tenant], other.questions[n%len(other.questions)].Text, nil)
		}
	}
	for i := range rows {
		rows[i].weight = 1 / float64(len(rows))
	}
	return rows, errors.Join(err, st.close())
}

// foreign is how many questions of a set there are to one of another.
const foreign = 4
