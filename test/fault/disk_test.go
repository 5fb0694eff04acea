package fault

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"satchel/test/testenv"
)

// smallDisk mounts a file system of so many MiB, or skips the test where that is not
// allowed.
func smallDisk(t *testing.T, size string) (dir string, grow func(size string)) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "disk")
	must(t, os.Mkdir(dir, 0o700))
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "satchel-fault", dir).CombinedOutput(); err != nil {
		if testenv.Required("tmpfs") {
			t.Fatalf("mount a small disk: %v: %s", err, out)
		}
		t.Skipf("no small disk can be mounted here: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("unmount: %v: %s", err, out)
		}
	})
	return dir, func(size string) {
		t.Helper()
		if out, err := exec.Command("mount", "-o", "remount,size="+size, dir).CombinedOutput(); err != nil {
			t.Fatalf("grow the disk: %v: %s", err, out)
		}
	}
}

// TestAFullDisk fills the disk under load. What was acknowledged is there when there is
// room again, and meanwhile the process says that it is not ready.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	disk, grow := smallDisk(t, "12m")
	n, r := nodeAt(t, filepath.Join(disk, "data")), newRecord()
	if !n.start(t) {
		t.Fatal("satchel up did not start")
	}
	poll(t, 10*time.Second, "the node is ready", func() bool {
		code, _ := n.ready()
		return code == 200
	})
	stop := load(n, r, 1, (*producer).one, (*producer).batch, (*producer).batch, (*producer).ask)
	said := ""
	poll(t, 30*time.Second, "readiness is 503 on a full disk", func() bool {
		code, body := n.ready()
		said = body
		return code == 503 || code == 0
	})
	stop()
	t.Logf("not ready: %s", strings.TrimSpace(said))
	if strings.Contains(said, "note ") {
		t.Errorf("readiness tells content: %s", said)
	}
	n.kill()
	grow("200m")
	if !n.start(t) {
		t.Fatal("satchel up did not start again")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	again := load(n, r, 2, (*producer).one, (*producer).put)
	<-ctx.Done()
	again()
	r.finish(t, n)
}
