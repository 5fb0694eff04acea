package alert

import (
	"slices"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"

	"satchel/schemas"
)

// How the monitor looks.
const (
	Every  = 15 * time.Second // between two readings that are kept
	Window = time.Hour        // of the objectives, and the longest that a rule looks back
)

// source is what the monitor reads; a meter.Set is one.
type source interface {
	Gather() ([]*dto.MetricFamily, error)
}

// Monitor keeps readings of the metrics and evaluates rules and objectives over them. Make one
// with NewMonitor. It is safe for concurrent use.
type Monitor struct {
	source source
	rules  []Rule

	mu      sync.Mutex
	started time.Time
	last    reading   // the newest
	kept    []reading // at least Every apart, oldest first
	states  []state   // of rules, in their order
}

// state is what a rule's condition was at the newest reading.
type state struct {
	value float64
	since time.Time // zero: it does not hold
}

// reading is what the metrics said at a time.
type reading struct {
	at     time.Time
	grown  []float64 // of each rule of kind Grew: the sum
	counts counts
}

// counts are the totals that the objectives are made of.
type counts struct {
	answered, failed      float64 // requests of Endpoints
	requests, indexed     buckets // of context requests, of events
	supported, said       float64 // answers whose sentences their citations support, and all
	citations, unresolved float64
	over                  float64
}

// NewMonitor returns a monitor that has looked once.
func NewMonitor(s source, now time.Time) (*Monitor, error) {
	m := &Monitor{source: s, started: now}
	for _, r := range Rules() {
		if r.When.Kind != None {
			m.rules = append(m.rules, r)
		}
	}
	m.states = make([]state, len(m.rules))
	return m, m.Look(now)
}

// Look reads the metrics. Its callers call it every Every, and before they ask; more than ten calls
// a second read nothing more.
func (m *Monitor) Look(now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.last.at) < time.Second/10 {
		return nil
	}
	all, err := m.source.Gather()
	if err != nil {
		return err
	}
	f := families{}
	for _, family := range all {
		f[family.GetName()] = family.Metric
	}
	m.last = reading{at: now, grown: make([]float64, len(m.rules)), counts: f.collectCounts()}
	for i := range m.rules {
		if c := &m.rules[i].When; c.Kind == Grew {
			m.last.grown[i] = f.sumSeries(c.Metric, c.Label, c.Value)
		}
	}
	if len(m.kept) == 0 || now.Sub(m.kept[len(m.kept)-1].at) >= Every {
		m.kept = append(m.kept, m.last)
		m.kept = slices.DeleteFunc(m.kept, func(r reading) bool { return now.Sub(r.at) > Window })
	}
	for i := range m.rules {
		st := &m.states[i]
		var holds bool
		st.value, holds = m.evaluateRule(f, i)
		if !holds {
			st.since = time.Time{}
		} else if st.since.IsZero() {
			st.since = now
		}
	}
	return nil
}

// evaluateRule returns what a rule compares, and whether its condition holds, at the newest reading.
func (m *Monitor) evaluateRule(f families, i int) (value float64, holds bool) {
	c := &m.rules[i].When
	switch c.Kind {
	case Above:
		value = f.findExtreme(c, func(a, b float64) bool { return a > b })
		return value, value > c.Limit
	case Below:
		value = f.findExtreme(c, func(a, b float64) bool { return a < b })
		return value, value < c.Limit
	case Grew:
		before := m.kept[0]
		for _, r := range m.kept {
			if m.last.at.Sub(r.at) >= c.Over {
				before = r
			}
		}
		value = m.last.grown[i] - before.grown[i]
		return value, value > c.Limit
	case Older:
		at := f.findExtreme(c, func(a, b float64) bool { return a > b })
		if at == 0 {
			at = float64(m.started.Unix())
		}
		value = float64(m.last.at.Unix()) - at
		return value, value > c.Limit
	}
	return 0, false
}

// The states of alerts.
const (
	OK      = "ok"
	Pending = "pending" // the condition holds, not for long enough
	Firing  = "firing"
)

// Alert is a rule and its state.
type Alert struct {
	Name     string    `json:"alert"`
	State    string    `json:"state"` // ok, pending or firing
	Severity string    `json:"severity"`
	Value    float64   `json:"value"`
	Limit    float64   `json:"limit"`
	Since    time.Time `json:"since,omitzero"` // when the condition began to hold
	Summary  string    `json:"summary"`
}

// Alerts returns every rule that can be evaluated in the process, with its state at the last look.
func (m *Monitor) Alerts() []Alert {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]Alert, len(m.rules))
	for i := range m.rules {
		r := &m.rules[i]
		st := &m.states[i]
		list[i] = Alert{Name: Prefix + r.Name, State: OK, Severity: r.Severity, Value: st.value, Limit: r.When.Limit, Since: st.since, Summary: r.Summary}
		switch {
		case st.since.IsZero():
		case m.last.at.Sub(st.since) >= r.For:
			list[i].State = Firing
		default:
			list[i].State = Pending
		}
	}
	return list
}

// families are the metrics at a time, by name.
type families map[string][]*dto.Metric

// listSeries lists the series of a metric whose label has the value, all when label is "".
func (f families) listSeries(m schemas.Metric, label, value string) []*dto.Metric {
	list := f[m.String()]
	if label == "" {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(one *dto.Metric) bool { return labelOf(one, label) != value })
}

func labelOf(m *dto.Metric, label string) string {
	for _, l := range m.Label {
		if l.GetName() == label {
			return l.GetValue()
		}
	}
	return ""
}

func valueOf(m *dto.Metric) float64 { return m.GetCounter().GetValue() + m.GetGauge().GetValue() }

func (f families) sumSeries(m schemas.Metric, label, value string) (total float64) {
	for _, one := range f.listSeries(m, label, value) {
		total += valueOf(one)
	}
	return total
}

// findExtreme returns the value that is before all others.
func (f families) findExtreme(c *Condition, before func(a, b float64) bool) (out float64) {
	for i, one := range f.listSeries(c.Metric, c.Label, c.Value) {
		if v := valueOf(one); i == 0 || before(v, out) {
			out = v
		}
	}
	return out
}
