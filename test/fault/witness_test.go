package fault

import (
	"bufio"
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
	cosign "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"

	"satchel/jetstream"
	"satchel/schemas"
	"satchel/test/parts"
)

// witness is a satchel witness that is started and killed again and again on one folder.
type witness struct {
	bin, dir, address string
	vkey              string
	cmd               *exec.Cmd
	exited            chan struct{}
}

func newWitness(t *testing.T) *witness {
	t.Helper()
	w := &witness{bin: binary(t), dir: t.TempDir(), address: "127.0.0.1:0"}
	must(t, os.WriteFile(w.logs(), nil, 0o600))
	t.Cleanup(w.kill)
	w.start(t)
	return w
}

func (w *witness) logs() string { return filepath.Join(w.dir, "logs.txt") }

// start starts it under its former address.
func (w *witness) start(t *testing.T, env ...string) {
	t.Helper()
	w.cmd = exec.Command(w.bin, "witness", "--dir", w.dir, "--name", "witness.example.org/w1",
		"--logs", w.logs(), "--listen", w.address)
	w.cmd.Env, w.cmd.Stderr = append(os.Environ(), env...), os.Stderr
	out, err := w.cmd.StdoutPipe()
	must(t, err)
	must(t, w.cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	found := regexp.MustCompile(`^witness \S+ (\S+) http://(\S+)/\n$`).FindStringSubmatch(line)
	if err != nil || found == nil {
		t.Fatalf("satchel witness said %q (%v)", line, err)
	}
	if w.vkey != "" && w.vkey != found[1] {
		t.Fatalf("the key is another after a start: %s", found[1])
	}
	w.vkey, w.address = found[1], found[2]
	cmd, exited := w.cmd, make(chan struct{})
	w.exited = exited
	go func() {
		defer close(exited)
		_ = cmd.Wait() // it is killed: an error is what it ends with
	}()
}

func (w *witness) kill() {
	if w.cmd != nil {
		_ = w.cmd.Process.Kill() // it may have killed itself
		<-w.exited
	}
}

// witnessed is a node whose heads the witness cosigns.
func witnessed(t *testing.T, n *node, w *witness) (env string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "witnesses.txt")
	must(t, os.WriteFile(path, fmt.Appendf(nil, "witness w1 %s http://%s/\nquorum w1\n", w.vkey, w.address), 0o600))
	return "SATCHEL_WITNESSES=" + path
}

// head is what log.v1.main.head answers.
func (n *node) head(t *testing.T) schemas.HeadReply {
	t.Helper()
	nc, err := nats.Connect(n.address(t.Context()))
	must(t, err)
	defer nc.Close()
	raw, err := jetstream.Request(t.Context(), nc, "log.v1.main.head", []byte("{}"))
	must(t, err)
	return decoded[schemas.HeadReply](t, string(raw))
}

// cosignedSize waits until the witness has cosigned what the log has, and returns its size.
func (n *node) cosignedSize(t *testing.T, w *witness) int64 {
	t.Helper()
	verifier, err := cosign.NewVerifierForCosignatureV1(w.vkey)
	must(t, err)
	var h schemas.HeadReply
	poll(t, time.Minute, "the head is cosigned", func() bool {
		h = n.head(t)
		return strings.HasPrefix(h.Witnessed, strings.Join(strings.SplitN(h.Checkpoint, "\n", 4)[:3], "\n")+"\n")
	})
	log, err := note.NewVerifier(h.PublicKey)
	must(t, err)
	if got, err := note.Open([]byte(h.Witnessed), note.VerifierList(log, verifier)); err != nil || len(got.Sigs) != 2 {
		t.Fatalf("the witnessed head is not that of log and witness: %v\n%s", err, h.Witnessed)
	}
	return h.Size
}

// inConflict waits until the node is not ready because of the witness.
func (n *node) inConflict(t *testing.T, why string) {
	t.Helper()
	poll(t, time.Minute, "the conflict is told", func() bool {
		status, text := n.ready()
		return status == http.StatusServiceUnavailable && strings.Contains(text, why)
	})
}

func (n *node) remember(t *testing.T, text string) {
	t.Helper()
	n.must(t, "emit", "--text", text, "--wait", "indexed")
}

