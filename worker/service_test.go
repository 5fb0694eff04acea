package worker_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/worker/service"
)

// noEngine refuses everything.
type noEngine struct{}

func (noEngine) Reply(context.Context, scope.Scope, schemas.ContextRequest) (json.RawMessage, error) {
	return nil, &schemas.Error{Code: schemas.CodeSearch, Message: "there is no engine"}
}

func hexOf(b []byte) string { return hex.EncodeToString(b) }

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hexOf(h[:])
}

// request is a ContextRequest of an agent; change may alter it.
func request(t *testing.T, agent, level, text string, change func(*schemas.ContextRequest)) []byte {
	t.Helper()
	req := schemas.ContextRequest{
		Meta:    schemas.Meta{Type: schemas.MessageContextRequest, ID: "req-1", From: &schemas.Agent{Type: "agent", ID: agent, SecurityLevel: level}},
		Payload: schemas.RequestPayload{Query: schemas.Query{Text: text}},
	}
	if change != nil {
		change(&req)
	}
	return encode(t, req)
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	must(t, err)
	return raw
}

func structured(t *testing.T, ev event.Event) json.RawMessage {
	t.Helper()
	raw, err := ev.MarshalJSON()
	must(t, err)
	return raw
}

func (w *world) put(t *testing.T, ev event.Event, wait string) schemas.Receipt {
	t.Helper()
	out, err := waited(within(t))(w.worker.Service.Put(within(t), "acme", encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, ev), Wait: wait})))
	must(t, err)
	return out.(schemas.Receipt)
}

// waited returns the answer of a call, which may have to be waited for until ctx is done.
func waited(ctx context.Context) func(any, error) (any, error) {
	return func(out any, err error) (any, error) {
		if wait, ok := out.(service.Wait); ok && err == nil {
			return wait(ctx)
		}
		return out, err
	}
}

// typed returns the *schemas.Error that err must be.
func typed(t *testing.T, err error) *schemas.Error {
	t.Helper()
	var e *schemas.Error
	if !errors.As(err, &e) {
		t.Fatalf("error = %v (%T), want a *schemas.Error", err, err)
	}
	return e
}

func TestPutWaitsForTheLevelAskedFor(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := system(t, "acme")
	r := w.put(t, recorded(t, "a", "one"), "")
	if r.Level != schemas.ReceiptAccepted || r.Stream != "MEMORY" || r.StreamSeq != 1 || r.Position != 0 {
		t.Errorf("accepted: %+v", r)
	}
	r = w.put(t, recorded(t, "b", "two"), "logged")
	entry, err := w.log.Find(within(t), s, source, "e-b")
	must(t, err)
	if r.Level != schemas.ReceiptLogged || r.Position != entry.Position || r.Leaf != hexOf(entry.Leaf[:]) {
		t.Errorf("logged: %+v", r)
	}
	r = w.put(t, recorded(t, "c", "three"), "indexed")
	if at, err := w.graph.Checkpoint(within(t), s); r.Level != schemas.ReceiptIndexed || err != nil || at < r.Position {
		t.Errorf("indexed: %+v, the graph is at %d, %v", r, at, err)
	}
	r = w.put(t, recorded(t, "c", "three"), "logged")
	if !r.Duplicate || r.Position != 3 {
		t.Errorf("duplicate: %+v", r)
	}
	_, err = w.worker.Service.Put(within(t), "acme", encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, recorded(t, "c", "else"))}))
	if e := typed(t, err); e.Code != schemas.CodeConflict || e.Field != "/event/id" || !strings.Contains(e.Message, "id_reuse") || strings.Contains(e.Error(), "three") {
		t.Errorf("a reused id: %v", e)
	}
}

// An erasure under an id that was used before for anything else is no duplicate of it.
func TestPutConfirmsNoErasureThatWasNone(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.put(t, recorded(t, "a", "one"), "indexed")
	w.put(t, recorded(t, "b", "two"), "indexed")
	w.put(t, forgetting(t, "f", "b"), "indexed")
	if r := w.put(t, forgetting(t, "f", "b"), "logged"); !r.Duplicate {
		t.Errorf("the same erasure again: %+v", r)
	}
	for _, id := range []string{"e-a", "f"} { // of a memory, of the erasure of another
		_, err := waited(within(t))(w.worker.Service.Put(within(t), "acme", encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, forgetting(t, id, "a")), Wait: "indexed"})))
		if e := typed(t, err); e.Code != schemas.CodeConflict || e.Field != "/event/id" || !strings.Contains(e.Message, "id_reuse") {
			t.Errorf("an erasure under %s: %v", id, e)
		}
	}
	if got, err := w.items.Get(within(t), system(t, "acme"), []string{"a", "b"}); err != nil || len(got) != 1 || got[0].ID != "a" {
		t.Errorf("items there: %v, %v", got, err)
	}
}

func TestPutNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	w := setup(t)
	const secret = "tell-nobody-about-this"
	for name, c := range map[string]struct {
		body  []byte
		field string
	}{
		"no JSON":      {[]byte("{" + secret), ""},
		"wrong type":   {[]byte(`{"agent": 7}`), "/agent"},
		"no agent":     {encode(t, schemas.PutRequest{Event: structured(t, recorded(t, "a", secret))}), "/agent"},
		"no event":     {encode(t, map[string]any{"agent": "a"}), "/event"},
		"not an event": {encode(t, map[string]any{"agent": "a", "event": map[string]any{"x": secret}}), "/event"},
		"unlabelled":   {encode(t, schemas.PutRequest{Agent: "a", Event: structured(t, recorded(t, "a", secret, func(d map[string]any) { delete(d, "security_label") }))}), "/data/security_label"},
		"other tenant": {encode(t, schemas.PutRequest{Agent: "a", Event: structured(t, recorded(t, "a", secret, func(d map[string]any) { d["scope"] = map[string]any{"tenant": "globex"} }))}), "/data/scope/tenant"},
		"level":        {encode(t, schemas.PutRequest{Agent: "a", Event: structured(t, recorded(t, "a", secret)), Wait: "soon"}), "/wait"},
	} {
		_, err := w.worker.Service.Put(within(t), "acme", c.body)
		e := typed(t, err)
		if e.Code != schemas.CodeValidation || e.Field != c.field || strings.Contains(string(encode(t, e)), secret) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if n := len(w.entries(t, "acme", 0)); n != 0 {
		t.Errorf("%d entries were written", n)
	}
}

func TestReceiptWaits(t *testing.T) {
	t.Parallel()
	w := setup(t)
	ask := func(timeout int) (any, error) {
		return waited(within(t))(w.worker.Service.Receipt(within(t), "acme", encode(t, schemas.ReceiptRequest{Source: source, ID: "e-a", Level: schemas.ReceiptProved, Timeout: timeout})))
	}
	if _, err := ask(20); typed(t, err).Code != schemas.CodeDeadlineExceeded {
		t.Errorf("error = %v", err)
	}
	go func() {
		// published while the receipt waits; what fails shows as a receipt that does not come
		_, _, _ = w.cfg.Outbox.PublishMemory(context.Background(), "acme", "planner", recorded(t, "a", "one"))
	}()
	out, err := ask(10000)
	must(t, err)
	r := out.(schemas.Receipt)
	if r.Level != schemas.ReceiptProved || r.Position != 1 || r.Inclusion == nil || r.Inclusion.Leaf != r.Leaf || r.Checkpoint == "" {
		t.Errorf("receipt = %+v", r)
	}
}

