package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/emitters"
	"satchel/schemas"
	"satchel/test/testenv"
)

// hookEditor calls satchel-hook as an editor does.
type hookEditor struct {
	t           *testing.T
	url, folder string
}

func newEditor(t *testing.T, s *testenv.Satchel) *hookEditor { return &hookEditor{t, s.URL, t.TempDir()} }

// moment returns what the hook prints, and how long it takes.
func (e *hookEditor) moment(event string, members map[string]any) (string, time.Duration) {
	e.t.Helper()
	said := map[string]any{"hook_event_name": event, "session_id": "s1", "cwd": e.folder, "transcript_path": "/none"}
	for name, v := range members {
		said[name] = v
	}
	raw, err := json.Marshal(said)
	if err != nil {
		e.t.Fatal(err)
	}
	return e.call(string(raw))
}

func (e *hookEditor) call(in string, args ...string) (string, time.Duration) {
	e.t.Helper()
	cmd := exec.CommandContext(e.t.Context(), binary("satchel-hook"), args...)
	cmd.Dir, cmd.Stdin = e.folder, strings.NewReader(in)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+e.folder, "NATS_URL="+e.url, "SATCHEL_NATS_URL=")
	began := time.Now()
	out, err := cmd.Output()
	if err != nil {
		e.t.Errorf("satchel-hook: %v", err)
	}
	return string(out), time.Since(began)
}

// ran is a tool call of a command.
func ran(n int) map[string]any {
	return map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": fmt.Sprintf("make step-%d", n)},
		"tool_response": map[string]any{"stdout": "mail mara@example.com, token ghp_0123456789abcdefghijABCDEFGHIJ012345", "stderr": ""}}
}

// Calls while satchel up is away are stored afterwards, none twice, with what is secret masked.
func TestHooksWaitForSatchel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := testenv.Up(t, binary("satchel"), dir)
	port := s.URL[strings.LastIndex(s.URL, ":")+1:]
	e := newEditor(t, s)
	s.Stop()
	var calls sync.WaitGroup
	for n := range 50 {
		calls.Go(func() { e.moment("PostToolUse", ran(n)) })
	}
	calls.Wait()
	if out, took := e.moment("UserPromptSubmit", map[string]any{"prompt": "what did step 7 do?"}); out != "" || took > 5*time.Second {
		t.Errorf("without Satchel the prompt took %s and printed %q", took, out)
	}
	e.moment("Stop", nil)
	if out, _ := e.call("", "status"); !strings.HasPrefix(out, "50 waiting, 0 refused") {
		t.Errorf("status: %s", out)
	}
	s = testenv.Up(t, binary("satchel"), dir, "--nats-port", port)
	for range 8 { // senders at once, as of several sessions
		calls.Go(func() { e.moment("Stop", nil) })
	}
	calls.Wait()
	e.moment("SessionEnd", nil)
	if out, _ := e.call("", "status"); !strings.HasPrefix(out, "0 waiting, 0 refused") {
		t.Errorf("status: %s", out)
	}
	var list schemas.ItemsReply
	if err := json.Unmarshal([]byte(s.Must(t, "list", "--session", "s1", "--limit", "200", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, item := range list.Items {
		first, rest, _ := strings.Cut(item.Content.Text(), "\n")
		seen[first]++
		if strings.Contains(rest, "mara@") || strings.Contains(rest, "ghp_") {
			t.Errorf("not masked: %s", rest)
		}
	}
	for n := range 50 {
		if line := fmt.Sprintf("$ make step-%d", n); seen[line] != 1 {
			t.Errorf("%s is stored %d times", line, seen[line])
		}
	}
	var status schemas.StatusReply
	if err := json.Unmarshal([]byte(s.Must(t, "status", "--json")), &status); err != nil || status.Size < 50 {
		t.Errorf("status: %v, size %d", err, status.Size)
	}
}

// A prompt gets what is remembered about it, and nothing where there is nothing. With SATCHEL_HOOK_ITEMS=10000, as
// make hooks has it, 200 prompts and 200 tool calls are held to their budgets.
func TestHooksRecall(t *testing.T) {
	t.Parallel()
	items, prompts := 200, 10
	full := os.Getenv("SATCHEL_HOOK_ITEMS")
	if full != "" {
		n, err := strconv.Atoi(full)
		if err != nil {
			t.Fatal(err)
		}
		items, prompts = n, 200
	}
	s := testenv.Up(t, binary("satchel"), t.TempDir())
	fill(t, s, items)
	e := newEditor(t, s)
	var asked, kept []time.Duration
	for n := range prompts {
		k := n * items / prompts
		out, took := e.moment("UserPromptSubmit", map[string]any{"prompt": fmt.Sprintf("which port does service svc%d of team t%d listen on?", k, k%50)})
		asked = append(asked, took)
		var reply struct {
			HookSpecificOutput struct{ HookEventName, AdditionalContext string }
		}
		if err := json.Unmarshal([]byte(out), &reply); err != nil || full == "" && !strings.Contains(reply.HookSpecificOutput.AdditionalContext, fmt.Sprintf("port %d.", 2000+k)) {
			t.Errorf("prompt %d in %s: %v, %.400s", n, took, err, out)
		}
		_, took = e.moment("PostToolUse", ran(n))
		kept = append(kept, took)
	}
	if out, _ := e.moment("SessionStart", map[string]any{"source": "startup"}); out != "" {
		t.Errorf("a session without a repository: %s", out)
	}
	if full == "" {
		return
	}
	for name, c := range map[string]struct {
		took   []time.Duration
		budget time.Duration
	}{"prompt": {asked, 150 * time.Millisecond}, "tool": {kept, 40 * time.Millisecond}} {
		slices.Sort(c.took)
		p50, p95 := c.took[len(c.took)/2], c.took[len(c.took)*95/100]
		t.Logf("%s: p50 %s, p95 %s, most %s, budget %s", name, p50, p95, c.took[len(c.took)-1], c.budget)
		if p95 > c.budget {
			t.Errorf("%s: p95 %s is over the budget of %s", name, p95, c.budget)
		}
	}
}

// fill stores items and waits until they can be found.
func fill(t *testing.T, s *testenv.Satchel, n int) {
	t.Helper()
	nc, err := nats.Connect(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	client, err := emitters.New(nc, emitters.Config{Tenant: "main", Agent: "seed", Labels: []string{"level:internal"}})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]schemas.MemoryItem, n)
	for i := range all {
		all[i] = schemas.MemoryItem{Content: schemas.TextContent(fmt.Sprintf("Service svc%d of team t%d listens on port %d.", i, i%50, 2000+i))}
	}
	if _, err := client.RememberAll(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	last := schemas.MemoryItem{Content: schemas.TextContent("All services are listed.")}
	for { // what comes last is indexed last
		if _, err := client.Remember(t.Context(), last, &emitters.Options{Wait: schemas.ReceiptIndexed}); err == nil {
			return
		} else if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}
