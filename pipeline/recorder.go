package pipeline

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"satchel/pipeline/isolation"
	"satchel/pipeline/meter"
	"satchel/pipeline/relevance"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Recorder keeps the spans and the timings of one request, and the work that runs beside its
// stages. One goroutine uses it, which must call end.
type Recorder struct {
	watching
	scope   scope.Scope
	started time.Time
	span    meter.Span         // of the request; zero: it has none
	stages  map[string]float64 // milliseconds
	joins   []func() error
}

// watching makes the spans, metrics and log entries of requests.
type watching struct {
	Process
	byTenant func(tenant string) *measures
}

func (w watching) recorder(req Request) *Recorder {
	return &Recorder{watching: w, scope: req.Scope, started: req.Times.Started, stages: make(map[string]float64, 10)}
}

// start begins the span of the request.
func (r *Recorder) start(ctx context.Context, spec Spec, req Request) context.Context {
	name := meter.SearchMemory
	if spec.CreatesItems {
		name = meter.CreateMemory
	}
	ctx, r.span = meter.Tracer{Tracer: r.Tracer, Content: r.TraceContent}.Start(ctx, name, req.Scope.Tenant(),
		attribute.String("satchel.operation", spec.Name), attribute.String("satchel.tenant", req.Scope.Tenant()), attribute.String("satchel.request", req.ID))
	r.span.Query(req.Query, req.Limits.Items)
	return ctx
}

// Stage runs one stage under a span of its own and keeps its duration.
func (r *Recorder) Stage(ctx context.Context, name string, run func(context.Context) error) error {
	start := r.Clock()
	ctx, span := r.Tracer.Start(ctx, "context."+name)
	err := run(ctx)
	if err != nil {
		span.SetStatus(codes.Error, string(Typed(ctx, err).Code))
	}
	span.End()
	r.add(name, r.Clock().Sub(start))
	return err
}

// staged is Stage for a stage that returns a value.
func staged[T any](ctx context.Context, r *Recorder, name string, run func(context.Context) (T, error)) (T, error) {
	var out T
	err := r.Stage(ctx, name, func(ctx context.Context) (err error) {
		out, err = run(ctx)
		return err
	})
	return out, err
}

// add adds a duration to those of a stage.
func (r *Recorder) add(stage string, d time.Duration) { r.stages[stage] += milliseconds(d) }

// join takes work that was started beside the stages. end waits for it.
func (r *Recorder) join(wait func() error) { r.joins = append(r.joins, wait) }

// Timings are the durations so far, as the principal may know them: only an auditor is told those of the stages, whose
// map gains the stages that follow.
func (r *Recorder) Timings() schemas.Timings {
	out := schemas.Timings{TotalMS: isolation.Took(r.scope, r.Clock().Sub(r.started))}
	if isAuditor(r.scope) {
		out.RetrievalMS = r.stages["retrieve"]
		out.SlicingMS = r.stages["slice"]
		out.SummarizationMS = r.stages["pack"] + r.stages["summarize"]
		out.Stages = r.stages
	}
	return out
}

// end waits for the work beside the stages and ends the span. An error of that work is not
// lost: a stage that needs the result returns it.
func (r *Recorder) end() {
	for _, wait := range r.joins {
		_ = wait()
	}
	if r.span.Span != nil {
		r.span.End()
	}
}

// traceparent is the W3C header of the request's span, "" without one.
func (r *Recorder) traceparent() string {
	if r == nil || r.span.Span == nil || !r.span.SpanContext().IsValid() {
		return ""
	}
	c := r.span.SpanContext()
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}

// measures are the metrics of the engine, of a tenant or of all tenants that are not listed.
type measures struct {
	retrieval, slicing, assembly        prometheus.Observer
	candidates                          func(source string) prometheus.Observer
	usedTokens, usedBytes, usedItems    prometheus.Observer
	affordances, packed                 prometheus.Counter
	tokens, best, share                 prometheus.Observer
	overBudget, gaps, spared            prometheus.Counter
	drops, denials                      func(reason string) prometheus.Counter
	allowed, redacted, denied           prometheus.Counter
	injectionsDropped, injectionsFenced prometheus.Counter
	excluded                            func(node, layer string) prometheus.Counter
}

