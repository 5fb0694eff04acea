// Package mcp holds satchel gateway to the official conformance suite of the Model Context Protocol.
// The suite runs against the binary, once for each revision that the gateway serves. What is
// expected to fail stands with its reason in expected-REVISION.yml: the suite refuses any other
// failure, and an entry that passes. docs/reference/conformance.md shows the results.
package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"satchel/test/parts"
	"satchel/test/testenv"
)

// suiteVar names the folder that the suite is installed in, by npm ci of package.json.
const suiteVar = "SATCHEL_TEST_MCP_SUITE"

var revisions = []string{"2025-11-25", "2026-07-28"}

func TestConformance(t *testing.T) {
	suite := os.Getenv(suiteVar)
	if suite == "" {
		parts.Missing(t, "mcp-suite", suiteVar+" is not set; make conformance installs the suite")
	}
	bin := t.TempDir()
	if err := testenv.Build("../..", bin, "./cmd/satchel"); err != nil {
		t.Fatal(err)
	}
	address := serve(t, filepath.Join(bin, "satchel"))
	results := map[string]map[string]outcome{}
	for _, revision := range revisions {
		out := t.TempDir()
		tools := filepath.Join(suite, "node_modules/.bin")
		cmd := exec.CommandContext(t.Context(), filepath.Join(tools, "node"), filepath.Join(tools, "conformance"),
			"server", "--url", address+"/mcp", "--requirements", revision,
			"--expected-failures", "expected-"+revision+".yml", "--output-dir", out)
		said, err := cmd.CombinedOutput()
		_, summary, found := strings.Cut(string(said), "=== SUMMARY ===")
		if err != nil || !found {
			t.Errorf("revision %s: %v\n%s", revision, err, cmp.Or(summary, string(said)))
		}
		if results[revision] = read(t, out); len(results[revision]) < 30 {
			t.Errorf("revision %s: the suite ran %d scenarios only", revision, len(results[revision]))
		}
	}
	if !t.Failed() {
		document(t, results)
	}
}

// serve starts satchel up and satchel gateway. It returns the address of a proxy that adds a token
// to each request, as the suite sends none.
func serve(t *testing.T, binary string) string {
	t.Helper()
	s := testenv.Up(t, binary, t.TempDir())
	token := s.Token(t, "suite", "--scope", "memory.read,memory.write,memory.erase")
	address, _ := s.Gateway(t)
	gateway, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(gateway)
		r.Out.Host = r.In.Host // a scenario sends foreign ones
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Read first: a body that the server closes at an early answer would break the stream.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// outcome is what became of a scenario's checks.
type outcome struct {
	passed int
	failed []string // ids of checks
}

// read returns the outcomes that the suite wrote, by scenario.
func read(t *testing.T, folder string) map[string]outcome {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "server-*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\d-]+Z$`)
	all := map[string]outcome{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var checks []struct{ ID, Status string }
		if err := json.Unmarshal(raw, &checks); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var o outcome
		for _, c := range checks {
			switch c.Status {
			case "SUCCESS":
				o.passed++
			case "FAILURE", "WARNING": // the suite takes either for a failure that has to be expected
				o.failed = append(o.failed, c.ID)
			}
		}
		name := at.ReplaceAllString(filepath.Base(filepath.Dir(file)), "")
		all[strings.TrimPrefix(name, "server-")] = o
	}
	return all
}

// reasons are why scenarios fail: the comments above their entries, or, of what is not scored, beside
// their names.
func reasons(t *testing.T, revision string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("expected-" + revision + ".yml")
	if err != nil {
		t.Fatal(err)
	}
	all, reason := map[string]string{}, ""
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		why, comment := strings.CutPrefix(line, "  # ")
		entry, listed := strings.CutPrefix(line, "  - ")
		switch name, rest, _ := strings.Cut(strings.TrimPrefix(line, "# "), ": "); {
		case comment:
			reason = why
		case listed:
			scenario, _, _ := strings.Cut(entry, ":")
			if !strings.Contains(all[scenario], reason) {
				all[scenario] = strings.TrimPrefix(all[scenario]+"; "+reason, "; ")
			}
		case regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(name):
			all[name] = rest
		}
	}
	return all
}

const (
	page  = "../../docs/reference/conformance.md"
	begin = "<!-- written by make conformance -->\n"
)

// document checks the table of the page, or writes it where SATCHEL_GOLDEN is write.
func document(t *testing.T, results map[string]map[string]outcome) {
	t.Helper()
	why, names := map[string]string{}, []string{}
	for _, revision := range revisions {
		for name, reason := range reasons(t, revision) {
			why[name] = reason
		}
		for name := range results[revision] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var table strings.Builder
	fmt.Fprintf(&table, "| scenario | %s | why |\n|---|---|---|---|\n", strings.Join(revisions, " | "))
	for _, name := range slices.Compact(names) {
		cells := make([]string, len(revisions))
		for i, revision := range revisions {
			switch o, ran := results[revision][name]; {
			case !ran:
				cells[i] = ""
			case len(o.failed) == 0 && o.passed == 0:
				cells[i] = "nothing to check"
			case len(o.failed) == 0:
				cells[i] = "passes"
			default:
				cells[i] = fmt.Sprintf("%d of %d", o.passed, o.passed+len(o.failed))
				if why[name] == "" {
					t.Errorf("%s fails %v, and expected-%s.yml does not say why", name, o.failed, revision)
				}
			}
		}
		fmt.Fprintf(&table, "| %s | %s | %s |\n", name, strings.Join(cells, " | "), why[name])
	}
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, was, found := strings.Cut(string(raw), begin)
	if !found {
		t.Fatalf("%s lacks the line %s", page, begin)
	}
	if os.Getenv("SATCHEL_GOLDEN") == "write" {
		if err := os.WriteFile(page, []byte(head+begin+table.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if was != table.String() {
		t.Errorf("%s shows other results than the suite's; SATCHEL_GOLDEN=write make conformance writes\n%s",
			page, table.String())
	}
}
