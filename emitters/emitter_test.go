package emitters_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"satchel/emitters"
	"satchel/jetstream"
	"satchel/schemas"
)

func TestRememberReturnsTheReceiptAskedFor(t *testing.T) {
	t.Parallel()
	e := open(t, emitters.Config{})
	ctx := within(t, time.Minute)
	for i, level := range []schemas.ReceiptLevel{"", schemas.ReceiptAccepted, schemas.ReceiptLogged, schemas.ReceiptIndexed, schemas.ReceiptProved} {
		r, err := e.Remember(ctx, note(fmt.Sprintf("n%d", i), "the lake house has a red door"), &emitters.Options{Wait: level})
		if err != nil {
			t.Fatalf("wait for %q: %v", level, err)
		}
		if level == "" {
			level = schemas.ReceiptAccepted
		}
		if r.Level != level || r.Tenant != t.Name() || r.ID == "" || !strings.HasPrefix(r.Source, "satchel://agents/") {
			t.Errorf("wait for %q: receipt %+v", level, r)
		}
		if logged := r.Position == int64(i+1) && len(r.Leaf) == 64; logged != (level != schemas.ReceiptAccepted) {
			t.Errorf("wait for %q: position %d, leaf %q", level, r.Position, r.Leaf)
		}
		if proved := r.Checkpoint != "" && r.Inclusion != nil; proved != (level == schemas.ReceiptProved) {
			t.Errorf("wait for %q: checkpoint %q, inclusion %v", level, r.Checkpoint, r.Inclusion)
		}
		again, err := e.Receipt(ctx, r.Source, r.ID, schemas.ReceiptIndexed)
		if err != nil || again.Position != int64(i+1) {
			t.Errorf("receipt of event %d: %+v, %v", i, again, err)
		}
	}
	if _, err := e.Remember(ctx, note("n9", "x"), &emitters.Options{Wait: "carved"}); err == nil || !strings.Contains(err.Error(), `"carved"`) {
		t.Errorf("wait for an unknown level: %v", err)
	}
}

func TestRememberRefusesWhatIsWrongBeforeItLeaves(t *testing.T) {
	t.Parallel()
	e := open(t, emitters.Config{})
	ctx := within(t, time.Minute)
	confidence := 2.0
	item := schemas.MemoryItem{ID: "a b", Confidence: &confidence, SecurityLabel: []string{"secret"}}
	_, err := e.Remember(ctx, item, nil)
	var refused *schemas.Error
	if !errors.As(err, &refused) {
		t.Fatalf("an invalid item: %v", err)
	}
	var pointers []string
	for _, p := range refused.Problems {
		pointers = append(pointers, p.Pointer)
	}
	for _, want := range []string{"/id", "/confidence", "/security_label/0", "/content"} {
		if !slices.Contains(pointers, want) {
			t.Errorf("the error names %v, not %s", pointers, want)
		}
	}
	if _, err := e.Remember(ctx, note("n1", "x"), &emitters.Options{EventID: "not an id"}); !errors.As(err, &refused) || refused.Field != "/id" {
		t.Errorf("a malformed event id: %v", err)
	}
	if _, err := e.Remember(ctx, note("n1", strings.Repeat("x", jetstream.MaxEventSize)), nil); !errors.Is(err, jetstream.ErrTooLarge) {
		t.Errorf("an oversized item: %v", err)
	}
	foreign := note("n1", "x")
	foreign.Scope.Tenant = "other"
	if _, err := e.Remember(ctx, foreign, &emitters.Options{Wait: schemas.ReceiptLogged}); !errors.As(err, &refused) || refused.Field != "/data/scope/tenant" {
		t.Errorf("an item of another tenant: %v", err)
	}
	r, err := e.Remember(ctx, note("n1", "the first entry"), &emitters.Options{Wait: schemas.ReceiptLogged})
	if err != nil || r.Position != 1 {
		t.Errorf("after refusals: %+v, %v", r, err)
	}
}

