package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"
	collect "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"satchel/emitters"
	"satchel/schemas"
	"satchel/test/testenv"
)

// collector takes traces over OTLP.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	raw   bytes.Buffer
	spans []*v1.Span
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got collect.ExportTraceServiceRequest
		raw, err := io.ReadAll(r.Body)
		if err != nil || proto.Unmarshal(raw, &got) != nil {
			t.Errorf("no traces: %v", err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(raw)
		for _, from := range got.ResourceSpans {
			for _, scope := range from.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

// told are the attributes of a span that the test compares.
var told = []string{"gen_ai.operation.name", "gen_ai.memory.store.id", "gen_ai.memory.record.count",
	"satchel.operation", "satchel.receipt.level", "error.type"}

// roots are the spans below a parent, as "name attribute=value …", and checks that their stages are
// below them.
func (c *collector) roots(t *testing.T, parent trace.SpanContext) (list []string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	id, span := parent.TraceID(), parent.SpanID()
	for _, s := range c.spans {
		if !bytes.Equal(s.TraceId, id[:]) || !bytes.Equal(s.ParentSpanId, span[:]) {
			continue
		}
		text := s.Name
		for _, a := range s.Attributes {
			if slices.Contains(told, a.Key) {
				text += " " + a.Key + "=" + plainValue(a.Value)
			}
		}
		list = append(list, text)
		stages := slices.ContainsFunc(c.spans, func(below *v1.Span) bool {
			return bytes.Equal(below.ParentSpanId, s.SpanId) && strings.HasPrefix(below.Name, "context.")
		})
		if stages != (s.Name == "search_memory") {
			t.Errorf("stages below %s: %v", text, stages)
		}
	}
	slices.Sort(list)
	return list
}

func plainValue(v *common.AnyValue) string {
	if n, ok := v.Value.(*common.AnyValue_IntValue); ok {
		return strconv.FormatInt(n.IntValue, 10)
	}
	return v.GetStringValue()
}

// agent is the span of a caller.
func agent(n byte) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, n}, SpanID: trace.SpanID{2, n},
		TraceFlags: trace.FlagsSampled, Remote: true})
}

// TestTraces: whatever the door, an operation is one span below its caller's, named by the conventions for
// generative AI. Without a setting no span has text.
func TestTraces(t *testing.T) {
	t.Parallel()
	for _, content := range []bool{false, true} {
		t.Run(fmt.Sprintf("content %v", content), func(t *testing.T) {
			t.Parallel()
			testTraces(t, content)
		})
	}
}

func testTraces(t *testing.T, content bool) {
	const canary = "quetzal"
	c := newCollector(t)
	s := testenv.Up(t, binary("satchel"), t.TempDir(), "--otlp-endpoint", c.URL, fmt.Sprintf("--trace-content=%v", content))
	parent := func(n byte) string {
		p := agent(n)
		return fmt.Sprintf("00-%s-%s-01", p.TraceID(), p.SpanID())
	}

	nc, err := nats.Connect(s.URL) // over NATS, with the Go client
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	client, err := emitters.New(nc, emitters.Config{Tenant: "main", Agent: "shell", Labels: []string{"level:internal"},
		Clearance: "internal", Roles: []string{"eraser"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := trace.ContextWithRemoteSpanContext(t.Context(), agent(1))
	text := schemas.TextContent("the " + canary + " sleeps at noon")
	item := schemas.MemoryItem{ID: "n1", Kind: schemas.KindMemory, Content: text}
	wait := &emitters.Options{Wait: schemas.ReceiptIndexed}
	if _, err := client.Remember(ctx, item, wait); err != nil {
		t.Fatal(err)
	}
	question := schemas.Query{Text: "when does the " + canary + " sleep?"}
	if _, err := client.Ask(ctx, schemas.ContextRequest{Payload: schemas.RequestPayload{Query: question}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := client.Correct(ctx, "n1", emitters.Correction{Text: "the " + canary + " sleeps at one"}, wait); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Forget(ctx, []string{"n1"}, "asked for"); err != nil {
		t.Fatal(err)
	}

	token := newToken(t, s, "shell", "--scope", "memory.read,memory.write") // over HTTP
	d := gatewayOf(t, s)
	body := `{"payload":{"query":{"text":"when does the ` + canary + ` sleep?"}}}`
	if code, text, _ := d.call("POST", "/v1/context", token, body, "traceparent: "+parent(2)); code != 200 {
		t.Fatalf("context: %d %s", code, text)
	}
	tools := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil) // over MCP
	session, err := tools.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: d.url + "/mcp",
		HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for _, call := range []sdk.CallToolParams{
		{Name: "remember", Arguments: map[string]any{"text": "the " + canary + " sings"}},
		{Name: "search", Arguments: map[string]any{"query": canary}},
	} {
		call.Meta = sdk.Meta{"traceparent": parent(3)}
		got, err := session.CallTool(t.Context(), &call)
		if err != nil || got.IsError {
			t.Fatalf("%s: %v %v", call.Name, err, got)
		}
	}
	s.Stop() // what is left is sent

	named := func(operation, more string) string {
		return operation + " gen_ai.operation.name=" + operation + " gen_ai.memory.store.id=main " + more
	}
	const wrote, one = "gen_ai.memory.record.count=1 satchel.receipt.level=indexed", " gen_ai.memory.record.count=1"
	want := map[byte][]string{
		1: {named("create_memory", wrote), named("delete_memory", "gen_ai.memory.record.count=1 satchel.receipt.level=logged"),
			named("search_memory", "satchel.operation=items"+one), // before it is corrected
			named("search_memory", "satchel.operation=request"+one), named("update_memory", wrote)},
		2: {named("search_memory", "satchel.operation=request"+one)},
		3: {named("create_memory", wrote), named("search_memory", "satchel.operation=search gen_ai.memory.record.count=2")},
	}
	for n, roots := range want {
		if got := c.roots(t, agent(n)); !slices.Equal(got, roots) {
			t.Errorf("door %d:\n%s\nwant\n%s", n, strings.Join(got, "\n"), strings.Join(roots, "\n"))
		}
	}
	if held := strings.Contains(c.raw.String(), canary); held != content {
		t.Errorf("the traces have what was said: %v", held)
	}
}
