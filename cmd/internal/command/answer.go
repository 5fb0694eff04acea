package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"satchel/cmd/internal/app"
	"satchel/pipeline/language"
	"satchel/pipeline/pack"
	"satchel/schemas"
)

// Answer is satchel answer.
type Answer struct {
	PrincipalFlags
	Question []string `arg:"" help:"What you want to know, or have done."`
	Budget   int      `help:"Tokens of the context." default:"2000"`
	Session  string   `help:"Session of the asker."`
	EmptyFlag
}

// Run asks for an answer and prints it with its citations.
func (c *Answer) Run(ctx context.Context, a *app.App) error {
	var reply schemas.RunReply
	req := schemas.RunRequest{From: c.agent(), Task: strings.Join(c.Question, " "), Purpose: c.Purpose, Session: c.Session, TZ: a.TZ, TokenBudget: c.Budget}
	if err := Operation(ctx, a, "run", &req, &reply); err != nil {
		return err
	}
	sentences := 0
	if reply.Answer != nil {
		sentences = len(reply.Answer.Sentences)
	}
	err := PrintReply(a, reply, func(w io.Writer) {
		PrintAnswer(w, &reply)
		fmt.Fprintf(w, "trace    satchel trace %s\n", reply.RequestID)
	})
	return errors.Join(err, c.check(sentences))
}

// PrintAnswer prints a verified answer, what it cites, and what each role said.
func PrintAnswer(w io.Writer, r *schemas.RunReply) {
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "warning  %s\n", warning)
	}
	switch {
	case r.Answer != nil && len(r.Answer.Sentences) == 0 && r.Metrics.TokenActual == 0:
		fmt.Fprintln(w, "The context is empty, so there is nothing to answer from.")
	case r.Answer == nil || len(r.Answer.Sentences) == 0:
		fmt.Fprintln(w, "Nothing that was found answers it.")
	default:
		printSentences(w, r.Answer)
		for _, line := range Citations(r.Answer) {
			fmt.Fprintln(w, line)
		}
	}
	fmt.Fprintln(w)
	if r.Answer != nil {
		fmt.Fprintf(w, "made by  %s of %d tokens of context; payload sha256 %.16s…\n", r.Answer.Invocation.Model, r.Metrics.TokenActual, r.Answer.Invocation.PayloadSHA256)
	}
	fmt.Fprintf(w, "checked  %s\n", ChecksLine(r.Checks))
	if len(r.Withheld) > 0 {
		fmt.Fprintf(w, "withheld %s, by safety tag\n", strings.Join(r.Withheld, ", "))
	}
	for _, f := range r.Findings {
		fmt.Fprintf(w, "anomaly  %s, %s: %s, the limit is %s (%s)\n", f.Anomaly, f.Subject, plainNumber(f.Value), plainNumber(f.Limit), f.Detail)
	}
}

// printSentences prints an answer. Each line of a passage, and of what has brackets as citations have, begins with a
// mark, so that none looks like what Satchel says, and above stands where it is from.
func printSentences(w io.Writer, a *schemas.RoleAnswer) {
	cites := func(s schemas.AnswerSentence) bool { return pack.HasReference(s.Speaker + ": " + s.Text) }
	if !slices.ContainsFunc(a.Sentences, cites) && !strings.Contains(a.Text, "\n") {
		fmt.Fprintln(w, a.Text)
		return
	}
	for i := range a.Sentences {
		s := &a.Sentences[i]
		text := language.Unsigned(a.Sentences[i].Text)
		if s.Speaker != "" {
			text = s.Speaker + ": " + text
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		if n := len(s.Citations); n > 0 {
			last := &s.Citations[n-1]
			fmt.Fprintf(w, "[%d] %s\n", last.Number, cmp.Or(last.Where, last.ItemID))
		}
		for line := range strings.Lines(text) {
			fmt.Fprintln(w, strings.TrimRight("  | "+strings.TrimRight(line, "\r\n"), " "))
		}
	}
}

// plainNumber writes a figure with two decimals at most and no exponent.
func plainNumber(f float64) string {
	return strconv.FormatFloat(math.Round(f*100)/100, 'f', -1, 64)
}

// Citations lists what an answer cites, by number: where it stands, and the sum of each part that is quoted.
func Citations(a *schemas.RoleAnswer) []string {
	var lines []string
	at := map[int]int{} // by number, its line
	for i := range a.Sentences {
		for _, c := range a.Sentences[i].Citations {
			n, seen := at[c.Number]
			if !seen {
				where := ""
				if c.Where != "" {
					where = c.Where + ", "
				}
				n = len(lines)
				at[c.Number], lines = n, append(lines, fmt.Sprintf("  [%d] %s%s, %s, sha256", c.Number, where, c.ItemID, c.ContentRef))
			}
			if sum := fmt.Sprintf(" %.16s…", c.SHA256); !strings.Contains(lines[n], sum) {
				lines[n] += sum
			}
		}
	}
	return lines
}

// ChecksLine says in one line what was checked; a name that comes twice counts once.
func ChecksLine(checks []schemas.Check) string {
	var names, parts, failed []string
	for i := len(checks) - 1; i >= 0; i-- {
		c := &checks[i]
		if slices.Contains(names, c.Name) {
			continue
		}
		names = append(names, c.Name)
		name := strings.ReplaceAll(c.Name, "_", " ")
		parts = append(parts, fmt.Sprintf("%s %d", name, c.Checked))
		if !c.OK {
			failed = append(failed, name)
		}
	}
	slices.Reverse(parts)
	slices.Reverse(failed)
	if len(failed) > 0 {
		return strings.Join(parts, ", ") + ": FAILED " + strings.Join(failed, ", ")
	}
	return strings.Join(parts, ", ") + ": all hold"
}
