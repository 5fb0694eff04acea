package main

import (
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
)

// TestMetrics: what is counted can be read, names no tenant and holds nothing that was
// said, whoever asks and for what.
func TestMetrics(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for _, tenant := range []string{"main", "acme-bank", "globex-corp"} {
		n.must(t, "emit", "--id", "n1", "--text", "the quetzal sleeps at noon", "--tenant", tenant)
		n.must(t, "ask", "when does the quetzal sleep?", "--tenant", tenant, "--as", "somebody-special")
	}
	if r := n.run(t, "explain", "never-there", "when does the quetzal sleep?"); r.code == 0 {
		t.Fatal("there is nothing to explain")
	}
	res, err := http.Get("http://" + n.http + "/metrics") //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	contains(t, "/metrics", text, "satchel_ready 1\n", `satchel_requests_total{endpoint="request",outcome="answered"} 3`, `outcome="failed"} 1`,
		`satchel_requests_waiting{endpoint="request"} 0`, "h4r_retrieval_duration_ms_count ", `h4r_candidates_count_bucket{source="keyword",le="0"}`, "go_goroutines ",
		`target_info{service_name="satchel"}`)
	for _, hidden := range []string{"acme-bank", "globex-corp", "quetzal", "somebody-special", "never-there"} {
		if strings.Contains(text, hidden) {
			t.Errorf("/metrics names %s", hidden)
		}
	}
	labels := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:satchel|h4r|scs|context)[^{\n]*\{([^}]*)\}`).FindAllStringSubmatch(text, -1) {
		for _, pair := range strings.Split(m[1], ",") {
			name, _, _ := strings.Cut(pair, "=")
			labels[name] = true
		}
	}
	for name := range labels {
		if !slices.Contains([]string{"endpoint", "outcome", "source", "limit", "le"}, name) {
			t.Errorf("a label %q: is the number of its values bounded?", name)
		}
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
	for _, name := range []string{"context.request", "context.retrieve", "context.pack"} {
		if spans[name] != 1 {
			t.Errorf("%d spans %s of %v", spans[name], name, spans)
		}
	}
	if service != "satchel" {
		t.Errorf("service %q", service)
	}
	if r := command(t, "", "up", "--dir", t.TempDir(), "--nats-port", "0", "--http-addr", "", "--otlp-endpoint", "collector"); r.code != exitUsage {
		t.Errorf("an endpoint that is no URL: exit code %d\n%s", r.code, r.err)
	}
}
