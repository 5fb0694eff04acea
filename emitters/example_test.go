package emitters_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/emitters"
	"satchel/schemas"
)

// An agent remembers something and asks for context.
func Example() {
	ctx := context.Background()
	nc, err := nats.Connect(nats.DefaultURL)
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	agent, err := emitters.New(nc, emitters.Config{Tenant: "main", Agent: "planner",
		Labels: []string{"level:internal"}, Clearance: "internal", Outbox: "planner-outbox"})
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close(ctx)

	item := schemas.MemoryItem{Content: schemas.TextContent("Jonas renewed the gateway certificate.")}
	receipt, err := agent.Remember(ctx, item, &emitters.Options{Wait: schemas.ReceiptIndexed})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(receipt.Level, "at log position", receipt.Position)

	req := schemas.ContextRequest{Payload: schemas.RequestPayload{TokenBudget: 500,
		Query: schemas.Query{Text: "who renewed the certificate?"}}}
	result, err := agent.Ask(ctx, req)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(result.Payload.Text)
}

// The README shows code that compiles: the example above.
func TestTheReadmeShowsTheExample(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(readme), "```go\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("the README shows no Go")
	}
	for line := range strings.Lines(block) {
		if !strings.Contains(string(source), strings.TrimSpace(line)) {
			t.Errorf("the README shows %q, the example does not", strings.TrimSpace(line))
		}
	}
}

// agent returns an emitter for the examples that run.
func agent(tenant string, cfg emitters.Config) (*emitters.Emitter, func()) {
	nc, err := nats.Connect(nodeURL)
	if err != nil {
		log.Fatal(err)
	}
	cfg.Tenant, cfg.Agent, cfg.Labels, cfg.Clearance = tenant, "planner", []string{"level:internal"}, "internal"
	e, err := emitters.New(nc, cfg)
	if err != nil {
		log.Fatal(err)
	}
	return e, nc.Close
}

func ExampleEmitter_Remember() {
	e, done := agent("example-remember", emitters.Config{})
	defer done()
	item := schemas.MemoryItem{ID: "note-1", Content: schemas.TextContent("the ferry leaves at nine")}
	receipt, err := e.Remember(context.Background(), item, &emitters.Options{EventID: "turn-17", Wait: schemas.ReceiptIndexed})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(receipt.Level, receipt.ID, receipt.Position)
	// Output: indexed turn-17 1
}

func ExampleEmitter_RememberAll() {
	e, done := agent("example-all", emitters.Config{})
	defer done()
	ctx := context.Background()
	receipts, err := e.RememberAll(ctx, []schemas.MemoryItem{
		{ID: "note-1", Content: schemas.TextContent("the ferry leaves at nine")},
		{ID: "note-2", Content: schemas.TextContent("the bus leaves at ten")},
	})
	if err != nil {
		log.Fatal(err)
	}
	last := receipts[len(receipts)-1]
	logged, err := e.Receipt(ctx, last.Source, last.ID, schemas.ReceiptLogged)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(receipts), last.Level, "then", logged.Level, "at position", logged.Position)
	// Output: 2 accepted then logged at position 2
}

func ExampleEmitter_Forget() {
	e, done := agent("example-forget", emitters.Config{Roles: []string{"eraser"}})
	defer done()
	ctx := context.Background()
	item := schemas.MemoryItem{ID: "note-1", Content: schemas.TextContent("the code of the safe")}
	if _, err := e.Remember(ctx, item, nil); err != nil {
		log.Fatal(err)
	}
	receipt, err := e.Forget(ctx, []string{"note-1"}, "asked for by its author")
	if err != nil {
		log.Fatal(err)
	}
	gone := true
	for _, store := range receipt.Stores {
		gone = gone && store.Absent
	}
	fmt.Println(receipt.Items, receipt.Positions, gone)
	// Output: [note-1] [1] true
}

func ExampleEmitter_FollowLedger() {
	e, done := agent("example-ledger", emitters.Config{})
	defer done()
	ctx := context.Background()
	item := schemas.MemoryItem{ID: "note-1", Content: schemas.TextContent("the ferry leaves at nine")}
	if _, err := e.Remember(ctx, item, nil); err != nil {
		log.Fatal(err)
	}
	err := e.FollowLedger(ctx, emitters.FollowOptions{}, func(l emitters.LedgerEvent) error {
		fmt.Println(l.Position, l.Kind, l.Event.Subject())
		return emitters.ErrStop
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 1 memory note-1
}

func ExampleConfig_outbox() {
	dir, err := os.MkdirTemp("", "outbox-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, disconnect := agent("example-outbox", emitters.Config{Outbox: filepath.Join(dir, "planner")})
	disconnect()
	receipt, err := e.Remember(context.Background(), schemas.MemoryItem{Content: schemas.TextContent("written in a tunnel")}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(receipt.Level, e.Queued())
	// Output: queued 1
}

// The README's requests are answered as they stand there.
func TestTheReadmesRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	requests := regexp.MustCompile(`(?m)^nats req (\S+) '(.*)'$`).FindAllStringSubmatch(string(readme), -1)
	if len(requests) < 3 {
		t.Fatalf("the README shows %d requests", len(requests))
	}
	nc := dial(t, nodeURL)
	for _, r := range requests {
		m, err := nc.Request(r[1], []byte(r[2]), time.Minute)
		if err != nil {
			t.Fatalf("request %s: %v", r[1], err)
		}
		if refused := m.Header.Get("Nats-Service-Error"); refused != "" {
			t.Errorf("request %s: %s", r[1], refused)
		}
		if strings.HasPrefix(r[1], "ctx.") && !strings.Contains(string(m.Data), "The build turned green.") {
			t.Errorf("request %s answers %s", r[1], m.Data)
		}
	}
}
