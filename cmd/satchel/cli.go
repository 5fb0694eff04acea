package main

import (
	_ "embed"

	"github.com/alecthomas/kong"

	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/demo"
	"satchel/cmd/internal/doctor"
	"satchel/cmd/internal/importer"
)

// help has the longer help of the commands.
//
//go:embed help.md
var help string

// commands is the tree of commands; every setting is a flag of each.
type commands struct {
	config.Settings `group:"Settings"`

	Demo       demo.Demo          `cmd:"" help:"Show it all on a small example, in a fresh folder. Begin here."`
	Up         command.Up         `cmd:"" help:"Run Satchel, until Ctrl-C."`
	MCP        command.MCP        `cmd:"" name:"mcp" help:"Serve the Model Context Protocol on standard input and output."`
	Gateway    command.Gateway    `cmd:"" help:"Serve JSON over HTTP and the Model Context Protocol beside satchel up."`
	Token      command.Token      `cmd:"" help:"Make, list or revoke tokens of the gateway."`
	Console    command.Console    `cmd:"" help:"Print a link that opens the console of a running gateway, once."`
	Worker     command.Worker     `cmd:"" help:"Run one of several workers that share NATS and a database, until Ctrl-C."`
	Emit       command.Emit       `cmd:"" help:"Publish one memory."`
	Ask        command.Ask        `cmd:"" help:"Ask for a context pack."`
	Compact    command.Compact    `cmd:"" help:"Bring a pack, a session or a file under a budget; keep summaries."`
	Dropped    command.Dropped    `cmd:"" aliases:"recover" help:"List what a pack left out, or bring it back."`
	Explain    command.Explain    `cmd:"" help:"Say why an item is, or is not, in a pack, and what would have changed that."`
	Answer     command.Answer     `cmd:"" help:"Have the roles answer a question, with citations."`
	Trace      command.Trace      `cmd:"" help:"Print what a run left in the ledger, step by step."`
	Search     command.Search     `cmd:"" help:"Search memories, best first."`
	Get        command.Get        `cmd:"" help:"Print one memory whole, by its id."`
	List       command.List       `cmd:"" help:"List memories, newest first."`
	Status     command.Status     `cmd:"" help:"Say up to which position of the log each index has everything."`
	Preview    command.Preview    `cmd:"" help:"Say which memories a template would show and what they cost, or build the text."`
	Assemble   command.Assemble   `cmd:"" help:"Put memories, code, experiences, values and commits about a question into Markdown."`
	Premortem  command.Premortem  `cmd:"" help:"Warn of what went wrong before in a domain."`
	Backup     command.Backup     `cmd:"" help:"Write log, artifacts, templates and erasures into a folder, beside satchel up."`
	Restore    command.Restore    `cmd:"" help:"Restore a backup into an empty data folder or database."`
	Evidence   command.Evidence   `cmd:"" help:"Write a file that proves what packs showed, or check one."`
	Witness    command.Witness    `cmd:"" help:"Cosign the heads of logs, so that nobody can be shown another history."`
	Rollback   command.Rollback   `cmd:"" help:"Go on with a log that was restored from an older backup."`
	Migrate    command.Migrate    `cmd:"" help:"Copy the log from the data folder to a Postgres database, and make the items there."`
	Forget     command.Forget     `cmd:"" aliases:"erase" help:"Erase items everywhere and print the erasure receipt."`
	Relevance  command.Relevance  `cmd:"" help:"Say which context nodes a turn needs, and which layer decided."`
	Ledger     command.Ledger     `cmd:"" help:"Print or follow the provenance ledger."`
	Import     importer.Import    `cmd:"" help:"Publish memories from files, Markdown, a git history or source code."`
	Values     importer.Values    `cmd:"" help:"Cluster experiences into values: what they have in common."`
	Verify     command.Verify     `cmd:"" help:"Recompute the whole log and name the first bad position."`
	Rebuild    command.Rebuild    `cmd:"" help:"Empty the indexes and fill them from the log."`
	Reembed    command.Reembed    `cmd:"" help:"Follow the embedding anew by another model, or try a model on the log and compare it."`
	Dlq        command.Dlq        `cmd:"" help:"Look at, retry or drop rejected events."`
	Doctor     doctor.Doctor      `cmd:"" help:"Say what works, what does not, and which promises hold."`
	Principal  command.Principal  `cmd:"" help:"Register principals and make the keys that they connect with."`
	Tenants    command.Tenant     `cmd:"" name:"tenant" help:"List the tenants."`
	Policy     command.Policy     `cmd:"" help:"Test, explain or print the policy."`
	Artifact   command.Artifact   `cmd:"" help:"Store heavy content, open it by a handle, or revoke handles."`
	Exception  command.Exception  `cmd:"" help:"Register, list or revoke governed exceptions from policy."`
	Hold       command.Hold       `cmd:"" help:"Place, list or release legal holds, which protect items from erasure."`
	Retain     command.Retention  `cmd:"" name:"retention" help:"Say what retention erases next, and when."`
	Config     command.Config     `cmd:"" help:"Print the effective settings, secrets masked."`
	Schema     command.Schema     `cmd:"" help:"Print a JSON Schema or the AsyncAPI document."`
	Lint       command.Lint       `cmd:"" help:"Check JSONL files of memories; exit 3 when one is malformed or unlabelled."`
	Completion command.Completion `cmd:"" help:"Print the script by which a shell completes commands and flags."`
	Version    command.Version    `cmd:"" help:"Print the version."`

	Eval  moved `cmd:"" hidden:"" passthrough:"" help:"See satchel-lab eval."`
	Rot   moved `cmd:"" hidden:"" passthrough:"" help:"See satchel-lab rot."`
	Bench moved `cmd:"" hidden:"" passthrough:"" help:"See satchel-lab bench."`
}

// moved is a command that satchel-lab has. Its name only says so, for one release.
type moved struct {
	Rest []string `arg:"" optional:""`
}

// Run says where the command is.
func (moved) Run(k *kong.Context) error {
	return config.Usagef("satchel %[1]s has moved: run satchel-lab %[1]s, with the same flags", k.Selected().Name)
}

const description = `Governed memory and context for AI agents, on NATS.

    satchel demo                begin here
    satchel up                  run it; then, in another terminal:
    satchel emit --text "…"     remember
    satchel ask "…"             ask`
