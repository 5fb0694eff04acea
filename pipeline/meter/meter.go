// Package meter makes the spans of memory operations (genai.go) and the instruments of the metrics that schemas.Metrics lists, and serves what
// they counted. It owns the rules that hold for all of them: a family is in the table or it does
// not exist, every series that is known beforehand is served from the start with 0, and a value
// of a label that the table does not list is counted as other. Callers make their instruments once
// and keep them. Recording costs one or two atomic operations. An operator can list tenants; then
// the families that are PerTenant have series of each of them, and one of all others together.
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

// tenantLabel is the label of the series of a listed tenant.
const tenantLabel = "tenant"

// Set has the instruments of one process. Make one with New. It is safe for concurrent use.
type Set struct {
	*instruments
	tenant string // whose series of the PerTenant families these are; "": of all that are not listed
}

// instruments are those of every tenant.
type instruments struct {
	tenants    []string        // listed
	listed     map[string]bool // the same
	registry   *prometheus.Registry
	counters   map[schemas.Metric]*prometheus.CounterVec
	gauges     map[schemas.Metric]*prometheus.GaugeVec
	histograms map[schemas.Metric]*prometheus.HistogramVec

	mu    sync.Mutex // one reading at a time
	reads []func()
}

// New returns a set of the given families; of none given, of all but schemas.GatewayMetrics.
func New(only ...schemas.Metric) *Set { return NewPerTenant(nil, only...) }

// NewPerTenant is New with series of the listed tenants. The list MUST come from the operator.
func NewPerTenant(tenants []string, only ...schemas.Metric) *Set {
	if len(only) == 0 {
		only = slices.DeleteFunc(schemas.Metrics(), func(m schemas.Metric) bool { return slices.Contains(schemas.GatewayMetrics(), m) })
	}
	s := &Set{instruments: &instruments{tenants: tenants, listed: map[string]bool{}, registry: prometheus.NewRegistry(), counters: map[schemas.Metric]*prometheus.CounterVec{},
		gauges: map[schemas.Metric]*prometheus.GaugeVec{}, histograms: map[schemas.Metric]*prometheus.HistogramVec{}}}
	for _, tenant := range tenants {
		s.listed[tenant] = true
	}
	for _, m := range only {
		f := m.Family()
		labels := make([]string, len(f.Labels))
		for i := range f.Labels {
			labels[i] = f.Labels[i].Name
		}
		if f.PerTenant && len(tenants) > 0 {
			labels = append(labels, tenantLabel)
		}
		switch f.Kind {
		case schemas.MetricCounter:
			v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.Name, Help: f.Help}, labels)
			s.counters[m] = v
			s.registry.MustRegister(v)
			s.startSeries(m, func(one *Set, values []string) { one.Counter(m, values...) })
		case schemas.MetricGauge:
			v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: f.Name, Help: f.Help}, labels)
			s.gauges[m] = v
			s.registry.MustRegister(v)
			s.startSeries(m, func(one *Set, values []string) { one.Gauge(m, values...) })
		case schemas.MetricHistogram:
			v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: f.Name, Help: f.Help, Buckets: f.Bounds}, labels)
			s.histograms[m] = v
			s.registry.MustRegister(v)
			s.startSeries(m, func(one *Set, values []string) { one.Histogram(m, values...) })
		}
	}
	return s
}

// startSeries makes the series that are known beforehand.
func (s *Set) startSeries(m schemas.Metric, series func(one *Set, values []string)) {
	f := m.Family()
	for _, values := range f.Series() {
		series(s, values)
		if f.PerTenant {
			for _, tenant := range s.tenants {
				series(s.Of(tenant), values)
			}
		}
	}
}

// Of returns the same set with the series that count the tenant.
func (s *Set) Of(tenant string) *Set { return &Set{s.instruments, s.SeriesOf(tenant)} }

// Series returns "" and the listed tenants: each PerTenant family has series of them.
func (s *Set) Series() []string { return append([]string{""}, s.tenants...) }

// SeriesOf returns the one of Series that counts a tenant.
func (s *Set) SeriesOf(tenant string) string {
	if s.listed[tenant] {
		return tenant
	}
	return ""
}

// ByTenant makes the instruments of each listed tenant, and once those of all others, and returns the
// tenant's. The families that are not PerTenant are the same in all of them.
func ByTenant[I any](s *Set, instruments func(*Set) I) func(tenant string) I {
	others := instruments(s)
	listed := make(map[string]I, len(s.tenants))
	for _, tenant := range s.tenants {
		listed[tenant] = instruments(s.Of(tenant))
	}
	return func(tenant string) I {
		if one, ok := listed[tenant]; ok {
			return one
		}
		return others
	}
}

// Counter returns the counter of one series. The metric MUST be a counter with as many labels as
// there are values.
func (s *Set) Counter(m schemas.Metric, values ...string) prometheus.Counter {
	return s.counters[m].WithLabelValues(s.listLabels(m, values)...)
}

// Gauge is Counter for a gauge.
func (s *Set) Gauge(m schemas.Metric, values ...string) prometheus.Gauge {
	return s.gauges[m].WithLabelValues(s.listLabels(m, values)...)
}

// Histogram is Counter for a histogram.
func (s *Set) Histogram(m schemas.Metric, values ...string) prometheus.Observer {
	return s.histograms[m].WithLabelValues(s.listLabels(m, values)...)
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

// listLabels returns the values of every label of a series.
func (s *Set) listLabels(m schemas.Metric, values []string) []string {
	values = replaceUnlisted(m, values)
	if len(s.tenants) == 0 || !m.Family().PerTenant {
		return values
	}
	return append(slices.Clone(values), s.tenant)
}

// replaceUnlisted replaces values that the table does not list.
func replaceUnlisted(m schemas.Metric, values []string) []string {
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
	all, err := s.registry.Gather()
	if len(s.tenants) > 0 {
		for _, family := range all {
			for _, m := range family.Metric { // an empty label is none
				m.Label = slices.DeleteFunc(slices.Clone(m.Label), func(l *dto.LabelPair) bool {
					return l.GetName() == tenantLabel && l.GetValue() == ""
				})
			}
		}
	}
	return all, err
}

// Handler serves the metrics in Prometheus' format, and those of the process and of Go's runtime.
func (s *Set) Handler() http.Handler {
	runtime := prometheus.NewRegistry()
	runtime.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(prometheus.Gatherers{s, runtime}, promhttp.HandlerOpts{})
}
