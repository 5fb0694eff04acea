package eventlogtest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"satchel/pipeline/store/eventlog"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

func hashOf(t *testing.T, s string) (h tlog.Hash) {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) {
		t.Fatalf("hash %q: %v", s, err)
	}
	copy(h[:], b)
	return h
}

func hashesOf(t *testing.T, s []string) []tlog.Hash {
	t.Helper()
	out := make([]tlog.Hash, len(s))
	for i := range s {
		out[i] = hashOf(t, s[i])
	}
	return out
}

// testProofs checks proofs for every position and size with x/mod's own verifier, and
// stored hashes and heads with its own hashing.
func testProofs(t *testing.T, open Open) {
	l, s := newLog(t, open(t), nil), folded.Tenant(t, "acme")
	const n = 70
	heads := []eventlog.Head{{}}
	var stored []tlog.Hash
	for i := range n {
		out := add(t, l, draft("acme", fmt.Sprint(i), "x"))
		hashes, err := tlog.StoredHashesForRecordHash(int64(i), out[0].Leaf, tlog.HashReaderFunc(func(at []int64) ([]tlog.Hash, error) {
			var old []tlog.Hash
			for _, ix := range at {
				old = append(old, stored[ix])
			}
			return old, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, hashes...)
		h := must.Get(l.Head(t.Context(), s))(t)
		heads = append(heads, h)
	}
	for size := int64(1); size <= n; size += 3 {
		for position := int64(1); position <= size; position++ {
			p := must.Get(l.ProveInclusion(t.Context(), s, position, size))(t)
			if hashOf(t, p.Root) != heads[size].Root || p.Size != size || p.Position != position {
				t.Fatalf("proof %d of %d is for another head", position, size)
			}
			if err := tlog.CheckRecord(hashesOf(t, p.Hashes), size, heads[size].Root, position-1, hashOf(t, p.Leaf)); err != nil {
				t.Fatalf("position %d of %d: %v", position, size, err)
			}
		}
		p := must.Get(l.ProveConsistency(t.Context(), s, size))(t)
		if err := tlog.CheckTree(hashesOf(t, p.Hashes), n, heads[n].Root, size, heads[size].Root); err != nil {
			t.Fatalf("size %d: %v", size, err)
		}
	}
	for _, positions := range [][]int64{{n, 1, 33}, {1, 33}, {2, 1, 33}} { // from the database, then perhaps from memory
		leaves := must.Get(l.Leaves(t.Context(), s, positions))(t)
		for i, h := range hashesOf(t, leaves) {
			if h != stored[tlog.StoredHashIndex(0, positions[i]-1)] {
				t.Errorf("leaf of position %d differs", positions[i])
			}
		}
	}
	for _, bad := range []error{
		second(l.Leaves(t.Context(), s, []int64{1, n + 1})),
		second(l.ProveInclusion(t.Context(), s, n+1, 0)), second(l.ProveInclusion(t.Context(), s, 5, 4)), second(l.ProveInclusion(t.Context(), s, 0, 0)),
		second(l.ProveInclusion(t.Context(), s, 1, n+1)), second(l.ProveConsistency(t.Context(), s, n+1)), second(l.ProveConsistency(t.Context(), s, 0)),
	} {
		if !errors.Is(bad, eventlog.ErrNotFound) {
			t.Errorf("a proof beyond the log: %v", bad)
		}
	}
}

func testSignedHead(t *testing.T, open Open) {
	l, s := newLog(t, open(t), nil), folded.Tenant(t, "acme")
	add(t, l, draft("acme", "1", "x"), draft("acme", "2", "x"))
	reply := must.Get(l.SignedHead(t.Context(), s))(t)
	if !strings.HasPrefix(reply.Checkpoint, "satchel/acme\n2\n") || !strings.HasPrefix(reply.PublicKey, "satchel/acme+") {
		t.Errorf("checkpoint %q by %q", reply.Checkpoint, reply.PublicKey)
	}
	h, err := l.OpenCheckpoint(s, []byte(reply.Checkpoint))
	now, headErr := l.Head(t.Context(), s)
	if err != nil || headErr != nil || h != now || reply.Root != hex.EncodeToString(h.Root[:]) {
		t.Errorf("opened %v (%v), head %v (%v)", h, err, now, headErr)
	}
	openedUnderOtherNames(t, open, h, reply.Checkpoint)
	if _, err := l.OpenCheckpoint(folded.Tenant(t, "globex"), []byte(reply.Checkpoint)); err == nil {
		t.Error("a checkpoint of another tenant was taken")
	}
	if _, err := l.OpenCheckpoint(s, []byte(strings.Replace(reply.Checkpoint, "\n2\n", "\n1\n", 1))); err == nil {
		t.Error("a changed checkpoint was taken")
	}
}

// openedUnderOtherNames opens heads of before the log had its name, and refuses what another name signed.
func openedUnderOtherNames(t *testing.T, open Open, h eventlog.Head, under string) {
	t.Helper()
	var signer note.Signer
	l := newLog(t, open(t), func(c *eventlog.Config) { c.Origin, signer = "log.example.org", c.Signer })
	s := folded.Tenant(t, "acme")
	if got, err := l.OpenCheckpoint(s, []byte(under)); err != nil || got != h {
		t.Errorf("under the former origin: %v, %v", got, err)
	}
	text, _, _ := strings.Cut(under, "\n\n")
	for origin, want := range map[string]bool{"satchel/acme": true, "other/acme": false, "satchel/globex": false, "acme": false} {
		_, rest, _ := strings.Cut(text, "\n")
		raw, err := note.Sign(&note.Note{Text: origin + "\n" + rest + "\n"}, signer) // by the key's own name
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.OpenCheckpoint(s, raw); (err == nil) != want {
			t.Errorf("signed by the key's own name, origin %q: %v", origin, err)
		}
	}
	add(t, l, draft("acme", "1", "x"))
	reply, err := l.SignedHead(t.Context(), s)
	if err != nil || !strings.HasPrefix(reply.Checkpoint, "log.example.org/acme\n1\n") || !strings.HasPrefix(reply.PublicKey, "log.example.org/acme+") {
		t.Errorf("%v, %v", reply, err)
	}
	v := must.Get(note.NewVerifier(reply.PublicKey))(t)
	if _, err := note.Open([]byte(reply.Checkpoint), note.VerifierList(v)); err != nil {
		t.Error(err)
	}
}

// testKept has a kept checkpoint betray another history and a shorter one.
func testKept(t *testing.T, open Open) {
	folder := filepath.Join(t.TempDir(), "kept")
	keep := func(c *eventlog.Config) { c.Keep = folder }
	l, s := newLog(t, open(t), keep), folded.Tenant(t, "acme")
	if _, err := l.SignedHead(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if files, err := filepath.Glob(filepath.Join(folder, "*")); err != nil || len(files) > 0 {
		t.Errorf("an empty log's head is kept: %v (%v)", files, err)
	}
	add(t, l, draft("acme", "1", "x"), draft("acme", "2", "x"))
	for range 2 {
		if _, err := l.SignedHead(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	add(t, l, draft("acme", "3", "x"))
	must.Do(t, errors.Join(l.CheckTrustedHead(t.Context(), s), l.VerifyAll(t.Context(), nil)))
	if _, err := l.SignedHead(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	shorter := newLog(t, open(t), keep)
	add(t, shorter, draft("acme", "1", "x"))
	expect(t, "shorter", 2, shorter.Verify(t.Context(), s, nil, nil))
	expect(t, "shorter at once", 2, shorter.CheckTrustedHead(t.Context(), s))
	expect(t, "shorter signing", 2, second(shorter.SignedHead(t.Context(), s)))
	gone := newLog(t, open(t), keep)
	expect(t, "gone", 1, gone.VerifyAll(t.Context(), nil))
	other := newLog(t, open(t), keep)
	add(t, other, draft("acme", "1", "x"), draft("acme", "2", "y"), draft("acme", "3", "x"), draft("acme", "4", "x"))
	expect(t, "rewritten", 3, other.Verify(t.Context(), s, nil, nil))
	expect(t, "rewritten at once", 3, other.CheckTrustedHead(t.Context(), s))
	known := must.Get(other.Head(t.Context(), s))(t)
	fresh := newLog(t, open(t), nil)
	add(t, fresh, draft("acme", "1", "x"))
	expect(t, "a presented head", 2, fresh.Verify(t.Context(), s, &known, nil))
	_, public, err := note.GenerateKey(nil, "satchel-test")
	if err != nil {
		t.Fatal(err)
	}
	keyed := newLog(t, open(t), func(c *eventlog.Config) { c.Keep, c.VerifierKey = folder, public })
	for what, err := range map[string]error{"the key": keyed.CheckKey(), "kept": keyed.CheckTrustedHead(t.Context(), s), "verify": keyed.Verify(t.Context(), s, nil, nil)} {
		if !errors.Is(err, eventlog.ErrOtherKey) || errors.Is(err, eventlog.ErrCorrupt) || !strings.HasSuffix(err.Error(), "acme.checkpoint") {
			t.Errorf("%s by another key: %v", what, err)
		}
	}
	if err := l.CheckKey(); err != nil {
		t.Error(err)
	}
	must.Do(t, os.WriteFile(filepath.Join(folder, "acme.checkpoint"), []byte("garbage"), 0o600))
	if err := l.Verify(t.Context(), s, nil, nil); !errors.Is(err, eventlog.ErrCorrupt) {
		t.Errorf("a damaged kept checkpoint: %v", err)
	}
}

// expect fails unless err is a *VerifyError at position.
func expect(t *testing.T, what string, position int64, err error) {
	t.Helper()
	var bad *eventlog.VerifyError
	if !errors.As(err, &bad) || bad.Position != position || !errors.Is(err, eventlog.ErrCorrupt) {
		t.Errorf("%s: %v, want a problem at position %d", what, err, position)
	}
}
