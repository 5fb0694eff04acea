//go:build !unix

package testenv

import (
	"fmt"
	"net"
	"testing"

	"satchel/test/parts"
)

func tryPort(port int) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return l.Close()
}

// Postgres skips the test: no server is started on this system.
func Postgres(t testing.TB) string {
	t.Helper()
	parts.Missing(t, "postgres", "servers are started on Unix only")
	return ""
}

// PgBouncer skips the test: no server is started on this system.
func PgBouncer(t testing.TB, database, mode string) string {
	t.Helper()
	parts.Missing(t, "pgbouncer", "servers are started on Unix only")
	return ""
}
