package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"satchel/schemas"
)

// page returns the text of a page of the node.
func (n *testNode) page(t *testing.T, path string) string {
	t.Helper()
	_, _, body := n.ask(t, path)
	return string(body)
}

// TestMetrics: what is counted can be read, names no tenant and holds nothing that was
// said, whoever asks and for what.
func TestMetrics(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for _, tenant := range []string{"main", "acme-bank", "globex-corp"} {
		n.must(t, "emit", "--id", "n1", "--text", "the quetzal sleeps at noon", "--tenant", tenant, "--wait", "indexed")
		n.must(t, "ask", "when does the quetzal sleep?", "--tenant", tenant, "--as", "somebody-special")
	}
	if r := n.run(t, "explain", "never-there", "when does the quetzal sleep?"); r.code == 0 {
		t.Fatal("there is nothing to explain")
	}
	get := func(path string) string { return n.page(t, path) }
	text := get("/metrics")
	contains(t, "/metrics", text, "satchel_ready 1\n", `satchel_requests_total{endpoint="request",outcome="answered"} 3`, `outcome="invalid"} 1`,
		`satchel_requests_waiting{endpoint="request"} 0`, "h4r_retrieval_duration_ms_count ", `h4r_candidates_count_bucket{source="keyword",le="0"} 0`, "go_goroutines ",
		`satchel_request_duration_seconds_bucket{endpoint="request",le="0.03"}`, `satchel_events_total{outcome="logged"} 3`,
		"satchel_publish_to_indexed_seconds_count 3", "satchel_disk_free_bytes ", "satchel_log_damaged 0\n", `satchel_stream_bytes{stream="MEMORY"}`)
	for _, hidden := range []string{"acme-bank", "globex-corp", "quetzal", "somebody-special", "never-there", `endpoint="other"`} {
		if strings.Contains(text, hidden) {
			t.Errorf("/metrics names %s", hidden)
		}
	}
	contains(t, "/status", get("/status"), `"slo":{"availability":{"value":1,"target":0.999,`, `"citations":{"value":null,"target":0.95,`, `"p95_seconds":{`)
	contains(t, "/alerts", get("/alerts"), `{"alert":"SatchelLogDamaged","state":"ok","severity":"page","value":0,"limit":0,`)
	allowed := map[string][]string{}
	for _, m := range schemas.Metrics() {
		f := m.Family()
		for _, l := range f.Labels {
			allowed[f.Name+" "+l.Name] = append(slices.Clone(l.Values), schemas.MetricOther)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^((?:satchel|h4r|scs|context)[a-z0-9_]*?)(?:_bucket|_sum|_count)?\{([^}]*)\}`).FindAllStringSubmatch(text, -1) {
		for _, pair := range strings.Split(m[2], ",") {
			name, value, _ := strings.Cut(pair, "=")
			list, known := allowed[m[1]+" "+name]
			if !known {
				list, known = allowed[m[1]+"_count "+name] // a name that ends so itself
			}
			if name == "le" || known && len(list) == 1 { // of a histogram; or the process knows the values
				continue
			}
			if !known || !slices.Contains(list, strings.Trim(value, `"`)) {
				t.Errorf("%s: the table does not list %s", m[0], pair)
			}
		}
	}
}

