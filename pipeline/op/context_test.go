package op_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/op"
	"satchel/pipeline/relevance"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/token"
	"satchel/policies"
	"satchel/schemas"
)

func memory(id, label, speaker, text string) schemas.MemoryItem {
	return schemas.MemoryItem{
		ID: id, Kind: schemas.KindMemory, Type: schemas.Episodic, CreatedAt: day.Add(-24 * time.Hour), Session: "s1",
		Speaker: speaker, SecurityLabel: []string{label}, Content: schemas.TextContent(text), Scope: schemas.MemoryScope{Tenant: "acme"},
	}
}

func fill(t testing.TB, w *world) {
	t.Helper()
	w.put(t, "acme",
		memory("a1", "level:public", "Ana", "The release of Lantern moved to Thursday."),
		memory("a2", "level:public", "Bo", "I mended the Lantern deploy script, the selector test failed again."),
		memory("a3", "level:confidential", "Cy", "The Lantern signing key is kept in the harbour safe."),
		memory("a4", "level:public", "Ana", "Lunch is at noon on most days, near the river."),
		schemas.MemoryItem{
			ID: "k1", Kind: schemas.KindKnowledge, Type: schemas.Semantic, CreatedAt: day, SecurityLabel: []string{"level:public"},
			Content: schemas.JSONContent(json.RawMessage(`{"title":"Lantern handbook","owner":{"name":"Ana","phone":"555-0100"}}`)),
			Scope:   schemas.MemoryScope{Tenant: "acme"}, PIIFlags: []string{"$.content.owner.phone"},
		},
		schemas.MemoryItem{
			ID: "t1", Kind: schemas.KindTool, Type: schemas.Semantic, CreatedAt: day, SecurityLabel: []string{"level:public"},
			Content: schemas.JSONContent(json.RawMessage(`{"name":"lantern_release","description":"Releases Lantern","safety":"asks first","implementation":"secret"}`)),
			Scope:   schemas.MemoryScope{Tenant: "acme"},
		},
	)
	other := memory("x1", "level:public", "Eve", "The Lantern of the other tenant.")
	other.Scope.Tenant = "other"
	w.put(t, "other", other)
}

func ask(text string) schemas.ContextRequest {
	return schemas.ContextRequest{
		Meta:    schemas.Meta{Type: schemas.MessageContextRequest, ID: "req-1"},
		Payload: schemas.RequestPayload{Query: schemas.Query{Text: text}, Now: day, UserMessage: "Tell me about Lantern", Task: "Plan the release"},
	}
}

func ids(res *schemas.ContextResult) []string {
	out := []string{}
	for _, r := range res.Payload.Results {
		out = append(out, r.ID)
	}
	return out
}

func TestContext(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	fill(t, w)
	ctx := context.Background()
	res, err := w.engine.Context(ctx, as(t, "acme", schemas.Internal), ask("When is the Lantern release?"))
	must(t, err)
	p := &res.Payload
	if !strings.Contains(p.Text, "Ana: The release of Lantern moved to Thursday.") {
		t.Errorf("the answer is not in the pack:\n%s", p.Text)
	}
	for _, secret := range []string{"harbour safe", "other tenant", "555-0100", "implementation"} {
		if strings.Contains(p.Text, secret) {
			t.Errorf("%q is in the pack:\n%s", secret, p.Text)
		}
	}
	if n := w.tokens.Count(p.Text); n != p.Pack.TokenActual || n > p.Pack.TokenBudget {
		t.Errorf("pack says %d tokens of %d, the text has %d", p.Pack.TokenActual, p.Pack.TokenBudget, n)
	}
	salt, err := hex.DecodeString(p.Pack.Salt)
	must(t, err)
	sum := sha256.Sum256(append(salt, p.Text...))
	if len(salt) != 32 || hex.EncodeToString(sum[:]) != p.Pack.RenderedSHA256 {
		t.Error("rendered_sha256 is not that of salt and text")
	}
	if diff := cmp.Diff(schemas.Positions{Pack: 1, Drop: 2, Decision: 3}, p.Positions); diff != "" {
		t.Errorf("positions (-want +got):\n%s", diff)
	}
	checkLog(t, w, p)
}

