// Command satchel-hook answers the hooks of an editor: Claude Code calls it at the moments of a session, with
// the moment as JSON on standard input.
//
// A new session and a question of the user get the memories about them, as data and not as instructions. What a
// tool ran or changed is masked and waits in a spool, in files of the user's own; nothing is sent then. The end of a
// turn sends what waits. An event keeps its id, so that it is stored once, however often it is sent.
//
// A hook never holds up the editor: what takes too long, or finds no Satchel, prints nothing. The exit code is 2 for
// input that is no hook's, 1 where a file cannot be written, which the editor shows to its user, and 0 otherwise. It is
// a program of its own, without the worker, so that it starts in a few milliseconds.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"satchel/cmd/internal/importer/source/gitlog"
	"satchel/emitters"
	"satchel/emitters/hook"
	"satchel/jetstream"
	"satchel/schemas"
)

// How long a moment may take, and how many tokens a pack may have.
const (
	promptIn, promptTokens = 400 * time.Millisecond, 1000
	startIn, startTokens   = 500 * time.Millisecond, 1500
	sendIn                 = 3 * time.Second
	longest                = 8 << 10 // bytes that are kept of an output
	mostInput              = 16 << 20
)

// moment is what the editor says.
type moment struct {
	Event   string `json:"hook_event_name"`
	Session string `json:"session_id"`
	Folder  string `json:"cwd"`
	Prompt  string `json:"prompt"`
	Tool    string `json:"tool_name"`
	Input   struct {
		Command     string `json:"command"`
		Path        string `json:"file_path"`
		Notebook    string `json:"notebook_path"`
		Description string `json:"description"`
	} `json:"tool_input"`
	Response json.RawMessage `json:"tool_response"`
	Error    string          `json:"error"`
}

func main() {
	err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "satchel-hook:", err)
	if errors.Is(err, errUsage) {
		os.Exit(2)
	}
	os.Exit(1) // the editor goes on: with 2 it would take the message for the model's
}

// errUsage is returned for what is neither a hook's JSON nor an argument that there is.
var errUsage = errors.New("give a hook's JSON on standard input, or the argument install, uninstall or status")

// run answers one moment, edits the editor's settings, or prints the state of the spool. It fails with errUsage, and
// when the spool or the settings cannot be written.
func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 1 {
		folder, err := os.Getwd()
		if err != nil {
			return fmt.Errorf("find the folder: %w", err)
		}
		switch args[0] {
		case "install":
			command, err := self()
			if err != nil {
				return err
			}
			return install(settingsFile(folder), command, out)
		case "uninstall":
			return install(settingsFile(folder), "", out)
		case "-h", "--help", "help":
			_, err := fmt.Fprintln(out, "usage: satchel-hook [install|uninstall|status], or a hook's JSON on standard input; see docs/reference/hooks.md")
			return err
		case "status":
			s, err := openSpool(folder)
			if err != nil {
				return err
			}
			return s.status(out)
		}
	}
	if len(args) > 0 {
		return errUsage
	}
	var m moment
	if err := json.NewDecoder(io.LimitReader(in, mostInput)).Decode(&m); err != nil || m.Event == "" {
		return errUsage
	}
	switch m.Event {
	case "SessionStart":
		m.recall(ctx, out, startIn, startTokens, m.work(ctx))
	case "UserPromptSubmit":
		m.recall(ctx, out, promptIn, promptTokens, m.Prompt)
	case "PostToolUse", "PostToolUseFailure":
		return m.keep(ctx)
	case "Stop", "SubagentStop", "PreCompact", "SessionEnd":
		s, err := openSpool(m.Folder)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, sendIn)
		defer cancel()
		client, leave, err := connect(ctx, sendIn)
		if err != nil {
			return nil // it waits
		}
		defer leave()
		s.send(ctx, client)
	}
	return nil
}

// connect returns a client of the NATS that the environment names.
func connect(ctx context.Context, in time.Duration) (*emitters.Emitter, func(), error) {
	get := func(otherwise string, names ...string) string {
		for _, name := range names {
			if v := os.Getenv(name); v != "" {
				return v
			}
		}
		return otherwise
	}
	ctx, cancel := context.WithTimeout(ctx, in)
	defer cancel()
	nc, err := jetstream.Connect(ctx, jetstream.ConnectConfig{Name: "satchel-hook",
		URL:   get("nats://127.0.0.1:4222", "SATCHEL_NATS_URL", "NATS_URL"),
		Creds: get("", "SATCHEL_CREDS", "NATS_CREDS"), NKeySeed: get("", "SATCHEL_NATS_NKEY", "NATS_NKEY"),
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, err
	}
	client, err := emitters.New(nc, emitters.Config{Tenant: get("main", "SATCHEL_TENANT"),
		Agent: get("claude-code", "SATCHEL_AS"), Labels: []string{"level:internal"}, Clearance: "internal"})
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	return client, nc.Close, nil
}

// recall prints the memories about a question as context for the model, and nothing where there are none.
func (m *moment) recall(ctx context.Context, out io.Writer, in time.Duration, tokens int, question string) {
	if strings.TrimSpace(question) == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, in)
	defer cancel()
	client, leave, err := connect(ctx, in)
	if err != nil {
		return // the editor goes on without
	}
	defer leave()
	question = strings.ToValidUTF8(question[:min(len(question), schemas.MaxQuery)], "")
	reply, err := client.Ask(ctx, schemas.ContextRequest{Payload: schemas.RequestPayload{
		Query: schemas.Query{Text: question}, TokenBudget: tokens, Session: m.Session, TZ: os.Getenv("SATCHEL_TZ"), Repeat: schemas.RepeatStable}})
	if err != nil || len(reply.Payload.Results) == 0 {
		return
	}
	_ = json.NewEncoder(out).Encode(map[string]any{"hookSpecificOutput": map[string]any{ // nobody reads it any more
		"hookEventName": m.Event, "additionalContext": reply.Payload.Text}})
}

// work says what the folder is about: its branch and the last commits.
func (m *moment) work(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, startIn/5)
	defer cancel()
	said, err := gitlog.Latest(ctx, m.Folder, 5)
	if err != nil {
		return ""
	}
	return said
}

// keep puts what a tool did into the spool.
func (m *moment) keep(ctx context.Context) error {
	s, err := openSpool(m.Folder)
	if err != nil {
		return err
	}
	hooks, err := hook.New(hook.Config{Emitter: s, Agent: "claude-code", Session: m.Session, Project: s.project,
		Longest: longest})
	if err != nil {
		return err
	}
	switch m.Tool {
	case "Bash":
		exit := 0
		if m.Event == "PostToolUseFailure" {
			exit = 1
		}
		_, err = hooks.Coder().CommandRan(ctx, hook.Ran{Command: m.Input.Command, Exit: exit, Output: m.output()})
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		if path := cmp.Or(m.Input.Path, m.Input.Notebook); m.Error == "" && path != "" {
			_, err = hooks.Coder().Changed(ctx, path, m.Tool, m.Input.Description)
		}
	}
	return err
}

// output is what a command printed.
func (m *moment) output() string {
	var said struct{ Stdout, Stderr string }
	if json.Unmarshal(m.Response, &said) != nil {
		_ = json.Unmarshal(m.Response, &said.Stdout) // some say a text
	}
	return strings.Join([]string{said.Stdout, said.Stderr, m.Error}, "\n")
}
