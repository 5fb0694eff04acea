package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/jetstream"
	"satchel/schemas"
)

// The exit codes.
const (
	ExitFailed  = 1
	ExitUsage   = 2
	ExitFound   = 3
	ExitNoReply = 4
	ExitEmpty   = 5
)

// report prints why a command failed and returns the exit code.
func (p *Program) report(errOut io.Writer, err error) int {
	var found *command.FoundError
	var usage *config.UsageError
	var refused *schemas.Error
	switch {
	case errors.As(err, &found):
		fmt.Fprintln(errOut, p.Name+":", found)
		return ExitFound
	case errors.As(err, &usage):
		fmt.Fprintln(errOut, p.Name+":", usage)
		printProblems(errOut, err)
		return ExitUsage
	case errors.As(err, &refused) && slices.Contains([]int{400, 404, 409, 413}, refused.Code.HTTPStatus()):
		fmt.Fprintln(errOut, p.Name+":", err)
		printProblems(errOut, err)
		return ExitUsage
	case errors.Is(err, jetstream.ErrNoService): // what emitters ask
		fmt.Fprintf(errOut, "%s: NATS answers, no Satchel on it (%v); %v\n", p.Name, err, app.ErrNobody)
		return ExitNoReply
	case errors.Is(err, app.ErrNobody), errors.Is(err, app.ErrAbsent):
		fmt.Fprintln(errOut, p.Name+":", err)
		return ExitNoReply
	case errors.Is(err, command.ErrEmpty):
		fmt.Fprintln(errOut, p.Name+":", err)
		return ExitEmpty
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(errOut, p.Name+": interrupted")
		return ExitFailed
	}
	fmt.Fprintln(errOut, p.Name+":", err)
	printProblems(errOut, err)
	return ExitFailed
}

// printProblems names every failing field of a refused document, one a line.
func printProblems(w io.Writer, err error) {
	var refused *schemas.Error
	if !errors.As(err, &refused) || len(refused.Problems) < 2 {
		return
	}
	for _, p := range refused.Problems {
		fmt.Fprintf(w, "  %s %s\n", command.OrDocument(p.Pointer), p.Message)
	}
}

// printMisused says what the parser refused, under the name it was given by, and where help is.
func (p *Program) printMisused(w io.Writer, err error) {
	text := err.Error()
	name := p.Name
	var refused *kong.ParseError
	if errors.As(err, &refused) {
		given := func(f *kong.Flag) bool {
			return slices.ContainsFunc(refused.Context.Path, func(at *kong.Path) bool { return at.Flag != nil && at.Flag.Name == f.Name })
		}
		for _, f := range refused.Context.Flags() {
			if rest, ok := strings.CutPrefix(text, f.ShortSummary()+" must be one of"); ok && len(f.Envs) > 0 && !given(f) {
				text = config.Named(f) + " must be one of" + rest
			}
		}
		if at := refused.Context.Selected(); at != nil {
			for name = at.Name; at.Parent != nil; { // FullPath has the second names, too
				at = at.Parent
				name = at.Name + " " + name
			}
		}
	}
	fmt.Fprintf(w, "%s: %s\nTry %s --help.\n", p.Name, text, name)
}
