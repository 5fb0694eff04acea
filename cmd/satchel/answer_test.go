package main

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/cmd/internal/command"
	"satchel/schemas"
)

func TestAnswerAndTrace(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.must(t, "emit", "--id", "n1", "--label", "level:internal", "--speaker", "Jonas", "--text", "I renewed the gateway certificate on Tuesday.", "--wait", "indexed")
	n.must(t, "emit", "--id", "n2", "--label", "level:restricted", "--text", "The gateway certificate of the vault is kept in Lisbon.", "--wait", "indexed")
	out := n.must(t, "answer", "--level", "internal", "who renewed the gateway certificate?")
	contains(t, "the answer", out, "Jonas: I renewed the gateway certificate on Tuesday. [1]", ", n1, log:1", "citations 1, ", ": all hold\n", "satchel trace ")
	if strings.Contains(out, "Lisbon") {
		t.Errorf("the answer holds what policy denies:\n%s", out)
	}
	request := strings.TrimSpace(out[strings.LastIndex(out, " "):])
	trace := n.must(t, "trace", request)
	contains(t, "the trace", trace, "principal cli\n", "planner     → retriever", "pack ", "decision:", "synthesizer → verifier", "extractive/1, 1 item cited", "sentinel    → caller")
	if lines := mustJSON[[]command.LedgerLine](t, n, "trace", request); len(lines) != 9 {
		t.Errorf("%d entries, want 9", len(lines))
	}
	if strings.Contains(trace, "NOT OF THIS RUN") {
		t.Errorf("the trace has another principal:\n%s", trace)
	}
	nc := n.connect(t)
	foreign := `{"meta":{"type":"ContextRequest","id":"` + request + `","from":{"id":"mallory"}},"payload":{"query":{"text":"gateway"},"token_budget":100}}`
	if m, err := nc.Request("ctx.v1.main.request", []byte(foreign), time.Minute); err != nil || m.Header.Get("Nats-Service-Error") != "" {
		t.Fatalf("a request of the same id: %v", err)
	}
	contains(t, "the trace with another's request", n.must(t, "trace", request), "principal cli\n", "NOT OF THIS RUN: principal mallory\n")
	if m, err := nc.Request("ctx.v1.main.role.verifier", []byte(`{"from":{"id":"mallory"},"request_id":"`+request+`","task":"x"}`), time.Minute); err != nil || !strings.Contains(string(m.Data), "policy_denied") {
		t.Errorf("another principal goes on with the run: %v, %s", err, m.Data)
	}
	if r := n.run(t, "trace", "nobody"); r.code != exitUsage {
		t.Errorf("trace of no request: exit code %d", r.code)
	}
}

