package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rot runs satchel rot on a small history and returns its folder.
func runRot(t *testing.T, code int, args ...string) (folder string, r result) {
	t.Helper()
	folder = t.TempDir()
	args = append([]string{"rot", "--sizes", "60,120", "--budgets", "300,900", "--max", "4", "--seeds", "2", "--distort", "none,distractors:2,stale,poison", "--out", folder}, args...)
	if r = satchel(t, "", args...); r.code != code {
		t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	return folder, r
}

// TestRotIsTheSameTwice also reads what it writes, and holds a run against another's report.
func TestRotIsTheSameTwice(t *testing.T) {
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
	_, r = runRot(t, exitFound, "--check", better)
	contains(t, "what was found", r.err, "60 items, none, 300 tokens: answers", "at least 1.100")
}

func TestRotRefusesWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
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
		{"--budgets must be from 1", []string{"--budgets", "-5"}},
		{`"wrong" is none of`, []string{"--distort", "wrong"}},
		{`"distractors:x" is not`, []string{"--distort", "distractors:x"}},
		{`"stale" takes no number`, []string{"--distort", "stale:2"}},
		{"is given twice", []string{"--distort", "none,none"}},
		{"--seeds must be from 1", []string{"--seeds", "0"}},
		{"--max must be at least", []string{"--max", "1"}},
		{"--max must be at most", []string{"--max", "100000"}},
		{"was measured with --sizes 5", []string{"--check", other}},
	} {
		args := append([]string{"rot"}, one.args...)
		if one.args != nil {
			args = append(args, "--out", filepath.Join(dir, "out"))
		}
		if r := satchel(t, "", args...); r.code != exitUsage || !strings.Contains(r.err, one.want) {
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
	if code := <-done; code != exitFailed || !strings.Contains(errOut.String(), "interrupted") {
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
