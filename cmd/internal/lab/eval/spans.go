package eval

import (
	"fmt"
	"text/tabwriter"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/lab/measure"
	"satchel/pipeline/pii"
)

// spansReport says how well personal data is found in one set.
type spansReport struct {
	Set         string             `json:"set"`
	Texts       int                `json:"texts"`
	Bytes       int                `json:"bytes"`
	MicrosPerKB float64            `json:"micros_per_kb"`
	Lines       []measure.SpanLine `json:"lines"`
}

// runSpans scores the detector on a set of marked texts.
func runSpans(a *app.App, dir, name string) error {
	texts, err := measure.LoadSpans(dir, name)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	d, err := pii.New(pii.Config{Types: pii.Types()})
	if err != nil {
		return err
	}
	r := spansReport{Set: name, Texts: len(texts)}
	if r.Lines, err = measure.ScoreSpans(texts, d); err != nil {
		return &config.UsageError{Err: err}
	}
	start := time.Now()
	for i := range texts {
		r.Bytes += len(texts[i].Text)
		d.Find(texts[i].Text)
	}
	if r.Bytes > 0 {
		r.MicrosPerKB = float64(time.Since(start).Microseconds()) / (float64(r.Bytes) / 1024)
	}
	if a.JSON {
		return command.PrintJSON(a, []spansReport{r})
	}
	fmt.Fprintf(a.Out, "%s: %d texts, %.1f µs a KB\n", r.Set, r.Texts, r.MicrosPerKB)
	tw := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "type\tmarked\tfound\tprecision\trecall\tF1\toverlap F1\t")
	for _, l := range r.Lines {
		fmt.Fprintf(tw, "%s\t%d\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t\n", l.Type, l.Marked, l.Found, l.Precision, l.Recall, l.F1, l.OverlapF1)
	}
	return tw.Flush()
}
