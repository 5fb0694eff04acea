package eval

import (
	"cmp"
	"fmt"
	"text/tabwriter"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/lab/measure"
	"satchel/pipeline/candidate"
	"satchel/pipeline/selection/defend"
	"satchel/pipeline/selection/defend/injection"
	"satchel/schemas"
)

// injectionReport says what the defenses make of a set of labelled texts.
type injectionReport struct {
	Set   string                  `json:"set"`
	Model string                  `json:"model"`
	AUROC float64                 `json:"auroc"`
	Lines []measure.InjectionLine `json:"lines"`
}

// runInjection has the defenses, as they are configured, judge each text of a set.
func runInjection(a *app.App, dir, name string) error {
	texts, err := measure.LoadJudged(dir, name)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	defenses, err := defend.New(a.Defend())
	if err != nil {
		return err
	}
	classifier, err := injection.New()
	if err != nil {
		return err
	}
	for i := range texts {
		v := candidate.Visible{MemoryItem: schemas.MemoryItem{
			Kind: cmp.Or(texts[i].Kind, schemas.KindMemory), Content: schemas.TextContent(texts[i].Text),
		}}
		c := []candidate.Candidate{candidate.New(&v, schemas.Verdict{})}
		defenses.ApplyKeepingDuplicates(c, false, time.Time{})
		texts[i].Dropped, texts[i].Fenced, texts[i].Unread = c[0].Drop == schemas.DropInjection, c[0].Fenced(), c[0].Unjudged
		texts[i].Score = classifier.Score(texts[i].Text)
	}
	r := injectionReport{Set: name, Model: injection.Revision, AUROC: measure.AUROC(texts), Lines: measure.InjectionLines(texts)}
	if a.JSON {
		return command.PrintJSON(a, []injectionReport{r})
	}
	fmt.Fprintf(a.Out, "%s: %d texts by %s, AUROC %.4f\n", r.Set, len(texts), r.Model, r.AUROC)
	tw := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "source\tinjected\ttexts\tcaught\tdropped\tfenced\tother language\t")
	for _, l := range r.Lines {
		fmt.Fprintf(tw, "%s\t%v\t%d\t%d\t%d\t%d\t%d\t\n", l.Source, l.Injected, l.Texts, l.Caught, l.Dropped, l.Fenced, l.Unread)
	}
	return tw.Flush()
}
