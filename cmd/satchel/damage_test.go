package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"satchel/schemas"
)

// TestDamagedIndexes: whatever happens to the file of an index, Satchel starts, answers as
// before and says what it made anew.
func TestDamagedIndexes(t *testing.T) {
	t.Parallel()
	first := startNode(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		first.must(t, "emit", "--id", id, "--text", "the "+strings.Repeat(id, 5)+" kiln is hot, says the potter of the north yard")
	}
	ids := func(n *testNode) (found []string) {
		t.Helper()
		for _, item := range mustJSON[schemas.ContextResult](t, n, "ask", "which kiln is hot?").Payload.Results {
			found = append(found, item.ID)
		}
		slices.Sort(found)
		return found
	}
	want := ids(first)
	first.down(t)
	for name, c := range map[string]struct {
		file, said string // said: of which index; "": of none
		change     func(raw []byte) []byte
	}{
		"items torn":      {"items.db", "items.db", func(b []byte) []byte { return b[:100] }},
		"items no header": {"items.db", "items.db", func(b []byte) []byte { return flipped(b, 0, 16) }},
		"items a page":    {"items.db", "items.db", func(b []byte) []byte { return flipped(b, 4096, 8) }},
		"items empty":     {"items.db", "", func(b []byte) []byte { return nil }},
		"graph torn":      {"graph.db", "graph.db", func(b []byte) []byte { return b[:len(b)/2] }},
		"graph a page":    {"graph.db", "graph.db", func(b []byte) []byte { return flipped(b, 4096, 8) }},
		"keyword torn":    {"keyword/*", "keyword of tenant main", func(b []byte) []byte { return b[:len(b)/2] }},
		"keyword head":    {"keyword/*", "keyword of tenant main", func(b []byte) []byte { return flipped(b, 0, 4) }},
		"keyword body":    {"keyword/*", "keyword of tenant main", func(b []byte) []byte { return flipped(b, len(b)/2, 4) }},
		"vector body":     {"vector/*", "vector of tenant main", func(b []byte) []byte { return flipped(b, len(b)/2, 4) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.CopyFS(dir, os.DirFS(first.dir)); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(dir, "index", c.file))
			if err != nil || len(files) != 1 {
				t.Fatalf("files %v, %v", files, err)
			}
			raw, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(files[0], c.change(raw), 0o600); err != nil {
				t.Fatal(err)
			}
			n := startNode(t, "--dir", dir)
			n.dir = dir
			if c.said != "" {
				n.awaitLine(t, c.said+" was damaged and was made anew")
			}
			if got := ids(n); !slices.Equal(got, want) {
				t.Errorf("found %v, want %v", got, want)
			}
			doctor := n.run(t, "doctor").out
			if c.said == "" {
				contains(t, "doctor", doctor, "none was found damaged")
			} else {
				contains(t, "doctor", doctor, c.said+" was damaged and was made anew")
			}
		})
	}
}

// TestADamagedIndexWhileItRuns: what is damaged under a process that runs is made good by it.
func TestADamagedIndexWhileItRuns(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--tenant-idle-s", "1")
	n.must(t, "emit", "--id", "a", "--text", "the kiln is hot")
	raw, err := os.ReadFile(filepath.Join(n.dir, "index", "items.db-wal"))
	if err != nil || len(raw) == 0 {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	for _, file := range []string{"items.db", "items.db-wal"} {
		path := filepath.Join(n.dir, "index", file)
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte(strings.Repeat("\xff", int(info.Size()))), 0); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; !strings.Contains(n.said(t), "items.db was damaged and was made anew"); i++ {
		if i == 200 {
			t.Fatalf("it says %q", n.said(t))
		}
		n.run(t, "emit", "--text", "the kiln is cold", "--wait", "indexed")
	}
	contains(t, "the answer", n.must(t, "ask", "how is the kiln?"), "hot")
}

// awaitLine waits until /readyz says that it is ready, and a line beside that.
func (n *testNode) awaitLine(t *testing.T, line string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for said := ""; time.Now().Before(deadline); <-tick.C {
		if said = n.said(t); strings.HasPrefix(said, "ready\n") && strings.Contains(said, line) {
			return
		}
	}
	t.Fatalf("/readyz does not say %q: %s", line, n.said(t))
}

// said is what /readyz answers, "" while nobody answers.
func (n *testNode) said(t *testing.T) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.http+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return ""
	}
	return string(body)
}

// flipped returns b with n bytes inverted.
func flipped(b []byte, at, n int) []byte {
	b = slices.Clone(b)
	for i := at; i < at+n; i++ {
		b[i] ^= 0xff
	}
	return b
}
