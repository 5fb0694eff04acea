// Package demo is satchel demo. It starts a node in a fresh folder, streams the story of an outage at a payment company
// as its agents remember it, asks as two principals, checks every promise and says what it saw.
package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/emitters"
	"satchel/jetstream"
	"satchel/jetstream/embedded"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Demo is satchel demo.
type Demo struct {
	Verbose bool   `short:"v" help:"Print the contexts, the messages and the questions, too."`
	Keep    string `help:"Keep the data in this new folder, to go on with it: satchel up --dir FOLDER." type:"path"`
}

// Help says what the demo shows.
func (Demo) Help() string {
	return `It runs the real thing in a fresh folder, on a free port, with a fixed clock, key and ids, so
that it prints the same every time. Nothing stays behind without --keep. It fails when one of
the figures it prints misses its target.

Examples:
  satchel demo
  satchel demo --verbose
  satchel demo --keep ./demo && satchel up --dir ./demo`
}

const (
	demoTenant   = "northwind"
	demoAgent    = "ops_bot"
	demoQuestion = "Why did card payments fail, what did it cost, and who fixed it?"
)

// demoNow is when the demo happens.
func demoNow() time.Time { return time.Date(2026, 3, 7, 9, 0, 0, 0, time.UTC) }

// Run tells the story.
func (c *Demo) Run(ctx context.Context, a *app.App) (err error) {
	if a.JSON {
		return config.Usagef("the demo is a story to read and prints no JSON; leave out --json")
	}
	dir := c.Keep
	if dir == "" {
		dir, err = os.MkdirTemp("", "satchel-demo-")
		if err != nil {
			return fmt.Errorf("make a data folder: %w", err)
		}
		defer os.RemoveAll(dir)
	} else if _, err := os.Stat(dir); err == nil {
		return config.Usagef("%s is there already; name a new folder with --keep", dir)
	}
	own, err := a.Apart(dir, false)
	if err != nil {
		return err
	}
	own.Tenant = demoTenant
	own.LogLevel = "error"
	own.EmbedURL = ""
	own.EmbedModel = app.TableName // what is shown does not depend on the processor
	n, err := own.Start(ctx, app.NodeOptions{Fixed: fixInputs(), Port: embedded.RandomPort})
	if err != nil {
		return err
	}
	defer func() {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), app.DrainLimit)
		defer cancel()
		err = errors.Join(err, n.Stop(limit))
	}()
	nc, err := jetstream.Connect(ctx, jetstream.ConnectConfig{URL: n.Server.ClientURL(), Name: "demo agent"}, own.Logger(a.Err))
	if err != nil {
		return err
	}
	defer nc.Close()
	s, err := scope.System(demoTenant)
	if err != nil {
		return err
	}
	t := &runner{App: own, verbose: c.Verbose, node: n, nc: nc, scope: s, client: &command.Client{NC: nc, Tenant: demoTenant}}
	for _, step := range []func(context.Context) error{t.write, t.refuse, t.ask, t.walk, t.compact, t.sandbox, t.measure, t.prove, t.tamper, t.erase, t.follow} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	t.next(c.Keep)
	return nil
}

// fixInputs makes every run the same.
func fixInputs() app.Fixed {
	var seed [32]byte
	copy(seed[:], "satchel demo: never use this key")
	source := rand.NewChaCha8(seed)
	return app.Fixed{Clock: demoNow, NewID: countingIDs("d0"), Rand: source}
}

// countingIDs returns ids that look like UUIDv7 and count up.
func countingIDs(prefix string) func() string {
	var n atomic.Uint32
	return func() string {
		return uuid.MustParse(fmt.Sprintf("019cc7a5-1b00-7000-80%s-%012d", prefix, n.Add(1))).String()
	}
}

// runner tells the story against a running node.
type runner struct {
	*app.App
	verbose bool
	node    *app.Node
	nc      *nats.Conn
	client  *command.Client
	scope   scope.Scope
	ids     map[string]string // item id → event id
	seen    int64             // log position that the next request waits for
	context string            // pack that the roles worked on
	tokens  int               // of that pack
}

// request asks for a context as a principal, from what the log has by now.
func (t *runner) request(ctx context.Context, as *schemas.Agent, question string, payload schemas.RequestPayload) (*schemas.ResultPayload, error) {
	payload.Query.Text = question
	payload.MinPosition = t.seen
	res, err := t.client.Ask(ctx, schemas.ContextRequest{Meta: schemas.Meta{Type: schemas.MessageContextRequest, From: as}, Payload: payload})
	if err != nil {
		return nil, err
	}
	t.seen = res.Payload.Positions.Decision // the pack before counts as a use of what it showed
	return &res.Payload, nil
}

func (t *runner) say(format string, args ...any) { fmt.Fprintf(t.Out, format+"\n", args...) }

func (t *runner) emitter(newID func() string) (*emitters.Emitter, error) {
	return emitters.New(t.nc, emitters.Config{Tenant: demoTenant, Agent: demoAgent, Clock: demoNow, NewID: newID})
}

func (t *runner) next(kept string) {
	t.say("\nNEXT    satchel up                                   run it (here: go run ./cmd/satchel up)")
	t.say("        satchel emit --text \"the build is green\"     remember, in another terminal")
	t.say("        satchel ask \"how is the build?\"              ask")
	t.say("        satchel ledger --verify                      follow and check what was decided")
	if kept != "" {
		t.say("        satchel up --dir %s                  go on with this story, and in another terminal:", kept)
		t.say("        satchel ask --tenant %s --level restricted --group risk \"what did it cost?\"", demoTenant)
		t.say("        satchel ledger --tenant %s --verify", demoTenant)
	}
}