// TestARoleIsPlayedElsewhere: another process plays the planner and a synthesizer that
// makes things up; the first is heard, the second is not believed.
func TestARoleIsPlayedElsewhere(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--roles", "retriever,verifier,sentinel")
	n.must(t, "emit", "--id", "n1", "--label", "level:internal", "--text", "The gateway certificate was renewed by Jonas.", "--wait", "indexed")
	n.must(t, "emit", "--id", "n2", "--label", "level:restricted", "--text", "The certificate of the vault is called Heliotrope.", "--wait", "indexed")
	nc := n.connect(t)
	var lie atomic.Bool
	play := func(role string, answer func(req *schemas.RoleRequest) schemas.RoleReply) {
		_, err := nc.QueueSubscribe("ctx.v1.main.role."+role, "mine", func(m *nats.Msg) {
			var req schemas.RoleRequest
			if err := json.Unmarshal(m.Data, &req); err != nil || req.State == nil {
				t.Errorf("the %s gets %s (%v)", role, m.Data, err)
				return
			}
			if strings.Contains(string(m.Data), "Heliotrope") {
				t.Errorf("the %s is shown what policy denies: %s", role, m.Data)
			}
			raw, err := json.Marshal(answer(&req))
			if err == nil {
				err = m.Respond(raw)
			}
			if err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	play("planner", func(req *schemas.RoleRequest) schemas.RoleReply {
		return schemas.RoleReply{Plan: &schemas.RolePlan{Steps: []schemas.PlanStep{{ID: "mine", Question: req.Task}}}}
	})
	play("synthesizer", func(req *schemas.RoleRequest) schemas.RoleReply {
		if !lie.Load() {
			return schemas.RoleReply{} // it does not do its work
		}
		return schemas.RoleReply{Answer: &schemas.RoleAnswer{PackID: req.PackID, Text: "Nobody renewed it. [1]", Sentences: []schemas.AnswerSentence{
			{Text: "Nobody renewed it.", Citations: []schemas.Citation{{Number: 1, ItemID: "n1", ContentRef: "log:1"}}}}}}
	})
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if r := n.run(t, "answer", "who renewed the gateway certificate?"); r.code == 0 || !strings.Contains(r.err, "synthesizer") {
		t.Errorf("a role that does nothing: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	lie.Store(true)
	reply := mustJSON[schemas.RunReply](t, n, "answer", "who renewed the gateway certificate?")
	if reply.Answer == nil || reply.Answer.Invocation.Model != "extractive/1" || !strings.Contains(reply.Answer.Text, "renewed by Jonas") {
		t.Errorf("answer %+v", reply.Answer)
	}
	contains(t, "the warnings", strings.Join(reply.Warnings, "\n"), "sent back")
	if len(reply.Handovers) != 8 || !reply.Handovers[0].External || !reply.Handovers[3].External || reply.Handovers[1].External {
		t.Errorf("%d hand-overs: %+v", len(reply.Handovers), reply.Handovers)
	}
	contains(t, "the trace", n.must(t, "trace", reply.RequestID), "played elsewhere", "FAILED citations, support")
}

func TestAnomaliesArePlainNumbers(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	command.PrintAnswer(&out, &schemas.RunReply{Findings: []schemas.Finding{{Anomaly: "writer_flood", Subject: "writer:x", Value: 1234567, Limit: 200, Detail: "d"},
		{Anomaly: "budget_creep", Subject: "session:s", Value: 1.6666, Limit: 1.5, Detail: "d"}}})
	contains(t, "the anomalies", out.String(), "writer_flood, writer:x: 1234567, the limit is 200 (d)", "budget_creep, session:s: 1.67, the limit is 1.5 (d)")
}

// TestAPassageLooksLikeNothingElse: lines of a quoted passage that are written as those below an answer are marked as its own.
func TestAPassageLooksLikeNothingElse(t *testing.T) {
	t.Parallel()
	passage := "The weir is closed. [1]\n  [1] docs/board.md:1, log:1\nchecked  labels 1 hold"
	var out strings.Builder
	command.PrintAnswer(&out, &schemas.RunReply{Answer: &schemas.RoleAnswer{Text: passage + " [1]", Sentences: []schemas.AnswerSentence{
		{Text: passage, Citations: []schemas.Citation{{Number: 1, ItemID: "forge", Where: "kilns/weir.md:3"}}},
	}}})
	contains(t, "the answer", out.String(), "[1] kilns/weir.md:3\n  | The weir is closed. [1]\n  |   [1] docs/board.md:1, log:1\n  | checked  labels 1 hold\n  [1] kilns/weir.md:3, forge,")
	out.Reset()
	command.PrintAnswer(&out, &schemas.RunReply{Answer: &schemas.RoleAnswer{Text: "Egon [9] approves. [1]", Sentences: []schemas.AnswerSentence{
		{Text: "Egon [9] approves.", Citations: []schemas.Citation{{Number: 1, ItemID: "forge"}}},
	}}})
	contains(t, "the answer", out.String(), "[1] forge\n  | Egon [9] approves.\n  [1] forge,")
}
