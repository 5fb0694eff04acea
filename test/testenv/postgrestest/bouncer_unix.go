//go:build unix

package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"satchel/test/must"
	"satchel/test/parts"
	"satchel/test/testenv"
	"satchel/test/testenv/internal/process"
)

// Bouncer starts a pgbouncer in front of a database of [Open], with the settings that it comes with and a pool_mode,
// and returns the database's URL there.
func Bouncer(t testing.TB, database, mode string) string {
	t.Helper()
	bin, err := exec.LookPath("pgbouncer")
	if err != nil {
		bin = "/usr/sbin/pgbouncer"
	}
	if _, err := os.Stat(bin); err != nil {
		parts.Missing(t, "pgbouncer", "no pgbouncer on this machine (Debian: apt-get install pgbouncer)")
	}
	a, err := process.AccountFor("postgres")
	if err != nil {
		parts.Missing(t, "pgbouncer", err.Error())
	}
	at := must.Get(url.Parse(database))(t)
	port := must.Get(testenv.FreePort())(t)
	dir := must.Get(os.MkdirTemp("", "pgbouncer-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	password, _ := at.User.Password()
	users, ini := filepath.Join(dir, "users"), filepath.Join(dir, "pgbouncer.ini")
	settings := fmt.Sprintf("[databases]\n* = host=%s port=%s\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port=%d\nunix_socket_dir=\nauth_type=scram-sha-256\nauth_file=%s\npool_mode=%s\n",
		at.Hostname(), at.Port(), port, users, mode)
	err = errors.Join(os.WriteFile(users, fmt.Appendf(nil, "%q %q\n", at.User.Username(), password), 0o600), os.WriteFile(ini, []byte(settings), 0o600),
		os.Chmod(dir, 0o755), os.Chown(users, a.UID, a.GID), os.Chown(ini, a.UID, a.GID))
	if err != nil {
		t.Fatal(err)
	}
	cmd := a.Command(bin, "-q", ini)
	if err := cmd.Start(); err != nil {
		t.Fatalf("start pgbouncer: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	at.Host = fmt.Sprintf("127.0.0.1:%d", port)
	ping := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, at.String())
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	}
	if err := process.Await(ping); err != nil {
		t.Fatalf("start pgbouncer: %v", err)
	}
	return at.String()
}
