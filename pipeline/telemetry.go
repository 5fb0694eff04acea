package pipeline

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
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
	out.retrieval, errs[0] = m.Float64Histogram("h4r.retrieval.duration_ms", metric.WithUnit("ms"),
		metric.WithDescription("time a request took to find and rank items"))
	out.slicing, errs[1] = m.Float64Histogram("scs.slicing.duration_ms", metric.WithUnit("ms"),
		metric.WithDescription("time policy took to decide on a request's items"))
	out.assembly, errs[2] = m.Float64Histogram("context_pack.assembly.duration_ms", metric.WithUnit("ms"),
		metric.WithDescription("time packing, accounting and isolating took"))
	out.candidates, errs[3] = m.Int64Histogram("h4r.candidates.count",
		metric.WithDescription("items a request found, by retriever and in all"))
	out.utilization, errs[4] = m.Float64Histogram("scs.budget.utilization_pct", metric.WithUnit("%"),
		metric.WithDescription("share of a limit that a pack used"))
	out.affordances, errs[5] = m.Int64Counter("context_pack.affordances.generated",
		metric.WithDescription("affordances that packs offered"))
	return out, errors.Join(errs[:]...)
}

func (m *measures) record(ctx context.Context, t *turn) {
	m.retrieval.Record(ctx, t.stages["retrieve"])
	m.slicing.Record(ctx, t.stages["slice"])
	m.assembly.Record(ctx, t.stages["pack"]+t.stages["account"]+t.stages["isolate"])
	m.candidates.Record(ctx, int64(t.ranking.Found), by("source", "all"))
	for _, name := range slices.Sorted(maps.Keys(t.ranking.Counts)) {
		m.candidates.Record(ctx, int64(t.ranking.Counts[name]), by("source", name))
	}
	used := 0
	for i := range t.exposed {
		used += t.exposed[i].Result.Metadata.ByteSize
	}
	m.utilization.Record(ctx, percent(t.packed.Tokens, t.budget), by("limit", "tokens"))
	m.utilization.Record(ctx, percent(used, t.bytes), by("limit", "bytes"))
	m.utilization.Record(ctx, percent(len(t.packed.Shown), t.limit), by("limit", "items"))
	m.affordances.Add(ctx, int64(len(t.affordances)))
}

func by(name, value string) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String(name, value))
}

// percent is how much of a limit was used, 0 where there is none.
func percent(used, limit int) float64 {
	if limit <= 0 {
		return 0
	}
	return 100 * float64(used) / float64(limit)
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
	t.stages[name] += milliseconds(t.e.cfg.Clock().Sub(start))
	return err
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}
