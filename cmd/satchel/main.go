// Command satchel is the whole of Satchel in one binary: the worker on NATS with its
// embedded engines, the commands to talk to it, and the tools to look into its log.
//
// This package turns flags and environment into settings, settings into wiring, and
// runs it. It is the only place that names a driver (wiring.go).
//
// Exit codes: 0 done; 1 it failed; 2 the command line, a setting or a request is wrong;
// 3 a check found something (verify, lint, doctor, import); 4 nothing answers at the NATS
// address.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"satchel/jetstream"
	"satchel/schemas"
)

// The exit codes.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitFound   = 3
	exitNoReply = 4
)

// foundError says that a check ran and found something; it was printed already.
type foundError struct{ what string }

func (e *foundError) Error() string { return e.what }

// usageError says that a setting or an argument is wrong.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

type cli struct {
	Settings `group:"Settings"`

	Demo      demoCmd      `cmd:"" help:"Start everything in a fresh folder, stream a few dozen memories, ask as two principals, verify and prove. The place to begin."`
	Up        upCmd        `cmd:"" help:"Run Satchel: embedded NATS, log, indexes and services, until Ctrl-C."`
	Worker    workerCmd    `cmd:"" help:"Run one of several workers that share NATS and a database, until Ctrl-C."`
	Emit      emitCmd      `cmd:"" help:"Publish one memory."`
	Ask       askCmd       `cmd:"" help:"Ask for a context pack."`
	Compact   compactCmd   `cmd:"" help:"Bring a pack, a session or a file under a budget; keep summaries."`
	Dropped   droppedCmd   `cmd:"" help:"Bring back what a pack left out."`
	Explain   explainCmd   `cmd:"" help:"Say why an item is, or is not, in a pack, and what would have changed that."`
	Answer    answerCmd    `cmd:"" help:"Have the roles answer a question, with citations."`
	Trace     traceCmd     `cmd:"" help:"Print what a run left in the ledger, step by step."`
	Search    searchCmd    `cmd:"" help:"Search memories, best first."`
	Preview   previewCmd   `cmd:"" help:"Say which memories a template would show and what they cost, or build the text."`
	Assemble  assembleCmd  `cmd:"" help:"Put memories, code, experiences, values and commits about a question into Markdown."`
	Premortem premortemCmd `cmd:"" help:"Warn of what went wrong before in a domain."`
	Rollback  rollbackCmd  `cmd:"" help:"Go on with a log that was restored from an older backup."`
	Migrate   migrateCmd   `cmd:"" help:"Copy the log from the data folder to a Postgres database, and make the items there."`
	Forget    forgetCmd    `cmd:"" help:"Erase items everywhere and print the erasure receipt."`
	Relevance relevanceCmd `cmd:"" help:"Say which context nodes a turn needs, and which layer decided."`
	Ledger    ledgerCmd    `cmd:"" help:"Print or follow the provenance ledger."`
	Import    importCmd    `cmd:"" help:"Publish memories from JSONL files, Markdown, a git history, source code or experiences."`
	Values    valuesCmd    `cmd:"" help:"Cluster experiences into values: what they have in common."`
	Verify    verifyCmd    `cmd:"" help:"Recompute the whole log: hashes, proofs, content; name the first bad position."`
	Rebuild   rebuildCmd   `cmd:"" help:"Empty the indexes and fill them from the log."`
	Reembed   reembedCmd   `cmd:"" help:"Follow the embedding anew by another model, or try a model on the log and compare it."`
	Dlq       dlqCmd       `cmd:"" help:"Look at, retry or drop rejected events."`
	Eval      evalCmd      `cmd:"" help:"Score retrieval and packs on labelled data."`
	Bench     benchCmd     `cmd:"" help:"Measure latency, throughput, restart and memory on a generated corpus."`
	Doctor    doctorCmd    `cmd:"" help:"Say what works, what does not, and which promises hold."`
	Policy    policyCmd    `cmd:"" help:"Test, explain or print the policy."`
	Artifact  artifactCmd  `cmd:"" help:"Store heavy content, open it by a handle, or revoke handles."`
	Exception exceptionCmd `cmd:"" help:"Register, list or revoke governed exceptions from policy."`
	Config    configCmd    `cmd:"" help:"Print the effective settings, secrets masked."`
	Schema    schemaCmd    `cmd:"" help:"Print a JSON Schema or the AsyncAPI document."`
	Lint      lintCmd      `cmd:"" help:"Check JSONL files of memories; exit 3 when one is malformed or unlabelled."`
	Version   versionCmd   `cmd:"" help:"Print the version."`
}

