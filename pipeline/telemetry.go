package pipeline

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
)

// measures are the metrics of the engine, under the names the documents give them.
type measures struct {
	retrieval   metric.Float64Histogram
	slicing     metric.Float64Histogram
	assembly    metric.Float64Histogram
	candidates  metric.Int64Histogram
	utilization metric.Float64Histogram
	affordances metric.Int64Counter
}

func newMeasures(m metric.Meter) (measures, error) {
	var out measures
	var errs [6]error
	out.retrieval, errs[0] = m.Float64Histogram("h4r.retrieval.duration_ms", metric.WithUnit("ms"))
	out.slicing, errs[1] = m.Float64Histogram("scs.slicing.duration_ms", metric.WithUnit("ms"))
	out.assembly, errs[2] = m.Float64Histogram("context_pack.assembly.duration_ms", metric.WithUnit("ms"))
	out.candidates, errs[3] = m.Int64Histogram("h4r.candidates.count")
	out.utilization, errs[4] = m.Float64Histogram("scs.budget.utilization_pct", metric.WithUnit("%"))
	out.affordances, errs[5] = m.Int64Counter("context_pack.affordances.generated")
	return out, errors.Join(errs[:]...)
}

func (m *measures) record(ctx context.Context, t *turn) {
	m.retrieval.Record(ctx, t.stages["retrieve"])
	m.slicing.Record(ctx, t.stages["slice"])
	m.assembly.Record(ctx, t.stages["pack"]+t.stages["account"]+t.stages["isolate"])
	m.candidates.Record(ctx, int64(t.ranking.Found))
	m.utilization.Record(ctx, 100*float64(t.packed.Tokens)/float64(max(1, t.budget)))
	m.affordances.Add(ctx, int64(len(t.affordances)))
}

// stage runs one stage of a request under its own span and keeps its duration.
func (t *turn) stage(ctx context.Context, name string, run func(ctx context.Context) error) error {
	start := t.e.cfg.Clock()
	ctx, span := t.e.cfg.Tracer.Start(ctx, "context."+name)
	err := run(ctx)
	if err != nil {
		span.SetStatus(codes.Error, string(typed(ctx, err).Code))
	}
	span.End()
	t.stages[name] = milliseconds(t.e.cfg.Clock().Sub(start))
	return err
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}
