package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"satchel/cmd/internal/cli"
	"satchel/test/parts"
	"satchel/test/testenv"
)

// TestRotAsksAModel has a model that says its notes again, so that it is right where they have the answer. It gives no
// answer to the second question.
func TestRotAsksAModel(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	testenv.TooLongRaced(t)
	var asked atomic.Int64
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Messages []struct{ Content string } }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Header.Get("Authorization") != "Bearer sesame" {
			http.Error(w, "who is it?", http.StatusUnauthorized)
			return
		}
		if asked.Add(1) == 2 {
			http.Error(w, `{"error":{"message":"no"}}`, http.StatusBadRequest)
			return
		}
		out := map[string]any{"choices": []any{map[string]any{"message": map[string]string{"role": "assistant", "content": in.Messages[len(in.Messages)-1].Content}}}}
		if err := json.NewEncoder(w).Encode(out); err != nil {
			t.Error(err)
		}
	}))
	defer model.Close()
	out := t.TempDir()
	args := []string{"rot", "--sizes", "60", "--budgets", "400", "--max", "6", "--seeds", "1", "--distort", "none,duplicates", "--model", "parrot", "--context", "300"}
	r := lab(t, append(args, "--out", out, "--endpoint", model.URL+"/v1", "--llm-key", "sesame")...)
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	contains(t, "the table", r.out, "Right answers of parrot", "pack, evidence first")
	raw, err := os.ReadFile(filepath.Join(out, "endpoint.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Points []struct {
			Context, Distortion string
			Questions, Failed   int
			Right               []float64
		}
	}
	if err := json.Unmarshal(raw, &report); err != nil || len(report.Points) != 5*3 {
		t.Fatalf("%d points, %v\n%s", len(report.Points), err, raw)
	}
	failed, right := 0, map[string]float64{}
	for _, p := range report.Points {
		if p.Distortion == "" {
			failed += p.Failed
			right[p.Context] = p.Right[0]
		}
	}
	if failed != 1 {
		t.Errorf("%d questions had no answer, not 1", failed)
	}
	for _, way := range []string{"pack, evidence first", "pack, evidence in the middle", "pack, evidence last"} {
		if right[way] != 1 {
			t.Errorf("%s: %v are right", way, right[way])
		}
	}
	if right["pack"] < .5 || right["history"] >= right["pack"] {
		t.Errorf("of packs %v are right, of 300 tokens of history %v", right["pack"], right["history"])
	}
	if svg, err := os.ReadFile(filepath.Join(out, "endpoint.svg")); err != nil || !strings.Contains(string(svg), "Right answers of parrot") {
		t.Errorf("endpoint.svg: %v", err)
	}

	// Without its key the endpoint never answers, and nothing is measured.
	none := t.TempDir()
	r = lab(t, append(args, "--out", none, "--endpoint", model.URL+"/v1")...)
	if r.code != cli.ExitFailed || !strings.Contains(r.err, "refused") {
		t.Errorf("a refusing endpoint: exit code %d, %q", r.code, r.err)
	}
	for want, wrong := range map[string][]string{
		"--endpoint":               {"--model", "parrot"},
		"--context must be from 1": {"--endpoint", model.URL, "--model", "parrot", "--context", "0"},
		"parse chat URL":           {"--endpoint", "ftp://example.org", "--model", "parrot"},
	} {
		if r := lab(t, append([]string{"rot", "--sizes", "1000", "--out", none}, wrong...)...); r.code != cli.ExitUsage || !strings.Contains(r.err, want) {
			t.Errorf("%v: exit code %d, %q", wrong, r.code, r.err)
		}
	}
}
