package witness_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	checkpoint "github.com/transparency-dev/formats/log"
	cosign "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"satchel/cmd/internal/witness"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// history is a log that signs what it is told to.
type history struct {
	signer note.Signer
	vkey   string
	hashes []tlog.Hash
	size   int64
}

const origin = "log.example.org/main"

func newHistory(t *testing.T) *history {
	t.Helper()
	skey, vkey, err := note.GenerateKey(rand.Reader, origin)
	must(t, err)
	signer, err := note.NewSigner(skey)
	must(t, err)
	return &history{signer: signer, vkey: vkey}
}

// fork is a copy that goes its own way.
func (h *history) fork() *history {
	c := *h
	c.hashes = append([]tlog.Hash{}, h.hashes...)
	return &c
}

func (h *history) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		out[i] = h.hashes[at]
	}
	return out, nil
}

// grow appends entries.
func (h *history) grow(t *testing.T, entries ...string) *history {
	t.Helper()
	for _, e := range entries {
		more, err := tlog.StoredHashes(h.size, []byte(e), h)
		must(t, err)
		h.hashes, h.size = append(h.hashes, more...), h.size+1
	}
	return h
}

// head is the signed head, and its text.
func (h *history) head(t *testing.T) (signed []byte, text string) {
	t.Helper()
	root, err := tlog.TreeHash(h.size, h)
	must(t, err)
	if h.size == 0 {
		root = sha256.Sum256(nil)
	}
	text = string(checkpoint.Checkpoint{Origin: origin, Size: uint64(h.size), Hash: root[:]}.Marshal())
	signed, err = note.Sign(&note.Note{Text: text}, h.signer)
	must(t, err)
	return signed, text
}

// request is the body of an add-checkpoint.
func (h *history) request(t *testing.T, old int64) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "old %d\n", old)
	if old > 0 && old < h.size {
		proof, err := tlog.ProveTree(h.size, old, h)
		must(t, err)
		for _, p := range proof {
			b.WriteString(base64.StdEncoding.EncodeToString(p[:]) + "\n")
		}
	}
	signed, _ := h.head(t)
	return b.String() + "\n" + string(signed)
}

