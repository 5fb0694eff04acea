package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// printHelp is kong's help with the settings that are for the command: all of them for
// those that run Satchel or print the settings, else those by which it is found. The
// others count all the same.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	if node := ctx.Selected(); node != nil && slices.Contains([]string{"up", "worker", "config"}, node.Name) {
		return kong.DefaultHelpPrinter(options, ctx)
	}
	for _, f := range ctx.Model.Flags {
		connects := ctx.Selected() != nil && slices.Contains([]string{"nats-url", "nats-port", "creds", "nats-nkey", "nats-ca", "nats-cert", "nats-key", "http-addr"}, f.Name) ||
			ctx.Selected() != nil && ctx.Selected().Name == "doctor" && strings.HasPrefix(f.Name, "nats-")
		f.Hidden = !connects && !slices.Contains([]string{"help", "dir", "tenant", "json"}, f.Name)
	}
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	_, err := fmt.Fprintln(ctx.Stdout, "\nAll settings: satchel up --help; with their values: satchel config.")
	return err
}