// TestWitness: a log that was rolled back with everything that is kept of its heads, and one of which a
// copy goes on elsewhere, are found out by the witness. It cosigns one of two forks, though it is killed
// between check and store, and between store and reply.
func TestWitness(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	w, first := newWitness(t), newNode(t)
	env := witnessed(t, first, w)
	if !first.start(t, env) {
		t.Fatal("the node did not start")
	}
	first.remember(t, "the kiln is fired on Mondays")
	must(t, os.WriteFile(w.logs(), []byte("log "+first.head(t).PublicKey+"\n"), 0o600)) // until then it is unknown
	if size := first.cosignedSize(t, w); size != 1 {
		t.Errorf("cosigned %d entries", size)
	}
	first.stop()
	second, third := newNode(t), newNode(t) // copies of the folder, with the key
	copyDir(t, first.dir, second.dir)
	copyDir(t, first.dir, third.dir)

	// The first fork is submitted, and the witness dies before it has stored it.
	w.kill()
	w.start(t, "SATCHEL_FAILPOINT=witness.checked")
	if !first.start(t, env) {
		t.Fatal("the node did not start again")
	}
	first.remember(t, "the glaze is celadon")
	<-w.exited
	first.stop()
	w.start(t)
	if !second.start(t, env) { // the other fork is cosigned: nobody has the cosignature of the first
		t.Fatal("the copy did not start")
	}
	second.remember(t, "the glaze is cobalt")
	if size := second.cosignedSize(t, w); size != 2 {
		t.Errorf("cosigned %d entries of the second fork", size)
	}

	// The next head is stored, and the witness dies before it replies: the log asks again.
	w.kill()
	w.start(t, "SATCHEL_FAILPOINT=witness.stored")
	second.remember(t, "the clay is from Limoges")
	<-w.exited
	w.start(t)
	if size := second.cosignedSize(t, w); size != 3 {
		t.Errorf("cosigned %d entries after the witness died", size)
	}
	if status, text := second.ready(); status != http.StatusOK {
		t.Errorf("the fork that is cosigned is not ready: %s", text)
	}

	// The first fork is smaller, then larger: either way it is not cosigned.
	if !first.start(t, env) {
		t.Fatal("the first fork did not start")
	}
	first.inConflict(t, "it cosigned 3 entries, and this log has 2")
	first.remember(t, "the first goes on")
	first.inConflict(t, "it cosigned another head of 3 entries")
	first.remember(t, "and on")
	first.inConflict(t, "it cosigned a head of 3 entries that this log does not continue")
	if h := first.head(t); strings.Contains(h.Witnessed, "\n4\n") || strings.Contains(h.Witnessed, "\n3\n") {
		t.Errorf("the first fork has a witnessed head:\n%s", h.Witnessed)
	}

	// An older folder was put back, heads too.
	if !third.start(t, env) {
		t.Fatal("the older copy did not start")
	}
	third.inConflict(t, "it cosigned 3 entries, and this log has 1: the log was rolled back")
	series := func(n *node, family, value string) {
		t.Helper()
		text := scrape(t, n)
		line := regexp.MustCompile(`(?m)^satchel_witness_` + family + `\{witness="witness.example.org/w1"\} ` + value)
		if !line.MatchString(text) {
			t.Errorf("/metrics has no %s:\n%s", line, text)
		}
	}
	series(third, "conflicts_total", "[1-9]")
	series(second, "size", "3$")
	series(second, "timestamp_seconds", "[1-9]")
}

// TestRestoreAsksWitnesses: a backup that is older than what a witness cosigned is not restored, nor one of
// another fork. Under another origin, or beside a witness that does not answer, it is.
func TestRestoreAsksWitnesses(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	w, n, backup := newWitness(t), newNode(t), filepath.Join(t.TempDir(), "backup")
	env := witnessed(t, n, w)
	file := strings.TrimPrefix(env, "SATCHEL_WITNESSES=")
	if !n.start(t, env) {
		t.Fatal("the node did not start")
	}
	n.remember(t, "the kiln is fired on Mondays")
	must(t, os.WriteFile(w.logs(), []byte("log "+n.head(t).PublicKey+"\n"), 0o600))
	n.cosignedSize(t, w)
	whole := n.backUp(t, backup)
	fork := newNode(t)
	n.stop()
	copyDir(t, n.dir, fork.dir)

	to := emptied(t, n)
	to.must(t, "restore", backup, "--to", to.dir, "--witnesses", file)
	if got := to.verified(t); got["main"] != whole.heads()["main"] {
		t.Errorf("the witness agrees, and %v was restored instead of %v", got, whole.heads())
	}

	if !n.start(t, env) {
		t.Fatal("the node did not start again")
	}
	n.remember(t, "the glaze is celadon")
	if size := n.cosignedSize(t, w); size != 2 {
		t.Fatalf("cosigned %d entries", size)
	}
	n.stop()
	refused := func(from, why string) {
		t.Helper()
		to := emptied(t, n)
		out, code := to.run(t, "restore", from, "--to", to.dir, "--witnesses", file)
		if code != 3 || !strings.Contains(out, why) || !strings.Contains(out, "SATCHEL_ORIGIN") {
			t.Errorf("restore: exit code %d, want 3 for %q\n%s", code, why, out)
		}
		if _, err := os.Stat(filepath.Join(to.dir, "log.db")); err == nil {
			t.Error("a refused restore left a log")
		}
	}
	refused(backup, "tenant main: witness witness.example.org/w1: it cosigned 2 entries, and this log has 1")

	other := filepath.Join(t.TempDir(), "backup")
	if !fork.start(t) {
		t.Fatal("the copy did not start")
	}
	fork.remember(t, "the glaze is cobalt")
	fork.backUp(t, other)
	refused(other, "it cosigned another head of 2 entries")
	fork.remember(t, "the clay is from Limoges")
	fork.backUp(t, other)
	fork.stop()
	refused(other, "it cosigned a head of 2 entries that this log does not continue")

	to = emptied(t, n)
	to.must(t, "restore", backup, "--to", to.dir, "--witnesses", file, "--origin", "log.example.org/2")
	w.kill()
	to = emptied(t, n)
	if out := to.must(t, "restore", backup, "--to", to.dir, "--witnesses", file); !strings.Contains(out, "a witness does not say whether the log is whole") {
		t.Errorf("a witness that does not answer is not named:\n%s", out)
	}
}

// scrape returns what /metrics says.
func scrape(t *testing.T, n *node) string {
	t.Helper()
	res, err := http.Get("http://" + n.http + "/metrics") //nolint:noctx // a test
	must(t, err)
	defer res.Body.Close()
	var b strings.Builder
	_, err = bufio.NewReader(res.Body).WriteTo(&b)
	must(t, err)
	return b.String()
}