// open opens a witness in a folder, of logs.
func open(t *testing.T, dir string, logs ...*history) (*witness.Witness, note.Verifier) {
	t.Helper()
	skey, vkey, err := note.GenerateKey(rand.Reader, "witness.example.org")
	must(t, err)
	verifier, err := cosign.NewVerifierForCosignatureV1(vkey)
	must(t, err)
	var list strings.Builder
	for _, l := range logs {
		fmt.Fprintf(&list, "log %s # ours\n", l.vkey)
	}
	path := filepath.Join(dir, "logs")
	must(t, os.WriteFile(path, []byte(list.String()), 0o600))
	w, err := witness.Open(t.Context(), witness.Config{Path: filepath.Join(dir, "witness.db"), Key: skey, Logs: path})
	must(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return w, verifier
}

// A witness answers as tlog-witness says, and its cosignature holds for the head alone.
func TestAddCheckpoint(t *testing.T) {
	t.Parallel()
	log := newHistory(t)
	w, verifier := open(t, t.TempDir(), log)
	server := httptest.NewServer(w.Handler())
	defer server.Close()
	other, empty := newHistory(t), log.fork()
	log.grow(t, "a", "b", "c")
	forked := log.fork().grow(t, "x", "y")
	three, two := log.fork(), newHistory(t)
	two.signer, two.vkey = log.signer, log.vkey
	two.grow(t, "a", "b")
	rewritten := two.fork().grow(t, "z")
	log.grow(t, "d", "e")
	broken := strings.Replace(log.request(t, 3), "\n", "\nAAAA\n", 1)
	for _, c := range []struct {
		name, body string
		status     int
		reply      string
	}{
		{"nothing", "", 400, ""},
		{"no old size", "3\n\n", 400, ""},
		{"a size with zeros", strings.Replace(three.request(t, 0), "old 0", "old 00", 1), 400, ""},
		{"a hash that is none", broken, 400, ""},
		{"too many hashes", "old 1\n" + strings.Repeat(strings.Repeat("A", 43)+"=\n", 64) + "\nx", 400, ""},
		{"an old size that is larger", strings.Replace(three.request(t, 0), "old 0", "old 4", 1), 400, ""},
		{"another log", strings.ReplaceAll(three.request(t, 0), "log.example.org", "elsewhere.example.org"), 404, ""},
		{"another key", other.grow(t, "a").request(t, 0), 403, ""},
		{"a changed root", strings.Replace(three.request(t, 0), "\n3\n", "\n4\n", 1), 403, ""},
		{"the empty log", empty.request(t, 0), 200, ""},
		{"the first head", three.request(t, 0), 200, ""},
		{"the same again", three.request(t, 3), 200, ""},
		{"the same with another old size", three.request(t, 0), 409, "3\n"},
		{"another of that size", rewritten.request(t, 3), 409, "3\n"},
		{"a smaller one", two.request(t, 2), 409, "3\n"},
		{"one that does not go on", rewritten.fork().grow(t, "q").request(t, 3), 422, ""},
		{"one without its proof", "old 3\n" + log.request(t, 5)[len("old 5\n"):], 422, ""},
		{"the next", log.request(t, 3), 200, ""},
		{"a fork of it", forked.request(t, 3), 409, "5\n"},
		{"a fork of it by its size", forked.request(t, 5), 409, "5\n"},
	} {
		res, err := http.Post(server.URL+"/add-checkpoint", "", strings.NewReader(c.body)) //nolint:noctx // a test
		must(t, err)
		var b bytes.Buffer
		_, err = b.ReadFrom(res.Body)
		must(t, err)
		must(t, res.Body.Close())
		told := c.reply == "" || b.String() == c.reply && res.Header.Get("Content-Type") == "text/x.tlog.size"
		if res.StatusCode != c.status || !told {
			t.Errorf("%s: %d %q", c.name, res.StatusCode, b.String())
		}
		if c.status != 200 {
			continue
		}
		signed := c.body[strings.Index(c.body, "\n\n")+2:]
		n, err := note.Open([]byte(signed+b.String()), note.VerifierList(verifier))
		if err != nil || len(n.Sigs) != 1 {
			t.Errorf("%s: the cosignature does not hold: %v", c.name, err)
		}
	}
}

// However many ask at once, of two forks one is cosigned, and it stays so after a start.
func TestOneOfTwoForks(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), newHistory(t)
	log.grow(t, "a", "b", "c")
	forks := []*history{log.fork().grow(t, "d"), log.fork().grow(t, "x"), log.fork().grow(t, "d", "e"), log.fork().grow(t, "x", "y")}
	w, _ := open(t, dir, log)
	_, err := w.Add(t.Context(), []byte(log.request(t, 0)))
	must(t, err)
	var mu sync.Mutex
	cosigned := map[int]bool{}
	var wait sync.WaitGroup
	for range 10 {
		for i, f := range forks {
			body := []byte(f.request(t, 3))
			wait.Go(func() {
				if _, err := w.Add(t.Context(), body); err == nil {
					mu.Lock()
					defer mu.Unlock()
					cosigned[i] = true
				} else if statusOf(err) != http.StatusConflict {
					t.Error(err)
				}
			})
		}
	}
	wait.Wait()
	if len(cosigned) != 1 {
		t.Fatalf("cosigned: %v", cosigned)
	}
	must(t, w.Close())
	w, _ = open(t, dir, log) // another key, and the same database
	for i, f := range forks {
		if _, err := w.Add(t.Context(), []byte(f.request(t, 3))); err == nil {
			t.Errorf("fork %d is cosigned after a start", i)
		}
	}
}

// statusOf is the status of a refusal, 0 of another error.
func statusOf(err error) int {
	var refused *witness.Refusal
	errors.As(err, &refused)
	if refused == nil {
		return 0
	}
	return refused.Status
}

// Logs that are added to the file are known at once; a file that cannot be read changes nothing.
func TestLogsAreReadAgain(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), newHistory(t)
	w, _ := open(t, dir)
	log.grow(t, "a")
	add := func() int {
		_, err := w.Add(t.Context(), []byte(log.request(t, 0)))
		if status := statusOf(err); status != 0 {
			return status
		}
		must(t, err)
		return 200
	}
	if got := add(); got != 404 {
		t.Errorf("a log that nobody listed: %d", got)
	}
	must(t, os.WriteFile(filepath.Join(dir, "logs"), []byte("log\n"), 0o600))
	if got := add(); got != 404 {
		t.Errorf("a file that cannot be read: %d", got)
	}
	must(t, os.WriteFile(filepath.Join(dir, "logs"), []byte("log "+log.vkey+"\n"), 0o600))
	if got := add(); got != 200 {
		t.Errorf("a log that is listed: %d", got)
	}
}
