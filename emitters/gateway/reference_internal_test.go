package gateway

import (
	"fmt"
	"strings"
	"testing"

	"satchel/test/parts"
)

// TestReference holds the table of operations in the documents.
func TestReference(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| method and path | scope | what |\n|---|---|---|\n")
	for _, r := range routes {
		fmt.Fprintf(&b, "| `%s %s` | `%s` | %s |\n", r.method, r.path, r.scope, r.summary)
	}
	fmt.Fprintf(&b, "| `GET %s` | `%s` | %s |\n", LedgerPath, ScopeAudit, followSummary)
	parts.Table(t, "../../docs/reference/http.md", "operations", b.String())
}
