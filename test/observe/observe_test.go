// Package observe holds what is watched against the real thing: the metrics of the real binary
// against promtool, the expressions of boards and rules against a real Prometheus, and alerts
// against the faults that they are for: the cheapest alone, or every one with SATCHEL_TEST_OBSERVE=all. Without
// prometheus and promtool on the path it is skipped; SATCHEL_TEST_REQUIRE=prometheus makes that a failure.
package observe

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"satchel/test/parts"
	"satchel/test/testenv"
)

const root = "../.."

var binaryOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "satchel-observe-")
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "satchel"), testenv.Build(root, dir, "./cmd/satchel")
})

func TestMain(m *testing.M) {
	code := m.Run()
	if bin, err := binaryOnce(); err == nil {
		os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(code)
}

// binary builds satchel once a test run.
func binary(t *testing.T) string {
	t.Helper()
	bin, err := binaryOnce()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// tool finds a program of Prometheus, or skips the test.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		parts.Missing(t, "prometheus", name+" is not on the path")
	}
	return path
}

// poll calls ok until it holds, and fails the test after limit.
func poll(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not in %v: %s", limit, what)
		}
	}
}

// prometheus is a running server that scrapes and evaluates every second.
type prometheus struct {
	url, targets string
	token        string // a file

	mu    sync.Mutex
	addrs map[string]bool
}

// startPrometheus starts a server with the rules, in YAML.
func startPrometheus(t *testing.T, rules string) *prometheus {
	t.Helper()
	bin, dir := tool(t, "prometheus"), t.TempDir()
	port, err := testenv.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	p := &prometheus{url: "http://" + addr, targets: filepath.Join(dir, "targets.json"), token: filepath.Join(dir, "token"), addrs: map[string]bool{}}
	p.write(t)
	for name, text := range map[string]string{"token": "none", "rules.yml": rules, "prometheus.yml": fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 900ms, evaluation_interval: 1s}
rule_files: [%s]
scrape_configs:
- job_name: satchel
  authorization: {credentials_file: %s}
  file_sd_configs: [{files: [%s], refresh_interval: 1s}]
`, filepath.Join(dir, "rules.yml"), p.token, p.targets)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	said, err := os.Create(filepath.Join(dir, "said"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr, "--log.level=warn")
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		said.Close()
		if text, err := os.ReadFile(said.Name()); err == nil && t.Failed() {
			t.Logf("prometheus said:\n%s", text)
		}
	})
	poll(t, 2*time.Minute, "prometheus is ready", func() bool {
		res, err := http.Get(p.url + "/-/ready")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	return p
}

// scrape adds a target.
func (p *prometheus) scrape(t *testing.T, addr string) {
	t.Helper()
	p.mu.Lock()
	p.addrs[addr] = true
	p.mu.Unlock()
	p.write(t)
	poll(t, 2*time.Minute, addr+" is scraped", func() bool { return len(p.query(t, fmt.Sprintf("up{instance=%q} == 1", addr))) == 1 })
}

func (p *prometheus) write(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	list := []string{}
	for addr := range p.addrs {
		list = append(list, addr)
	}
	raw, err := json.Marshal([]map[string][]string{{"targets": list}})
	if err == nil {
		err = os.WriteFile(p.targets+".new", raw, 0o600)
	}
	if err == nil {
		err = os.Rename(p.targets+".new", p.targets)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// query returns the series that an expression has now.
func (p *prometheus) query(t *testing.T, expr string) []map[string]string {
	t.Helper()
	res, err := http.Get(p.url + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var got struct {
		Status, Error string
		Data          struct {
			Result []struct{ Metric map[string]string }
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil || got.Status != "success" {
		t.Fatalf("%s: %s %s (%v)", expr, got.Status, got.Error, err)
	}
	list := make([]map[string]string, len(got.Data.Result))
	for i, r := range got.Data.Result {
		list[i] = r.Metric
	}
	return list
}

// get reads a page of a process.
func get(t *testing.T, address string) string {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestMetricsAreAsPrometheusWants: promtool has nothing to say of the real binary's metrics but of
// the names that are kept from the first documents.
func TestMetricsAreAsPrometheusWants(t *testing.T) {
	t.Parallel()
	t.Run("all", func(t *testing.T) { checkMetrics(t) })
	t.Run("tenants", func(t *testing.T) { checkMetrics(t, "--metrics-tenants", "main,globex") })
}

func checkMetrics(t *testing.T, args ...string) {
	t.Helper()
	t.Parallel()
	promtool := tool(t, "promtool")
	s := testenv.Up(t, binary(t), t.TempDir(), args...)
	s.Must(t, "emit", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
	s.Must(t, "ask", "when does the quetzal sleep?")
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(get(t, "http://"+s.HTTP+"/metrics"))
	said, _ := cmd.CombinedOutput() // 3 when it has something to say
	kept := map[string]bool{"context_pack_affordances_generated": true, "context_pack_assembly_duration_ms": true, "h4r_retrieval_duration_ms": true, "scs_slicing_duration_ms": true}
	for _, line := range strings.Split(strings.TrimSpace(string(said)), "\n") {
		if name, _, _ := strings.Cut(line, " "); !kept[name] {
			t.Errorf("promtool says: %s", line)
		} else {
			delete(kept, name)
		}
	}
	if len(kept) > 0 {
		t.Errorf("promtool was not asked about %v", kept)
	}
}

// TestRules: promtool accepts the rules and the tests of each.
func TestRules(t *testing.T) {
	t.Parallel()
	promtool, folder := tool(t, "promtool"), filepath.Join(root, "deploy/observability/rules")
	for what, files := range map[string]string{"check": "*.yml", "test": "tests/*.yml"} {
		list, err := filepath.Glob(filepath.Join(folder, files))
		if err != nil || len(list) < 2 {
			t.Fatalf("%v (%v)", list, err)
		}
		if said, err := exec.Command(promtool, append([]string{what, "rules"}, list...)...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s rules: %v\n%s", what, err, said)
		}
	}
}
