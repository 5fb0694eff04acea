package client

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/emitters"
	"satchel/jetstream/embedded"
	"satchel/schemas"
)

// TestTwoNodesInOneProcess starts two complete nodes, and each has its own memories.
func TestTwoNodesInOneProcess(t *testing.T) {
	t.Parallel()
	ask := func(text string) string {
		settings := &config.Settings{}
		flags, err := kong.New(settings)
		if err == nil {
			_, err = flags.Parse([]string{"--dir", t.TempDir()}) // the others have their defaults
		}
		if err != nil {
			t.Fatal(err)
		}
		a := &app.App{Settings: settings, Out: io.Discard, Err: io.Discard}
		n, err := a.Start(t.Context(), app.NodeOptions{Port: embedded.RandomPort})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := n.Stop(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		settings.NATSURL = n.Server.ClientURL()
		conn, err := Dial(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		agent, err := emitters.New(conn.NC, emitters.Config{Tenant: settings.Tenant, Agent: "planner", Labels: []string{"level:internal"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := agent.Remember(t.Context(), schemas.MemoryItem{Kind: schemas.KindMemory, Content: schemas.TextContent(text)}, &emitters.Options{Wait: schemas.ReceiptIndexed}); err != nil {
			t.Fatal(err)
		}
		var reply schemas.SearchReply
		err = conn.Context(t.Context(), "search", schemas.SearchRequest{Query: "kiln", From: &schemas.Agent{Type: "user", ID: "planner", SecurityLevel: "internal"}}, &reply)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, r := range reply.Results {
			all = append(all, r.Memory.Content.Text())
		}
		return strings.Join(all, "|")
	}
	for _, text := range []string{"the red kiln is broken", "the blue kiln is repaired"} {
		if got := ask(text); got != text {
			t.Errorf("found %q, want %q", got, text)
		}
	}
}
