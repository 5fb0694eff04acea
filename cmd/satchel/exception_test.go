package main

import (
	"strings"
	"testing"

	"satchel/schemas"
)

// TestGovernedException is the life of an exception as its people see it: refused,
// registered, used, listed, revoked.
func TestGovernedException(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.must(t, "emit", "--id", "secret-1", "--label", "level:restricted", "--text", "The vault code of the Lisbon branch changes on Friday.", "--wait", "indexed")
	ask := func() string {
		return n.must(t, "ask", "--as", "auditor-7", "--level", "internal", "--text", "when does the vault code of the Lisbon branch change?")
	}
	const secret = "changes on Friday"
	if strings.Contains(ask(), secret) {
		t.Fatal("policy lets the secret through")
	}
	add := []string{"exception", "add", "--as", "officer", "--path", "read:clearance", "--for", "auditor-7", "--reason", "audit", "--trigger", "uses>=9"}
	for name, args := range map[string][]string{
		"/add/owner": {"--expires", "1h", "--role", "exception_approver"}, "/add/expires_at": {"--owner", "mara", "--role", "exception_approver"},
		"policy_denied": {"--owner", "mara", "--expires", "1h"},
	} {
		if r := n.run(t, append(add, args...)...); r.code == 0 || !strings.Contains(r.err, name) {
			t.Errorf("%s: exit code %d\n%s", name, r.code, r.err)
		}
	}
	list := mustJSON[[]schemas.ExceptionState](t, n, append(add, "--owner", "mara", "--expires", "1h", "--role", "exception_approver")...)
	if len(list) != 1 || !list[0].Live {
		t.Fatalf("registered %+v", list)
	}
	if !strings.Contains(ask(), secret) {
		t.Error("the exception does not count")
	}
	contains(t, "doctor", n.run(t, "doctor").out, list[0].ID, "owner mara", "1 use")
	contains(t, "the ledger", n.must(t, "ledger", "--kind", "exception"), "exception.registered", "exception.used")
	n.must(t, "exception", "revoke", list[0].ID, "--as", "mara")
	if strings.Contains(ask(), secret) {
		t.Error("the exception counts after it was revoked")
	}
	contains(t, "the list", n.must(t, "exception", "list", "--ended"), "ended revoked")
	contains(t, "the list", n.must(t, "exception", "list"), "no governed exceptions")
}
