package observe

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"satchel/test/testenv"
)

// work uses a process for a while: it writes, asks, is refused, erases and plays the roles.
func work(t *testing.T, s *testenv.Satchel) {
	t.Helper()
	for _, text := range []string{"The gateway certificate expired at nine.", "Jonas renewed the certificate.", "Card payments failed for two hours."} {
		s.Must(t, "emit", "--text", text, "--wait", "indexed")
	}
	s.Must(t, "emit", "--id", "gone", "--text", "A note that goes.", "--wait", "indexed")
	s.Must(t, "ask", "who renewed the certificate?")
	s.Must(t, "search", "certificate")
	s.Must(t, "forget", "gone")
	s.Run(t, "explain", "none", "none")
}

// TestExpressions: a real Prometheus that scrapes the real binary has a sample for each expression
// of each panel, and takes each rule.
func TestExpressions(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(root, "deploy/observability/rules/slo.yml"))
	if err != nil {
		t.Fatal(err)
	}
	p := startPrometheus(t, string(raw))
	s := testenv.Up(t, binary(t), t.TempDir())
	if err := os.WriteFile(p.token, []byte(strings.TrimSpace(s.Must(t, "token", "add", "prometheus", "--scope", "memory.audit"))), 0o600); err != nil {
		t.Fatal(err)
	}
	p.scrape(t, s.HTTP)
	url, _ := s.Gateway(t)
	p.scrape(t, strings.TrimPrefix(url, "http://"))
	work(t, s)
	poll(t, 2*time.Minute, "the work is scraped twice", func() bool {
		return len(p.query(t, `sum(rate(satchel_requests_total{endpoint="search"}[10s])) > 0`)) == 1
	})
	expressions := map[string]string{}
	boards, err := filepath.Glob(filepath.Join(root, "deploy/observability/dashboards/*.json"))
	if err != nil || len(boards) < 6 {
		t.Fatalf("%v (%v)", boards, err)
	}
	for _, name := range boards {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var b struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(raw, &b); err != nil {
			t.Fatal(err)
		}
		for _, panel := range b.Panels {
			for _, target := range panel.Targets {
				expressions[strings.NewReplacer("$__rate_interval", "10s", "$instance", ".*").Replace(target.Expr)] = filepath.Base(name) + " " + panel.Title
			}
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Record, Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(raw, &rules); err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				expressions[r.Expr] = r.Record
			} else {
				p.query(t, r.Expr)
			}
		}
	}
	if len(expressions) < 60 {
		t.Fatalf("%d expressions", len(expressions))
	}
	defer func() {
		for expr, where := range expressions {
			t.Errorf("%s has no sample: %s", where, expr)
		}
	}()
	// A rate needs two samples of each target within its window, and a busy machine misses scrapes.
	poll(t, time.Minute, "each expression has had a sample", func() bool {
		for expr := range expressions {
			if len(p.query(t, expr)) != 0 {
				delete(expressions, expr)
			}
		}
		return len(expressions) == 0
	})
}
