package meter_test

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"satchel/pipeline/meter"
	"satchel/schemas"
)

func scrape(s *meter.Set) string {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// Every series that is known beforehand is there before anything is counted, with 0.
func TestSeriesStartAtZero(t *testing.T) {
	t.Parallel()
	text := scrape(meter.New()) + scrape(meter.New(schemas.GatewayMetrics()...))
	for _, m := range schemas.Metrics() {
		f := m.Family()
		for _, values := range f.Series() {
			name := f.Name
			if f.Kind == schemas.MetricHistogram {
				name += "_count"
			}
			var pairs []string
			for i, l := range f.Labels {
				pairs = append(pairs, l.Name+`="`+values[i]+`"`)
			}
			slices.Sort(pairs)
			if len(pairs) > 0 {
				name += "{" + strings.Join(pairs, ",") + "}"
			}
			if !strings.Contains(text, "\n"+name+" 0\n") {
				t.Errorf("no %s that is 0", name)
			}
		}
	}
	if !strings.Contains(text, "go_goroutines ") {
		t.Error("nothing of Go's runtime")
	}
}

// A value that the table does not list never becomes a label.
func TestUnlistedValuesAreOther(t *testing.T) {
	t.Parallel()
	s := meter.New()
	s.Counters(schemas.MetricDropItems)("acme-bank").Inc()
	s.Counter(schemas.MetricVerifierChecks, "acme-bank", "holds").Inc()
	s.Counters(schemas.MetricDropItems)("budget").Add(2)
	text := scrape(s)
	for _, line := range []string{`satchel_drop_items_total{reason="other"} 1`, `satchel_drop_items_total{reason="budget"} 2`,
		`satchel_verifier_checks_total{check="other",outcome="holds"} 1`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(text, "acme-bank") {
		t.Error("a label has a value that the table does not list")
	}
}

// What others count is read when the metrics are, and a counter never goes down.
func TestBeforeReading(t *testing.T) {
	t.Parallel()
	s, total := meter.New(), 7.0
	raise := meter.Total(s.Counter(schemas.MetricEmbeddingRequests))
	s.BeforeReading(func() { raise(total); s.Gauge(schemas.MetricReady).Set(1) })
	for _, step := range []struct {
		total float64
		want  string
	}{{7, "7"}, {9, "9"}, {3, "9"}} {
		total = step.total
		if text := scrape(s); !strings.Contains(text, "\nsatchel_ready 1\n") || !strings.Contains(text, "\nsatchel_embedding_requests_total "+step.want+"\n") {
			t.Errorf("at a total of %v the counter is not %s, or nothing is ready", step.total, step.want)
		}
	}
}

// The table is whole, and its names and helps are as Prometheus wants them.
func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range schemas.Metrics() {
		f := m.Family()
		if f.Name == "" || f.Help == "" || seen[f.Name] || (f.Kind == schemas.MetricHistogram) != (len(f.Bounds) > 0) {
			t.Errorf("metric %d: %+v", m, f)
		}
		if !slices.IsSorted(f.Bounds) {
			t.Errorf("%s: bounds %v", f.Name, f.Bounds)
		}
		seen[f.Name] = true
	}
}

// A listed tenant has series of its own, from the start; those of all others name none. What an operator
// did not list is no label, and the sum is that of all tenants.
func TestListedTenants(t *testing.T) {
	t.Parallel()
	s := meter.NewPerTenant([]string{"acme", "globex"})
	if text := scrape(s); strings.Count(text, "\nsatchel_policy_errors_total") != 3 || !strings.Contains(text, "\nsatchel_policy_errors_total{tenant=\"acme\"} 0\n") {
		t.Error("a listed tenant has no series at the start")
	}
	type counted struct{ drops, gaps, cache prometheus.Counter }
	of := meter.ByTenant(s, func(m *meter.Set) counted {
		return counted{m.Counters(schemas.MetricDropItems)("budget"), m.Counter(schemas.MetricDropGap), m.Counter(schemas.MetricEmbeddingCacheHits)}
	})
	for i, tenant := range []string{"acme", "globex", "initech", "umbrella"} {
		of(tenant).drops.Add(float64(i + 1))
		of(tenant).cache.Inc()
	}
	s.Of("acme").Histogram(schemas.MetricPackTokens).Observe(60)
	s.Of("initech").Histogram(schemas.MetricPackTokens).Observe(60)
	text := scrape(s)
	for _, line := range []string{
		`satchel_drop_items_total{reason="budget",tenant="acme"} 1`, `satchel_drop_items_total{reason="budget",tenant="globex"} 2`,
		`satchel_drop_items_total{reason="budget"} 7`, `satchel_embedding_cache_hits_total 4`,
		`satchel_pack_tokens_bucket{tenant="acme",le="100"} 1`, `satchel_pack_tokens_bucket{le="100"} 1`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	for _, hidden := range []string{"initech", "umbrella", `tenant=""`} {
		if strings.Contains(text, hidden) {
			t.Errorf("the scrape has %s", hidden)
		}
	}
}
