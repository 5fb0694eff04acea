//go:build !unix

package postgrestest

import (
	"testing"

	"satchel/test/parts"
)

// Open skips the test: no server is started on this system.
func Open(t testing.TB) string {
	t.Helper()
	parts.Missing(t, "postgres", "servers are started on Unix only")
	return ""
}

// Bouncer skips the test: no server is started on this system.
func Bouncer(t testing.TB, database, mode string) string {
	t.Helper()
	parts.Missing(t, "pgbouncer", "servers are started on Unix only")
	return ""
}