// checkLog holds what the log has against the reply.
func checkLog(t *testing.T, w *world, p *schemas.ResultPayload) {
	t.Helper()
	s := as(t, "acme", schemas.Internal)
	entries, err := w.log.Read(context.Background(), s, 0, 10)
	must(t, err)
	types := []string{}
	for _, e := range entries {
		types = append(types, e.Type)
		for _, content := range []string{"Thursday", "Tell me", "Plan the release", "When is", p.Pack.Salt} {
			if strings.Contains(string(e.Data), content) {
				t.Errorf("%s holds content: %q", e.Type, content)
			}
		}
	}
	if diff := cmp.Diff([]string{schemas.TypeContextPacked, schemas.TypeContextDropped, schemas.TypePolicyDecided}, types); diff != "" {
		t.Fatalf("entries (-want +got):\n%s", diff)
	}
	var logged schemas.ContextPack
	must(t, json.Unmarshal(entries[0].Data, &logged))
	attachment, err := w.log.Attachment(context.Background(), s, 1)
	must(t, err)
	sum := sha256.Sum256(attachment)
	if hex.EncodeToString(sum[:]) != logged.ResultSHA256 || logged.ResultSHA256 != p.Pack.ResultSHA256 {
		t.Error("result_sha256 is not that of the attachment")
	}
	var decided schemas.PolicyDecision
	must(t, json.Unmarshal(entries[2].Data, &decided))
	verdicts := map[string]bool{}
	for _, v := range decided.Verdicts {
		verdicts[v.ID] = v.Allow
	}
	for _, sec := range p.Pack.Sections {
		for _, item := range sec.Items {
			if !verdicts[item.Evidence.PolicyDecisionID] {
				t.Errorf("item %s has no verdict in the log that allows it", item.ID)
			}
		}
	}
}

func TestSameRequestSameText(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	fill(t, w)
	s := as(t, "acme", schemas.Internal)
	first := ""
	for range 20 {
		req := ask("Lantern release")
		res, err := w.engine.Context(context.Background(), s, req)
		must(t, err)
		if first == "" {
			first = res.Payload.Text
		}
		if res.Payload.Text != first {
			t.Fatalf("text changed:\n%s", cmp.Diff(first, res.Payload.Text))
		}
	}
}

func TestTenantsDoNotMeet(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	fill(t, w)
	res, err := w.engine.Context(context.Background(), as(t, "other", schemas.Restricted), ask("Lantern release"))
	must(t, err)
	if diff := cmp.Diff([]string{"x1"}, ids(&res)); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	if _, err := w.engine.Context(context.Background(), scope.Scope{}, ask("Lantern")); err == nil {
		t.Error("the zero scope was served")
	}
	req := ask("Lantern")
	req.Payload.Tenant = "acme"
	var e *schemas.Error
	if _, err := w.engine.Context(context.Background(), as(t, "other", schemas.Public), req); !errors.As(err, &e) || e.Field != "/payload/tenant" {
		t.Errorf("another tenant in the payload: %v", err)
	}
}

// deniesAll allows the pushed-down filter and then denies every item.
type deniesAll struct{ policies.PDP }

func (deniesAll) Decide(_ context.Context, _ scope.Scope, r policies.Request) (policies.Decision, error) {
	d := policies.Decision{Revision: "r1", InputHash: strings.Repeat("0", 64)}
	for range r.Resources {
		d.Verdicts = append(d.Verdicts, policies.Verdict{Reason: "clearance"})
	}
	return d, nil
}

func TestEverythingDenied(t *testing.T) {
	t.Parallel()
	w := openWorld(t, func(c *op.Config) { c.PDP = deniesAll{c.PDP} })
	fill(t, w)
	res, err := w.engine.Context(context.Background(), asAuditor(t, "acme", schemas.Restricted), ask("Lantern release"))
	must(t, err)
	p := &res.Payload
	if len(p.Results) != 0 || len(p.Drop.DroppedItemIDs) != 0 || len(p.Drop.Drops) != 0 {
		t.Errorf("denied items are named: %v %v", ids(&res), p.Drop.DroppedItemIDs)
	}
	if p.Drop.Denied["clearance"] == 0 || p.Explainability.Slicing.TotalDenied != p.Drop.Denied["clearance"] {
		t.Errorf("denials are not counted: %v", p.Drop.Denied)
	}
	if !strings.Contains(strings.Join(p.Explainability.Warnings, " "), "clearance") {
		t.Errorf("no warning with the reason: %q", p.Explainability.Warnings)
	}
	for _, want := range []string{"## User", "Withheld by policy"} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("%q is not in the minimal pack:\n%s", want, p.Text)
		}
	}
	raw, err := json.Marshal(p)
	must(t, err)
	if strings.Contains(string(raw), `"a1"`) {
		t.Error("the reply names a denied item")
	}
	entry, err := w.log.Entry(context.Background(), as(t, "acme", schemas.Restricted), p.Positions.Drop)
	must(t, err)
	if !strings.Contains(string(entry.Data), `"a1"`) {
		t.Error("the auditor's copy does not name the denied item")
	}
}

