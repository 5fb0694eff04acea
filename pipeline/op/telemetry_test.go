package op_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"satchel/pipeline/meter"
	"satchel/pipeline/op"
	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
)

// values returns what was counted: of a histogram the sum of what was observed.
func values(t *testing.T, s *meter.Set) map[string]float64 {
	t.Helper()
	all, err := s.Gather()
	must(t, err)
	out := map[string]float64{}
	for _, family := range all {
		for _, m := range family.Metric {
			name := family.GetName()
			for _, l := range m.Label {
				name += " " + l.GetName() + "=" + l.GetValue()
			}
			switch family.GetType() {
			case dto.MetricType_HISTOGRAM:
				out[name] = m.Histogram.GetSampleSum()
			case dto.MetricType_COUNTER:
				out[name] = m.Counter.GetValue()
			}
		}
	}
	return out
}

// Every request is measured under the names the documents give.
func TestMetrics(t *testing.T) {
	t.Parallel()
	set := meter.New()
	w := openWorld(t, func(c *op.Config) { c.Meter = set })
	w.put(t, "acme", notes(30)...)
	res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), explained(func(p *schemas.RequestPayload) { p.Limit = 10 }))
	must(t, err)
	got := values(t, set)
	for _, name := range []string{"h4r_retrieval_duration_ms", "scs_slicing_duration_ms", "context_pack_assembly_duration_ms", "satchel_pack_best_relevance_score", "satchel_pack_relevant_share"} {
		if got[name] <= 0 {
			t.Errorf("%s is %v", name, got[name])
		}
	}
	dropped := map[schemas.DropReason]float64{}
	for _, d := range res.Payload.Drop.Drops {
		dropped[d.Reason]++
	}
	if dropped[schemas.DropRank] == 0 {
		t.Fatalf("the limit left nothing out: %v", dropped)
	}
	for name, want := range map[string]float64{
		"h4r_candidates_count source=all":               float64(res.Payload.TotalCount),
		"h4r_candidates_count source=keyword":           30,
		"h4r_candidates_count source=vector":            30,
		"scs_budget_utilization_pct limit=items":        100,
		"scs_budget_utilization_pct limit=tokens":       100 * float64(res.Payload.Pack.TokenActual) / 2000,
		"scs_budget_utilization_pct limit=bytes":        100 * float64(res.Payload.Explainability.Slicing.BudgetUsed.Bytes) / 122880,
		"satchel_pack_tokens":                           float64(res.Payload.Pack.TokenActual),
		"satchel_tokens_total direction=pack":           float64(res.Payload.Pack.TokenActual),
		"satchel_drop_items_total reason=rank":          dropped[schemas.DropRank],
		"satchel_policy_verdicts_total outcome=allowed": float64(res.Payload.TotalCount),
		"satchel_pack_over_budget_total":                0,
		"satchel_policy_errors_total":                   0,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

// silent is a policy that gives no verdict.
type silent struct{ policies.PDP }

func (silent) Decide(context.Context, scope.Scope, policies.Request) (policies.Decision, error) {
	return policies.Decision{}, errors.New("the server is away")
}

// That policy gave no verdict on a request is no mistake of its caller, whatever the code.
func TestNoVerdictIsNoMistakeOfTheCaller(t *testing.T) {
	t.Parallel()
	w := openWorld(t, func(c *op.Config) { c.PDP = silent{c.PDP} })
	w.put(t, "acme", notes(3)...)
	_, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), explained(func(*schemas.RequestPayload) {}))
	var refusal *schemas.Error
	if !errors.As(err, &refusal) || refusal.Code != schemas.CodePolicyDenied || !refusal.Undecided || refusal.IsCallersMistake() {
		t.Errorf("without a verdict the request has %+v", err)
	}
	// The caller learns it, and tries again.
	raw, err := json.Marshal(refusal)
	if err != nil {
		t.Fatal(err)
	}
	var read schemas.Error
	if err := json.Unmarshal(raw, &read); err != nil || read.IsCallersMistake() {
		t.Errorf("the caller reads %s, %v", raw, err)
	}
}

// The span of a request has its pack's id, the tokens of each section and what was left out.
func TestSpanDescribesThePack(t *testing.T) {
	t.Parallel()
	kept := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
	w := openWorld(t, func(c *op.Config) { c.Tracer = provider.Tracer("") })
	w.put(t, "acme", notes(30)...)
	res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), explained(func(p *schemas.RequestPayload) { p.Limit = 10 }))
	must(t, err)
	got := map[attribute.Key]attribute.Value{}
	for _, s := range kept.GetSpans() {
		for _, a := range s.Attributes {
			got[a.Key] = a.Value
		}
	}
	if id := got["satchel.pack.id"].AsString(); id == "" || id != res.Payload.PackID {
		t.Errorf("the span has the pack %q, want %q", id, res.Payload.PackID)
	}
	tokens := map[schemas.SectionType]int{}
	for _, s := range res.Payload.Pack.Sections {
		tokens[s.Type] += s.TokenActual
	}
	for section, want := range tokens {
		if n := got[attribute.Key("satchel.section."+string(section)+".tokens")].AsInt64(); n != int64(want) {
			t.Errorf("section %s has %d tokens in the span, want %d", section, n, want)
		}
	}
	if n := got["satchel.left_out.rank"].AsInt64(); n == 0 || got["satchel.left_out"].AsInt64() != int64(len(res.Payload.Drop.Drops)) {
		t.Errorf("%d left out for their rank of %d, want %d in all", n, got["satchel.left_out"].AsInt64(), len(res.Payload.Drop.Drops))
	}
}
