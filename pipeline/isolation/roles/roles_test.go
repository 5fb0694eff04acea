package roles_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/isolation/roles"
	"satchel/pipeline/model/remote"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/policies/opa"
	"satchel/schemas"
	"satchel/test/testenv"
)

const question = "Why did card payments fail, and who renewed the gateway certificate?"

func TestWalk(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	w.remember(t, outage()...)
	s := as(t, "planner-bot", schemas.Internal)
	got, err := w.runner.Run(t.Context(), s, schemas.RunRequest{Task: question, Session: "run-1", TokenBudget: 400})
	must(t, err)
	if got.Answer == nil || !strings.Contains(got.Answer.Text, "Jonas: I renewed the gateway certificate") || !strings.Contains(got.Answer.Text, "expired at 09:00") {
		t.Fatalf("answer %+v", got.Answer)
	}
	if strings.Contains(got.Answer.Text, "Heliotrope") {
		t.Error("the answer holds what policy denies")
	}
	if diff := cmp.Diff([]string{"t2"}, got.Withheld); diff != "" {
		t.Errorf("withheld (-want +got):\n%s", diff)
	}
	var walk []string
	entries := w.entries(t, got.RequestID)
	for i := range entries {
		e := &entries[i]
		if e.Type != schemas.TypeRoleHandedOver {
			walk = append(walk, strings.TrimSuffix(strings.TrimPrefix(e.Type, "io.satchel."), ".v1"))
			continue
		}
		var h schemas.Handover
		must(t, json.Unmarshal(e.Data, &h))
		walk = append(walk, h.From+"→"+h.To)
		message, err := w.log.Attachment(t.Context(), system(t), e.Position)
		must(t, err)
		if hash(message) != h.MessageSHA256 || h.Policy.Revision == "" || h.Policy.DecisionID == "" || h.Principal != "planner-bot" {
			t.Errorf("hand-over %+v does not name its message and decision", h)
		}
		var salted struct{ Salt string }
		must(t, json.Unmarshal(message, &salted))
		if strings.Contains(string(e.Data), "certificate") || len(salted.Salt) != 64 || strings.Contains(string(e.Data), salted.Salt) {
			t.Errorf("the log's data of a hand-over holds content, or its salt %q: %s", salted.Salt, e.Data)
		}
		if i := h.Invocation; i != nil && (*i != got.Answer.Invocation.Logged(unhex(t, salted.Salt)) || got.Answer.Invocation.Salt != salted.Salt ||
			i.AnswerSHA256 == got.Answer.Invocation.AnswerSHA256) {
			t.Errorf("the log has the invocation %+v, the reply %+v, the message the salt %s", *i, got.Answer.Invocation, salted.Salt)
		}
	}
	want := []string{"planner→retriever", "context.packed", "context.dropped", "policy.decided", "retriever→verifier", "verifier→synthesizer",
		"synthesizer→verifier", "verifier→sentinel", "sentinel→caller"}
	if diff := cmp.Diff(want, walk); diff != "" {
		t.Errorf("the trace (-want +got):\n%s", diff)
	}
	if len(got.Handovers) != 6 || len(got.Positions) != 6 || got.Metrics.TokenActual == 0 || got.Metrics.TokenActual > 400 {
		t.Errorf("%d hand-overs, metrics %+v", len(got.Handovers), got.Metrics)
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(text)
	must(t, err)
	return raw
}

func TestNothingFound(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	got, err := w.runner.Run(t.Context(), as(t, "x", schemas.Internal), schemas.RunRequest{Task: "What is the capital of France?"})
	must(t, err)
	if got.Answer == nil || got.Answer.Text != "" || len(got.Answer.Unanswered) != 1 {
		t.Errorf("answer %+v", got.Answer)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	for task, want := range map[string][]string{
		"Why did card payments fail, what did it cost, and who fixed it?": {"Why did card payments fail", "what did it cost", "who fixed it?"},
		"Who is on call?": {"Who is on call?"},
		"Check the gateway. Is it up and does it answer?":           {"Check the gateway.", "Is it up", "does it answer?"},
		"Summarise salt, pepper and oil":                            {"Summarise salt, pepper and oil"},
		"renew it and when that is done tell Mara":                  {"renew it", "when that is done tell Mara"},
		"A, b? C? D? E? F? G? H? I? J? K?":                          {"A, b?", "C?", "D?", "E?", "F?", "G?", "H?", "I? J? K?"},
		"   ":                                                       nil,
		"The U.S. office asks: who pays? Dr. Brandt wants to know.": {"The U.S. office asks: who pays?", "Dr. Brandt wants to know."},
	} {
		var got []string
		for _, s := range roles.Plan(task, 0).Steps {
			got = append(got, s.Question)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", task, diff)
		}
	}
}

func FuzzPlan(f *testing.F) {
	f.Add(question)
	f.Add(", and who\n\n. why? \xff")
	f.Fuzz(func(t *testing.T, task string) {
		plan := roles.Plan(task, 0)
		if len(plan.Steps) > 8 {
			t.Fatalf("%d steps", len(plan.Steps))
		}
		for _, s := range plan.Steps {
			if strings.TrimSpace(s.Question) == "" {
				t.Fatal("an empty step")
			}
		}
	})
}

// TestWhitelists: a role is refused every field that is not its own.
func TestWhitelists(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	s := as(t, "x", schemas.Internal)
	fields := map[string]func(*schemas.RoleRequest){
		"/token_budget": func(r *schemas.RoleRequest) { r.TokenBudget = 100 },
		"/min_position": func(r *schemas.RoleRequest) { r.MinPosition = 1 },
		"/plan":         func(r *schemas.RoleRequest) { r.Plan = roles.Plan("x?", 0) },
		"/pack_id":      func(r *schemas.RoleRequest) { r.PackID = "p" },
		"/withheld":     func(r *schemas.RoleRequest) { r.Withheld = []string{"i"} },
		"/answer":       func(r *schemas.RoleRequest) { r.Answer = &schemas.RoleAnswer{PackID: "p"} },
		"/expose/0":     func(r *schemas.RoleRequest) { r.Expose = []string{"secrets"} },
	}
	own := map[string][]string{
		roles.Planner: {"/token_budget"}, roles.Retriever: {"/token_budget", "/min_position", "/plan"}, roles.Verifier: {"/pack_id", "/withheld", "/answer"},
		roles.Synthesizer: {"/plan", "/pack_id", "/withheld"}, roles.Sentinel: {"/pack_id"},
	}
	for _, role := range roles.Names() {
		for field, set := range fields {
			if slices.Contains(own[role], field) {
				continue
			}
			req := schemas.RoleRequest{Task: "x?"}
			set(&req)
			if _, err := w.runner.Execute(t.Context(), s, role, req); code(err) != "policy_denied "+field {
				t.Errorf("%s with %s: %v", role, field, err)
			}
		}
		for _, other := range roles.Names() {
			for _, name := range roles.Whitelist(other) {
				if slices.Contains(roles.Whitelist(role), name) {
					continue
				}
				if _, err := w.runner.Execute(t.Context(), s, role, schemas.RoleRequest{Task: "x?", Expose: []string{name}}); code(err) != "policy_denied /expose/0" {
					t.Errorf("%s asks for %s: %v", role, name, err)
				}
			}
		}
	}
	reply, err := w.runner.Execute(t.Context(), s, roles.Planner, schemas.RoleRequest{Task: "x?", TokenBudget: 7, Expose: []string{"token_budget"}})
	must(t, err)
	if diff := cmp.Diff(schemas.ExposedFields{TokenBudget: 7}, reply.State.ExposedFields); diff != "" {
		t.Errorf("exposed (-want +got):\n%s", diff)
	}
	if _, err := w.runner.Execute(t.Context(), scope.Scope{}, roles.Planner, schemas.RoleRequest{Task: "x?"}); code(err) != "policy_denied " {
		t.Errorf("no scope: %v", err)
	}
}

func TestPolicyGate(t *testing.T) {
	t.Parallel()
	pdp, err := opa.New(t.Context(), opa.Config{Bundle: fstest.MapFS{"p.rego": &fstest.MapFile{Data: []byte(`package cmo.policy
default filter := {"match": "all"}
verdicts := [["allowed", []] | some item in input.items; item.kind != "synthesizer"]
verdicts := [["role", []] | some item in input.items; item.kind == "synthesizer"] if input.items[0].kind == "synthesizer"
`)}}})
	if err != nil {
		t.Fatal(err)
	}
	w := open(t, func(c *roles.Config) { c.PDP = pdp })
	w.remember(t, outage()...)
	_, err = w.runner.Run(t.Context(), as(t, "x", schemas.Internal), schemas.RunRequest{RequestID: "gated", Task: question})
	if code(err) != "policy_denied " {
		t.Fatalf("error %v", err)
	}
	for _, e := range w.entries(t, "gated") {
		if e.Agent == roles.Synthesizer {
			t.Error("the synthesizer worked")
		}
	}
}

// TestVerifierCatches breaks a good answer in every way; none gets through.
func TestVerifierCatches(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	w.remember(t, outage()...)
	s := as(t, "x", schemas.Internal)
	good, err := w.runner.Run(t.Context(), s, schemas.RunRequest{Task: question})
	must(t, err)
	verify := func(a schemas.RoleAnswer, withheld ...string) []string {
		t.Helper()
		reply, err := w.runner.Execute(t.Context(), s, roles.Verifier, schemas.RoleRequest{Task: question, PackID: good.PackID, Withheld: withheld, Answer: &a})
		must(t, err)
		var failed []string
		for _, c := range reply.Verification.Checks {
			if !c.OK {
				failed = append(failed, c.Name)
			}
		}
		if reply.Verification.OK != (len(failed) == 0) {
			t.Errorf("ok %t with %v failed", reply.Verification.OK, failed)
		}
		return failed
	}
	if failed := verify(*good.Answer); failed != nil {
		t.Fatalf("the good answer fails %v", failed)
	}
	sentence := func(a *schemas.RoleAnswer, text string) {
		a.Text = strings.Replace(a.Text, a.Sentences[0].Text, text, 1)
		a.Sentences[0].Text, a.Sentences[0].Citations[0].Span = text, nil
	}
	whole := map[string]string{"n1": "Card payments fail at checkout with error 502.", "n2": "The TLS certificate of the gateway expired at 09:00 because nobody renewed it.",
		"n3": "I renewed the gateway certificate and restarted both proxies."}
	said := func(text string) func(a *schemas.RoleAnswer) {
		return func(a *schemas.RoleAnswer) {
			sentence(a, text)
			c := &a.Sentences[0].Citations[0]
			c.SHA256 = hash([]byte(whole[c.ItemID]))
		}
	}
	for name, c := range map[string]struct {
		change func(a *schemas.RoleAnswer)
		want   string
	}{
		"no citation":           {func(a *schemas.RoleAnswer) { a.Sentences[0].Citations = nil }, "citations"},
		"invented item":         {func(a *schemas.RoleAnswer) { a.Sentences[0].Citations[0].ItemID = "n99" }, "citations"},
		"item outside the pack": {func(a *schemas.RoleAnswer) { a.Sentences[0].Citations[0].ItemID = "n4" }, "citations"},
		"another item":          {func(a *schemas.RoleAnswer) { a.Sentences[0].Citations[0].ItemID = "t1" }, "citations"},
		"wrong log position":    {func(a *schemas.RoleAnswer) { a.Sentences[0].Citations[0].ContentRef = "log:1000" }, "citations"},
		"span moved":            {func(a *schemas.RoleAnswer) { a.Sentences[0].Citations[0].Span.Start++ }, "citations"},
		"span too long":         {func(a *schemas.RoleAnswer) { a.Sentences[0].Citations[0].Span.End = 1 << 20 }, "citations"},
		"span negative":         {func(a *schemas.RoleAnswer) { a.Sentences[0].Citations[0].Span.Start = -1 }, "citations"},
		"span turned round":     {func(a *schemas.RoleAnswer) { a.Sentences[0].Citations[0].Span.End = 0 }, "citations"},
		"other bytes":           {func(a *schemas.RoleAnswer) { a.Sentences[0].Citations[0].SHA256 = hash([]byte("x")) }, "citations"},
		"another pack":          {func(a *schemas.RoleAnswer) { a.PackID = "p" }, "citations"},
		"other words":           {said("Aliens landed on the roof of the bank yesterday."), "support"},
		"changed number":        {said("The TLS certificate of the gateway expired at 10:00."), "support"},
		"invented name":         {said("The certificate of the gateway expired, says Heribert."), "support"},
		"another speaker":       {func(a *schemas.RoleAnswer) { a.Sentences[0].Speaker = "Ines" }, "support"},
		"more text":             {func(a *schemas.RoleAnswer) { a.Text += " And the bank will close." }, "support"},
		"less text":             {func(a *schemas.RoleAnswer) { a.Text = "" }, "support"},
		"text between":          {func(a *schemas.RoleAnswer) { a.Text = "Never mind: " + a.Text }, "support"},
		"personal":              {func(a *schemas.RoleAnswer) { a.Text += " mara.klein@example.org" }, "redactions"},
		"a guarded tool named":  {func(a *schemas.RoleAnswer) { a.Text += " Call refund_charge." }, "tools_named"},
	} {
		a := copied(t, good.Answer)
		c.change(&a)
		if failed := verify(a); !slices.Contains(failed, c.want) {
			t.Errorf("%s: failed checks %v, want %s", name, failed, c.want)
		}
	}
	if failed := verify(*good.Answer, good.Answer.Sentences[0].Citations[0].ItemID); !slices.Contains(failed, "citations") {
		t.Errorf("a withheld item is cited: failed checks %v", failed)
	}
	a := copied(t, good.Answer)
	said("The gateway certificate expired at 09:00.")(&a)
	a.Sentences[0].Citations[0] = cite(t, w, s, good.PackID, "n2")
	a.Sentences[0].Speaker = ""
	a.Text = strings.Replace(a.Text, "Jonas: The gateway", "The gateway", 1)
	a.Text = strings.Replace(a.Text, "Mara: The gateway", "The gateway", 1)
	if failed := verify(a); failed != nil {
		t.Errorf("a true sentence in other words fails %v: %q", failed, a.Text)
	}
}

func copied(t *testing.T, a *schemas.RoleAnswer) schemas.RoleAnswer {
	t.Helper()
	raw, err := json.Marshal(a)
	must(t, err)
	var out schemas.RoleAnswer
	must(t, json.Unmarshal(raw, &out))
	return out
}

func cite(t *testing.T, w *world, s scope.Scope, pack, item string) schemas.Citation {
	t.Helper()
	res, err := w.worker.Service.OpenPack(t.Context(), s, pack)
	must(t, err)
	for _, section := range res.Payload.Pack.Sections {
		for _, i := range section.Items {
			for _, r := range res.Payload.Results {
				if i.ID == item && r.ID == item {
					return schemas.Citation{Number: 1, ItemID: item, ContentRef: i.ContentRef, SHA256: hash([]byte(r.Content.Text()))}
				}
			}
		}
	}
	t.Fatalf("the pack does not show %s", item)
	return schemas.Citation{}
}

// TestAPackIsOpenedByItsPrincipalAlone: a role cannot work on another's context.
func TestAPackIsOpenedByItsPrincipalAlone(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	w.remember(t, outage()...)
	got, err := w.runner.Run(t.Context(), as(t, "officer", schemas.Restricted), schemas.RunRequest{Task: question})
	must(t, err)
	for _, role := range []string{roles.Verifier, roles.Synthesizer, roles.Sentinel} {
		if _, err := w.runner.Execute(t.Context(), as(t, "x", schemas.Internal), role, schemas.RoleRequest{Task: question, PackID: got.PackID}); code(err) != "policy_denied " {
			t.Errorf("%s on another's pack: %v", role, err)
		}
	}
}

// endpoint is a model behind an OpenAI-compatible endpoint that says what say returns.
type endpoint struct {
	mu     sync.Mutex
	bodies []string
}

func (e *endpoint) open(t *testing.T, say func(payload string) (string, int)) *remote.Chat {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		e.mu.Lock()
		e.bodies = append(e.bodies, string(body))
		e.mu.Unlock()
		text, status := say(string(body))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		content, err := json.Marshal(text)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, `{"model":"m-1","choices":[{"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":50,"completion_tokens":9}}`, content)
	}))
	t.Cleanup(server.Close)
	m, err := remote.NewChat(remote.ChatConfig{URL: server.URL, Model: "m-1", Retries: -1})
	must(t, err)
	return m
}

