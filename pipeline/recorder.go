package pipeline

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"satchel/pipeline/isolation"
	"satchel/pipeline/meter"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Recorder keeps the spans and the timings of one request, and the work that runs beside its
// stages. One goroutine uses it, which must call End.
type Recorder struct {
	cfg     *Config
	scope   scope.Scope
	started time.Time
	span    meter.Span         // of the request; zero: it has none
	stages  map[string]float64 // milliseconds
	joins   []func() error
}

func (e *Engine) newRecorder(req Request) *Recorder {
	return &Recorder{cfg: &e.cfg, scope: req.Scope, started: req.Times.Started, stages: make(map[string]float64, 10)}
}

// Start begins the span of the request.
func (r *Recorder) Start(ctx context.Context, operation string, req Request) context.Context {
	name := meter.SearchMemory
	if operation == compactName { // it makes summaries
		name = meter.CreateMemory
	}
	ctx, r.span = meter.Tracer{Tracer: r.cfg.Tracer, Content: r.cfg.TraceContent}.Start(ctx, name, req.Scope.Tenant(),
		attribute.String("satchel.operation", operation), attribute.String("satchel.tenant", req.Scope.Tenant()), attribute.String("satchel.request", req.ID))
	r.span.Query(req.Query, req.Limits.Items)
	return ctx
}

// Stage runs one stage under a span of its own and keeps its duration.
func (r *Recorder) Stage(ctx context.Context, name string, run func(context.Context) error) error {
	start := r.cfg.Clock()
	ctx, span := r.cfg.Tracer.Start(ctx, "context."+name)
	err := run(ctx)
	if err != nil {
		span.SetStatus(codes.Error, string(typed(ctx, err).Code))
	}
	span.End()
	r.Add(name, r.cfg.Clock().Sub(start))
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

// Add adds a duration to those of a stage.
func (r *Recorder) Add(stage string, d time.Duration) { r.stages[stage] += milliseconds(d) }

// Join takes work that was started beside the stages. End waits for it.
func (r *Recorder) Join(wait func() error) { r.joins = append(r.joins, wait) }

// Timings are the durations so far, as the principal may know them: only an auditor is told those of the stages, whose
// map gains the stages that follow.
func (r *Recorder) Timings() schemas.Timings {
	out := schemas.Timings{TotalMS: isolation.Took(r.scope, r.cfg.Clock().Sub(r.started))}
	if isAuditor(r.scope) {
		out.RetrievalMS, out.SlicingMS = r.stages["retrieve"], r.stages["slice"]
		out.SummarizationMS, out.Stages = r.stages["pack"]+r.stages["summarize"], r.stages
	}
	return out
}

// End waits for the work beside the stages and ends the span. An error of that work is not
// lost: a stage that needs the result returns it.
func (r *Recorder) End() {
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
