package pipeline_test

import (
	"context"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"satchel/pipeline"
	"satchel/schemas"
)

// meter keeps what is recorded, by instrument and attributes.
type meter struct {
	noop.Meter
	mu   sync.Mutex
	seen map[string]float64
}

func (m *meter) note(name string, v float64, options ...metric.RecordOption) {
	m.mu.Lock()
	defer m.mu.Unlock()
	set := metric.NewRecordConfig(options).Attributes()
	for _, kv := range set.ToSlice() {
		name += " " + string(kv.Key) + "=" + kv.Value.AsString()
	}
	m.seen[name] = v
}

type floats struct {
	noop.Float64Histogram
	m    *meter
	name string
}

func (f floats) Record(_ context.Context, v float64, o ...metric.RecordOption) {
	f.m.note(f.name, v, o...)
}

type whole struct {
	noop.Int64Histogram
	m    *meter
	name string
}

func (w whole) Record(_ context.Context, v int64, o ...metric.RecordOption) {
	w.m.note(w.name, float64(v), o...)
}

func (m *meter) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return floats{m: m, name: name}, nil
}

func (m *meter) Int64Histogram(name string, _ ...metric.Int64HistogramOption) (metric.Int64Histogram, error) {
	return whole{m: m, name: name}, nil
}

// Every request is measured under the names the documents give.
func TestMetrics(t *testing.T) {
	t.Parallel()
	m := &meter{seen: map[string]float64{}}
	w := openWorld(t, func(c *pipeline.Config) { c.Meter = m })
	w.put(t, "acme", notes(30)...)
	res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), explained(func(p *schemas.RequestPayload) { p.Limit = 10 }))
	must(t, err)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range []string{"h4r.retrieval.duration_ms", "scs.slicing.duration_ms", "context_pack.assembly.duration_ms"} {
		if m.seen[name] <= 0 {
			t.Errorf("%s is %v", name, m.seen[name])
		}
	}
	for name, want := range map[string]float64{
		"h4r.candidates.count source=all":         float64(res.Payload.TotalCount),
		"h4r.candidates.count source=keyword":     30,
		"h4r.candidates.count source=vector":      30,
		"scs.budget.utilization_pct limit=items":  100,
		"scs.budget.utilization_pct limit=tokens": 100 * float64(res.Payload.Pack.TokenActual) / 2000,
		"scs.budget.utilization_pct limit=bytes":  100 * float64(res.Payload.Explainability.Slicing.BudgetUsed.Bytes) / 122880,
	} {
		if got, ok := m.seen[name]; !ok || got != want {
			t.Errorf("%s is %v, want %v: %v", name, got, want, m.seen)
		}
	}
}
