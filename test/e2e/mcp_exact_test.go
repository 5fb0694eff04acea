package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"satchel/test/testenv"
)

// TestNumbersAndDaysOfAnEditor filters over MCP by numbers that a float64 does not tell apart, and asks of a day of Tokyo, there
// and on the command line.
func TestNumbersAndDaysOfAnEditor(t *testing.T) {
	t.Parallel()
	s := testenv.Up(t, binary("satchel"), t.TempDir())
	file := filepath.Join(t.TempDir(), "m.jsonl")
	const line = `{"id":"%s","content":"An order of %s from Osaka.","created_at":"2026-05-01T23:30:00Z","attributes":{"big":%s}}` + "\n"
	lines := fmt.Sprintf(line+line, "a", "pears", "653247040368672768", "b", "plums", "653247040368672769")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(s.Binary, append(args, "--dir", s.Dir)...).CombinedOutput()
		if err != nil {
			t.Fatalf("satchel %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("import", file)
	one := editor(t, s, nil)
	for big, want := range map[string]string{"653247040368672768": "a (", "653247040368672769": "b ("} {
		said, _ := use(t, one, "search", json.RawMessage(`{"query":"an order","filters":{"big":`+big+`}}`))
		if !strings.HasPrefix(said, want) || strings.Contains(said, "\n") {
			t.Errorf("big %s finds %q", big, said)
		}
	}
	asked, _ := use(t, one, "context", map[string]any{"question": "What was ordered on 2 May 2026?", "tz": "Asia/Tokyo"})
	if !strings.Contains(asked, "\n2 May 2026:\n") {
		t.Errorf("in Tokyo it is of\n%s", asked)
	}
	if out := run("ask", "--text", "--tz", "+09:00", "What was ordered on 2 May 2026?"); !strings.Contains(out, "\n2 May 2026:\n") {
		t.Errorf("ask --tz:\n%s", out)
	}
	if out := run("search", "--tz", "Asia/Tokyo", "--from", "2026-05-02", "an order"); !strings.Contains(out, "pears") || !strings.Contains(out, ", 2026-05-02\n") {
		t.Errorf("search --tz --from:\n%s", out)
	}
	if out := run("search", "--from", "2026-05-02", "an order"); strings.Contains(out, "pears") {
		t.Errorf("search --from of UTC:\n%s", out)
	}
}
