package testenv_test

import (
	"fmt"
	"net"
	"os/exec"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"satchel/test/testenv"
	"satchel/test/testenv/postgrestest"
)

func TestAFreePortCanBeListenedOnWhileProcessesStart(t *testing.T) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_ = exec.Command("true").Run()
				}
			}
		})
	}
	defer wg.Wait()
	defer close(done)
	taken := 0 // by tests of other packages, which choose ports at the same time
	for range 500 {
		port, err := testenv.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			if taken++; taken > 2 {
				t.Fatal(err)
			}
			continue
		}
		l.Close()
	}
}

// TestPostgresIsFresh: what one test writes no other sees, on one server.
func TestPostgresIsFresh(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"one", "two", "three"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := pgx.Connect(t.Context(), postgrestest.Open(t))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			if _, err := conn.Exec(t.Context(), "CREATE TABLE mine (x int)"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPostgresServer(t *testing.T) {
	t.Parallel()
	p := postgrestest.Start(t)
	p.Exec("CREATE TABLE kept (x int); INSERT INTO kept VALUES (7)")
	p.Stop()
	restore := p.Backup()
	p.Start()
	p.Exec("DELETE FROM kept")
	p.Kill()
	restore()
	p.Start()
	p.Pause()
	p.Resume()
	p.Exec("DO $$ BEGIN ASSERT (SELECT x FROM kept) = 7; END $$")
}