// broken answers nothing, or one verdict too few.
type broken struct {
	policies.PDP
	short bool
}

func (b broken) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	if !b.short {
		return policies.Decision{}, policies.ErrUnavailable
	}
	d, err := b.PDP.Decide(ctx, s, r)
	d.Verdicts = d.Verdicts[1:]
	return d, err
}

func TestNoVerdictNoReply(t *testing.T) {
	t.Parallel()
	for _, short := range []bool{false, true} {
		w := openWorld(t, func(c *op.Config) { c.PDP = broken{c.PDP, short} })
		fill(t, w)
		s := as(t, "acme", schemas.Restricted)
		res, err := w.engine.Context(context.Background(), s, ask("Lantern release"))
		var e *schemas.Error
		if !errors.As(err, &e) || e.Code != schemas.CodePolicyDenied {
			t.Fatalf("error is %v, want policy_denied", err)
		}
		if diff := cmp.Diff(schemas.ContextResult{}, res, cmp.AllowUnexported(schemas.Content{})); diff != "" {
			t.Errorf("something left (-want +got):\n%s", diff)
		}
		entries, err := w.log.Read(context.Background(), s, 0, 10)
		must(t, err)
		if len(entries) != 1 || entries[0].Type != schemas.TypeRequestRefused {
			t.Errorf("the refusal is not in the log: %v", entries)
		}
	}
}

// full is a log that cannot be written.
type full struct{}

func (full) Append(context.Context, eventlog.Batch) ([]eventlog.Outcome, error) {
	return nil, eventlog.ErrFull
}

func (full) Salt() ([32]byte, error) { return [32]byte{1}, nil }

// saltless is a log without random bytes.
type saltless struct{ eventlog.Appender }

func (saltless) Salt() ([32]byte, error) { return [32]byte{}, errors.New("no random bytes") }

