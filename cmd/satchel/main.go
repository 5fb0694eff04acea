// Command satchel is the whole of Satchel in one binary: the worker on NATS with its
// embedded engines, the commands to talk to it, and the tools to look into its log.
//
// This package has the tree of commands and the exit codes; cmd/internal has the rest.
//
// Exit codes: 0 done; 1 it failed; 2 the command line, a setting or a request is wrong;
// 3 a check found something (verify, lint, doctor, import, backup, restore, evidence, rot,
// version); 4 nothing answers at the NATS address; 5 nothing was found, with --fail-empty.
package main

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
	stdout := &terminal.Pipe{W: out, Stop: stop}
	out, errOut = &terminal.Plain{W: stdout}, &terminal.Plain{W: errOut}
	args = plainWords(args)
	if i := slices.IndexFunc(args, func(arg string) bool { return !utf8.ValidString(arg) }); i >= 0 { // the parser would change it
		fmt.Fprintf(errOut, "satchel: argument %d, %q, is not UTF-8\n", i+1, args[i])
		return exitUsage
	}
	all := slices.Contains(args, "--help-all")
	if all {
		args = append(slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--help-all" }), "--help")
	}
	var c cli
	code := -1
	parser, err := kong.New(&c, kong.Name("satchel"), kong.Description(description), kong.UsageOnError(),
		kong.Writers(out, errOut), kong.Exit(func(n int) { code = n }), kong.BindTo(ctx, (*context.Context)(nil)),
		kong.NamedMapper("path", kong.MapperFunc(readPath)), kong.PostBuild(nameVariables),
		kong.Help(printHelp(all)), kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}))
	if err != nil {
		fmt.Fprintln(errOut, "satchel:", err)
		return exitFailed
	}
	cmd, err := parser.Parse(args)
	switch {
	case stdout.Broken.Load():
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
	if err := c.CheckVariables(os.Getenv); err != nil {
		return report(errOut, err)
	}
	if err := config.CheckRanges(cmd.Flags(), given); err != nil {
		return report(errOut, err)
	}
	c.TuneRuntime()
	a := &app.App{Settings: &c.Settings, Out: out, Err: errOut, In: in}
	a.TenantGiven, a.PortGiven, a.DirGiven = given("tenant"), given("nats-port"), given("dir")
	a.HTTPGiven = given("http-addr")
	err = cmd.Run(a)
	switch {
	case stdout.Broken.Load():
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
