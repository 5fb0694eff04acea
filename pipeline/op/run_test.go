package op_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"satchel/pipeline/op"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// call is one request of an operation. It returns the log positions of the reply.
type call struct {
	operation string
	request   any // a pointer to what the client sent
	run       func() (schemas.Positions, error)
}

// calls has a request of every operation, over the world of study.
func calls(t *testing.T, w *world, s scope.Scope) []call {
	t.Helper()
	ctx, e := t.Context(), w.engine
	context := ask("selector cache")
	context.Payload.Session, context.Payload.IncludeScores = "s1", true
	context.Payload.Query.Filters = map[string]any{"category": []any{"fact", "none"}}
	stored, err := e.Context(ctx, s, ask("selector cache"))
	must(t, err)
	stored.Payload.Drop.Drops = append(stored.Payload.Drop.Drops, schemas.Drop{ItemID: "m-1", Reason: schemas.DropBudget})
	score := .01
	search := schemas.SearchRequest{Query: "selector cache", MemoryTypes: []string{"fact"}, MinScore: &score, IncludeRelationships: true}
	build := schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Query: "selector cache"}}
	assemble := schemas.AssembleRequest{Query: "selector cache", ContextTypes: []string{"values", "memories"}}
	premortem := schemas.PremortemRequest{Domain: "debugging"}
	compact := schemas.CompactRequest{PackID: stored.Payload.PackID, Query: "cache", Budget: 60}
	listing := schemas.ItemsRequest{Limit: 3}
	recovery := schemas.RecoverRequest{PackID: stored.Payload.PackID, ItemIDs: []string{"m-1"}}
	packed := func(id string, err error) (schemas.Positions, error) { // of a reply without positions
		if err != nil || id != "" {
			return schemas.Positions{}, err
		}
		head, err := w.log.Head(ctx, s)
		return schemas.Positions{Pack: head.Size - 2, Drop: head.Size - 1, Decision: head.Size}, err
	}
	return []call{
		{"request", &context, func() (schemas.Positions, error) {
			out, err := e.Context(ctx, s, context)
			return out.Payload.Positions, err
		}},
		{"search", &search, func() (schemas.Positions, error) { _, err := e.Search(ctx, s, search); return packed("", err) }},
		{"build", &build, func() (schemas.Positions, error) { out, err := e.Build(ctx, s, build); return out.Positions, err }},
		{"preview", &build, func() (schemas.Positions, error) { out, err := e.Preview(ctx, s, build); return out.Positions, err }},
		{"assemble", &assemble, func() (schemas.Positions, error) {
			out, err := e.Assemble(ctx, s, assemble)
			return out.Positions, err
		}},
		{"premortem", &premortem, func() (schemas.Positions, error) {
			out, err := e.Premortem(ctx, s, premortem)
			return out.Positions, err
		}},
		{"compact", &compact, func() (schemas.Positions, error) {
			out, err := e.Compact(ctx, s, compact, &stored)
			return out.Positions, err
		}},
		{"items", &listing, func() (schemas.Positions, error) {
			out, err := e.Items(ctx, s, listing)
			return out.Positions, err
		}},
		{"recover", &recovery, func() (schemas.Positions, error) {
			out, err := e.Recover(ctx, s, recovery, &stored)
			return out.Positions, err
		}},
	}
}

// Every operation takes the same stages in the same order. Only a context request has its TL;DR
// written by a model.
func TestOperationsTakeTheSameStages(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	w := openWorld(t, func(c *op.Config) {
		c.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
	})
	study(t, w)
	stages := []string{"retrieve", "slice", "defend", "pack", "account", "isolate", "encode", "log"}
	for _, c := range calls(t, w, as(t, "acme", schemas.Internal)) {
		want := slices.Clone(stages)
		switch c.operation {
		case "request":
			want = slices.Insert(want, 4, "summarize")
		}
		spans.Reset()
		_, err := c.run()
		must(t, err)
		var got []string
		ended := spans.Ended()
		whole := ended[len(ended)-1]
		for _, span := range ended[:len(ended)-1] {
			got = append(got, span.Name()[len("context."):])
			if span.Parent().SpanID() != whole.SpanContext().SpanID() {
				t.Errorf("%s: the stage %s is not below the request", c.operation, span.Name())
			}
		}
		name := "search_memory"
		if c.operation == "compact" {
			name = "create_memory"
		}
		if diff := cmp.Diff(want, got); diff != "" || whole.Name() != name || !slices.Contains(whole.Attributes(), attribute.String("satchel.operation", c.operation)) {
			t.Errorf("%s: stages of %s (-want +got):\n%s", c.operation, whole.Name(), diff)
		}
	}
}

// The decision of every operation says what an item had to pass to be looked at.
func TestEveryDecisionNamesItsPushdown(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	study(t, w)
	s := as(t, "acme", schemas.Internal)
	filter, err := w.pdp.Filter(t.Context(), s, "read")
	must(t, err)
	want, err := json.Marshal(filter.Conds())
	must(t, err)
	for _, c := range calls(t, w, s) {
		at, err := c.run()
		must(t, err)
		if c.operation == "preview" {
			continue
		}
		entries, err := w.log.Read(t.Context(), s, at.Decision-1, 1)
		must(t, err)
		var logged schemas.PolicyDecision
		must(t, json.Unmarshal(entries[0].Data, &logged))
		if entries[0].Type != schemas.TypePolicyDecided || len(logged.Verdicts) == 0 {
			t.Fatalf("%s: entry %d is %s with %d verdicts", c.operation, at.Decision, entries[0].Type, len(logged.Verdicts))
		}
		got, err := json.Marshal(logged.Pushdown)
		must(t, err)
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s: pushdown (-want +got):\n%s", c.operation, diff)
		}
	}
}

// No stage writes into what the client sent.
func TestRequestsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	study(t, w)
	for _, c := range calls(t, w, as(t, "acme", schemas.Internal)) {
		sent, err := json.Marshal(c.request)
		must(t, err)
		before := reflect.ValueOf(c.request).Elem().Interface()
		_, err = c.run()
		must(t, err)
		after, err := json.Marshal(c.request)
		must(t, err)
		if diff := cmp.Diff(string(sent), string(after)); diff != "" || !reflect.DeepEqual(before, reflect.ValueOf(c.request).Elem().Interface()) {
			t.Errorf("%s changes the request (-before +after):\n%s", c.operation, diff)
		}
	}
}
