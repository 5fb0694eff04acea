package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"satchel/schemas"
	"satchel/test/testenv"
)

const whyHeld = "subpoena-of-the-harbour-court"

// place places a hold and returns its id.
func place(t *testing.T, i *testenv.Satchel, what ...string) string {
	t.Helper()
	out := i.Must(t, append([]string{"hold", "add", "--json", "--as", "lea", "--role", "counsel", "--reason", whyHeld}, what...)...)
	var list []schemas.HoldState
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 1 || !list[0].Live {
		t.Fatalf("placed %v: %s (%v)", what, out, err)
	}
	return list[0].ID
}

// keeps checks that an item cannot be erased for a hold, that only its id is told, and that the
// content is there.
func keeps(t *testing.T, i *testenv.Satchel, item, hold string) {
	t.Helper()
	for _, args := range [][]string{{"forget", item}, {"forget", item, "--dry-run"}, {"forget", "free", item}} {
		out, code := i.Run(t, args...)
		if code == 0 || !strings.Contains(out, "legal_hold") || !strings.Contains(out, hold) || strings.Contains(out, whyHeld) {
			t.Errorf("satchel %s: exit code %d\n%s", strings.Join(args, " "), code, out)
		}
	}
	if out, code := i.Run(t, "get", item); code != 0 {
		t.Errorf("the held item is gone: %s", out)
	}
}

// TestLegalHold is the life of holds: placed by counsel, kept over a kill, a rebuild and a restore, and
// released by another role, after which the items can be erased.
func TestLegalHold(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	i, err := testenv.Start(binary("satchel"), data)
	if err != nil {
		t.Fatal(err)
	}
	stop := func() { i.Stop() }
	t.Cleanup(func() { stop() })
	emit := func(id string, more ...string) {
		t.Helper()
		i.Must(t, append([]string{"emit", "--id", id, "--text", "the harbour crane failed, says " + id}, more...)...)
	}
	for _, id := range []string{"free", "free-2", "letter"} {
		emit(id)
	}
	emit("call-1", "--session", "call")
	emit("loan", "--label", "level:internal", "--label", "case:77")
	emit("talk", "--agent", "teller")

	if out, code := i.Run(t, "hold", "add", "--item", "letter", "--reason", whyHeld); code != 1 || !strings.Contains(out, "policy_denied") {
		t.Errorf("without the role: exit code %d\n%s", code, out)
	}
	if out, code := i.Run(t, "hold", "add", "--role", "counsel", "--item", "letter", "--session", "call", "--reason", whyHeld); code != 2 {
		t.Errorf("of items and a session: exit code %d\n%s", code, out)
	}
	i.Must(t, "emit", "--item", `{"id":"stale","ttl":1,"created_at":"2026-01-01T00:00:00Z","content":"the harbour crane is green, says stale"}`)
	stale := place(t, i, "--item", "stale")
	if out, code := i.Run(t, "forget", "stale"); code == 0 || !strings.Contains(out, stale) {
		t.Errorf("an expired item that is held: exit code %d\n%s", code, out)
	}
	if out := i.Must(t, "ask", "what colour is the harbour crane?"); strings.Contains(out, "is green") {
		t.Errorf("the hold shows an expired item: %s", out)
	}
	letter := place(t, i, "--item", "letter", "--matter", "C-12/26")
	call := place(t, i, "--session", "call")
	holds := map[string]string{"letter": letter, "call-1": call, "call-2": call, "loan": place(t, i, "--label", "case:77"), "talk": place(t, i, "--agent", "teller")}
	emit("call-2", "--session", "call") // after the hold

	all := func(phase string) {
		t.Helper()
		t.Log(phase)
		for item, hold := range holds {
			keeps(t, i, item, hold)
		}
	}
	all("placed")
	i.Must(t, "forget", "free-2")
	if out, code := i.Run(t, "hold", "ls", "--role", "eraser"); code != 1 || strings.Contains(out, letter) || strings.Contains(out, whyHeld) {
		t.Errorf("a list for an eraser: exit code %d\n%s", code, out)
	}
	if out := i.Must(t, "hold", "ls", "--role", "counsel"); !strings.Contains(out, letter) || !strings.Contains(out, whyHeld) || !strings.Contains(out, "C-12/26") {
		t.Errorf("the list for counsel: %s", out)
	}

	i.Kill()
	if i, err = testenv.Start(binary("satchel"), data); err != nil {
		t.Fatal(err)
	}
	all("after kill -9")
	i.Must(t, "rebuild")
	all("after a rebuild")

	backup, target := filepath.Join(t.TempDir(), "backup"), t.TempDir()
	i.Must(t, "backup", backup)
	i.Stop()
	if err := os.CopyFS(filepath.Join(target, "keys"), os.DirFS(filepath.Join(data, "keys"))); err != nil {
		t.Fatal(err)
	}
	i.Must(t, "restore", backup, "--to", target)
	if i, err = testenv.Start(binary("satchel"), target); err != nil {
		t.Fatal(err)
	}
	all("after a restore")

	if out, code := i.Run(t, "hold", "release", letter, "--as", "lea", "--role", "counsel"); code != 1 || !strings.Contains(out, "policy_denied") {
		t.Errorf("released by counsel: exit code %d\n%s", code, out)
	}
	keeps(t, i, "letter", letter)
	if out := i.Must(t, "hold", "release", letter, "--as", "omar", "--role", "hold_releaser", "--reason", "the case is closed"); !strings.Contains(out, "released by omar because the case is closed") {
		t.Errorf("release: %s", out)
	}
	var receipt schemas.ErasureReceipt
	if err := json.Unmarshal([]byte(i.Must(t, "forget", "letter", "--json")), &receipt); err != nil || !slices.Equal(receipt.Holds, []string{letter}) {
		t.Errorf("the receipt names the holds %v, want %s (%v)", receipt.Holds, letter, err)
	}
	i.Must(t, "hold", "release", stale, "--role", "hold_releaser")
	if err := json.Unmarshal([]byte(i.Must(t, "forget", "stale", "--json")), &receipt); err != nil || len(receipt.Positions) != 1 {
		t.Errorf("the content of the expired item went before: %+v (%v)", receipt, err)
	}
	if out := i.Must(t, "verify"); !strings.Contains(out, "3 legal holds") {
		t.Errorf("verify: %s", out)
	}
	if out, _ := i.Run(t, "doctor"); !strings.Contains(out, call) || strings.Contains(out, whyHeld) {
		t.Errorf("doctor: %s", out)
	}
	ledger := i.Must(t, "ledger", "--kind", "hold")
	if !strings.Contains(ledger, "hold.placed") || !strings.Contains(ledger, "hold.released") || !strings.Contains(ledger, letter) {
		t.Errorf("the ledger: %s", ledger)
	}
	file := filepath.Join(t.TempDir(), "all.zip")
	i.Must(t, "ask", "what says the harbour crane?")
	i.Must(t, "evidence", "--since", "1", "-o", file)
	i.Must(t, "evidence", "--verify", file, "--key", filepath.Join(target, "keys", "log.pub"))
	if told := strings.Join(slices.Collect(maps.Values(readBundle(t, file))), "\n"); !strings.Contains(told, letter) || !strings.Contains(told, whyHeld) || !strings.Contains(told, "the case is closed") {
		t.Error("the evidence does not hold the holds")
	}
}
