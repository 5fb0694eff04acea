package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"satchel/schemas"
	"satchel/test/testenv"
)

// eventually waits until ok holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("waited too long: %s", what)
		case <-tick.C:
		}
	}
}

// retentionPlan is what satchel retention plan says of the only tenant.
type retentionPlan struct {
	Due  map[string]int
	Held int
	Next time.Time
}

// TestRetention erases by class: what is due goes with a receipt, what is held or in a class that keeps
// longer stays, and goes when the hold is released or the file says so.
func TestRetention(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "retention.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("classes:\n  - {name: chat, keep: 90d, then: keep}\n")
	if _, err := testenv.Start(binary("satchel"), t.TempDir(), "--retention", file); err == nil || !strings.Contains(err.Error(), "class 1 (chat): then: must be erase") {
		t.Fatalf("started with a bad file: %v", err)
	}
	const later = "classes:\n  - {name: contract, match: {kinds: [knowledge]}, keep: 3650d, then: erase}\n" +
		"  - {name: chat, match: {labels: [\"topic:chat\"]}, keep: 90d, then: erase}\n"
	write(later)
	i := testenv.Up(t, binary("satchel"), t.TempDir(), "--retention", file)
	emit := func(id string, more ...string) {
		t.Helper()
		i.Must(t, append([]string{"emit", "--id", id, "--text", "the ferry was late, says " + id, "--label", "level:internal"}, more...)...)
	}
	there := func(id string) bool {
		out, code := i.Run(t, "get", id)
		return code == 0 && strings.Contains(out, "the ferry was late")
	}
	plan := func() (p retentionPlan) {
		t.Helper()
		var list []retentionPlan
		if err := json.Unmarshal([]byte(i.Must(t, "retention", "plan", "--json", "--retention", file)), &list); err != nil || len(list) != 1 {
			t.Fatalf("plan: %v %+v", err, list)
		}
		return list[0]
	}
	emit("chat-1", "--label", "topic:chat")
	emit("chat-2", "--label", "topic:chat")
	emit("contract-1", "--label", "topic:chat", "--kind", "knowledge", "--type", "semantic")
	emit("other")
	hold := place(t, i, "--item", "chat-2")
	if p := plan(); len(p.Due) > 0 || p.Held != 0 || time.Until(p.Next) < 89*24*time.Hour || time.Until(p.Next) > 90*24*time.Hour {
		t.Errorf("the plan before: %+v", p)
	}
	short := filepath.Join(t.TempDir(), "short.yaml")
	if err := os.WriteFile(short, []byte(strings.Replace(later, "90d", "1ms", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := i.Must(t, "retention", "plan", "--retention", short); !strings.Contains(out, "due: 1 item of class chat; legal holds keep 1 item") {
		t.Errorf("the plan of the shorter file: %s", out)
	}
	if !there("chat-1") {
		t.Fatal("a plan erases")
	}

	write(strings.Replace(later, "90d", "1ms", 1))
	eventually(t, "chat-1 is erased", func() bool { return !there("chat-1") })
	for _, id := range []string{"chat-2", "contract-1", "other"} {
		if !there(id) {
			t.Errorf("%s is gone", id)
		}
	}
	var receipt schemas.LedgerReference
	eventually(t, "the receipt", func() bool {
		for line := range strings.Lines(i.Must(t, "ledger", "--kind", "erasure", "--json")) {
			var entry struct{ Data schemas.LedgerReference }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Data.Receipt != nil {
				receipt = entry.Data
			}
		}
		return receipt.Receipt != nil
	})
	if len(receipt.Items) != 1 || receipt.Items[0] != "chat-1" || len(receipt.Receipt.Positions) != 1 {
		t.Errorf("the receipt: %+v", receipt)
	}
	if p := plan(); len(p.Due) > 0 || p.Held != 1 {
		t.Errorf("the plan after: %+v", p)
	}
	if out, _ := i.Run(t, "doctor", "--retention", file); !strings.Contains(out, "nothing is due; legal holds keep 1 item") {
		t.Errorf("doctor: %s", out)
	}
	i.Must(t, "hold", "release", hold, "--role", "hold_releaser")
	write(strings.Replace(later, "90d", "2ms", 1)) // the next run
	eventually(t, "chat-2 is erased", func() bool { return !there("chat-2") })
	i.Must(t, "verify")
}