func newMeasures(m *meter.Set) *measures {
	return &measures{
		retrieval: m.Histogram(schemas.MetricRetrievalDuration), slicing: m.Histogram(schemas.MetricSlicingDuration), assembly: m.Histogram(schemas.MetricAssemblyDuration),
		candidates: m.Histograms(schemas.MetricCandidates),
		usedTokens: m.Histogram(schemas.MetricBudgetUtilization, "tokens"), usedBytes: m.Histogram(schemas.MetricBudgetUtilization, "bytes"), usedItems: m.Histogram(schemas.MetricBudgetUtilization, "items"),
		affordances: m.Counter(schemas.MetricAffordances), packed: m.Counter(schemas.MetricTokens, "pack"),
		tokens: m.Histogram(schemas.MetricPackTokens), best: m.Histogram(schemas.MetricPackRelevance), share: m.Histogram(schemas.MetricPackRelevantShare),
		overBudget: m.Counter(schemas.MetricPackOverBudget), gaps: m.Counter(schemas.MetricDropGap), spared: m.Counter(schemas.MetricQueriesSpared),
		drops: m.Counters(schemas.MetricDropItems), denials: m.Counters(schemas.MetricPolicyDenied),
		allowed: m.Counter(schemas.MetricPolicyVerdicts, "allowed"), redacted: m.Counter(schemas.MetricPolicyVerdicts, "redacted"), denied: m.Counter(schemas.MetricPolicyVerdicts, "denied"),
		injectionsDropped: m.Counter(schemas.MetricInjections, "dropped"), injectionsFenced: m.Counter(schemas.MetricInjections, "fenced"),
		excluded: func(node, layer string) prometheus.Counter {
			return m.Counter(schemas.MetricRelevanceExcluded, node, layer)
		},
	}
}

func (r *Recorder) measures() *measures { return r.byTenant(r.scope.Tenant()) }

// Gated counts what a decision of the relevance gate left out, and the searches that it spared.
func (r *Recorder) Gated(d relevance.Decision, spared int) {
	m := r.measures()
	for node, in := range d.Inclusion() {
		if layer, moved := d.Layer(node); !in && moved {
			m.excluded(node, layer.String()).Inc()
		}
	}
	m.spared.Add(float64(spared))
}

// record counts what a request found, may see, left out and shows.
func (m *measures) record(rec *Recorder, req Request, out Outcome) {
	m.retrieval.Observe(rec.stages["retrieve"])
	m.slicing.Observe(rec.stages["slice"])
	m.assembly.Observe(rec.stages["pack"] + rec.stages["account"] + rec.stages["isolate"])
	m.candidates("all").Observe(float64(out.Ranked.Found))
	for name, n := range out.Ranked.Counts {
		m.candidates(name).Observe(float64(n))
	}
	used := out.Result.Payload.Explainability.Slicing.BudgetUsed.Bytes
	m.usedTokens.Observe(percent(out.Packed.Tokens, req.Limits.Tokens))
	m.usedBytes.Observe(percent(used, req.Limits.Bytes))
	m.usedItems.Observe(percent(len(out.Packed.Shown), req.Limits.Items))
	m.affordances.Add(float64(len(out.Packed.Affordances)))
	m.decided(&out.Ranked)
	for reason, n := range dropsByReason(&out.Ranked) {
		m.drops(reason).Add(float64(n))
		if reason == string(schemas.DropInjection) {
			m.injectionsDropped.Add(float64(n))
		}
	}
	if out.Result.Payload.PackID != "" {
		m.shown(req, &out)
	}
}

// logAnswer tells the log what became of a request: how many items each retriever found, policy denied, and the
// answer shows and leaves out. It names no item.
func (r *Recorder) logAnswer(ctx context.Context, operation string, req Request, out *Outcome) {
	if !r.Logger.Enabled(ctx, slog.LevelDebug) {
		return
	}
	of := &out.Ranked
	r.Logger.LogAttrs(ctx, slog.LevelDebug, "request answered",
		slog.String("request", req.ID), slog.String("operation", operation), slog.String("tenant", req.Scope.Tenant()),
		slog.Int("found", of.Found), slog.Any("by", of.Counts), slog.Int("candidates", len(of.Candidates)), slog.Int("denied", len(of.Decision.Denied)),
		slog.Int("shown", len(out.Packed.Shown)), slog.Any("left_out", dropsByReason(of)), slog.Int("tokens", out.Packed.Tokens),
		slog.Float64("ms", r.Timings().TotalMS))
}

