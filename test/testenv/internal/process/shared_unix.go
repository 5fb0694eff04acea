//go:build unix

package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// startLimit is how long a server may take to accept connections.
const startLimit = 90 * time.Second

// Pinger is what a process needs to connect to a server. Its JSON is kept beside the server.
type Pinger interface {
	Ping() error // whether the server answers
}

// Share fills info with the server that the processes of one user share under name. Where none
// runs it starts one: prepare makes the folder "data" in dir, fills info and returns the command.
// While a process uses the server, until the test ends, it holds a lock on the file "users". A
// keeper stops the server once no one has held the lock for some seconds, and removes "data".
func Share(t testing.TB, name string, a Account, info Pinger, prepare func(dir string) (command []string, err error)) {
	t.Helper()
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("satchel-testenv-%d", os.Getuid()), name)
	if err := takePart(t, dir, a); err != nil {
		t.Fatalf("share a %s server: %v", name, err)
	}
	err := Locked(filepath.Join(dir, "start"), func() error {
		path := filepath.Join(dir, "info.json")
		if raw, err := os.ReadFile(path); err == nil && json.Unmarshal(raw, info) == nil && info.Ping() == nil {
			return nil
		}
		if err := os.RemoveAll(filepath.Join(dir, "data")); err != nil {
			return err
		}
		command, err := prepare(dir)
		if err != nil {
			return err
		}
		if err := keep(a, dir, command); err != nil {
			return err
		}
		if err := Await(info.Ping); err != nil {
			return err
		}
		raw, err := json.Marshal(info)
		if err != nil {
			return err
		}
		return os.WriteFile(path, raw, 0o600)
	})
	if err != nil {
		t.Fatalf("start a %s server: %v; %s", name, err, LastLines(filepath.Join(dir, "server.log")))
	}
}

// takePart makes the folder of a shared server and holds its users' lock until the test ends.
func takePart(t testing.TB, dir string, a Account) error {
	if err := errors.Join(os.MkdirAll(filepath.Dir(dir), 0o755), a.folder(dir)); err != nil {
		return err
	}
	path := filepath.Join(dir, "users")
	users, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return err
	}
	t.Cleanup(func() {
		if err := users.Close(); err != nil {
			t.Error(err)
		}
	})
	return errors.Join(os.Chown(path, a.UID, a.GID), lock(users, syscall.LOCK_SH))
}

// Locked calls fn while no other process does so with the file at path.
func Locked(path string, fn func() error) (err error) {
	guard, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, guard.Close()) }()
	if err := lock(guard, syscall.LOCK_EX); err != nil {
		return err
	}
	return fn()
}

// lock waits for a lock on a file.
func lock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// keeper runs a server and stops it, by SIGINT and then SIGTERM, once no one has used it
// for a while.
// Arguments: the folder, then the server's command.
const keeper = `cd "$1" || exit 1
shift
"$@" >server.log 2>&1 </dev/null &
server=$!
exec 9<>users
idle=0
while kill -0 $server 2>/dev/null; do
	sleep 1
	if flock -n -x 9; then
		idle=$((idle + 1))
		if [ $idle -ge 8 ]; then
			kill -INT $server
			sleep 2
			kill -TERM $server 2>/dev/null # a shell starts what it puts aside with SIGINT ignored
			wait $server
			rm -rf data info.json
			exit 0
		fi
		flock -u 9
	else
		idle=0
	fi
done`

// keep starts a server's command under a keeper.
func keep(a Account, dir string, command []string) error {
	if _, err := exec.LookPath("flock"); err != nil {
		return fmt.Errorf("keep a shared server: %w", err)
	}
	cmd := a.Command("sh", append([]string{"-c", keeper, "keeper", dir}, command...)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// Await waits until check passes, at most startLimit.
func Await(check func() error) error {
	deadline := time.Now().Add(startLimit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		<-tick.C
	}
}
