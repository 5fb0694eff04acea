package main

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
	exitFailed  = 1
	exitUsage   = 2
	exitFound   = 3
	exitNoReply = 4
	exitEmpty   = 5
)

// report prints why a command failed and returns the exit code.
func report(errOut io.Writer, err error) int {
	var found *command.FoundError
	var usage *config.UsageError
	var refused *schemas.Error
	switch {
	case errors.As(err, &found):
		fmt.Fprintln(errOut, "satchel:", found)
		return exitFound
	case errors.As(err, &usage):
		fmt.Fprintln(errOut, "satchel:", usage)
		printProblems(errOut, err)
		return exitUsage
	case errors.As(err, &refused) && slices.Contains([]int{400, 404, 409, 413}, refused.Code.HTTPStatus()):
		fmt.Fprintln(errOut, "satchel:", err)
		printProblems(errOut, err)
		return exitUsage
	case errors.Is(err, jetstream.ErrNoService): // what emitters ask
		fmt.Fprintf(errOut, "satchel: NATS answers, no Satchel on it (%v); %v\n", err, app.ErrNobody)
		return exitNoReply
	case errors.Is(err, app.ErrNobody), errors.Is(err, app.ErrAbsent):
		fmt.Fprintln(errOut, "satchel:", err)
		return exitNoReply
	case errors.Is(err, command.ErrEmpty):
		fmt.Fprintln(errOut, "satchel:", err)
		return exitEmpty
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(errOut, "satchel: interrupted")
		return exitFailed
	}
	fmt.Fprintln(errOut, "satchel:", err)
	printProblems(errOut, err)
	return exitFailed
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
func printMisused(w io.Writer, err error) {
	text, name := err.Error(), "satchel"
	var refused *kong.ParseError
	if errors.As(err, &refused) {
		given := func(f *kong.Flag) bool {
			return slices.ContainsFunc(refused.Context.Path, func(p *kong.Path) bool { return p.Flag != nil && p.Flag.Name == f.Name })
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
	fmt.Fprintf(w, "satchel: %s\nTry %s --help.\n", text, name)
}
