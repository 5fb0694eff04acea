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
	used        time.Duration // of the processor, by the last call
}

func newEditor(t *testing.T, s *testenv.Satchel) *hookEditor {
	return &hookEditor{t: t, url: s.URL, folder: t.TempDir()}
}

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
	took := time.Since(began)
	e.used = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return string(out), took
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

// A prompt gets what is remembered about it, and nothing where there is nothing. With SATCHEL_TEST_HOOK_ITEMS=10000, as
// make hooks has it, 200 prompts and 200 tool calls are held to their budgets.
func TestHooksRecall(t *testing.T) {
	t.Parallel()
	items, prompts := 200, 10
	full := os.Getenv("SATCHEL_TEST_HOOK_ITEMS")
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
	var asked, kept timings
	cut := 0
	for n := range prompts {
		k := n * items / prompts
		out, took := e.moment("UserPromptSubmit", map[string]any{"prompt": fmt.Sprintf("which port does service svc%d of team t%d listen on?", k, k%50)})
		asked.add(took, e.used)
		var reply struct {
			HookSpecificOutput struct{ HookEventName, AdditionalContext string }
		}
		if out == "" {
			cut++
		} else if err := json.Unmarshal([]byte(out), &reply); err != nil || !strings.Contains(reply.HookSpecificOutput.AdditionalContext, fmt.Sprintf("svc%d ", k)) {
			t.Errorf("prompt %d in %s: %v, %.400s", n, took, err, out)
		}
		_, took = e.moment("PostToolUse", ran(n))
		kept.add(took, e.used)
	}
	if cut > 1+prompts/100 {
		t.Errorf("%d of %d prompts were cut", cut, prompts)
	}
	if out, _ := e.moment("SessionStart", map[string]any{"source": "startup"}); out != "" {
		t.Errorf("a session without a repository: %s", out)
	}
	if full != "" {
		asked.check(t, "prompt", 150*time.Millisecond)
		kept.check(t, "tool", 40*time.Millisecond)
	}
}

// timings are how long calls took, and how long they had a processor.
type timings struct{ took, used []time.Duration }

func (c *timings) add(took, used time.Duration) {
	c.took, c.used = append(c.took, took), append(c.used, used)
}

// check holds the 95th percentile to a budget. A busy machine shows in the time that calls waited for a processor.
func (c *timings) check(t *testing.T, name string, budget time.Duration) {
	t.Helper()
	slices.Sort(c.took)
	slices.Sort(c.used)
	p95 := len(c.took) * 95 / 100
	t.Logf("%s: p50 %s, p95 %s, budget %s; of the processor p95 %s", name, c.took[len(c.took)/2], c.took[p95], budget, c.used[p95])
	if c.took[p95] > budget {
		t.Errorf("%s: p95 %s is over the budget of %s", name, c.took[p95], budget)
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
