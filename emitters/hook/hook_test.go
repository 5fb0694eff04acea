package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"satchel/emitters"
	"satchel/emitters/hook"
	"satchel/jetstream"
	"satchel/jetstream/cloudevent"
	"satchel/jetstream/embedded"
	"satchel/schemas"
)

// stream is a real server with the streams, and an emitter to it.
type stream struct {
	nc      *nats.Conn
	js      natsjs.JetStream
	emitter *emitters.Emitter
}

func open(t testing.TB) *stream {
	t.Helper()
	server, err := embedded.Start(embedded.Config{Dir: t.TempDir(), NoListen: true})
	must(t, err)
	t.Cleanup(func() { must(t, server.Stop()) })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	s := &stream{}
	s.nc, err = jetstream.Connect(ctx, jetstream.ConnectConfig{InProcess: server.InProcess()}, nil)
	must(t, err)
	t.Cleanup(s.nc.Close)
	s.js, err = jetstream.Open(ctx, s.nc)
	must(t, err)
	must(t, jetstream.EnsureStreams(ctx, s.js, jetstream.Config{}))
	s.emitter, err = emitters.New(s.nc, emitters.Config{Tenant: "acme", Agent: "bot", Labels: []string{"level:internal"}})
	must(t, err)
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *stream) hooks(t testing.TB, change func(*hook.Config)) *hook.Hooks {
	t.Helper()
	cfg := hook.Config{Emitter: s.emitter, Agent: "bot", Session: "s-1"}
	if change != nil {
		change(&cfg)
	}
	h, err := hook.New(cfg)
	must(t, err)
	return h
}

// last returns what was published last, as it stands in the stream, and its raw bytes.
func (s *stream) last(t testing.TB) (schemas.MemoryItem, string) {
	t.Helper()
	st, err := s.js.Stream(t.Context(), jetstream.MemoryStream)
	must(t, err)
	msg, err := st.GetLastMsgForSubject(t.Context(), "p.*.mem.v1.acme.evt.bot")
	must(t, err)
	ev, err := cloudevent.Decode(msg.Header, msg.Data)
	must(t, err)
	item, issues := schemas.DecodeMemoryItem(ev.Data())
	if issues != nil {
		t.Fatalf("published %s: %v", ev.Data(), issues)
	}
	return item, string(msg.Data)
}

// private is what must not be published, in the places a moment can hold it.
const private = "mail mara.klein@example.org or call +49 30 901820; card 4111 1111 1111 1111, token ghp_16C7e42F292c6912E7710c838347Ae178B4a"

func leaks(text string) []string {
	var found []string
	for _, secret := range []string{"mara.klein@example.org", "901820", "4111 1111", "ghp_16C7"} {
		if strings.Contains(text, secret) {
			found = append(found, secret)
		}
	}
	return found
}

// moment is a hook, called with private data wherever it takes text.
type moment struct {
	name string
	typ  schemas.MemoryType
	call func(ctx context.Context, h *hook.Hooks) (schemas.Receipt, error)
}

func moments() map[string][]moment {
	const x = private
	fix := hook.Fix{Domain: "debugging", Strategy: "bisect", Goal: x, Hypothesis: x, Action: x, Result: x, RootCause: x, Lesson: x, Worked: true}
	type ctx = context.Context
	type receipt = schemas.Receipt
	e, p, s := schemas.Episodic, schemas.Procedural, schemas.Semantic
	return map[string][]moment{
		"planner": {
			{"GoalSet", e, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Planner().GoalSet(c, x, "Mara") }},
			{"PlanMade", p, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Planner().PlanMade(c, x, []string{x, "b"}) }},
			{"StepDone", e, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Planner().StepDone(c, "plan-1", x, x) }},
			{"ConstraintFound", s, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Planner().ConstraintFound(c, x, x) }},
		},
		"retriever": {
			{"Searched", e, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Retriever().Searched(c, x, []string{"a", "b"}) }},
			{"QueryWorked", p, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Retriever().QueryWorked(c, x, x) }},
			{"GapFound", s, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Retriever().GapFound(c, x) }},
			{"SourceRated", s, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Retriever().SourceRated(c, x, x, 0.8) }},
		},
		"verifier": {
			{"Checked", e, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Verifier().Checked(c, x, true, []string{"a"}) }},
			{"RuleApplied", p, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Verifier().RuleApplied(c, x, x) }},
			{"Contradicted", s, func(c ctx, h *hook.Hooks) (receipt, error) {
				return h.Verifier().Contradicted(c, x, []string{"a", "b"})
			}},
		},
		"synthesizer": {
			{"Answered", e, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Synthesizer().Answered(c, x, x, []string{"a"}) }},
			{"FormatWorked", p, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Synthesizer().FormatWorked(c, x, x) }},
			{"FactEstablished", s, func(c ctx, h *hook.Hooks) (receipt, error) {
				return h.Synthesizer().FactEstablished(c, x, []string{"a"}, 0.9)
			}},
		},
		"coding agent": {
			{"CommandRan", e, func(c ctx, h *hook.Hooks) (receipt, error) {
				return h.Coder().CommandRan(c, hook.Ran{Command: "curl " + x, Output: x, Exit: 1})
			}},
			{"Changed", e, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Coder().Changed(c, "main.go", x, x) }},
			{"FixFound", p, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Coder().FixFound(c, fix) }},
			{"Decided", s, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Coder().Decided(c, x, x) }},
		},
		"test healer": {
			{"TestFailed", e, func(c ctx, h *hook.Hooks) (receipt, error) {
				return h.Healer().TestFailed(c, hook.Failure{Test: "TestX", Message: x, Output: x})
			}},
			{"TestHealed", p, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Healer().TestHealed(c, "f-1", fix) }},
			{"FlakeKnown", s, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Healer().FlakeKnown(c, "TestX", x, 0.1) }},
		},
		"chat assistant": {
			{"Said", e, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Assistant().Said(c, "Mara", "user", x) }},
			{"HowTo", p, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Assistant().HowTo(c, x, []string{x}) }},
			{"Preference", s, func(c ctx, h *hook.Hooks) (receipt, error) { return h.Assistant().Preference(c, "Mara", x) }},
		},
	}
}

