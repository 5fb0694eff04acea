package main

import (
	"bytes"
	"fmt"
	"strings"

	"satchel/schemas"
)

// metricsPage is the page that has the table of metrics, between two lines.
const (
	metricsPage = "docs/reference/metrics.md"
	tableBegin  = "<!-- metrics: written by go run ./deploy/observability/gen -->\n"
	tableEnd    = "<!-- end of metrics -->\n"
)

// withTable returns the page with the table of metrics as package schemas has it.
func withTable(page []byte) ([]byte, error) {
	before, rest, found := bytes.Cut(page, []byte(tableBegin))
	_, after, ends := bytes.Cut(rest, []byte(tableEnd))
	if !found || !ends {
		return nil, fmt.Errorf("%s has no lines %q and %q", metricsPage, tableBegin, tableEnd)
	}
	return bytes.Join([][]byte{before, []byte(tableBegin), []byte(table()), []byte(tableEnd), after}, nil), nil
}

// table is the metrics in Markdown.
func table() string {
	var b strings.Builder
	b.WriteString("| metric | kind | labels | |\n|---|---|---|---|\n")
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
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.Kind, strings.Join(labels, "; "), f.Help)
	}
	return b.String()
}
