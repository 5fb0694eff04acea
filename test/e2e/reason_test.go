package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"satchel/test/testenv"
)

// TestReasonOfAnErasure: the reason of an erasure is in its receipt and in evidence, on no ledger, and in no file after it was erased itself, under the id of the erasure.
func TestReasonOfAnErasure(t *testing.T) {
	t.Parallel()
	const why = "the-lighthouse-keeper-asked"
	dir := filepath.Join(t.TempDir(), "data")
	s := testenv.Up(t, binary("satchel"), dir)
	s.Must(t, "emit", "--id", "note", "--text", "the door of the lighthouse is green")
	pack := ask(t, s, "what colour is the door of the lighthouse?")
	if out := s.Must(t, "forget", "note", "--reason", why); !strings.Contains(out, "because "+why) {
		t.Errorf("the receipt: %s", out)
	}
	ledger := s.Must(t, "ledger", "--kind", "erasure", "--json")
	if strings.Contains(ledger, why) || strings.Count(ledger, "reason_sha256") != 1 {
		t.Errorf("the ledger: %s", ledger)
	}
	var entry struct{ ID string }
	if err := json.NewDecoder(strings.NewReader(ledger)).Decode(&entry); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "evidence.zip")
	s.Must(t, "evidence", pack.id, "-o", file)
	if out := s.Must(t, "evidence", "--verify", file); !strings.Contains(out, "holds: 1 pack") || len(testenv.Holding(t, filepath.Dir(file), why)) != 1 {
		t.Errorf("the evidence: %s", out)
	}
	s.Must(t, "evidence", pack.id, "-o", file, "--no-content")
	if len(testenv.Holding(t, filepath.Dir(file), why)) != 0 {
		t.Error("evidence without content has the reason")
	}

	s.Must(t, "forget", entry.ID)
	s.Must(t, "verify")
	s.Stop()
	if files := testenv.Holding(t, dir, why); len(files) > 0 {
		t.Errorf("the reason was erased, and is in %v", files)
	}
}
