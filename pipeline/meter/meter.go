// Package meter makes the instruments of the metrics that schemas.Metrics lists, and serves what
// they counted. It owns the rules that hold for all of them: a family is in the table or it does
// not exist, every series that is known beforehand is served from the start with 0, and a value
// of a label that the table does not list is counted as other. Callers make their instruments once
// and keep them. Recording costs one or two atomic operations.
package meter

import (
	"net/http"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"satchel/schemas"
)

// Set has the instruments of one process. Make one with New. It is safe for concurrent use.
type Set struct {
	registry   *prometheus.Registry
	counters   map[schemas.Metric]*prometheus.CounterVec
	gauges     map[schemas.Metric]*prometheus.GaugeVec
	histograms map[schemas.Metric]*prometheus.HistogramVec

	mu    sync.Mutex // one reading at a time
	reads []func()
}

// New returns a set of the given families; of none given, of all but schemas.GatewayMetrics.
func New(only ...schemas.Metric) *Set {
	if len(only) == 0 {
		only = slices.DeleteFunc(schemas.Metrics(), func(m schemas.Metric) bool { return slices.Contains(schemas.GatewayMetrics(), m) })
	}
	s := &Set{registry: prometheus.NewRegistry(), counters: map[schemas.Metric]*prometheus.CounterVec{},
		gauges: map[schemas.Metric]*prometheus.GaugeVec{}, histograms: map[schemas.Metric]*prometheus.HistogramVec{}}
	for _, m := range only {
		f := m.Family()
		labels := make([]string, len(f.Labels))
		for i := range f.Labels {
			labels[i] = f.Labels[i].Name
		}
		switch f.Kind {
		case schemas.MetricCounter:
			v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.Name, Help: f.Help}, labels)
			s.counters[m] = v
			s.registry.MustRegister(v)
			start(v.WithLabelValues, &f)
		case schemas.MetricGauge:
			v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: f.Name, Help: f.Help}, labels)
			s.gauges[m] = v
			s.registry.MustRegister(v)
			start(v.WithLabelValues, &f)
		case schemas.MetricHistogram:
			v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: f.Name, Help: f.Help, Buckets: f.Bounds}, labels)
			s.histograms[m] = v
			s.registry.MustRegister(v)
			start(v.WithLabelValues, &f)
		}
	}
	return s
}

// start makes the series that are known beforehand.
func start[I any](series func(values ...string) I, f *schemas.MetricFamily) {
	for _, values := range f.Series() {
		series(values...)
	}
}

// Counter returns the counter of one series. The metric MUST be a counter with as many labels as
// there are values.
func (s *Set) Counter(m schemas.Metric, values ...string) prometheus.Counter {
	return s.counters[m].WithLabelValues(listed(m, values)...)
}

// Gauge is Counter for a gauge.
func (s *Set) Gauge(m schemas.Metric, values ...string) prometheus.Gauge {
	return s.gauges[m].WithLabelValues(listed(m, values)...)
}

// Histogram is Counter for a histogram.
func (s *Set) Histogram(m schemas.Metric, values ...string) prometheus.Observer {
	return s.histograms[m].WithLabelValues(listed(m, values)...)
}

// Counters returns the counters of a family with one label, by the value of the label.
func (s *Set) Counters(m schemas.Metric) func(value string) prometheus.Counter {
	return byValue(m, s.Counter)
}

// Histograms is Counters for histograms.
func (s *Set) Histograms(m schemas.Metric) func(value string) prometheus.Observer {
	return byValue(m, s.Histogram)
}

// byValue keeps the series of a family with one label.
func byValue[I any](m schemas.Metric, series func(m schemas.Metric, values ...string) I) func(string) I {
	f := m.Family()
	kept := map[string]I{}
	for _, values := range f.Series() {
		kept[values[0]] = series(m, values...)
	}
	return func(value string) I {
		if i, ok := kept[value]; ok {
			return i
		}
		return series(m, value)
	}
}

// listed replaces values that the table does not list.
func listed(m schemas.Metric, values []string) []string {
	labels := m.Family().Labels
	var out []string
	for i, l := range labels[:min(len(labels), len(values))] {
		if l.Values != nil && !slices.Contains(l.Values, values[i]) {
			if out == nil {
				out = slices.Clone(values)
			}
			out[i] = schemas.MetricOther
		}
	}
	if out == nil {
		return values
	}
	return out
}

// Total returns a function that brings a counter up to a total that somebody else counts.
func Total(c prometheus.Counter) func(total float64) {
	seen := 0.0
	return func(total float64) {
		if total > seen {
			c.Add(total - seen)
			seen = total
		}
	}
}

// BeforeReading has read called before the metrics are read, one call at a time: it sets the
// gauges whose values others keep. It MUST return soon.
func (s *Set) BeforeReading(read func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads = append(s.reads, read)
}

// Gather returns all families with what was counted.
func (s *Set) Gather() ([]*dto.MetricFamily, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, read := range s.reads {
		read()
	}
	return s.registry.Gather()
}

// Handler serves the metrics in Prometheus' format, and those of the process and of Go's runtime.
func (s *Set) Handler() http.Handler {
	runtime := prometheus.NewRegistry()
	runtime.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(prometheus.Gatherers{s, runtime}, promhttp.HandlerOpts{})
}
