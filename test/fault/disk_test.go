package fault

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"satchel/test/parts"
	"satchel/test/testenv/neo4jtest"
	"satchel/test/testenv/postgrestest"
	"satchel/test/testenv/qdranttest"
)

// smallDisk mounts a file system of so many MiB, or skips the test where that is not
// allowed.
func smallDisk(t *testing.T, size string) (dir string, grow func(size string)) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "disk")
	must(t, os.Mkdir(dir, 0o700))
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "satchel-fault", dir).CombinedOutput(); err != nil {
		if parts.Required("tmpfs") {
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

// TestAFullDisk fills the disk under load and frees it, twice, while the process goes on.
// Meanwhile it says that it is not ready and why, and refuses at once. What was acknowledged
// is there once afterwards. Nothing is erased meanwhile: nats-server 2.15.2 may wait for itself
// when it has no room to compact a stream, and then only a new process helps.
func TestAFullDisk(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	disk, _ := smallDisk(t, "64m")
	n, r := nodeAt(t, filepath.Join(disk, "data")), newRecord()
	if !n.start(t) {
		t.Fatal("satchel up did not start")
	}
	stop := load(n, r, crashSeed(t), paced((*producer).one), paced((*producer).batch), paced((*producer).put), paced((*producer).ask))
	poll(t, 2*time.Minute, "events and requests flow", func() bool { return r.enough(21, 2) })
	for range 2 {
		free := fill(t, disk)
		said := ""
		poll(t, 2*time.Minute, "readiness is 503 and names the stream", func() bool {
			code, body := n.ready()
			said = body
			return code == 503 && strings.Contains(body, "stream ")
		})
		t.Logf("not ready: %s", strings.TrimSpace(said))
		if strings.Contains(said, "note ") || !strings.Contains(said, "no space left on device") || !strings.Contains(said, "free 16 MiB") {
			t.Errorf("readiness tells content, or not what to do: %s", said)
		}
		began := time.Now()
		if out, code := n.run(t, "emit", "--text", "one more"); code != 1 || !strings.Contains(out, "the disk of the streams is or was full") {
			t.Errorf("emit ended with %d: %s", code, out)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("emit was refused after %v", took)
		}
		if out, code := n.run(t, "doctor", "--http-addr", n.http); code != 3 || !regexp.MustCompile(`(?m)^NO +ready .*no space left on device; free 16 MiB`).MatchString(out) {
			t.Errorf("doctor ended with %d: %s", code, out)
		}
		before := r.acknowledged()
		free()
		poll(t, 2*time.Minute, "it is ready again", func() bool { code, _ := n.ready(); return code == 200 })
		poll(t, 2*time.Minute, "events are taken again", func() bool { return r.acknowledged() > before+20 })
	}
	if n.ended() {
		t.Error("the process ended")
	}
	stop()
	r.finish(t, n)
}

// TestKilledOnAFullDisk fills the disk under load and kills the process. What was
// acknowledged is there when there is room again and it is started.
func TestKilledOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk, grow := smallDisk(t, "12m")
	n, r := nodeAt(t, filepath.Join(disk, "data")), newRecord()
	if !n.start(t) {
		t.Fatal("satchel up did not start")
	}
	poll(t, 2*time.Minute, "the node is ready", func() bool {
		code, _ := n.ready()
		return code == 200
	})
	stop := load(n, r, 1, (*producer).one, (*producer).batch, (*producer).batch, (*producer).ask)
	said := ""
	poll(t, 2*time.Minute, "readiness is 503 on a full disk", func() bool {
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

// TestForgetOnAFullDisk: an erasure that cannot be carried out has a typed error soon. One that
// was accepted is carried out when there is room.
func TestForgetOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk, grow := smallDisk(t, "40m")
	n := nodeAt(t, filepath.Join(disk, "data"))
	if !n.start(t) {
		t.Fatal("satchel up did not start")
	}
	for _, id := range []string{"a", "b"} {
		if out, code := n.run(t, "emit", "--id", id, "--text", "the kiln of "+id); code != 0 {
			t.Fatalf("emit ended with %d: %s", code, out)
		}
	}
	fill(t, disk)
	accepted := false
	for _, id := range []string{"a", "b"} {
		began := time.Now()
		out, code := n.run(t, "forget", id)
		if code != 1 || !strings.Contains(out, "storage_error") {
			t.Errorf("forget %s ended with %d: %s", id, code, out)
		}
		if took := time.Since(began); took > 5*time.Second { // about half a second on a machine at rest
			t.Errorf("forget %s was refused after %v", id, took)
		}
		accepted = accepted || id == "a" && strings.Contains(out, "which is under way")
	}
	n.kill()
	grow("200m")
	if !n.start(t) {
		t.Fatal("satchel up did not start again")
	}
	if !accepted {
		return
	}
	poll(t, 2*time.Minute, "the accepted erasure is carried out", func() bool {
		out, _ := n.run(t, "forget", "a")
		return strings.Contains(out, "it was erased, and the receipt is at log position")
	})
}

// TestAStartOnAFullDisk says what it needs, and where.
func TestAStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk, _ := smallDisk(t, "12m")
	n := nodeAt(t, filepath.Join(disk, "data"))
	free := fill(t, disk)
	if n.start(t) {
		t.Fatal("satchel up started without any room")
	}
	if said := n.said(t); !strings.Contains(said, "the disk of the data folder "+n.dir+" is full") || !strings.Contains(said, "free 16 MiB there and start again") {
		t.Errorf("it said: %s", said)
	}
	free()
	if !n.start(t) {
		t.Error("satchel up did not start when there was room")
	}
}

// fill takes all the room there is on a disk, until the function that it returns.
func fill(t *testing.T, disk string) (free func()) {
	t.Helper()
	path := filepath.Join(disk, "ballast")
	f, err := os.Create(path)
	must(t, err)
	for piece := 1 << 20; piece >= 1<<9; { // what others take meanwhile, they take
		if _, err := f.Write(make([]byte, piece)); err != nil {
			piece /= 2
		}
	}
	must(t, f.Close())
	return func() { t.Helper(); must(t, os.Remove(path)) }
}

// TestServersOnAFullDisk fills the disk under the Postgres that keeps the log and, where
// they are, the Qdrant that keeps the vectors and the Neo4j that keeps the graph, while events and requests flow. Events
// are taken all the same, readiness says what lags, and when there is room again and the
// servers are started, the backlog drains: nothing is lost or there twice.
func TestServersOnAFullDisk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, size string
		start      func(t *testing.T, n *node, disk string) (restart func())
	}{
		{"Postgres", "200m", func(t *testing.T, n *node, disk string) func() {
			p := postgrestest.StartIn(t, disk)
			n.database = p.URL
			return func() { p.Stop(); p.Start() }
		}},
		{"Qdrant", "600m", func(t *testing.T, n *node, disk string) func() {
			v := qdranttest.StartIn(t, disk)
			n.servers.vector = v
			return func() { v.Stop(); v.Start() }
		}},
		{"Neo4j", "300m", func(t *testing.T, n *node, disk string) func() {
			if !parts.Required("neo4j") {
				t.Skip("runs where neo4j is required: it starts the server twice")
			}
			g := neo4jtest.StartIn(t, disk)
			n.servers.graph = g
			return func() { g.Kill(); g.Start() }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			disk, _ := smallDisk(t, c.size)
			for _, dir := range []string{disk, filepath.Dir(disk), filepath.Dir(filepath.Dir(disk))} {
				must(t, os.Chmod(dir, 0o755)) // the server is another user's
			}
			n, r := newNode(t), newRecord()
			restart := c.start(t, n, disk)
			if !n.start(t) {
				t.Fatal("satchel up did not start")
			}
			stop := load(n, r, crashSeed(t), paced((*producer).one), paced((*producer).batch), paced((*producer).put), paced((*producer).ask), paced((*producer).forget))
			poll(t, 2*time.Minute, "events and requests flow", func() bool { return r.enough(21, 2) })
			free := fill(t, disk)
			said := ""
			poll(t, 2*time.Minute, "readiness is 503", func() bool {
				code, body := n.ready()
				said = body
				return code == 503
			})
			t.Logf("not ready: %s", strings.TrimSpace(said))
			if strings.Contains(said, "note ") {
				t.Errorf("readiness tells content: %s", said)
			}
			before := r.acknowledged()
			poll(t, 2*time.Minute, "events are taken while the server's disk is full", func() bool { return r.acknowledged() > before+10 })
			free()
			restart()
			stop() // or the backlog may grow faster than a slow machine drains it
			poll(t, 5*time.Minute, "it is ready again", func() bool { code, _ := n.ready(); return code == 200 })
			r.finish(t, n)
		})
	}
}