// TestMetricsOfListedTenants: a tenant that the operator lists is counted by itself, and no other.
func TestMetricsOfListedTenants(t *testing.T) {
	t.Parallel()
	if r := satchel(t, "", "up", "--dir", t.TempDir(), "--nats-port", "0", "--metrics-tenants", "acme.bank"); r.code != 2 || !strings.Contains(r.err, `SATCHEL_METRICS_TENANTS: "acme.bank" is no name of a tenant`) {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
	n := startNode(t, "--metrics-tenants", "acme-bank,idle")
	for tenant, asks := range map[string]int{"main": 1, "acme-bank": 2, "globex-corp": 3} {
		n.must(t, "emit", "--id", "n1", "--text", "the quetzal sleeps at noon", "--tenant", tenant, "--wait", "indexed")
		n.must(t, "emit", "--id", "n2", "--text", "the ibis sleeps at night", "--tenant", tenant, "--wait", "indexed")
		for range asks {
			n.must(t, "ask", "when does the quetzal sleep?", "--tenant", tenant)
		}
		n.must(t, "forget", "n2", "--tenant", tenant)
	}
	text := n.page(t, "/metrics")
	contains(t, "/metrics", text, `satchel_requests_total{endpoint="request",outcome="answered",tenant="acme-bank"} 2`,
		`satchel_requests_total{endpoint="request",outcome="answered",tenant="idle"} 0`, `satchel_requests_total{endpoint="request",outcome="answered"} 4`,
		`satchel_request_duration_seconds_count{endpoint="request",tenant="acme-bank"} 2`, `satchel_events_total{outcome="logged",tenant="acme-bank"} 3`, `satchel_events_total{outcome="logged"} 6`,
		`satchel_publish_to_indexed_seconds_count{tenant="acme-bank"} 2`, "satchel_publish_to_indexed_seconds_count 4", `satchel_index_lag_positions{store="items",tenant="acme-bank"} `,
		`satchel_erasures_total{outcome="done",tenant="acme-bank"} 1`, `satchel_erasures_total{outcome="done"} 2`, `satchel_erasures_pending{tenant="acme-bank"} 0`,
		`satchel_pack_tokens_count{tenant="acme-bank"} 2`, "satchel_pack_tokens_count 4", `satchel_tokens_total{direction="pack",tenant="acme-bank"} `,
		`satchel_ledger_lag_positions{tenant="idle"} 0`, "satchel_ready 1\n")
	for _, counted := range []string{`satchel_policy_verdicts_total\{outcome="allowed",tenant="acme-bank"\} [1-9]`, `satchel_log_size\{tenant="acme-bank"\} [1-9]`} {
		re := regexp.MustCompile(counted)
		eventually(t, counted, func() bool { return re.MatchString(n.page(t, "/metrics")) }) // a head is signed within five seconds
	}
	for _, hidden := range []string{"globex-corp", `tenant="main"`, `tenant=""`} {
		if strings.Contains(text, hidden) {
			t.Errorf("/metrics has %s", hidden)
		}
	}
}

// TestAlerts: an alert fires in the process when what it watches goes wrong, and no other does.
func TestAlerts(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	nc := n.connect(t)
	for range 11 {
		if err := nc.Publish("mem.v1.main.evt.writer", []byte("no event")); err != nil {
			t.Fatal(err)
		}
	}
	var firing []string
	eventually(t, "the alert fires", func() bool {
		res, err := http.Get("http://" + n.http + "/alerts") //nolint:noctx // a test
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var list []struct{ Alert, State string }
		if err := json.NewDecoder(res.Body).Decode(&list); err != nil || len(list) < 15 {
			t.Fatalf("%d alerts, %v", len(list), err)
		}
		firing = nil
		for _, a := range list {
			if a.State == "firing" {
				firing = append(firing, a.Alert)
			}
		}
		return len(firing) > 0
	})
	if !slices.Equal(firing, []string{"SatchelDeadLetters"}) {
		t.Errorf("%v fire", firing)
	}
}

// TestTraces: with a collector every request is a trace of its stages, and at the end of
// the process the last of them is sent.
func TestTraces(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	spans, service := map[string]int{}, ""
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got tracepb.ExportTraceServiceRequest
		raw, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.Unmarshal(raw, &got)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(string(raw), "quetzal") {
			t.Error("a trace holds what was asked")
		}
		for _, from := range got.ResourceSpans {
			for _, a := range from.Resource.Attributes {
				if a.Key == "service.name" {
					service = a.Value.GetStringValue()
				}
			}
			for _, scope := range from.ScopeSpans {
				for _, s := range scope.Spans {
					spans[s.Name]++
				}
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer collector.Close()
	n := startNode(t, "--otlp-endpoint", collector.URL)
	n.must(t, "emit", "--id", "n1", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
	n.must(t, "ask", "when does the quetzal sleep?")
	if code := n.down(t); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, name := range []string{"create_memory", "search_memory", "context.retrieve", "context.pack"} {
		if spans[name] != 1 {
			t.Errorf("%d spans %s of %v", spans[name], name, spans)
		}
	}
	if service != "satchel" {
		t.Errorf("service %q", service)
	}
	if r := satchel(t, "", "up", "--dir", t.TempDir(), "--nats-port", "0", "--http-addr", "", "--otlp-endpoint", "collector"); r.code != exitUsage {
		t.Errorf("an endpoint that is no URL: exit code %d\n%s", r.code, r.err)
	}
}
