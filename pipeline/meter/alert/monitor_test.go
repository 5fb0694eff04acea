package alert_test

import (
	"testing"
	"time"

	"satchel/pipeline/meter"
	"satchel/pipeline/meter/alert"
	"satchel/schemas"
)

func stateOf(t *testing.T, m *alert.Monitor, name string) alert.Alert {
	t.Helper()
	for _, a := range m.Alerts() {
		if a.Name == alert.Prefix+name {
			return a
		}
	}
	t.Fatalf("no alert %s", name)
	return alert.Alert{}
}

// Each rule that can be evaluated in the process is silent, then pending, then firing, and silent
// again once what it watches is as it should be.
func TestRulesFireAndFallSilent(t *testing.T) {
	t.Parallel()
	rules := 0
	for _, r := range alert.Rules() {
		if r.When.Kind == alert.None {
			continue
		}
		rules++
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			s, now := meter.New(), time.Now()
			s.Gauge(schemas.MetricReady).Set(1)
			s.Gauge(schemas.MetricDiskFree).Set(1 << 40)
			labels := make([]string, 0, 2)
			for _, l := range r.When.Metric.Family().Labels {
				value := "any" // of a label whose values the process knows
				if len(l.Values) > 0 {
					value = l.Values[0]
				}
				if l.Name == r.When.Label {
					value = r.When.Value
				}
				labels = append(labels, value)
			}
			m, err := alert.NewMonitor(s, now)
			look := func(after time.Duration) alert.Alert {
				now = now.Add(after)
				if err := m.Look(now); err != nil {
					t.Fatal(err)
				}
				return stateOf(t, m, r.Name)
			}
			if err != nil || look(alert.Every).State != alert.OK {
				t.Fatalf("it is not silent at first: %+v (%v)", stateOf(t, m, r.Name), err)
			}
			repair := func() alert.Alert { return look(r.When.Over + 2*alert.Every) }
			switch r.When.Kind {
			case alert.Above:
				g := s.Gauge(r.When.Metric, labels...)
				g.Set(r.When.Limit + 1)
				repair = func() alert.Alert { g.Set(r.When.Limit); return look(alert.Every) }
			case alert.Below:
				g := s.Gauge(r.When.Metric, labels...)
				g.Set(r.When.Limit - 1)
				repair = func() alert.Alert { g.Set(r.When.Limit); return look(alert.Every) }
			case alert.Grew:
				s.Counter(r.When.Metric, labels...).Add(r.When.Limit + 1)
			case alert.Older:
				now = now.Add(time.Duration(r.When.Limit) * time.Second)
				repair = func() alert.Alert {
					s.Gauge(r.When.Metric).Set(float64(now.Unix()))
					return look(alert.Every)
				}
			}
			want := alert.Pending
			if r.For == 0 {
				want = alert.Firing
			}
			if got := look(alert.Every); got.State != want {
				t.Errorf("with the fault it is %+v, want %s", got, want)
			}
			if got := look(r.For + time.Second); got.State != alert.Firing || got.Value == 0 && r.When.Kind != alert.Below {
				t.Errorf("after %s it is %+v, want firing", r.For, got)
			}
			for range 5 { // a rule that looks back forgets with time
				repair()
			}
			if got := stateOf(t, m, r.Name); got.State != alert.OK {
				t.Errorf("after the repair it is %+v", got)
			}
		})
	}
	if rules < 15 {
		t.Errorf("%d rules can be evaluated", rules)
	}
}

// Objectives are over the window, know no value where nothing was counted, and fail where they are
// missed.
func TestObjectives(t *testing.T) {
	t.Parallel()
	s, now := meter.New(), time.Now()
	m, err := alert.NewMonitor(s, now)
	if err != nil {
		t.Fatal(err)
	}
	look := func(after time.Duration) map[string]alert.Status {
		now = now.Add(after)
		if err := m.Look(now); err != nil {
			t.Fatal(err)
		}
		return m.Objectives()
	}
	first := look(alert.Every)
	for _, name := range []string{"availability", "latency", "latency_tail", "freshness", "correctness", "citations", "budget", "p95_seconds"} {
		if st, ok := first[name]; !ok || !st.OK || name != "budget" && st.Value != nil {
			t.Errorf("%s before anything was counted: %+v", name, st)
		}
	}
	for range 300 {
		s.Histogram(schemas.MetricRequestDuration, "request").Observe(0.008)
	}
	for _, c := range []struct {
		outcome string
		n       float64
	}{{"answered", 900}, {"invalid", 500}, {"failed", 100}} {
		s.Counter(schemas.MetricRequests, "request", c.outcome).Add(c.n)
	}
	s.Counter(schemas.MetricRequests, "head", "failed").Add(1000) // none of the objective's endpoints
	s.Counter(schemas.MetricCitations, "holds").Add(99)
	s.Counter(schemas.MetricCitations, "fails").Inc()
	s.Counter(schemas.MetricPackOverBudget).Inc()
	got := look(alert.Every)
	for name, want := range map[string]struct {
		value float64
		ok    bool
	}{"availability": {0.9, false}, "citations": {0.99, true}, "budget": {1, false}, "latency": {1, true}} {
		if st := got[name]; st.Value == nil || *st.Value != want.value || st.OK != want.ok {
			t.Errorf("%s is %+v, want %+v", name, st, want)
		}
	}
	if p := got["p95_seconds"]; p.Value == nil || *p.Value < 0.005 || *p.Value > 0.01 || p.Target != nil || !p.OK {
		t.Errorf("p95 is %+v", p)
	}
	for range 10 { // the window passes
		got = look(alert.Window / 8)
	}
	for name, st := range got {
		if !st.OK || st.Value != nil && name != "budget" {
			t.Errorf("%s a window later: %+v", name, st)
		}
	}
	for range 100 {
		s.Histogram(schemas.MetricRequestDuration, "request").Observe(0.04)
	}
	if p := look(alert.Every)["p95_seconds"]; p.OK || p.Baseline == nil || *p.Baseline > 0.01 || *p.Value < 0.03 {
		t.Errorf("five times as slow: %+v", p)
	}
}
