package eval

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"satchel/cmd/internal/lab/measure"
)

// Report is one set's result.
type Report struct {
	Set      string         `json:"set"`
	Memories int            `json:"memories"`
	Lines    []measure.Line `json:"lines"`

	Unanswerable measure.Unlabelled `json:"unanswerable"`

	Compared []compared `json:"compared,omitempty"`
	Turns    []shared   `json:"turns,omitempty"`
	Shrunk   []shrunk   `json:"shrunk,omitempty"`
}

// printEval prints a line for each category of questions.
func printEval(w io.Writer, r Report, budgets []int) {
	fmt.Fprintf(w, "%s: %d memories\n", r.Set, r.Memories)
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "category\tqueries\tR@5\tR@10\tR@20\tnDCG@10\tMRR\tsession@5\tcommon\t")
	budgets = slices.Sorted(slices.Values(budgets))
	for _, name := range []string{"ev", "text", "answer", "tokens"} {
		for _, b := range budgets {
			fmt.Fprintf(tw, "%s@%d\t", name, b)
		}
	}
	fmt.Fprint(tw, "drops named\tcites\tover\tp50 ms\tp95 ms\t\n")
	for _, l := range r.Lines {
		m := l.Mean
		fmt.Fprintf(tw, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t", l.Category, l.Queries, m.Recall5, m.Recall10, m.Recall20, m.NDCG10, m.MRR, m.Session5, m.Common)
		for _, share := range []map[int]float64{m.Evidence, m.Shown, m.Answered} {
			for _, b := range budgets {
				fmt.Fprintf(tw, "%.3f\t", share[b])
			}
		}
		for _, b := range budgets {
			fmt.Fprintf(tw, "%.0f\t", m.Tokens[b])
		}
		fmt.Fprintf(tw, "%s\t%s\t%d\t%.1f\t%.1f\t\n", percent(l.Account.Coverage()), percent(l.Account.Citations()), l.Over, l.P50, l.P95)
	}
	if err := tw.Flush(); err != nil {
		fmt.Fprintln(w, err)
	}
	printBins(w, &r.Lines[len(r.Lines)-1])
	if u := r.Unanswerable; u.Queries > 0 {
		fmt.Fprintf(w, "nothing answers %d more: %d empty packs, %.0f tokens on average\n", u.Queries, u.Empty, u.Tokens)
	}
	printTurns(w, r.Turns)
}

// printBins prints what the scores of ranked items say, and how many of them are relevant.
func printBins(w io.Writer, l *measure.Line) {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "score said\twas\titems\t\n")
	for _, b := range l.Bins {
		if n := float64(b.Items); n > 0 {
			fmt.Fprintf(tw, "%.3f\t%.3f\t%d\t\n", b.Score/n, float64(b.Relevant)/n, b.Items)
		}
	}
	if err := tw.Flush(); err != nil {
		fmt.Fprintln(w, err)
	}
	fmt.Fprintf(w, "empty packs: %d of %d\n", l.Empty, l.Queries)
}
