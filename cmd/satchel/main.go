// Command satchel is the whole of Satchel in one binary: the worker on NATS with its
// embedded engines, the commands to talk to it, and the tools to look into its log.
//
// This package has the tree of commands; cmd/internal has the rest, package cli there the exit codes.
package main

import (
	"context"
	"io"

	"satchel/cmd/internal/cli"
)

func main() { cli.Main(run) }

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	var c commands
	p := cli.Program{Name: "satchel", Description: description, Help: help, Commands: &c, Settings: &c.Settings,
		Common: []string{"demo", "up", "gateway", "mcp", "emit", "ask", "search", "answer", "import", "forget", "ledger", "verify", "doctor", "config"},
		Note:   "Every command takes --dir (data folder), --tenant and --json."}
	return p.Run(ctx, args, in, out, errOut)
}
