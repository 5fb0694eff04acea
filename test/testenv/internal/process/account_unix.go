//go:build unix

package process

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// Account is who servers run as.
type Account struct {
	UID, GID int
	switched bool
}

// Own returns the account of the tests.
func Own() Account { return Account{UID: os.Geteuid(), GID: os.Getegid()} }

// AccountFor returns the account of the tests, or, for root, one without rights: some servers
// refuse root.
func AccountFor(name string) (Account, error) {
	if os.Geteuid() != 0 {
		return Own(), nil
	}
	for _, candidate := range []string{name, "nobody"} {
		u, err := user.Lookup(candidate)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		if err != nil {
			return Account{}, fmt.Errorf("look up user %q: %w", candidate, err)
		}
		gid, err := strconv.Atoi(u.Gid)
		return Account{UID: uid, GID: gid, switched: true}, err
	}
	return Account{}, fmt.Errorf("no user %q or \"nobody\" to run the server as", name)
}

// Command returns a command that runs as the account, apart from the test's own process
// group, with nothing of the test's files open.
func (a Account) Command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if a.switched {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.UID), Gid: uint32(a.GID)}
	}
	return cmd
}

// folder makes a folder that the account owns.
func (a Account) folder(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return os.Chown(path, a.UID, a.GID)
}