func TestUnlabelledIsRefused(t *testing.T) {
	t.Parallel()
	e := open(t, emitters.Config{Labels: []string{}})
	var refused *schemas.Error
	if _, err := e.Remember(t.Context(), note("n1", "x"), nil); !errors.As(err, &refused) || refused.Field != "/security_label" {
		t.Errorf("an unlabelled item: %v", err)
	}
}

func TestNewRefusesAConfigThatCannotWork(t *testing.T) {
	t.Parallel()
	nc := dial(t, nodeURL)
	for name, cfg := range map[string]emitters.Config{
		"no tenant":   {Agent: "a"},
		"agent":       {Tenant: "t", Agent: "a.b"},
		"source":      {Tenant: "t", Agent: "a", Source: strings.Repeat("s", 3000)},
		"seed":        {Tenant: "t", Agent: "a", SigningSeed: []byte("SUAnotaseed")},
		"outbox file": {Tenant: "t", Agent: "a", Outbox: "setup_test.go"},
	} {
		if _, err := emitters.New(nc, cfg); err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "notaseed") {
			t.Errorf("%s: the error holds the seed: %v", name, err)
		}
	}
	if _, err := emitters.New(nil, emitters.Config{Tenant: "t", Agent: "a"}); err == nil {
		t.Error("no connection: accepted")
	}
}

func TestRememberAllKeepsOrderAcrossBatches(t *testing.T) {
	t.Parallel()
	e := open(t, emitters.Config{})
	ctx := within(t, 60*time.Second)
	items := make([]schemas.MemoryItem, 1200)
	for i := range items {
		items[i] = note(fmt.Sprintf("n%04d", i), fmt.Sprintf("reading %d of the boiler", i))
	}
	receipts, err := e.RememberAll(ctx, items)
	if err != nil || len(receipts) != len(items) {
		t.Fatalf("%d receipts, %v", len(receipts), err)
	}
	for _, i := range []int{0, 499, 500, 1199} {
		r, err := e.Receipt(ctx, receipts[i].Source, receipts[i].ID, schemas.ReceiptLogged)
		if err != nil || r.Position != int64(i+1) {
			t.Errorf("item %d is at position %d, %v", i, r.Position, err)
		}
	}
}

func TestRememberAllOfAnInvalidItemPublishesNothing(t *testing.T) {
	t.Parallel()
	s := startStreams(t)
	e := openAt(t, s.url(), emitters.Config{})
	items := make([]schemas.MemoryItem, 700)
	for i := range items {
		items[i] = note(fmt.Sprintf("n%d", i), "text")
	}
	items[650].Content = schemas.Content{}
	_, err := e.RememberAll(t.Context(), items)
	var refused *schemas.Error
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "item 650") {
		t.Errorf("an invalid item: %v", err)
	}
	items[650].Content = schemas.TextContent(strings.Repeat("x", jetstream.MaxEventSize))
	if _, err := e.RememberAll(t.Context(), items); !errors.Is(err, jetstream.ErrTooLarge) {
		t.Errorf("an oversized item: %v", err)
	}
	if ids := s.stored(t); len(ids) > 0 {
		t.Errorf("%d events were published", len(ids))
	}
}

func TestRememberAllOfLargeItems(t *testing.T) {
	t.Parallel()
	s := startStreams(t)
	e := openAt(t, s.url(), emitters.Config{})
	items := make([]schemas.MemoryItem, 40)
	for i := range items {
		items[i] = note(fmt.Sprintf("n%d", i), strings.Repeat("long text ", 60_000))
	}
	if _, err := e.RememberAll(within(t, 60*time.Second), items); err != nil {
		t.Fatal(err)
	}
	if ids := s.stored(t); len(ids) != len(items) {
		t.Errorf("%d of %d events were stored", len(ids), len(items))
	}
}

