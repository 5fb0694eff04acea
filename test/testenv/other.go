//go:build !unix

package testenv

import (
	"fmt"
	"net"
	"testing"
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
	Missing(t, "postgres", "servers are started on Unix only")
	return ""
}

// PgBouncer skips the test: no server is started on this system.
func PgBouncer(t testing.TB, database, mode string) string {
	t.Helper()
	Missing(t, "pgbouncer", "servers are started on Unix only")
	return ""
}
