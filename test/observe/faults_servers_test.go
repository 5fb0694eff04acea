package observe

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/jetstream"
	"satchel/policies/rego"
	"satchel/schemas"
	"satchel/test/parts"
	"satchel/test/testenv"
	"satchel/test/testenv/opatest"
	"satchel/test/testenv/qdranttest"
)

// flood asks more at once than a pool of one worker takes.
func flood(t *testing.T, tr *trial) {
	w := tr.watch(t, t.TempDir(), "--pool", "1")
	w.Must(t, "emit", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
	stop := w.ask(t, 500*time.Millisecond, "when does the quetzal sleep?", 200)
	w.all(t, false, "Refusing", "AvailabilityBurn")
	nc := w.connect(t)
	calm := repeat(t, 200*time.Millisecond, func(n int) {
		for i := range 50 {
			one := question(fmt.Sprintf("flood-%d-%d", n, i), "when does the quetzal sleep?", 200)
			_ = nc.PublishRequest("ctx.v1.main.request", nats.NewInbox(), []byte(one))
		}
	})
	w.all(t, true, "Refusing", "AvailabilityBurn")
	calm()
	w.all(t, false, "Refusing", "AvailabilityBurn")
	stop()
}

// slowIndex delays each answer of the index server by more than a second.
func slowIndex(t *testing.T, tr *trial) {
	server := qdranttest.StartStandIn(t)
	wire := testenv.StartWire(t, strings.TrimPrefix(server.URL, "http://"))
	w := tr.watch(t, t.TempDir(), "--qdrant-url", "http://"+wire.Address)
	w.Must(t, "emit", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
	stop, writer := w.ask(t, 300*time.Millisecond, "when does the quetzal sleep?", 200), w.writer(t)
	write := repeat(t, 500*time.Millisecond, func(n int) {
		text := schemas.TextContent(fmt.Sprintf("the kiln was opened %d times", n))
		_, _ = writer.Remember(t.Context(), schemas.MemoryItem{Content: text}, nil)
	})
	names := []string{"RetrievalSlow", "LatencyBurn", "LatencyTailBurn", "FreshnessBurn"}
	w.all(t, false, names...)
	wire.Slow(600 * time.Millisecond)
	w.all(t, true, names...)
	wire.Pass()
	w.all(t, false, "RetrievalSlow", "FreshnessBurn")
	stop() // on a busy machine one request in a hundred stays slow
	w.all(t, false, "LatencyBurn", "LatencyTailBurn")
	write()
}

// slowPolicy has an OPA server decide. While it is away every request fails, which spends the budget of availability.
func slowPolicy(t *testing.T, tr *trial) {
	server := opatest.Start(t, rego.Bundle(), "built-in")
	wire := testenv.StartWire(t, strings.TrimPrefix(server.URL, "http://"))
	w := tr.watch(t, t.TempDir(), "--opa-url", "http://"+wire.Address, "--opa-cache-ttl-ms", "0")
	w.Must(t, "emit", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
	stop := w.ask(t, 300*time.Millisecond, "when does the quetzal sleep?", 200)
	w.all(t, false, "SlicingSlow", "PolicyErrors", "AvailabilityBurn")
	wire.Slow(100 * time.Millisecond)
	w.fires(t, "SlicingSlow", true)
	wire.Pass()
	w.fires(t, "SlicingSlow", false)
	wire.Hold()
	w.all(t, true, "PolicyErrors", "AvailabilityBurn")
	wire.Pass()
	w.all(t, false, "PolicyErrors", "AvailabilityBurn")
	stop()
}

// witness is a satchel witness.
type witness struct {
	dir, logs, address, vkey string
	process                  *exec.Cmd
}

var witnessLine = regexp.MustCompile(`^witness \S+ (\S+) http://(\S+)/\n$`)

// start starts it, under its former address.
func (w *witness) start(t *testing.T) {
	t.Helper()
	w.process = exec.Command(binary(t), "witness", "--dir", w.dir, "--name", "witness.example.org/w1",
		"--logs", w.logs, "--listen", w.address)
	out, err := w.process.StdoutPipe()
	must(t, err)
	must(t, w.process.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	found := witnessLine.FindStringSubmatch(line)
	if err != nil || found == nil {
		t.Fatalf("satchel witness said %q (%v)", line, err)
	}
	w.vkey, w.address = found[1], found[2]
}

func (w *witness) kill() {
	_ = w.process.Process.Kill() // it may have ended
	_ = w.process.Wait()
}

// witnessed stops the witness and starts it again, then puts an older folder back and the newer one again.
func witnessed(t *testing.T, tr *trial) {
	by := &witness{dir: t.TempDir(), logs: filepath.Join(t.TempDir(), "logs.txt"), address: "127.0.0.1:0"}
	must(t, os.WriteFile(by.logs, nil, 0o600))
	by.start(t)
	t.Cleanup(func() { by.kill() })
	file := filepath.Join(t.TempDir(), "witnesses.txt")
	must(t, os.WriteFile(file, fmt.Appendf(nil, "witness w1 %s http://%s/\nquorum w1\n", by.vkey, by.address), 0o600))
	newer, older := t.TempDir(), filepath.Join(t.TempDir(), "older")
	w := tr.watch(t, newer, "--witnesses", file)
	w.all(t, false, "NotWitnessed", "WitnessConflict")
	cosigned := func(size int) {
		t.Helper()
		poll(t, 2*time.Minute, fmt.Sprintf("the witness cosigned %d entries", size), func() bool {
			return len(tr.p.query(t, fmt.Sprintf("satchel_witness_size{instance=%q} >= %d", w.HTTP, size))) == 1
		})
	}
	w.Must(t, "emit", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
	raw, err := jetstream.Request(within(t), w.connect(t), "log.v1.main.head", []byte("{}"))
	must(t, err)
	var head schemas.HeadReply
	must(t, json.Unmarshal(raw, &head))
	must(t, os.WriteFile(by.logs, []byte("log "+head.PublicKey+"\n"), 0o600))
	cosigned(1)
	w.fires(t, "NotWitnessed", false)

	by.kill()
	w.Must(t, "emit", "--text", "nobody cosigns this at first", "--wait", "indexed")
	w.fires(t, "NotWitnessed", true)
	by.start(t)
	w.fires(t, "NotWitnessed", false)

	w.Stop()
	must(t, os.CopyFS(older, os.DirFS(newer)))
	w.again(t)
	w.Must(t, "emit", "--text", "the older folder does not have this", "--wait", "indexed")
	cosigned(3)
	w.Stop()
	w.Dir = older
	w.again(t)
	w.fires(t, "WitnessConflict", true)
	w.Stop()
	w.Dir = newer
	w.again(t)
	w.fires(t, "WitnessConflict", false)
}

// noBackup has a backup refused, and none is made for long. satchel gateway keeps no data: nothing of it is stale.
// Requests without its tokens come to it.
func noBackup(t *testing.T, tr *trial) {
	w := tr.watch(t, t.TempDir())
	w.Must(t, "emit", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
	w.fires(t, "BackupStale", false)
	must(t, os.WriteFile(tr.p.token, []byte(w.Token(t, "prometheus", "--scope", "memory.audit")), 0o600))
	url, _ := w.Gateway(t)
	gateway := strings.TrimPrefix(url, "http://")
	tr.p.scrape(t, gateway)
	tr.fires(t, gateway, "AuthFailures", false)

	stop := repeat(t, 100*time.Millisecond, func(int) {
		if req, err := http.NewRequest(http.MethodGet, url+"/metrics", http.NoBody); err == nil {
			req.Header.Set("Authorization", "Bearer guessed")
			if res, err := http.DefaultClient.Do(req); err == nil {
				res.Body.Close()
			}
		}
	})
	tr.fires(t, gateway, "AuthFailures", true)
	stop()
	tr.fires(t, gateway, "AuthFailures", false)

	occupied := filepath.Join(t.TempDir(), "occupied")
	must(t, os.WriteFile(occupied, nil, 0o600))
	if out, code := w.Run(t, "backup", occupied); code == 0 {
		t.Fatalf("a backup into a file succeeded: %s", out)
	}
	w.fires(t, "BackupStale", true)
	for _, name := range []string{"BackupStale", "VerifyStale"} {
		tr.fires(t, gateway, name, false)
	}
	w.Must(t, "backup", filepath.Join(t.TempDir(), "backup"))
	w.fires(t, "BackupStale", false)
}

// noCheck: the check of the logs ends when it finds damage, and verifies none of them any more.
func noCheck(t *testing.T, tr *trial) {
	w := tr.watch(t, t.TempDir())
	w.Must(t, "emit", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
	w.fires(t, "VerifyStale", false)
	w.change(t, "time + 1")
	w.again(t)
	w.fires(t, "VerifyStale", true)
	w.change(t, "time - 1")
	w.again(t)
	w.fires(t, "VerifyStale", false)
}

// smallDisk makes the disk of the data folder smaller, and large again.
func smallDisk(t *testing.T, tr *trial) {
	disk := filepath.Join(t.TempDir(), "disk")
	must(t, os.Mkdir(disk, 0o700))
	mount := exec.Command("mount", "-t", "tmpfs", "-o", "size=2g", "satchel-observe", disk)
	if out, err := mount.CombinedOutput(); err != nil {
		parts.Missing(t, "tmpfs", "no disk can be mounted here: "+strings.TrimSpace(string(out)))
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", disk).CombinedOutput(); err != nil {
			t.Errorf("unmount: %v: %s", err, out)
		}
	})
	size := func(size string) {
		t.Helper()
		if out, err := exec.Command("mount", "-o", "remount,size="+size, disk).CombinedOutput(); err != nil {
			t.Fatalf("make the disk %s: %v: %s", size, err, out)
		}
	}
	w := tr.watch(t, filepath.Join(disk, "data"))
	w.Must(t, "emit", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
	w.fires(t, "DiskLow", false)
	size("900m")
	w.fires(t, "DiskLow", true)
	size("2g")
	w.fires(t, "DiskLow", false)
}