// number finds the snippet's number of an item in what the model was shown.
func number(t *testing.T, body, item string) int {
	t.Helper()
	var req struct {
		Messages []struct{ Role, Content string }
	}
	must(t, json.Unmarshal([]byte(body), &req))
	var payload struct {
		Snippets []schemas.Snippet `json:"snippets"`
	}
	must(t, json.Unmarshal([]byte(req.Messages[len(req.Messages)-1].Content), &payload))
	for _, s := range payload.Snippets {
		if s.ItemID == item {
			return s.Number
		}
	}
	t.Fatalf("the model is not shown %s", item)
	return 0
}

func TestModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		say         func(t *testing.T, body string) (string, int)
		model       string
		warning     string
		synthesised int
	}{
		"a supported answer": {func(t *testing.T, body string) (string, int) {
			return fmt.Sprintf("```json\n{\"sentences\":[{\"text\":\"The gateway certificate expired at 09:00.\",\"step\":1,\"cite\":[%d]}]}\n```", number(t, body, "n2")), 200
		}, "m-1", "", 1},
		"an invented figure": {func(t *testing.T, body string) (string, int) {
			return fmt.Sprintf(`{"sentences":[{"text":"The gateway certificate expired at 11:30.","step":"1","cite":[%d]}]}`, number(t, body, "n2")), 200
		}, roles.Extractive, "sent back", 2},
		"an invented citation": {func(*testing.T, string) (string, int) {
			return `{"sentences":[{"text":"The gateway certificate expired.","cite":[77]}]}`, 200
		}, roles.Extractive, "sent back", 2},
		"no JSON": {func(*testing.T, string) (string, int) { return "I would rather sing.", 200 }, roles.Extractive, "no usable answer", 1},
		"a fault": {func(*testing.T, string) (string, int) { return "", 500 }, roles.Extractive, "no usable answer", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var e endpoint
			w := open(t, func(cfg *roles.Config) {
				cfg.Model = e.open(t, func(body string) (string, int) { return c.say(t, body) })
			})
			w.remember(t, outage()...)
			got, err := w.runner.Run(t.Context(), as(t, "x", schemas.Internal), schemas.RunRequest{Task: question})
			must(t, err)
			if got.Answer.Invocation.Model != c.model || len(got.Answer.Sentences) == 0 {
				t.Errorf("answer %+v", got.Answer)
			}
			if c.warning != "" && !strings.Contains(strings.Join(got.Warnings, "\n"), c.warning) {
				t.Errorf("warnings %q", got.Warnings)
			}
			n := 0
			for _, h := range got.Handovers {
				if h.From == roles.Synthesizer {
					n++
					if h.Invocation == nil || h.Invocation.ModelSHA256 == hash([]byte(h.Invocation.Model)) || len(h.Invocation.ModelSHA256) != 64 || len(h.Invocation.PayloadSHA256) != 64 || len(h.Invocation.ParametersSHA256) != 64 {
						t.Errorf("hand-over %+v does not name its invocation", h)
					}
				}
			}
			if n != c.synthesised {
				t.Errorf("the synthesizer worked %d times, want %d", n, c.synthesised)
			}
			for _, body := range e.bodies {
				if strings.Contains(body, "Heliotrope") || strings.Contains(body, "61,480") || strings.Contains(body, "refund_charge") || strings.Contains(body, "Refunds a failed") || strings.Contains(body, "level:") {
					t.Errorf("the model was shown what it may not see: %s", body)
				}
			}
		})
	}
}