// app is what a command runs with.
type app struct {
	*Settings
	out io.Writer
	err io.Writer
	in  io.Reader

	tenantGiven bool // on the command line
	portGiven   bool // --nats-port, on the command line
	migrating   bool // the log may be on its way from one database to another
	beside      bool // another process works on the data folder: nothing is kept there
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // a write to a closed pipe fails instead, see pipe
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stdout := &pipe{w: out, stop: stop}
	out, errOut = &plain{w: stdout}, &plain{w: errOut}
	var c cli
	code := -1
	parser, err := kong.New(&c, kong.Name("satchel"), kong.Description(description), kong.UsageOnError(),
		kong.Writers(out, errOut), kong.Exit(func(n int) { code = n }), kong.BindTo(ctx, (*context.Context)(nil)),
		kong.NamedMapper("path", kong.MapperFunc(readPath)), kong.PostBuild(skipUnmeant),
		kong.Help(printHelp), kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}))
	if err != nil {
		fmt.Fprintln(errOut, "satchel:", err)
		return exitFailed
	}
	args = plainWords(args)
	cmd, err := parser.Parse(args)
	switch {
	case stdout.broken.Load():
		return exitFailed
	case code >= 0:
		return code // help was printed
	}
	if err != nil {
		printMisused(errOut, err)
		return exitUsage
	}
	given := func(flag string) bool {
		return slices.ContainsFunc(cmd.Path, func(p *kong.Path) bool { return p.Flag != nil && p.Flag.Name == flag })
	}
	if err := checkRanges(cmd.Flags(), given); err != nil {
		return report(errOut, err)
	}
	c.tuneRuntime()
	a := &app{Settings: &c.Settings, out: out, err: errOut, in: in}
	a.tenantGiven, a.portGiven = given("tenant"), given("nats-port")
	err = cmd.Run(a)
	switch {
	case stdout.broken.Load():
		return exitFailed // whoever read it has gone and wants no word
	case err != nil:
		return report(errOut, err)
	}
	return 0
}

// plainWords lets help and --version be said as other programs have it.
func plainWords(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case len(args) == 1 && args[0] == "--version":
		return []string{"version"}
	}
	return args
}

// readPath makes a path absolute and leaves an empty one, such as that of an empty
// environment variable, empty.
func readPath(ctx *kong.DecodeContext, target reflect.Value) error {
	var p string
	if err := ctx.Scan.PopValueInto("path", &p); err != nil {
		return err
	}
	if p != "" {
		p = kong.ExpandPath(p)
	}
	target.SetString(p)
	return nil
}

// skipUnmeant keeps variables from their flags that nobody set for Satchel: an empty one,
// where that is no value, and what Kubernetes tells the pods of a service named nats.
func skipUnmeant(k *kong.Kong) error {
	return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
		if f, ok := node.(*kong.Flag); ok {
			text := f.Target.Kind() == reflect.String && f.Enum == ""
			f.Tag.Envs = slices.DeleteFunc(slices.Clone(f.Tag.Envs), func(name string) bool {
				value := os.Getenv(name)
				return value == "" && !text || strings.HasSuffix(name, "_PORT") && strings.HasPrefix(value, "tcp://")
			})
		}
		return next(nil)
	})
}

func report(errOut io.Writer, err error) int {
	var found *foundError
	var usage *usageError
	var refused *schemas.Error
	switch {
	case errors.As(err, &found):
		fmt.Fprintln(errOut, "satchel:", found)
		return exitFound
	case errors.As(err, &usage):
		fmt.Fprintln(errOut, "satchel:", usage)
		printProblems(errOut, err)
		return exitUsage
	case errors.As(err, &refused) && (refused.Code.HTTPStatus() == 400 || refused.Code.HTTPStatus() == 404):
		fmt.Fprintln(errOut, "satchel:", err)
		printProblems(errOut, err)
		return exitUsage
	case errors.Is(err, jetstream.ErrNoService): // what emitters ask
		fmt.Fprintf(errOut, "satchel: NATS answers, no Satchel on it (%v); %v\n", err, errNobody)
		return exitNoReply
	case errors.Is(err, errNobody), errors.Is(err, errAbsent):
		fmt.Fprintln(errOut, "satchel:", err)
		return exitNoReply
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
		fmt.Fprintf(w, "  %s %s\n", orDocument(p.Pointer), p.Message)
	}
}

const description = `Governed memory and context for AI agents, on NATS.

    satchel demo                begin here
    satchel up                  run it; then, in another terminal:
    satchel emit --text "…"     remember
    satchel ask "…"             ask`
