package observe

import (
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"

	"satchel/jetstream"
	"satchel/test/testenv/qdranttest"
)

func standStill(t *testing.T, tr *trial) {
	w := tr.watch(t, t.TempDir())
	w.Must(t, "emit", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
	w.all(t, false, "Down", "DeadLetters", "InboxStuck", "NotReady", "LogDamaged")
	must(t, w.Process.Process.Signal(syscall.SIGSTOP))
	w.fires(t, "Down", true)
	must(t, w.Process.Process.Signal(syscall.SIGCONT))
	w.fires(t, "Down", false)

	w.letters(t, w.connect(t), 12)
	w.fires(t, "DeadLetters", true)
	w.fires(t, "DeadLetters", false)

	unlock := w.lock(t)
	w.Must(t, "emit", "--text", "nobody logs this at first", "--wait", "accepted")
	w.fires(t, "InboxStuck", true)
	unlock()
	w.fires(t, "InboxStuck", false)
}

// letters publishes events that become dead letters.
func (w *watched) letters(t *testing.T, nc *nats.Conn, n int) {
	t.Helper()
	for range n {
		must(t, nc.Publish("mem.v1.main.evt.writer", []byte("no event")))
	}
	must(t, nc.Flush())
}

func indexAway(t *testing.T, tr *trial) {
	server := qdranttest.StartStandIn(t)
	w := tr.watch(t, t.TempDir(), "--qdrant-url", server.URL)
	w.Must(t, "emit", "--id", "n1", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
	w.all(t, false, "IndexBehind", "ErasureLate")
	server.Stop()
	w.Run(t, "forget", "n1") // begun, and not finished
	w.all(t, true, "IndexBehind", "ErasureLate")
	server.Start(t)
	w.all(t, false, "IndexBehind", "ErasureLate")
}

func streamAnew(t *testing.T, tr *trial) {
	w := tr.watch(t, t.TempDir())
	w.Must(t, "emit", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
	w.all(t, false, "PartitionStopped", "NotReady")
	_, streams := w.operator(t)
	memory, err := streams.Stream(within(t), jetstream.MemoryStream)
	must(t, err)
	must(t, streams.DeleteStream(within(t), jetstream.MemoryStream))
	_, err = streams.CreateStream(within(t), memory.CachedInfo().Config)
	must(t, err)
	w.all(t, true, "PartitionStopped", "NotReady")
	w.Stop()
	if out, code := w.Run(t, "rollback", "--stream", "--accept"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	w.again(t)
	w.all(t, false, "PartitionStopped", "NotReady")
}

func rowChanged(t *testing.T, tr *trial) {
	w := tr.watch(t, t.TempDir())
	w.Must(t, "emit", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
	w.fires(t, "LogDamaged", false)
	w.change(t, "time + 1")
	w.again(t)
	w.fires(t, "LogDamaged", true)
	w.change(t, "time - 1")
	w.again(t)
	w.fires(t, "LogDamaged", false)
}

// change stops the process and changes the time of the first entry of its log.
func (w *watched) change(t *testing.T, to string) {
	t.Helper()
	w.Stop()
	_, err := w.log(t).ExecContext(t.Context(), "UPDATE entries SET time = "+to+" WHERE id = (SELECT id << 40 FROM tenants WHERE name = 'main') + 1")
	must(t, err)
}

// foreignLedger forges a message of a tenant whose log does not grow afterwards.
func foreignLedger(t *testing.T, tr *trial) {
	w := tr.watch(t, t.TempDir())
	w.Must(t, "emit", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
	w.fires(t, "ForeignLedger", false)
	nc, _ := w.operator(t)
	must(t, nc.Publish("prov.v1.main.memory.writer", []byte(`{"forged":true}`)))
	must(t, nc.Flush())
	w.fires(t, "ForeignLedger", true)
	w.fires(t, "ForeignLedger", false)
}

// ledgerGone deletes the stream LEDGER: then nothing says how far it is.
func ledgerGone(t *testing.T, tr *trial) {
	w := tr.watch(t, t.TempDir())
	w.Must(t, "emit", "--text", "the quetzal sleeps at noon", "--wait", "indexed")
	w.fires(t, "LedgerBehind", false)
	_, streams := w.operator(t)
	ledger, err := streams.Stream(within(t), jetstream.LedgerStream)
	must(t, err)
	must(t, streams.DeleteStream(within(t), jetstream.LedgerStream))
	w.Must(t, "emit", "--text", "the ledger does not get this", "--wait", "indexed")
	w.fires(t, "LedgerBehind", true)
	_, err = streams.CreateStream(within(t), ledger.CachedInfo().Config)
	must(t, err)
	w.fires(t, "LedgerBehind", false)
}

// smallStream makes the limit of DLQ small. Its oldest messages make way, so that it is full, until somebody drops them.
func smallStream(t *testing.T, tr *trial) {
	w := tr.watch(t, t.TempDir())
	w.fires(t, "StreamNearlyFull", false)
	_, streams := w.operator(t)
	dlq, err := streams.Stream(within(t), jetstream.DLQStream)
	must(t, err)
	cfg := dlq.CachedInfo().Config
	cfg.MaxBytes = 16 << 10
	_, err = streams.UpdateStream(within(t), cfg)
	must(t, err)
	w.letters(t, w.connect(t), 60)
	w.fires(t, "StreamNearlyFull", true)
	must(t, dlq.Purge(within(t)))
	w.fires(t, "StreamNearlyFull", false)
}