// TestEveryHook: each archetype has hooks of all three types; what they publish is a
// valid memory of the type they say, without what is private.
func TestEveryHook(t *testing.T) {
	t.Parallel()
	s := open(t)
	h := s.hooks(t, nil)
	for archetype, list := range moments() {
		types := map[schemas.MemoryType]int{}
		for _, m := range list {
			r, err := m.call(t.Context(), h)
			if err != nil || r.Level != schemas.ReceiptAccepted {
				t.Fatalf("%s %s: receipt %+v, %v", archetype, m.name, r, err)
			}
			item, raw := s.last(t)
			types[m.typ]++
			if item.Type != m.typ || item.Session != "s-1" || item.Category == "" || len(item.SecurityLabel) == 0 {
				t.Errorf("%s %s published %+v", archetype, m.name, item)
			}
			if found := leaks(raw); found != nil {
				t.Errorf("%s %s published %q: %s", archetype, m.name, found, raw)
			}
			if !strings.Contains(raw, "[email]") {
				t.Errorf("%s %s lost what it was given: %s", archetype, m.name, raw)
			}
		}
		if len(list) < 3 || len(types) != 3 {
			t.Errorf("%s has %d hooks of %d types", archetype, len(list), len(types))
		}
	}
}

func TestLinksAndExperience(t *testing.T) {
	t.Parallel()
	s := open(t)
	h := s.hooks(t, nil)
	_, err := h.Healer().TestHealed(t.Context(), "f-1", hook.Fix{Domain: "debugging", Action: "raised the timeout", Lesson: "measure first", Worked: true})
	must(t, err)
	item, _ := s.last(t)
	x, err := item.Experience()
	must(t, err)
	if item.Kind != schemas.KindExperience || len(item.Links) != 1 || item.Links[0] != (schemas.Link{Rel: schemas.RelCausedBy, To: "f-1"}) ||
		x.OutcomeStatus != "confirmed" || x.Lesson == nil || x.Lesson.WhatWorked != "measure first" {
		t.Errorf("item %+v, experience %+v", item, x)
	}
}

func TestWrappers(t *testing.T) {
	t.Parallel()
	s := open(t)
	var reported []error
	h := s.hooks(t, func(c *hook.Config) { c.Failed = func(err error) { reported = append(reported, err) } })
	broken := errors.New("exit status 2")
	run := h.Coder().Command(func(context.Context, string) (string, int, error) { return "no such file", 2, broken })
	if out, exit, err := run(t.Context(), "cat x"); out != "no such file" || exit != 2 || err != broken {
		t.Errorf("the wrapper changes what it wraps: %q, %d, %v", out, exit, err)
	}
	if item, _ := s.last(t); !strings.Contains(item.Content.Text(), "$ cat x\nexit code 2\nno such file\nerror: exit status 2") {
		t.Errorf("remembered %q", item.Content.Text())
	}
	test := h.Healer().Test(func(_ context.Context, name string) (string, error) {
		return "got 1, want 2", errors.New(name + " failed")
	})
	if _, err := test(t.Context(), "TestSum"); err == nil {
		t.Error("the wrapper hides the failure")
	}
	if item, _ := s.last(t); item.Category != "test_failure" {
		t.Errorf("remembered %+v", item)
	}
	reply := h.Assistant().Reply(func(_ context.Context, speaker, _ string) (string, error) { return "Hello " + speaker, nil })
	if said, err := reply(t.Context(), "Mara", "hi"); said != "Hello Mara" || err != nil {
		t.Errorf("the wrapper changes what it wraps: %q, %v", said, err)
	}
	if item, _ := s.last(t); item.Role != "assistant" || item.Content.Text() != "Hello Mara" {
		t.Errorf("remembered %+v", item)
	}
	if reported != nil {
		t.Fatalf("reported %v", reported)
	}
	s.nc.Close()
	if said, err := reply(t.Context(), "Mara", "hi"); said != "Hello Mara" || err != nil || len(reported) != 2 {
		t.Errorf("remembering breaks the work: %q, %v, %d reported", said, err, len(reported))
	}
}

func TestALongTextKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	s := open(t)
	h := s.hooks(t, func(c *hook.Config) { c.Longest = 1000 })
	_, err := h.Coder().CommandRan(t.Context(), hook.Ran{Command: "make", Output: "begin " + strings.Repeat("ä", 5000) + " end"})
	must(t, err)
	item, raw := s.last(t)
	text := item.Content.Text()
	if len(text) > 1100 || !strings.HasPrefix(text, "$ make") || !strings.HasSuffix(text, " end") || !strings.Contains(text, "bytes left out") || !json.Valid([]byte(raw)) {
		t.Errorf("remembered %d bytes: %q", len(text), text)
	}
}

func TestNewNeedsAnEmitter(t *testing.T) {
	t.Parallel()
	if _, err := hook.New(hook.Config{}); err == nil {
		t.Error("hooks without an emitter")
	}
}