func TestTheSameEventIDStoresNothingTwice(t *testing.T) {
	t.Parallel()
	e := open(t, emitters.Config{Clock: func() time.Time { return time.Unix(1_700_000_000, 0) }})
	ctx := within(t, time.Minute)
	opts := &emitters.Options{EventID: "event-1", Wait: schemas.ReceiptLogged}
	first, err := e.Remember(ctx, note("n1", "once"), opts)
	if err != nil {
		t.Fatal(err)
	}
	again, err := e.Remember(ctx, note("n1", "once"), opts)
	if err != nil || again.Position != first.Position || !again.Duplicate {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	var refused *schemas.Error
	if _, err := e.Remember(ctx, note("n1", "something else"), opts); !errors.As(err, &refused) || refused.Field != "/event/id" {
		t.Errorf("another item under the same event id: %v", err)
	}
	next, err := e.Remember(ctx, note("n2", "next"), &emitters.Options{Wait: schemas.ReceiptLogged})
	if err != nil || next.Position != first.Position+1 {
		t.Errorf("the next event: %+v, %v", next, err)
	}
}

func TestAskShowsWhatThePrincipalMaySee(t *testing.T) {
	t.Parallel()
	e := open(t, emitters.Config{})
	ctx := within(t, time.Minute)
	secret := note("n2", "the vault of the lighthouse opens with 4711")
	secret.SecurityLabel = []string{"level:restricted"}
	if _, err := e.RememberAll(ctx, []schemas.MemoryItem{note("n1", "the lighthouse has a green lamp"), secret}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Accessed(ctx, []string{"n1"}, &emitters.Options{Wait: schemas.ReceiptIndexed}); err != nil {
		t.Fatal(err)
	}
	res, err := e.Ask(ctx, schemas.ContextRequest{Payload: schemas.RequestPayload{Query: schemas.Query{Text: "what is in the lighthouse?"}}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(res.Payload.Text, "green lamp") || strings.Contains(res.Payload.Text, "4711") {
		t.Errorf("the pack of an internal principal:\n%s", res.Payload.Text)
	}
	if res.Payload.Pack.Principal != "planner" || res.Payload.Positions.Pack == 0 {
		t.Errorf("principal %q, positions %+v", res.Payload.Pack.Principal, res.Payload.Positions)
	}
	var refused *schemas.Error
	if _, err := e.Ask(ctx, schemas.ContextRequest{}); !errors.As(err, &refused) || refused.Code != schemas.CodeValidation {
		t.Errorf("an empty question: %v", err)
	}
}

func TestLinkAndSupersede(t *testing.T) {
	t.Parallel()
	e := open(t, emitters.Config{})
	ctx := within(t, time.Minute)
	if _, err := e.RememberAll(ctx, []schemas.MemoryItem{note("old", "the ferry leaves at nine"), note("new", "the ferry leaves at ten")}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Link(ctx, "new", []schemas.Link{{Rel: schemas.RelCausedBy, To: "old"}}, &emitters.Options{Wait: schemas.ReceiptLogged}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Supersede(ctx, "old", "new", "timetable changed", &emitters.Options{Wait: schemas.ReceiptIndexed}); err != nil {
		t.Fatal(err)
	}
	res, err := e.Ask(ctx, schemas.ContextRequest{Payload: schemas.RequestPayload{Query: schemas.Query{Text: "when does the ferry leave?"}}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(res.Payload.Text, "at ten") || strings.Contains(res.Payload.Text, "at nine") {
		t.Errorf("the pack:\n%s", res.Payload.Text)
	}
	var refused *schemas.Error
	if _, err := e.Link(ctx, "new", nil, nil); !errors.As(err, &refused) {
		t.Errorf("a link to nothing: %v", err)
	}
	if _, err := e.Supersede(ctx, "old", "old", "", nil); !errors.As(err, &refused) {
		t.Errorf("an item that replaces itself: %v", err)
	}
	if _, err := e.Accessed(ctx, nil, nil); !errors.As(err, &refused) {
		t.Errorf("access to nothing: %v", err)
	}
}

// Another agent changes an item as an editor, and lowers its labels as a declassifier, where
// it claims these; the same event is the same with another claim.
func TestRolesAreClaimedForChanges(t *testing.T) {
	t.Parallel()
	ctx := within(t, time.Minute)
	if _, err := open(t, emitters.Config{}).Remember(ctx, note("n1", "the ferry leaves at nine"), &emitters.Options{Wait: schemas.ReceiptIndexed}); err != nil {
		t.Fatal(err)
	}
	as := func(roles ...string) *emitters.Emitter {
		return open(t, emitters.Config{Agent: "harbour", Source: "urn:harbour", Roles: roles, Clock: func() time.Time { return time.Date(2026, 3, 3, 10, 0, 0, 0, time.UTC) }})
	}
	lower := note("n1", "the ferry leaves at ten")
	lower.SecurityLabel = []string{"level:public"}
	for _, c := range []struct {
		roles   []string
		item    schemas.MemoryItem
		event   string
		refused bool
	}{
		{nil, note("n1", "the ferry leaves at ten"), "e1", true},
		{[]string{"eraser", "auditor"}, note("n1", "the ferry leaves at ten"), "e1", true},
		{[]string{"eraser", "editor"}, note("n1", "the ferry leaves at ten"), "e1", false},
		{nil, note("n1", "the ferry leaves at ten"), "e1", false},
		{[]string{"editor"}, lower, "e2", true},
		{[]string{"editor", "declassifier"}, lower, "e2", false},
	} {
		_, err := as(c.roles...).Remember(ctx, c.item, &emitters.Options{EventID: c.event, Wait: schemas.ReceiptIndexed})
		var refused *schemas.Error
		if errors.As(err, &refused) != c.refused || c.refused && refused.Code != schemas.CodePolicyDenied {
			t.Errorf("%s claiming %v: %v", c.event, c.roles, err)
		}
	}
	if _, err := as("editor").Supersede(ctx, "n1", "n2", "", &emitters.Options{Wait: schemas.ReceiptLogged}); err != nil {
		t.Error(err)
	}
}

func TestForgetErasesAndStaysErased(t *testing.T) {
	t.Parallel()
	e := open(t, emitters.Config{Roles: []string{"eraser"}})
	ctx := within(t, time.Minute)
	opts := &emitters.Options{EventID: "event-1", Wait: schemas.ReceiptIndexed}
	item := note("n1", "the code of the safe is 1234")
	item.CreatedAt = time.Unix(1_700_000_000, 0).UTC()
	first, err := e.Remember(ctx, item, opts)
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := e.Forget(ctx, []string{"n1"}, "asked for")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(receipt.Items, []string{"n1"}) || !slices.Contains(receipt.Positions, first.Position) || len(receipt.Stores) < 5 {
		t.Errorf("receipt %+v", receipt)
	}
	for _, s := range receipt.Stores {
		if !s.Absent {
			t.Errorf("store %s still has something", s.Store)
		}
	}
	// A publisher that tries again must not bring it back, and is told so.
	for _, text := range []string{"the code of the safe is 1234", "the code of the safe is another"} {
		again, refused := item, &schemas.Error{}
		again.Content = schemas.TextContent(text)
		if r, err := e.Remember(ctx, again, opts); !errors.As(err, &refused) || refused.Code != schemas.CodeConflict || !strings.Contains(refused.Message, "erased") {
			t.Errorf("the erased event again, with %q: %+v, %v", text, r, err)
		}
	}
	if r, err := e.Receipt(ctx, e.Source(), "event-1", schemas.ReceiptIndexed); err != nil || r.Position != first.Position || len(r.Warnings) != 1 {
		t.Errorf("the receipt of the erased event: %+v, %v", r, err)
	}
	if _, err := e.Remember(ctx, item, &emitters.Options{EventID: "event-1"}); err != nil {
		t.Errorf("the erased event again, published: %v", err)
	}
	if _, err := e.Accessed(ctx, []string{"n1"}, &emitters.Options{Wait: schemas.ReceiptIndexed}); err != nil {
		t.Fatal(err)
	}
	res, err := e.Ask(ctx, schemas.ContextRequest{Payload: schemas.RequestPayload{Query: schemas.Query{Text: "what is the code of the safe?"}}})
	if err != nil || strings.Contains(res.Payload.Text, "1234") {
		t.Errorf("after the erasure: %v\n%s", err, res.Payload.Text)
	}
}

// An erasure follows what the emitter published before, whether that is logged or not.
func TestForgetAtOnce(t *testing.T) {
	t.Parallel()
	e := open(t, emitters.Config{Roles: []string{"eraser"}})
	ctx := within(t, time.Minute)
	items := make([]schemas.MemoryItem, 300)
	for i := range items {
		items[i] = note(fmt.Sprintf("n%d", i), "the code of the safe is 1234")
	}
	if _, err := e.RememberAll(ctx, items); err != nil {
		t.Fatal(err)
	}
	if r, err := e.Forget(ctx, []string{"n299"}, "asked for"); err != nil || !slices.Equal(r.Items, []string{"n299"}) {
		t.Errorf("receipt %+v, %v", r, err)
	}
	var refused *schemas.Error
	if _, err := e.Forget(ctx, []string{"n300"}, "asked for"); !errors.As(err, &refused) || refused.Message != "n300: no such item, nothing was erased" {
		t.Errorf("an item that is not there: %v", err)
	}
	const erased = "n299: no such item: it was erased, and the receipt is at log position "
	if _, err := e.Forget(ctx, []string{"n299"}, "asked again"); !errors.As(err, &refused) || !strings.HasPrefix(refused.Message, erased) {
		t.Errorf("an item that was erased: %v", err)
	}
}

// A worker that takes a request and ends does not cost the receipt: another is asked.
func TestAgainAsksAfterATimeout(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]error{"no answer": context.DeadlineExceeded, "an answer": &schemas.Error{Code: schemas.CodeDeadlineExceeded}} {
		calls := 0
		got, err := emitters.Again(within(t, time.Minute), time.Millisecond, func(ctx context.Context) (int, error) {
			if calls++; calls < 3 {
				<-ctx.Done()
				return 0, late
			}
			return calls, nil
		})
		if err != nil || got != 3 {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
	refused := errors.New("refused")
	if _, err := emitters.Again(t.Context(), time.Minute, func(context.Context) (int, error) { return 0, refused }); err != refused {
		t.Errorf("a refusal: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := emitters.Again(ended, time.Minute, func(ctx context.Context) (int, error) { return 0, ctx.Err() }); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has gone: %v", err)
	}
}

// Without a registry an erasure needs the claim.
func TestForgetWithoutTheClaimIsRefused(t *testing.T) {
	t.Parallel()
	e := open(t, emitters.Config{Roles: []string{"auditor"}})
	ctx := within(t, time.Minute)
	if _, err := e.Remember(ctx, note("n1", "stays"), &emitters.Options{Wait: schemas.ReceiptIndexed}); err != nil {
		t.Fatal(err)
	}
	_, err := e.Forget(ctx, []string{"n1"}, "not claimed")
	var refused *schemas.Error
	if !errors.As(err, &refused) || refused.Code != schemas.CodePolicyDenied {
		t.Errorf("forget without the claim: %v", err)
	}
}

func TestForgetWithoutTheRoleIsRefused(t *testing.T) {
	t.Parallel()
	seed, _ := key()
	e := openAt(t, closedURL, emitters.Config{Tenant: "closed", SigningSeed: seed, KeyID: "planner-key", Roles: []string{"eraser"}})
	_, err := e.Forget(within(t, time.Minute), []string{"n1"}, "not mine")
	var refused *schemas.Error
	if !errors.As(err, &refused) || refused.Code != schemas.CodePolicyDenied {
		t.Errorf("forget without the role: %v", err)
	}
}

func TestSignedEvents(t *testing.T) {
	t.Parallel()
	seed, public := key()
	ctx := within(t, time.Minute)
	wait := &emitters.Options{Wait: schemas.ReceiptLogged}
	item := note("signed-1", "bread & butter < 5 \u2028 €")
	item.Attributes = json.RawMessage(`{ "ratio": 1.50, "html": "<b>" }`)
	signed := openAt(t, closedURL, emitters.Config{Tenant: "closed", SigningSeed: seed, KeyID: "planner-key"})
	if _, err := signed.Remember(ctx, item, wait); err != nil {
		t.Errorf("signed by a known key: %v", err)
	}
	if _, err := signed.Link(ctx, "signed-1", []schemas.Link{{Rel: schemas.RelMentions, To: "x"}}, wait); err != nil {
		t.Errorf("a signed link: %v", err)
	}
	if _, err := signed.Accessed(ctx, []string{"signed-1"}, wait); err != nil {
		t.Errorf("signed access: %v", err)
	}
	var refused *schemas.Error
	unsigned := openAt(t, closedURL, emitters.Config{Tenant: "closed"})
	if _, err := unsigned.Remember(ctx, note("unsigned-1", "x"), wait); !errors.As(err, &refused) || refused.Field != "/satchelsig" {
		t.Errorf("unsigned where signatures are required: %v", err)
	}
	own := openAt(t, closedURL, emitters.Config{Tenant: "closed", SigningSeed: seed})
	if _, err := own.Remember(ctx, note("own-1", "x"), wait); !errors.As(err, &refused) || refused.Field != "/satchelkey" {
		t.Errorf("signed by a key that is not registered: %v", err)
	}
	// Where signatures are optional a public key speaks for itself.
	free := open(t, emitters.Config{SigningSeed: seed})
	if _, err := free.Remember(ctx, item, &emitters.Options{Wait: schemas.ReceiptIndexed}); err != nil {
		t.Fatal(err)
	}
	res, err := free.Ask(ctx, schemas.ContextRequest{Payload: schemas.RequestPayload{Query: schemas.Query{Text: "bread and butter"}}})
	if err != nil || len(res.Payload.Pack.ProvenanceRefs) != 1 || res.Payload.Pack.ProvenanceRefs[0].Signer != public {
		t.Errorf("provenance %+v, %v", res.Payload.Pack.ProvenanceRefs, err)
	}
}

func TestACancelledCallReturns(t *testing.T) {
	t.Parallel()
	s := startStreams(t) // nobody logs here: receipts never come
	e := openAt(t, s.url(), emitters.Config{Outbox: t.TempDir()})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Remember(gone, note("n1", "x"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("remember: %v", err)
	}
	if e.Queued() != 0 {
		t.Errorf("a cancelled call left %d events in the outbox", e.Queued())
	}
	if err := e.FollowLedger(gone, emitters.FollowOptions{}, func(emitters.LedgerEvent) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("follow: %v", err)
	}
	if _, err := e.Ask(t.Context(), schemas.ContextRequest{}); !errors.Is(err, jetstream.ErrNoService) {
		t.Errorf("ask where nobody serves: %v", err)
	}
	if _, err := e.Remember(t.Context(), note("n1", "x"), &emitters.Options{Wait: schemas.ReceiptLogged}); !errors.Is(err, jetstream.ErrNoService) {
		t.Errorf("wait for the log where nobody serves: %v", err)
	}
	if ids := s.stored(t); len(ids) != 1 {
		t.Errorf("with an outbox the event is published all the same: %v", ids)
	}
}
