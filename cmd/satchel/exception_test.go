package main

import (
	"slices"
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
	for says, c := range map[string]struct {
		args []string
		code int
	}{
		"missing flags: --owner":   {[]string{"--expires", "1h", "--role", "exception_approver"}, exitUsage},
		"missing flags: --expires": {[]string{"--owner", "mara", "--role", "exception_approver"}, exitUsage},
		"--path: must be one of":   {[]string{"--owner", "mara", "--expires", "1h", "--role", "exception_approver", "--path", "read:nosuch"}, exitUsage},
		"policy_denied":            {[]string{"--owner", "mara", "--expires", "1h"}, exitFailed},
	} {
		if r := n.run(t, append(slices.Clone(add), c.args...)...); r.code != c.code || !strings.Contains(r.err, says) || strings.Contains(r.err, "/add/") {
			t.Errorf("%s: exit code %d\n%s", says, r.code, r.err)
		}
	}
	if r := n.run(t, "exception", "add"); r.code != exitUsage || !strings.Contains(r.err, "--for=") || !strings.Contains(r.err, "--reason=") {
		t.Errorf("without flags: exit code %d\n%s", r.code, r.err)
	}
	list := mustJSON[[]schemas.ExceptionState](t, n, append(add, "--owner", "mara", "--expires", "1h", "--role", "exception_approver")...)
	if len(list) != 1 || !list[0].Live {
		t.Fatalf("registered %+v", list)
	}
	if !strings.Contains(ask(), secret) {
		t.Error("the exception does not count")
	}
	contains(t, "doctor", n.run(t, "doctor").out, list[0].ID, "owner mara", "1 use")
	contains(t, "the ledger", n.must(t, "ledger", "--kind", "exception"), "exception.registered", "exception.used", list[0].ID+" read:clearance")
	n.must(t, "exception", "revoke", list[0].ID, "--as", "mara")
	if strings.Contains(ask(), secret) {
		t.Error("the exception counts after it was revoked")
	}
	contains(t, "the list", n.must(t, "exception", "list", "--ended"), "ended revoked")
	contains(t, "the list", n.must(t, "exception", "list"), "no governed exceptions")
}
