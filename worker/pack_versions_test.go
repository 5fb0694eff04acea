package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
	"satchel/worker"
)

// anew is an item recorded again under another event id, with one label.
func anew(t *testing.T, id, text, event, label string) json.RawMessage {
	t.Helper()
	ev := recorded(t, id, text, func(d map[string]any) { d["security_label"] = []string{label} })
	ev.SetID(event)
	ev.SetExtension(schemas.ExtensionRoles, "declassifier")
	return structured(t, ev)
}

// A pack is judged by each item as it was packed and as it is now.
func TestAPackIsJudgedByBothVersions(t *testing.T) {
	t.Parallel()
	w := setup(t)
	p := w.packed(t, "reader", "confidential") // low internal, high confidential
	open := func(level string) error {
		_, err := w.worker.Service.Pack(within(t), "acme", encode(t, schemas.PackRequest{PackID: p.PackID, From: &schemas.Agent{Type: "agent", ID: "reader", SecurityLevel: level}}))
		return err
	}
	relabel := func(id, event, label string) {
		_, err := waited(within(t))(w.worker.Service.Put(within(t), "acme", encode(t, schemas.PutRequest{Agent: "planner", Event: anew(t, id, "the lake house", event, label), Wait: "indexed"})))
		must(t, err)
	}
	must(t, open("confidential"))
	relabel("high", "lowered", "level:public")
	if err := open("internal"); err == nil || typed(t, err).Code != schemas.CodePolicyDenied {
		t.Errorf("an item that was confidential when it was packed is shown to less: %v", err)
	}
	must(t, open("confidential"))
	relabel("low", "raised", "level:restricted")
	if err := open("confidential"); err == nil || typed(t, err).Code != schemas.CodePolicyDenied {
		t.Errorf("an item that is restricted now is shown to less: %v", err)
	}
	must(t, open("restricted"))
}

// mutePDP gives no verdict on what is read.
type mutePDP struct {
	policies.PDP
	mute *bool
}

func (p mutePDP) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	if *p.mute && r.Action == "read" {
		return policies.Decision{}, fmt.Errorf("decide: %w", policies.ErrUnavailable)
	}
	return p.PDP.Decide(ctx, s, r)
}

// Without a verdict a pack is not shown, and the error says so, in the same words whether
// policy is away or an item is gone.
func TestAPackWithoutAVerdictIsNotShown(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	mute := false
	w.change = func(c *worker.Config) { c.PDP = mutePDP{c.PDP, &mute} }
	w.start(t)
	p := w.packed(t, "reader", "confidential")
	refused := func(when string) {
		t.Helper()
		_, err := w.worker.Service.Pack(within(t), "acme", encode(t, schemas.PackRequest{PackID: p.PackID, From: &schemas.Agent{Type: "agent", ID: "reader", SecurityLevel: "confidential"}}))
		if err == nil {
			t.Fatalf("%s: the pack is shown", when)
		}
		if e := typed(t, err); e.Code != schemas.CodePolicyDenied || !strings.HasPrefix(e.Message, "policy gave no verdict") {
			t.Errorf("%s: %v", when, e)
		}
	}
	mute = true
	refused("policy is away")
	mute = false
	w.publish(t, "acme", forgetting(t, "f", "high"))
	w.receipt(t, "acme", "f")
	refused("an item is erased")
}

// A pack that shows a summary is judged by what that was made of, too.
func TestAPackOfASummaryOfWhatWasRaised(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.put(t, recorded(t, "a", "the keel was laid in spring"), "")
	w.put(t, recorded(t, "s", "keel: spring", summaryOf("a")), "indexed")
	out, err := w.worker.Service.Request(within(t), "acme", request(t, "reader", "internal", "spring: keel", func(r *schemas.ContextRequest) { r.Payload.Limit = 1 }))
	must(t, err)
	p := payloadOf(t, out)
	if len(p.Results) != 1 || p.Results[0].ID != "s" {
		t.Fatalf("the pack shows %+v", p.Results)
	}
	open := func() error {
		_, err := w.worker.Service.Pack(within(t), "acme", encode(t, schemas.PackRequest{PackID: p.PackID, From: &schemas.Agent{Type: "agent", ID: "reader", SecurityLevel: "internal"}}))
		return err
	}
	must(t, open())
	_, err = waited(within(t))(w.worker.Service.Put(within(t), "acme", encode(t, schemas.PutRequest{Agent: "planner", Event: anew(t, "a", "the keel was laid in spring", "raised", "level:restricted"), Wait: "indexed"})))
	must(t, err)
	if err := open(); err == nil || typed(t, err).Code != schemas.CodePolicyDenied {
		t.Errorf("a pack of the summary is shown: %v", err)
	}
}
