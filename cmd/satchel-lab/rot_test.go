package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"satchel/cmd/internal/cli"
	"satchel/test/parts"
	"satchel/test/testenv"
)

// rot runs satchel-lab rot on a small history and returns its folder.
func runRot(t *testing.T, code int, args ...string) (folder string, r result) {
	t.Helper()
	testenv.TooLongRaced(t)
	folder = t.TempDir()
	args = append([]string{"rot", "--sizes", "60,120", "--budgets", "300,900", "--max", "4", "--seeds", "1", "--distort", "none,distractors:2,stale,poison", "--out", folder}, args...)
	if r = lab(t, args...); r.code != code {
		t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	return folder, r
}

// TestRotIsTheSameTwice also reads what it writes, and holds a run against another's report.
func TestRotIsTheSameTwice(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	one, r := runRot(t, 0)
	two, _ := runRot(t, 0, "--check", filepath.Join(one, "rot.json"))
	contains(t, "the table", r.out, "BM25 evidence", "Satchel at 300 tokens", "distractors:2")
	files := map[string][]byte{}
	for _, name := range []string{"rot.json", "points.jsonl", "rot.svg", "rot.html"} {
		a, err := os.ReadFile(filepath.Join(one, name))
		b, other := os.ReadFile(filepath.Join(two, name))
		if err := errors.Join(err, other); err != nil {
			t.Fatal(err)
		}
		if len(a) == 0 || !bytes.Equal(a, b) {
			t.Errorf("%s differs from one run to the next", name)
		}
		files[name] = a
	}
	if _, err := os.Stat(filepath.Join(one, "timing.json")); err != nil {
		t.Error(err)
	}
	// 4 questions, 4 distortions, 2 sizes; four lines at 2 budgets and all of the history.
	if n := bytes.Count(files["points.jsonl"], []byte("\n")); n != 4*4*2*(4*2+1) {
		t.Errorf("points.jsonl has %d lines", n)
	}
	dec := xml.NewDecoder(bytes.NewReader(files["rot.svg"]))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("rot.svg: %v", err)
		}
	}
	page := string(files["rot.html"])
	charts := strings.Count(page, "<svg ")
	if tables := strings.Count(page, "<table>"); charts < 6 || tables != charts+1 {
		t.Errorf("rot.html has %d charts and %d tables", charts, tables)
	}
	if found := regexp.MustCompile(`(?i)<script|\bon\w+=|(src|href)=|@import|url\(`).FindString(page); found != "" {
		t.Errorf("rot.html has %q", found)
	}

	// A report that had more everywhere makes this run worse.
	var report map[string]any
	if err := json.Unmarshal(files["rot.json"], &report); err != nil {
		t.Fatal(err)
	}
	for _, p := range report["points"].([]any) {
		p.(map[string]any)["answered"] = []float64{1.1, 1.1, 1.1}
	}
	raw, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	better := filepath.Join(t.TempDir(), "rot.json")
	if err := os.WriteFile(better, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	_, r = runRot(t, cli.ExitFound, "--check", better)
	contains(t, "what was found", r.err, "60 items, none, 300 tokens: answers", "at least 1.100")
}