func TestProve(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for _, id := range []string{"a", "b", "c"} {
		w.put(t, recorded(t, id, "text"), "logged")
	}
	head, err := w.worker.Service.Head(within(t), "acme", nil)
	must(t, err)
	if h := head.(schemas.HeadReply); h.Size != 3 || h.Checkpoint == "" || !strings.HasPrefix(h.PublicKey, "satchel/acme+") {
		t.Errorf("head = %+v", h)
	}
	w.put(t, recorded(t, "d", "text"), "logged")
	out, err := w.worker.Service.Prove(within(t), "acme", encode(t, schemas.ProveRequest{Source: source, ID: "e-b", OldSize: 3}))
	must(t, err)
	p := out.(schemas.ProveReply)
	if p.Inclusion == nil || p.Inclusion.Position != 2 || p.Inclusion.Size != 4 || p.Consistency == nil || p.Consistency.New != 4 || p.Consistency.OldRoot != head.(schemas.HeadReply).Root || !strings.HasPrefix(p.Preimage, "satchel log leaf v1\n") {
		t.Errorf("proof = %+v", p)
	}
	w.put(t, recorded(t, "e", "canary-of-a-proof", func(d map[string]any) { d["security_label"] = []string{"level:restricted", "group:canary-group"} }), "logged")
	out, err = w.worker.Service.Prove(within(t), "acme", encode(t, schemas.ProveRequest{Position: 5, OldSize: 4}))
	must(t, err)
	if raw := string(encode(t, out)); strings.Contains(raw, "canary") || strings.Contains(raw, "restricted") {
		t.Errorf("a proof tells content or labels: %s", raw)
	}
	for name, req := range map[string]schemas.ProveRequest{"position": {Position: 9}, "event": {Source: source, ID: "none"}, "size": {OldSize: 99}} {
		if _, err := w.worker.Service.Prove(within(t), "acme", encode(t, req)); typed(t, err).Code != schemas.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.worker.Service.Prove(within(t), "globex", encode(t, schemas.ProveRequest{Position: 1})); typed(t, err).Code != schemas.CodeNotFound {
		t.Errorf("another tenant: %v", err)
	}
}

// packed remembers two items of different levels and returns the pack of a request.
func (w *world) packed(t *testing.T, agent, level string) schemas.ResultPayload {
	t.Helper()
	w.put(t, recorded(t, "low", "the lake house has a red door"), "")
	w.put(t, recorded(t, "high", "the lake house alarm code is kept by Ann", func(d map[string]any) { d["security_label"] = []string{"level:confidential"} }), "indexed")
	out, err := w.worker.Service.Request(within(t), "acme", request(t, agent, level, "what about the lake house?", nil))
	must(t, err)
	return payloadOf(t, out)
}

func TestAPackIsGivenAgainOnlyWhenPolicyAllowsIt(t *testing.T) {
	t.Parallel()
	w := setup(t)
	p := w.packed(t, "reader", "confidential")
	if len(p.Results) != 2 {
		t.Fatalf("%d results, want 2", len(p.Results))
	}
	open := func(tenant string, from *schemas.Agent) (any, error) {
		return w.worker.Service.Pack(within(t), tenant, encode(t, schemas.PackRequest{PackID: p.PackID, From: from}))
	}
	out, err := open("acme", &schemas.Agent{Type: "agent", ID: "reader", SecurityLevel: "confidential"})
	must(t, err)
	stored, err := w.log.Attachment(within(t), system(t, "acme"), p.Positions.Pack)
	must(t, err)
	if !bytes.Equal(out.(json.RawMessage), stored) {
		t.Error("the pack is not the stored one, byte for byte")
	}
	for name, from := range map[string]*schemas.Agent{
		"somebody else":      {Type: "agent", ID: "other", SecurityLevel: "restricted"},
		"with less":          {Type: "agent", ID: "reader", SecurityLevel: "internal"},
		"auditor with less":  {Type: "agent", ID: "audit", SecurityLevel: "public", Roles: []string{"auditor"}},
		"without a level":    {Type: "agent", ID: "reader"},
		"nobody":             nil,
		"with a broken name": {Type: "agent", ID: "a/b"},
	} {
		if out, err := open("acme", from); err == nil {
			t.Errorf("%s is given the pack: %s", name, out)
		} else if e := typed(t, err); strings.Contains(e.Error(), "lake") {
			t.Errorf("%s: %v tells content", name, e)
		}
	}
	if _, err := open("acme", &schemas.Agent{Type: "agent", ID: "audit", SecurityLevel: "confidential", Roles: []string{"auditor"}}); err != nil {
		t.Errorf("an auditor is refused: %v", err)
	}
	if _, err := open("globex", &schemas.Agent{Type: "agent", ID: "reader", SecurityLevel: "restricted"}); typed(t, err).Code != schemas.CodeNotFound {
		t.Errorf("another tenant: %v", err)
	}
	for position, name := range map[int64]string{1: "not a pack", 99: "nothing"} {
		if _, err := w.worker.Service.Pack(within(t), "acme", encode(t, schemas.PackRequest{Position: position, From: &schemas.Agent{Type: "agent", ID: "reader"}})); typed(t, err).Code != schemas.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An index that is being rebuilt knows no items: nothing then says that the pack's may
// be seen.
func TestAPackOfUnknownItemsIsRefused(t *testing.T) {
	t.Parallel()
	w := setup(t)
	p := w.packed(t, "reader", "confidential")
	must(t, w.stop())
	must(t, w.items.Reset(within(t), system(t, "acme")))
	_, err := w.worker.Service.Pack(within(t), "acme", encode(t, schemas.PackRequest{PackID: p.PackID, From: &schemas.Agent{Type: "agent", ID: "reader", SecurityLevel: "confidential"}}))
	if err == nil || typed(t, err).Code != schemas.CodePolicyDenied {
		t.Errorf("error = %v, want policy_denied", err)
	}
}

func TestRequestsAreRefusedInWords(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.put(t, recorded(t, "a", "one"), "indexed")
	for name, c := range map[string]struct {
		body  []byte
		code  schemas.Code
		field string
	}{
		"no JSON":       {[]byte("nonsense"), schemas.CodeValidation, ""},
		"nobody asks":   {request(t, "x", "", "q", func(r *schemas.ContextRequest) { r.Meta.From = nil }), schemas.CodeValidation, "/meta/from/id"},
		"other tenant":  {request(t, "x", "", "q", func(r *schemas.ContextRequest) { r.Payload.Tenant = "globex" }), schemas.CodeValidation, "/payload/tenant"},
		"bad level":     {request(t, "x", "king", "q", nil), schemas.CodeValidation, "/meta/from/securityLevel"},
		"bad budget":    {request(t, "x", "", "q", func(r *schemas.ContextRequest) { r.Payload.TokenBudget = -1 }), schemas.CodeValidation, "/payload/token_budget"},
		"too far ahead": {request(t, "x", "", "q", func(r *schemas.ContextRequest) { r.Payload.MinPosition = 99 }), schemas.CodeValidation, "/payload/min_position"},
	} {
		ctx, cancel := context.WithTimeout(within(t), 3*time.Second)
		_, err := w.worker.Service.Request(ctx, "acme", c.body)
		cancel()
		if e := typed(t, err); e.Code != c.code || e.Field != c.field || strings.Contains(e.Error(), w.dir) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestErrorsOfTheStoreAreNotTold(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.put(t, recorded(t, "a", "one"), "indexed")
	must(t, w.stop())
	must(t, w.log.Close())
	for name, call := range map[string]func() (any, error){
		"put": func() (any, error) {
			return w.worker.Service.Put(within(t), "acme", encode(t, schemas.PutRequest{Agent: "a", Event: structured(t, recorded(t, "b", "two"))}))
		},
		"head":  func() (any, error) { return w.worker.Service.Head(within(t), "acme", nil) },
		"prove": func() (any, error) { return w.worker.Service.Prove(within(t), "acme", []byte(`{"position": 1}`)) },
		"receipt": func() (any, error) {
			return waited(within(t))(w.worker.Service.Receipt(within(t), "acme", encode(t, schemas.ReceiptRequest{Source: source, ID: "x", Level: "logged"})))
		},
		"pack": func() (any, error) {
			return w.worker.Service.Pack(within(t), "acme", []byte(`{"position": 1, "from": {"id": "x"}}`))
		},
		"request": func() (any, error) {
			return w.worker.Service.Request(within(t), "acme", request(t, "reader", "internal", "one", nil))
		},
	} {
		out, err := call()
		if err == nil {
			t.Errorf("%s answers %v although the log is closed", name, out)
			continue
		}
		if e := typed(t, err); e.Code != schemas.CodeStorage || strings.Contains(e.Error(), w.dir) || strings.Contains(e.Error(), eventlog.ErrClosed.Error()) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// payloadOf decodes an answer to a context request.
func payloadOf(t *testing.T, out any) schemas.ResultPayload {
	t.Helper()
	var res schemas.ContextResult
	must(t, json.Unmarshal(out.(json.RawMessage), &res))
	return res.Payload
}

// A put of an erasure that policy or the log would refuse is refused at once, and
// nothing is published.
func TestPutOfARefusedErasure(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.put(t, recorded(t, "a", "one"), "indexed")
	_, err := waited(within(t))(w.worker.Service.Put(within(t), "acme", encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, forgetting(t, "f", "nobody")), Wait: "logged"})))
	var refused *schemas.Error
	if !errors.As(err, &refused) || refused.Code != schemas.CodeValidation || refused.Message != "nobody: no such item, nothing was erased" || refused.Field != "/event/data/items/0" {
		t.Errorf("an erasure of nothing: %v", err)
	}
	w.entries(t, "acme", 1)
}
