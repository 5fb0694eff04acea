package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"satchel/pipeline/meter/alert"
	"satchel/schemas"
	"satchel/test/parts"
)

const root = "../../.."

// TestFilesAreCurrent: what is committed is what the program writes.
func TestFilesAreCurrent(t *testing.T) {
	t.Parallel()
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		have, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s is not as it should be (%v): go run ./deploy/observability/gen", name, err)
		}
	}
}

// TestReference holds the tables of metrics, objectives and alerts in the documents.
func TestReference(t *testing.T) {
	t.Parallel()
	var metrics, targets, rules strings.Builder
	metrics.WriteString("| metric | kind | labels | |\n|---|---|---|---|\n")
	for _, m := range schemas.Metrics() {
		f := m.Family()
		labels := make([]string, len(f.Labels))
		for i, l := range f.Labels {
			labels[i] = l.Name
			if n := len(l.Values); n > 0 && n <= 6 {
				labels[i] += ": " + strings.Join(l.Values, ", ")
			}
		}
		if f.PerTenant {
			labels = append(labels, "*tenant*")
		}
		fmt.Fprintf(&metrics, "| `%s` | %s | %s | %s |\n", f.Name, f.Kind, strings.Join(labels, "; "), f.Help)
	}
	targets.WriteString("| objective | target | share |\n|---|---|---|\n")
	for _, o := range alert.Objectives() {
		fmt.Fprintf(&targets, "| `%s` | %v | %s |\n", o.Name, o.Target, o.Summary)
	}
	rules.WriteString("| alert | severity | fires if |\n|---|---|---|\n")
	for _, r := range alert.Rules() {
		fmt.Fprintf(&rules, "| [%s](#%s) | %s | %s |\n", alert.Prefix+r.Name, strings.ToLower(alert.Prefix+r.Name), r.Severity, r.Summary)
	}
	parts.Table(t, root+"/docs/reference/metrics.md", "metrics", metrics.String())
	parts.Table(t, root+"/docs/reference/metrics.md", "objectives", targets.String())
	parts.Table(t, root+"/"+runbook, "alerts", rules.String())
}

// TestRunbook: each alert has a heading in the runbook, and each heading an alert.
func TestRunbook(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, runbook))
	if err != nil {
		t.Fatal(err)
	}
	headings := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllSubmatch(page, -1) {
		headings[string(m[1])] = true
	}
	named := map[string]bool{}
	for _, g := range slices.Concat(alerts(false).Groups, alerts(true).Groups, objectives().Groups) {
		for _, r := range g.Rules {
			if r.Alert != "" {
				named[r.Alert] = true
				if !headings[r.Alert] || r.Annotations["runbook_url"] != runbook+"#"+strings.ToLower(r.Alert) {
					t.Errorf("%s leads to no heading of %s: %s", r.Alert, runbook, r.Annotations["runbook_url"])
				}
			}
		}
	}
	for h := range headings {
		if !named[h] {
			t.Errorf("%s: no alert is called %s", runbook, h)
		}
	}
	if len(named) < 25 {
		t.Errorf("%d alerts", len(named))
	}
}

// TestBoards: ids are unique, no panel is over another, and each says its unit and what it shows.
func TestBoards(t *testing.T) {
	t.Parallel()
	type place struct{ X, Y, W, H int }
	uids := map[string]bool{}
	for _, b := range boards() {
		raw, err := b.encode()
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			UID    string
			Panels []struct {
				ID                       int
				Title, Description, Type string
				GridPos                  place
				FieldConfig              struct{ Defaults struct{ Unit string } }
				Targets                  []struct{ Expr, RefID string }
			}
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if uids[got.UID] || len(got.Panels) < 6 {
			t.Errorf("%s: uid %q, %d panels", b.name, got.UID, len(got.Panels))
		}
		uids[got.UID] = true
		for i, p := range got.Panels {
			if p.ID != i+1 || p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
				t.Errorf("%s: panel %+v", b.name, p)
			}
			for _, o := range got.Panels[:i] {
				a, b := p.GridPos, o.GridPos
				if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
					t.Errorf("%s: %q is over %q", got.UID, p.Title, o.Title)
				}
			}
		}
	}
}