// decided counts the verdicts of policy on what a request found.
func (m *measures) decided(r *Ranked) {
	masked := 0
	for i := range r.Candidates {
		if r.Candidates[i].Masked {
			masked++
		}
	}
	m.redacted.Add(float64(masked))
	m.allowed.Add(float64(len(r.Candidates) - masked))
	m.denied.Add(float64(len(r.Decision.Denied)))
	for i := range r.Decision.Denied {
		m.denials(r.Decision.Denied[i].Reason).Inc()
	}
}

// shown counts what a pack shows.
func (m *measures) shown(req Request, out *Outcome) {
	m.packed.Add(float64(out.Packed.Tokens))
	m.tokens.Observe(float64(out.Packed.Tokens))
	if req.Limits.Tokens > 0 && out.Packed.Tokens > req.Limits.Tokens {
		m.overBudget.Inc()
	}
	best := 0.0
	fenced := 0
	for _, i := range out.Packed.Shown {
		c := &out.Ranked.Candidates[i]
		best = max(best, c.Score)
		if c.Suspect {
			fenced++
		}
	}
	m.injectionsFenced.Add(float64(fenced))
	if best <= 0 {
		return
	}
	relevant := 0
	for _, i := range out.Packed.Shown {
		if out.Ranked.Candidates[i].Score >= best/2 {
			relevant++
		}
	}
	m.best.Observe(best)
	m.share.Observe(float64(relevant) / float64(len(out.Packed.Shown)))
}

// dropsByReason counts, by reason, the items that a request found and left out.
func dropsByReason(r *Ranked) map[string]int {
	out := map[string]int{}
	for i := range r.Candidates {
		if reason := r.Candidates[i].Drop; reason != "" {
			out[string(reason)]++
		}
	}
	if len(r.Unread) > 0 {
		out[string(schemas.DropRank)] += len(r.Unread)
	}
	return out
}

// describe tells a span which pack a request made, what each section of it has, and how many items
// were left out for which reason. It names no item, unless the span holds content.
func describe(span meter.Span, out *Outcome) {
	p := &out.Result.Payload
	if span.Span == nil || !span.IsRecording() || p.PackID == "" {
		return
	}
	span.Records(len(p.Results), func() []meter.Record {
		records := make([]meter.Record, len(p.Results))
		for i := range p.Results {
			records[i] = meter.Record{ID: p.Results[i].ID, Content: p.Results[i].Content, Score: p.Results[i].Score}
		}
		return records
	})
	about := []attribute.KeyValue{
		attribute.String("satchel.pack.id", p.PackID), attribute.Int64("satchel.pack.position", p.Positions.Pack),
		attribute.Int("satchel.pack.tokens", out.Packed.Tokens), attribute.Int("satchel.pack.items", len(out.Packed.Shown)),
		attribute.String("satchel.policy.revision", out.Ranked.Decision.Logged.Revision), attribute.Int("satchel.denied", len(out.Ranked.Decision.Denied)),
	}
	tokens := map[string]int{}
	for i := range p.Pack.Sections {
		tokens[string(p.Pack.Sections[i].Type)] += p.Pack.Sections[i].TokenActual
	}
	for _, section := range slices.Sorted(maps.Keys(tokens)) {
		about = append(about, attribute.Int("satchel.section."+section+".tokens", tokens[section]))
	}
	dropped := dropsByReason(&out.Ranked)
	all := 0
	for _, reason := range slices.Sorted(maps.Keys(dropped)) {
		about = append(about, attribute.Int("satchel.left_out."+reason, dropped[reason]))
		all += dropped[reason]
	}
	span.SetAttributes(append(about, attribute.Int("satchel.left_out", all))...)
}

// percent is how much of a limit was used, 0 where there is none.
func percent(used, limit int) float64 {
	if limit <= 0 {
		return 0
	}
	return 100 * float64(used) / float64(limit)
}
