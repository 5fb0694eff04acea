// Command satchel-lab measures Satchel: quality on labelled data, packs as a history grows, latency and memory. Users run it on
// data of their own; no deployment needs it.
package main

import (
	"context"
	_ "embed"
	"io"

	"satchel/cmd/internal/cli"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/lab/bench"
	"satchel/cmd/internal/lab/eval"
	"satchel/cmd/internal/lab/fit"
	"satchel/cmd/internal/lab/rot"
)

// help has the longer help of the commands.
//
//go:embed help.md
var help string

// commands is the tree of commands; every setting is a flag of each.
type commands struct {
	config.Settings `group:"Settings"`

	Eval    eval.Eval       `cmd:"" help:"Score retrieval and packs on labelled data."`
	Rot     rot.Rot         `cmd:"" help:"Measure how packs change as the history grows and distractors are planted in it."`
	Bench   bench.Bench     `cmd:"" help:"Measure latency, throughput, restart and memory on a generated corpus."`
	Fit     fit.Fit         `cmd:"" help:"Fit the probability that an item answers a question to labelled data."`
	Version command.Version `cmd:"" help:"Print the version."`
}

const description = `Measurements of Satchel, on data of your own or its own.`

func main() { cli.Main(run) }

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	var c commands
	p := cli.Program{Name: "satchel-lab", Description: description, Help: help, Commands: &c, Settings: &c.Settings}
	return p.Run(ctx, args, in, out, errOut)
}
