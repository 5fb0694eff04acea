// Package cli runs a program of commands. It promises that every program takes the same settings, as flags or variables. It
// refuses what it does not know before a command runs, takes away what would command a terminal, and ends with the same exit
// codes.
//
// Exit codes: 0 done; 1 it failed; 2 the command line, a setting or a request is wrong;
// 3 a check found something (verify, lint, doctor, import, backup, restore, evidence, version; rot, eval of satchel-lab);
// 4 nothing answers at the NATS address; 5 nothing was found, with --fail-empty.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
)

// Program is a tree of commands.
type Program struct {
	Name        string
	Description string
	Help        string           // the longer help of commands, as Explain takes it; "" where they have it themselves
	Common      []string         // commands that the first help explains; the others are only named. None: it explains all
	Note        string           // what the first help says after them; "" for nothing
	Commands    any              // pointer to a struct of kong's, in which Settings are embedded
	Settings    *config.Settings // flags of every command
}

// Main runs a program as this process: its exit code is what run returns. An interrupt ends the context.
func Main(run func(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // a write to a closed pipe fails instead, see pipe
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Run runs the command that the arguments name, and returns the exit code.
func (p *Program) Run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stdout := &terminal.Pipe{W: out, Stop: stop}
	out = &terminal.Plain{W: stdout}
	errOut = &terminal.Plain{W: errOut}
	args = plainWords(args)
	if i := slices.IndexFunc(args, func(arg string) bool { return !utf8.ValidString(arg) }); i >= 0 { // the parser would change it
		fmt.Fprintf(errOut, "%s: argument %d, %q, is not UTF-8\n", p.Name, i+1, args[i])
		return ExitUsage
	}
	all := slices.Contains(args, "--help-all")
	if all {
		args = append(slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--help-all" }), "--help")
	}
	code := -1
	parser, err := kong.New(p.Commands, kong.Name(p.Name), kong.Description(p.Description), kong.UsageOnError(),
		kong.Writers(out, errOut), kong.Exit(func(n int) { code = n }), kong.BindTo(ctx, (*context.Context)(nil)),
		kong.NamedMapper("path", kong.MapperFunc(readPath)), kong.PostBuild(nameVariables), Explain(p.Help),
		kong.Help(p.printHelp(all)), kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}))
	if err != nil {
		fmt.Fprintln(errOut, p.Name+":", err)
		return ExitFailed
	}
	cmd, err := parser.Parse(args)
	switch {
	case stdout.Broken.Load():
		return ExitFailed
	case code >= 0:
		return code // help was printed
	}
	if err != nil {
		p.printMisused(errOut, err)
		return ExitUsage
	}
	given := func(flag string) bool {
		return slices.ContainsFunc(cmd.Path, func(at *kong.Path) bool { return at.Flag != nil && at.Flag.Name == flag })
	}
	if err := p.Settings.CheckVariables(os.Getenv); err != nil {
		return p.report(errOut, err)
	}
	if err := config.CheckRanges(cmd.Flags(), given); err != nil {
		return p.report(errOut, err)
	}
	p.Settings.TuneRuntime()
	a := &app.App{Settings: p.Settings, Out: out, Err: errOut, In: in}
	a.TenantGiven, a.PortGiven, a.DirGiven = given("tenant"), given("nats-port"), given("dir")
	a.HTTPGiven = given("http-addr")
	err = cmd.Run(a)
	switch {
	case stdout.Broken.Load():
		return ExitFailed // whoever read it has gone and wants no word
	case err != nil:
		return p.report(errOut, err)
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

// nameVariables gives every setting the names of its variable. It keeps variables from their flags that nobody set for Satchel: an empty one,
// where that is no value, and what Kubernetes tells the pods of a service named nats.
func nameVariables(k *kong.Kong) error {
	return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
		if f, ok := node.(*kong.Flag); ok {
			text := f.Target.Kind() == reflect.String && f.Enum == ""
			if len(f.Envs) == 1 {
				f.Envs = config.Variables(f.Name, f.Envs[0])
			}
			set := slices.ContainsFunc(f.Envs, func(name string) bool { return os.Getenv(name) != "" })
			f.Tag.Envs = slices.DeleteFunc(slices.Clone(f.Envs), func(name string) bool {
				value := os.Getenv(name)
				return value == "" && (!text || set) || strings.HasSuffix(name, "_PORT") && strings.HasPrefix(value, "tcp://")
			})
		}
		return next(nil)
	})
}