// TestAnErasedItemLeavesTheTrace: what was handed over goes with the item it shows.
func TestAnErasedItemLeavesTheTrace(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	w.remember(t, outage()...)
	got, err := w.runner.Run(t.Context(), as(t, "x", schemas.Internal), schemas.RunRequest{Task: question})
	must(t, err)
	said := map[string][]string{"n1": {"Card payments", "error 502"}, "n2": {"TLS certificate", "at 09:00"}, "n3": {"I renewed", "restarted both proxies"}, "t1": {"Shows the"}}
	found := 0
	for id, words := range said {
		at, err := w.log.Referring(t.Context(), system(t), []string{id})
		must(t, err)
		for i, h := range got.Handovers {
			message, err := w.log.Attachment(t.Context(), system(t), got.Positions[i])
			must(t, err)
			holds := slices.ContainsFunc(words, func(word string) bool { return strings.Contains(string(message), word) })
			if holds && !slices.Contains(at, got.Positions[i]) {
				t.Errorf("%s hands over %s, and its entry does not refer to it", h.From, id)
			}
			if h.From != roles.Synthesizer && h.From != roles.Verifier && holds {
				t.Errorf("%s hands over words of %s: %s", h.From, id, message)
			}
			if holds {
				found++
			}
		}
	}
	if found == 0 {
		t.Fatal("no hand-over has a word of an item: the test shows nothing")
	}
	at, err := w.log.Referring(t.Context(), system(t), []string{"n3"})
	must(t, err)
	_, err = w.log.EraseAttachments(t.Context(), system(t), at)
	must(t, err)
	for i := range got.Handovers {
		message, err := w.log.Attachment(t.Context(), system(t), got.Positions[i])
		if err != nil && !errors.Is(err, eventlog.ErrErased) {
			t.Fatal(err)
		}
		if strings.Contains(string(message), "restarted both proxies") {
			t.Error("the erased item is still in a hand-over")
		}
	}
}

