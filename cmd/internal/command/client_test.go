package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
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

// TestExplainFolder: where nothing answers and there is no data folder, --dir is named; where the folder names another
// address, --nats-port.
func TestExplainFolder(t *testing.T) {
	t.Parallel()
	nobody, dir := fmt.Errorf("no NATS server; %w", app.ErrNobody), t.TempDir()
	for name, c := range map[string]struct {
		settings config.Settings
		err      error
		named    bool
	}{
		"no folder":             {config.Settings{Dir: filepath.Join(dir, "none"), NATSPort: app.NatsPort}, nobody, true},
		"a folder":              {config.Settings{Dir: dir, NATSPort: app.NatsPort}, nobody, false},
		"no folder, but a port": {config.Settings{Dir: filepath.Join(dir, "none"), NATSPort: 1}, nobody, false},
		"another error":         {config.Settings{Dir: filepath.Join(dir, "none"), NATSPort: app.NatsPort}, io.EOF, false},
	} {
		err := explainFolder(&app.App{Settings: &c.settings}, c.err)
		if !errors.Is(err, c.err) && !errors.Is(err, app.ErrNobody) || strings.Contains(err.Error(), "--dir") != c.named {
			t.Errorf("%s: %v", name, err)
		}
	}
	a := &app.App{Settings: &config.Settings{Dir: dir, NATSPort: 44999}}
	if err := explainFolder(a, nil); err != nil {
		t.Error(err)
	}
	if _, err := a.ShowAddress(app.AddressFile, "nats://127.0.0.1:44777"); err != nil {
		t.Fatal(err)
	}
	if err := explainFolder(a, nobody); errors.Is(err, app.ErrNobody) || !strings.Contains(err.Error(), "listens at nats://127.0.0.1:44777: leave out --nats-port") {
		t.Error(err)
	}
	a.NATSPort = 44777
	if err := explainFolder(a, nobody); !errors.Is(err, app.ErrNobody) {
		t.Error(err)
	}
}