// TestRotAsksASet puts a set of its own among the filler, one question of which nothing answers.
func TestRotAsksASet(t *testing.T) {
	t.Parallel()
	testenv.TooLongRaced(t)
	dir, out := t.TempDir(), t.TempDir()
	var memories, queries strings.Builder
	for i, what := range []string{"the kiln is fired on Mondays", "Maya glazes the blue bowls", "the lake house has a red door", "Ravi ordered ten bags of clay"} {
		fmt.Fprintf(&memories, `{"id":"m %d","tenant":"one","text":%q,"session":"s1","speaker":"Maya","ts":"2026-03-0%dT10:00:00Z"}`+"\n", i, what, i+1)
	}
	for i, q := range []string{`"text":"who glazes the bowls?","answer":"Maya","relevant":["m 1"]`, `"text":"which door is red, and when is the kiln fired?","relevant":["m 2","m 0"]`,
		`"text":"what did Otto say about zeppelins?","relevant":[]`} {
		fmt.Fprintf(&queries, `{"id":"q%d","tenant":"one",%s}`+"\n", i, q)
	}
	if err := os.Mkdir(filepath.Join(dir, "kiln"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"memories.jsonl": memories.String(), "queries.jsonl": queries.String()} {
		if err := os.WriteFile(filepath.Join(dir, "kiln", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"rot", "--data", dir, "--set", "kiln", "--sizes", "40", "--budgets", "500", "--seeds", "1", "--out", out}
	r := lab(t, append(args, "--max", "3", "--json")...)
	var report struct {
		Set         string
		Distortions []string
		Points      []struct {
			Line, Distortion   string
			Questions, Absent  int
			Evidence, Answered []float64
		}
	}
	if err := json.Unmarshal([]byte(r.out), &report); r.code != 0 || err != nil {
		t.Fatalf("exit code %d, %v\n%s%s", r.code, err, r.out, r.err)
	}
	if report.Set != "kiln" || !slices.Equal(report.Distortions, []string{"none", "shuffle"}) || len(report.Points) != 2*5 {
		t.Errorf("set %q, %q, %d points", report.Set, report.Distortions, len(report.Points))
	}
	for _, p := range report.Points {
		if p.Questions != 2 || p.Absent != 1 {
			t.Errorf("%s has %d questions and %d that nothing answers", p.Line, p.Questions, p.Absent)
		}
		if p.Line == "satchel" && p.Distortion == "none" && (p.Evidence[0] != 1 || p.Answered[0] != .5) { // one of two has an answer to look for
			t.Errorf("evidence %v, answered %v", p.Evidence, p.Answered)
		}
	}
	for _, one := range []struct {
		want string
		args []string
	}{
		{"needs the built-in facts", []string{"--max", "3", "--distort", "stale"}},
		{"--max must be at most 3", []string{"--max", "4"}},
		{"no place for the 4 memories", []string{"--max", "3", "--sizes", "3"}},
	} {
		if r := lab(t, append(args, one.args...)...); r.code != cli.ExitUsage || !strings.Contains(r.err, one.want) {
			t.Errorf("%v: exit code %d, %q", one.args, r.code, r.err)
		}
	}
}

func TestRotRefusesWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
	testenv.TooLongRaced(t)
	dir := t.TempDir()
	other := filepath.Join(dir, "other.json")
	if err := os.WriteFile(other, []byte(`{"format":"rot-report/1","sizes":[5]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		want string
		args []string
	}{
		{"--out", nil},
		{"--sizes must be from 1", []string{"--sizes", "0"}},
		{"--sizes has a number twice", []string{"--sizes", "1000,1000"}},
		{"has no place for the", []string{"--sizes", "10"}},
		{"--budgets must be from 1", []string{"--budgets=-5"}},
		{`"wrong" is none of`, []string{"--distort", "wrong"}},
		{`"distractors:x" is not`, []string{"--distort", "distractors:x"}},
		{`"stale" takes no number`, []string{"--distort", "stale:2"}},
		{"is given twice", []string{"--distort", "none,none"}},
		{"--seeds must be from 1", []string{"--seeds", "0"}},
		{"--max must be at least", []string{"--max", "1"}},
		{"--max must be at most", []string{"--max", "100000"}},
		{"--data", []string{"--set", "kiln"}},
		{"was measured with set \"\" --sizes 5", []string{"--check", other}},
	} {
		args := append([]string{"rot"}, one.args...)
		if one.args != nil {
			args = append(args, "--out", filepath.Join(dir, "out"))
		}
		if r := lab(t, args...); r.code != cli.ExitUsage || !strings.Contains(r.err, one.want) {
			t.Errorf("%v: exit code %d, %q", one.args, r.code, r.err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("a refused run made its folder")
	}
}

// TestRotInterruptedLeavesNothing ends a run at its first progress and looks for its temporary folder.
func TestRotInterruptedLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithCancel(context.Background())
	out := t.TempDir()
	var errOut bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"rot", "--sizes", "200000", "--max", "3", "--out", out}, strings.NewReader(""), io.Discard, &errOut)
	}()
	for { // until the node has its folder
		if entries, err := os.ReadDir(dir); err != nil {
			t.Fatal(err)
		} else if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "satchel-eval-") }) {
			break
		}
	}
	cancel()
	if code := <-done; code != cli.ExitFailed || !strings.Contains(errOut.String(), "interrupted") {
		t.Errorf("exit code %d, %q", code, errOut.String())
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left %v, %v", entries, err)
	}
	if _, err := os.Stat(filepath.Join(out, "rot.json")); err == nil {
		t.Error("an interrupted run wrote its report")
	}
}