// TestConcurrentRuns: a thousand runs of many principals at a time, and none sees a word
// that is another's.
func TestConcurrentRuns(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	const principals = 10
	runs := 1000
	if testenv.Raced {
		runs = 200
	}
	if n, err := strconv.Atoi(os.Getenv("SATCHEL_TEST_RUNS")); err == nil {
		runs = n
	}
	var list []schemas.MemoryItem
	for p := range principals {
		list = append(list, note(fmt.Sprintf("own-%d", p), "Mara", fmt.Sprintf("The code word of the gateway certificate is codeword%dx today.", p), "level:internal", fmt.Sprintf("group:g%d", p)))
	}
	w.remember(t, append(list, outage()...)...)
	var group sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i := range runs {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			p := i % principals
			s := as(t, fmt.Sprintf("p%d", p), schemas.Internal, fmt.Sprintf("g%d", p))
			got, err := w.runner.Run(t.Context(), s, schemas.RunRequest{Task: "What is the code word of the gateway certificate?", Session: fmt.Sprintf("s%d", i), TokenBudget: 300})
			if err != nil {
				t.Errorf("run %d: %v", i, err)
				return
			}
			raw, err := json.Marshal(got)
			must(t, err)
			var messages strings.Builder
			messages.Write(raw)
			for _, at := range got.Positions[:6*(1-min(i%10, 1))] { // what was handed over, of every tenth run
				m, err := w.log.Attachment(t.Context(), s, at)
				must(t, err)
				messages.Write(m)
			}
			for q := range principals {
				if word := fmt.Sprintf("codeword%dx", q); strings.Contains(messages.String(), word) != (q == p) {
					t.Errorf("run %d of principal %d: %q is there %t", i, p, word, q != p)
				}
			}
		})
	}
	group.Wait()
	must(t, w.log.Verify(t.Context(), system(t), nil, nil))
}

// BenchmarkHandover measures one hand-over: policy, message, log commit.
func BenchmarkHandover(b *testing.B) {
	w := open(b, nil)
	s := as(b, "x", schemas.Internal)
	took := make([]time.Duration, 0, b.N)
	for b.Loop() {
		start := time.Now()
		if _, err := w.runner.Execute(b.Context(), s, roles.Planner, schemas.RoleRequest{Task: question}); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
}