func TestNoCommitNoReply(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]func(eventlog.Appender) eventlog.Appender{
		"full":     func(eventlog.Appender) eventlog.Appender { return full{} },
		"saltless": func(log eventlog.Appender) eventlog.Appender { return saltless{log} },
	} {
		w := openWorld(t, func(c *op.Config) { c.Log = broken(c.Log) })
		fill(t, w)
		res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), ask("Lantern release"))
		var e *schemas.Error
		if !errors.As(err, &e) || e.Code != schemas.CodeStorage || res.Payload.Text != "" {
			t.Errorf("%s: got %q and error %v, want storage_error and nothing", name, res.Payload.Text, err)
		}
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	g, err := relevance.DefaultConfig()
	must(t, err)
	gate, err := relevance.New(g)
	must(t, err)
	w := openWorld(t, func(c *op.Config) { c.Relevance, c.Wait = gate, 20*time.Millisecond })
	fill(t, w)
	s := as(t, "acme", schemas.Internal)
	for _, tc := range []struct {
		name   string
		change func(p *schemas.RequestPayload)
		code   schemas.Code
		field  string
		shown  []string // nil: not compared
	}{
		{"no query", func(p *schemas.RequestPayload) { p.Query.Text, p.UserMessage = "", "" }, schemas.CodeValidation, "/payload/query/text", nil},
		{"unknown profile", func(p *schemas.RequestPayload) { p.Profile = "nope" }, schemas.CodeValidation, "/payload/profile", nil},
		{"proofs without a prover", func(p *schemas.RequestPayload) { p.IncludeProofs = true }, schemas.CodeValidation, "/payload/include_proofs", nil},
		{"a position that never comes", func(p *schemas.RequestPayload) { p.MinPosition = 99 }, schemas.CodeDeadlineExceeded, "/payload/min_position", nil},
		{"a position that is there", func(p *schemas.RequestPayload) { p.MinPosition = 6 }, "", "", nil},
		{"keyword", func(p *schemas.RequestPayload) { p.Query.Type, p.Query.Text = "keyword", "Thursday" }, "", "", nil},
		{"semantic", func(p *schemas.RequestPayload) { p.Query.Type = "semantic" }, "", "", nil},
		{"semantic without a vector", func(p *schemas.RequestPayload) { p.Query.Type, p.Query.Text = "semantic", "𓀀" }, schemas.CodeEmbedding, "", nil},
		{"seed profile", func(p *schemas.RequestPayload) { p.Profile = "seed" }, "", "", nil},
		{"kind", func(p *schemas.RequestPayload) { p.Query.Filters = map[string]any{"kind": "tool"} }, "", "", []string{"t1"}},
		{"speaker", func(p *schemas.RequestPayload) { p.Query.Filters = map[string]any{"speaker": "Bo"} }, "", "", []string{"a2"}},
		{"time", func(p *schemas.RequestPayload) {
			p.Query.Filters = map[string]any{"created_at": map[string]any{"gte": "2026-01-31"}, "kind": "knowledge"}
		}, "", "", []string{"k1"}},
		{"as of", func(p *schemas.RequestPayload) { p.AsOf = 1 }, "", "", []string{"a1"}},
		{"limit", func(p *schemas.RequestPayload) { p.Limit, p.Query.Text = 1, "Lantern moved to Thursday" }, "", "", []string{"a1"}},
		{"min score", func(p *schemas.RequestPayload) { p.MinScore = 1 }, "", "", []string{}},
		{"now of another age", func(p *schemas.RequestPayload) { p.Now = time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC) }, schemas.CodeValidation, "/payload/now", nil},
		{"min score above 1", func(p *schemas.RequestPayload) { p.MinScore = 1.1 }, schemas.CodeValidation, "/payload/min_score", nil},
		{"relevance", func(p *schemas.RequestPayload) { p.Relevance = &schemas.RelevanceRequest{Mode: "unknown"} }, "", "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := ask("Lantern release")
			tc.change(&req.Payload)
			res, err := w.engine.Context(context.Background(), s, req)
			var e *schemas.Error
			switch {
			case tc.code == "":
				must(t, err)
			case !errors.As(err, &e) || e.Code != tc.code || e.Field != tc.field:
				t.Fatalf("error is %v, want %s at %q", err, tc.code, tc.field)
			}
			if tc.shown != nil {
				if diff := cmp.Diff(tc.shown, ids(&res)); diff != "" {
					t.Errorf("shown (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestOtherTokenizers(t *testing.T) {
	t.Parallel()
	o200k, err := token.New("o200k_base")
	must(t, err)
	for _, counter := range []token.Counter{o200k, token.Estimate{}} {
		w := openWorld(t, func(c *op.Config) { c.Tokens = func(string) token.Counter { return counter } })
		w.put(t, "bench", corpus(200, 3)...)
		for _, budget := range []int{1, 20, 60, 200, 999, 3000} {
			req := ask("garden harbour invoice")
			req.Payload.TokenBudget = budget
			res, err := w.engine.Context(context.Background(), as(t, "bench", schemas.Restricted), req)
			must(t, err)
			if n := counter.Count(res.Payload.Text); n > budget || n != res.Payload.Pack.TokenActual {
				t.Errorf("%s: %d tokens of %d, pack says %d", counter.Name(), n, budget, res.Payload.Pack.TokenActual)
			}
		}
	}
}

func TestRankLeavesNoTrace(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	fill(t, w)
	rank, err := w.engine.Rank(context.Background(), as(t, "acme", schemas.Public), ask("Lantern release"))
	must(t, err)
	if len(rank) == 0 || rank[0].Score < rank[len(rank)-1].Score {
		t.Errorf("ranking is not best first: %d candidates", len(rank))
	}
	head, err := w.log.Head(context.Background(), as(t, "acme", schemas.Public))
	must(t, err)
	if head.Size != 0 {
		t.Errorf("ranking wrote %d entries to the log", head.Size)
	}
}

// A pack that an agent writes back is none of the items of the next one.
func TestAPackThatIsWrittenBack(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	fill(t, w)
	asker, req := as(t, "acme", schemas.Internal), ask("Lantern release")
	res, err := w.engine.Context(context.Background(), asker, req)
	must(t, err)
	w.put(t, "acme", memory("back", "level:internal", "Agent", res.Payload.Text))
	res, err = w.engine.Context(context.Background(), asker, req)
	must(t, err)
	at := slices.IndexFunc(res.Payload.Drop.Drops, func(d schemas.Drop) bool { return d.ItemID == "back" })
	if len(res.Payload.Results) == 0 || at < 0 || res.Payload.Drop.Drops[at].Reason != schemas.DropRecalled {
		t.Errorf("drops %+v", res.Payload.Drop.Drops)
	}
}
