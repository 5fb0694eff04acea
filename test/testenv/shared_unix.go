//go:build unix

package testenv

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// startLimit is how long a server may take to accept connections.
const startLimit = 90 * time.Second

// tryPort returns whether 127.0.0.1:port can be listened on. No process starts meanwhile: it
// would have a copy of the socket until it runs its program, and the port would not be free.
func tryPort(port int) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return errors.Join(
		syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
		syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}),
		syscall.Listen(fd, 1),
		syscall.Close(fd))
}

// account is who servers run as: the one of the tests, or, for root, one without rights,
// because some servers refuse root.
type account struct {
	uid, gid int
	switched bool
}

func accountFor(name string) (account, error) {
	if os.Geteuid() != 0 {
		return account{uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	for _, candidate := range []string{name, "nobody"} {
		u, err := user.Lookup(candidate)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		if err != nil {
			return account{}, fmt.Errorf("look up user %q: %w", candidate, err)
		}
		gid, err := strconv.Atoi(u.Gid)
		return account{uid: uid, gid: gid, switched: true}, err
	}
	return account{}, fmt.Errorf("no user %q or \"nobody\" to run the server as", name)
}

// command returns a command that runs as the account, apart from the test's own process
// group, with nothing of the test's files open.
func (a account) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if a.switched {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return cmd
}

// folder makes a folder that the account owns.
func (a account) folder(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return os.Chown(path, a.uid, a.gid)
}

// shared is a server that the processes of one user share. While a process uses it, it
// holds a lock on the file "users"; a keeper started with the server stops it once nobody
// has held the lock for some seconds, and removes the folder "data".
type shared struct {
	dir     string
	account account
	users   *os.File
}

// openShared takes part in the server kept under name, until the test ends. Its start
// runs under a lock that other processes wait for.
func openShared(t testing.TB, name string, a account) (*shared, error) {
	s := &shared{dir: filepath.Join(os.TempDir(), fmt.Sprintf("satchel-testenv-%d", os.Getuid()), name), account: a}
	if err := os.MkdirAll(filepath.Dir(s.dir), 0o755); err != nil {
		return nil, err
	}
	if err := a.folder(s.dir); err != nil {
		return nil, err
	}
	path := filepath.Join(s.dir, "users")
	users, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := users.Close(); err != nil {
			t.Error(err)
		}
	})
	s.users = users
	return s, errors.Join(os.Chown(path, a.uid, a.gid), lock(users, syscall.LOCK_SH))
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

// run gives info of the running server, which alive confirms; when there is none it calls
// start, which fills info. One process at a time does so.
func (s *shared) run(info any, alive func() error, start func() error) (err error) {
	guard, err := os.OpenFile(filepath.Join(s.dir, "start"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, guard.Close()) }()
	if err := lock(guard, syscall.LOCK_EX); err != nil {
		return err
	}
	path := filepath.Join(s.dir, "info.json")
	if raw, err := os.ReadFile(path); err == nil && json.Unmarshal(raw, info) == nil && alive() == nil {
		return nil
	}
	if err := os.RemoveAll(filepath.Join(s.dir, "data")); err != nil {
		return err
	}
	if err := start(); err != nil {
		return err
	}
	raw, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o600)
}

// keeper runs a server and stops it, by SIGINT and then SIGTERM, once nobody has used it
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

// keep starts the server's command under a keeper.
func (s *shared) keep(command ...string) error {
	if _, err := exec.LookPath("flock"); err != nil {
		return fmt.Errorf("keep a shared server: %w", err)
	}
	cmd := s.account.command("sh", append([]string{"-c", keeper, "keeper", s.dir}, command...)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// await waits until check passes, at most startLimit.
func await(check func() error) error {
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

// backup copies the folder data below dir, with its owners and rights; restore puts it back.
// The server is not running at either.
func backup(t testing.TB, dir string, running func() bool) (restore func()) {
	t.Helper()
	copyTree := func(from, to string) {
		t.Helper()
		if running() {
			t.Fatal("the data of a running server is copied")
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatalf("remove %s: %v", to, err)
		}
		if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
			t.Fatalf("copy %s: %v %s", from, err, out)
		}
	}
	data, kept := filepath.Join(dir, "data"), filepath.Join(dir, "backup")
	copyTree(data, kept)
	return func() { copyTree(kept, data) }
}
