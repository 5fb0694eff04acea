//go:build !unix

package testenv

import "testing"

// Postgres skips the test: no server is started on this system.
func Postgres(t testing.TB) string {
	t.Helper()
	Missing(t, "postgres", "servers are started on Unix only")
	return ""
}
