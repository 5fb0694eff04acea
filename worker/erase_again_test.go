package worker_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/worker"
	"satchel/worker/erasure"
)

// backup closes everything, returns the log's file and opens everything again.
func (w *world) backup(t *testing.T) []byte {
	t.Helper()
	w.shut(t)
	raw, err := os.ReadFile(filepath.Join(w.dir, "log.db"))
	must(t, err)
	w.open(t)
	return raw
}

// restore closes everything, puts an older file in the place of the log and opens everything.
func (w *world) restore(t *testing.T, raw []byte) {
	t.Helper()
	w.shut(t)
	for _, rest := range []string{"-wal", "-shm"} {
		if err := os.Remove(filepath.Join(w.dir, "log.db"+rest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	must(t, os.WriteFile(filepath.Join(w.dir, "log.db"), raw, 0o600))
	w.open(t)
}

// follow has everything around the log follow from it, as rollback --accept does.
func (w *world) follow(t *testing.T, s scope.Scope) {
	t.Helper()
	must(t, worker.NewProjector(w.cfg).Rebuild(within(t), s, nil))
	ledger, err := w.js.Stream(within(t), jetstream.LedgerStream)
	must(t, err)
	must(t, ledger.Purge(within(t), natsjs.WithPurgeSubject("prov.v1."+s.Tenant()+".>")))
}

func eraseAgain(t *testing.T, w *world, s scope.Scope) int {
	t.Helper()
	n, err := erasure.RepeatLost(within(t), w.log, s, nil, slog.New(slog.DiscardHandler))
	must(t, err)
	return n
}

// handOver logs a hand-over whose message shows an item that its data does not name.
func (w *world) handOver(t *testing.T, item string) int64 {
	t.Helper()
	message := eventlog.Derive([]string{item}, []byte("what the planner was told of the kiln"))
	data, err := json.Marshal(schemas.Handover{ID: "h", MessageSHA256: message.Hex()})
	must(t, err)
	out, err := w.log.Append(within(t), eventlog.Batch{Drafts: []eventlog.Draft{{Tenant: "acme", Agent: "planner", Type: schemas.TypeRoleHandedOver,
		Source: "satchel://roles", ID: "h", Subject: "run-1", Data: data, Attachment: message}}})
	must(t, err)
	return out[0].Position
}

// TestErasedTextDoesNotComeBack: an older copy of the log holds an item that was erased since, a
// summary of it and a pack that shows it. All go again, and the receipt is there again.
func TestErasedTextDoesNotComeBack(t *testing.T) {
	t.Parallel()
	w := setup(t)
	const canary = "canary-from-a-backup"
	s := system(t, "acme")
	w.publish(t, "acme", recorded(t, "a", "the secret of the kiln is "+canary), recorded(t, "b", "the kiln is fired on Mondays"),
		recorded(t, "s", "in short: "+canary, summaryOf("a")))
	must(t, w.worker.Projector.Await(within(t), s, int64(len(w.entries(t, "acme", 3)))))
	out, err := w.worker.Service.Request(within(t), "acme", request(t, "reader", "internal", "the secret of the kiln", nil))
	must(t, err)
	shown := payloadOf(t, out)
	if !strings.Contains(shown.Text, canary) {
		t.Fatalf("the pack does not show the secret: %s", shown.Text)
	}
	handed := w.handOver(t, "a")
	late := w.summarise(t, "summary-late", "a") // nobody but the log knows of it when the backup is made
	older := w.backup(t)
	w.start(t)
	w.publish(t, "acme", forgetting(t, "f", "a"))
	first := w.receipt(t, "acme", "f")
	original, err := w.log.Find(within(t), s, source, "f")
	must(t, err)
	w.restore(t, older)
	if err := w.log.Verify(within(t), s, nil, nil); !errors.Is(err, eventlog.ErrCorrupt) {
		t.Errorf("verify of the restored log: %v", err)
	}
	fork := w.summarise(t, "summary-fork", "a") // the older log was continued
	if n := eraseAgain(t, w, s); n != 1 {
		t.Fatalf("%d erasures are repeated", n)
	}
	must(t, w.log.Verify(within(t), s, nil, nil)) // before the receipt is there, as after satchel restore
	w.follow(t, s)
	w.start(t)
	receipt := w.receipt(t, "acme", "f")
	if diff := cmp.Diff(first.Items, receipt.Items); diff != "" {
		t.Errorf("items: %s", diff)
	}
	if diff := cmp.Diff([]int64{1, 3, late}, receipt.Positions); diff != "" {
		t.Errorf("positions: %s", diff)
	}
	if diff := cmp.Diff([]int64{shown.Positions.Pack, handed}, receipt.Packs); diff != "" {
		t.Errorf("packs: %s", diff)
	}
	entry, err := w.log.Find(within(t), s, source, "f")
	must(t, err)
	var er schemas.MemoryErased
	must(t, json.Unmarshal(entry.Data, &er))
	want := &schemas.ErasureOriginal{Source: source, ID: "f", Position: original.Position, Leaf: hex.EncodeToString(original.Leaf[:])}
	if diff := cmp.Diff(want, er.Original); diff != "" {
		t.Errorf("original: %s", diff)
	}
	poll(t, "the canary is nowhere", func() bool { return len(w.onDisk(t, canary)) == 0 })
	if e, err := w.log.Entry(within(t), s, fork); err != nil || !e.Erased {
		t.Errorf("a summary that was made since is still there: %v", err)
	}
	out, err = w.worker.Service.Request(within(t), "acme", request(t, "reader", "internal", "the secret of the kiln", nil))
	must(t, err)
	if strings.Contains(string(encode(t, out)), canary) {
		t.Error("the erased text is shown again")
	}
	w.publish(t, "acme", forgetting(t, "f", "a"), recorded(t, "end", "the end")) // the stream may bring it once more
	if diff := cmp.Diff([]string(nil), w.letters(t, 0)); diff != "" {
		t.Errorf("dead letters: %s", diff)
	}
	kept, err := w.log.KeptErasures(s)
	must(t, err)
	if len(kept) != 3 || kept[1].Position != entry.Position { // the last is of the summary that was made since
		t.Errorf("list of erasures: %+v", kept)
	}
	must(t, w.log.Verify(within(t), s, nil, nil))
	w.reopen(t)
	if n := eraseAgain(t, w, s); n != 0 {
		t.Errorf("%d erasures are repeated once more", n)
	}
}

// A list that is not there is made of the log, also for erasures of before there were lists.
func TestAListOfErasuresIsMadeOfTheLog(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := system(t, "acme")
	w.publish(t, "acme", recorded(t, "a", "the secret"), recorded(t, "b", "the other"), forgetting(t, "f", "a"), forgetting(t, "g", "b"))
	w.receipt(t, "acme", "f")
	w.receipt(t, "acme", "g")
	want, err := w.log.KeptErasures(s)
	must(t, err)
	w.shut(t)
	must(t, os.RemoveAll(filepath.Join(w.dir, "erased")))
	w.open(t)
	w.start(t)
	var got []eventlog.KeptErasure
	poll(t, "the list", func() bool {
		got, err = w.log.KeptErasures(s)
		return err == nil && len(got) == len(want)
	})
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 2 {
		t.Error(diff)
	}
}

// A list that was changed stops an erasure's receipt, and is named.
func TestADamagedListOfErasuresIsNamed(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := system(t, "acme")
	w.publish(t, "acme", recorded(t, "a", "the secret"), recorded(t, "b", "the other"), forgetting(t, "f", "a"))
	w.receipt(t, "acme", "f")
	w.shut(t)
	path := filepath.Join(w.dir, "erased", "acme")
	raw, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, []byte(strings.Replace(string(raw), `"items":["a"]`, `"items":["b"]`, 1)), 0o600))
	w.open(t)
	_, err = erasure.RepeatLost(context.WithoutCancel(t.Context()), w.log, s, nil, slog.New(slog.DiscardHandler))
	if !errors.Is(err, eventlog.ErrCorrupt) || !strings.Contains(err.Error(), path+", record 1: its signature does not hold") {
		t.Errorf("error = %v", err)
	}
	entries, err := w.log.BySubject(within(t), s, eventlog.ErasureSubject)
	must(t, err)
	if len(entries) != 2 {
		t.Errorf("%d entries: a forged erasure was taken", len(entries))
	}
	must(t, os.WriteFile(path, append(raw, "satchel/acme/erasures\n2\n"...), 0o600))
	var said strings.Builder
	n, err := erasure.RepeatLost(within(t), w.log, s, nil, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil || n != 0 || !strings.Contains(said.String(), "torn record") {
		t.Errorf("a torn record: %d, %v, %q", n, err, said.String())
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != string(raw) {
		t.Errorf("after that: %v, %q", err, now)
	}
}
