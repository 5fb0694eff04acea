package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"satchel/emitters"
	"satchel/jetstream"
	"satchel/jetstream/embedded"
)

type demoCmd struct {
	Verbose bool   `short:"v" help:"Print the contexts, the messages and the questions, too."`
	Keep    string `help:"Keep the data in this new folder, to go on with it: satchel up --dir FOLDER." type:"path"`
}

// Help says what the demo shows.
func (demoCmd) Help() string {
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
func (c *demoCmd) Run(ctx context.Context, a *app) (err error) {
	if a.JSON {
		return usagef("the demo is a story to read and prints no JSON; leave out --json")
	}
	dir := c.Keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "satchel-demo-"); err != nil {
			return fmt.Errorf("make a data folder: %w", err)
		}
		defer os.RemoveAll(dir)
	} else if _, err := os.Stat(dir); err == nil {
		return usagef("%s is there already; name a new folder with --keep", dir)
	}
	own, err := a.apart(dir, false)
	if err != nil {
		return err
	}
	own.Tenant, own.LogLevel = demoTenant, "error"
	n, err := own.start(ctx, nodeOptions{fixed: demoFixed(), port: embedded.RandomPort})
	if err != nil {
		return err
	}
	defer func() {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainLimit)
		defer cancel()
		err = errors.Join(err, n.stop(limit))
	}()
	nc, err := jetstream.Connect(ctx, jetstream.ConnectConfig{URL: n.server.ClientURL(), Name: "demo agent"}, own.logger(a.err))
	if err != nil {
		return err
	}
	defer nc.Close()
	t := &teller{app: own, verbose: c.Verbose, node: n, nc: nc, client: &client{nc: nc, tenant: demoTenant, agent: demoAgent}}
	for _, step := range []func(context.Context) error{t.write, t.refuse, t.ask, t.walk, t.compact, t.sandbox, t.measure, t.prove, t.follow} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	t.next(c.Keep)
	return nil
}

// demoFixed makes every run the same.
func demoFixed() fixed {
	var seed [32]byte
	copy(seed[:], "satchel demo: never use this key")
	source := rand.NewChaCha8(seed)
	return fixed{clock: demoNow, newID: countingIDs("d0"), rand: source}
}

// countingIDs returns ids that look like UUIDv7 and count up.
func countingIDs(prefix string) func() string {
	var n atomic.Uint32
	return func() string {
		return uuid.MustParse(fmt.Sprintf("019cc7a5-1b00-7000-80%s-%012d", prefix, n.Add(1))).String()
	}
}

// teller tells the story against a running node.
type teller struct {
	*app
	verbose bool
	node    *node
	nc      *nats.Conn
	client  *client
	ids     map[string]string // item id → event id
	last    string            // event id of the last write
	seen    int64             // log position that the next request waits for
	context string            // pack that the roles worked on
	tokens  int               // of that pack
}

func (t *teller) say(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

func (t *teller) emitter(newID func() string) (*emitters.Emitter, error) {
	return emitters.New(t.nc, emitters.Config{Tenant: demoTenant, Agent: demoAgent, Clock: demoNow, NewID: newID})
}

func oneLine(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

func (t *teller) next(kept string) {
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
