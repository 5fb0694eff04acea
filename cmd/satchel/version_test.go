package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	if r := satchel(t, "", "version"); r.code != 0 || !strings.HasPrefix(r.out, "satchel ") {
		t.Errorf("exit code %d\n%s", r.code, r.out)
	}
	var v map[string]string
	if r := satchel(t, "", "version", "--json"); json.Unmarshal([]byte(r.out), &v) != nil || v["go"] == "" {
		t.Errorf("version --json printed\n%s", r.out)
	}
}

// signSums signs sums as a release does, into a file beside the others. It returns its path and the verifier key.
func signSums(t *testing.T, dir, sums string) (path, key string) {
	t.Helper()
	private, key, err := note.GenerateKey(rand.Reader, "releases.example")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := note.Sign(&note.Note{Text: sums}, signer)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "SHA256SUMS.note")
	if err := os.WriteFile(path, signed, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, key
}

func TestVersionVerifiesARelease(t *testing.T) {
	t.Parallel()
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	sums := sum("one") + "  a.tar\n" + sum("two") + "  b.tar\n"
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files  map[string]string
		sums   string
		change func(path string, note string) error // of the signed file
		key    string
		code   int
		says   string
	}{
		"all files":    {files: map[string]string{"a.tar": "one", "b.tar": "two"}, sums: sums, says: "ok   b.tar"},
		"some files":   {files: map[string]string{"a.tar": "one"}, sums: sums, says: "ok   a.tar"},
		"this program": {sums: sums + sum(string(raw)) + "  satchel\n", says: "ok   this program is satchel"},
		"no file":      {sums: sums, code: exitFound, says: "nothing was checked"},
		"other file": {files: map[string]string{"a.tar": "one", "b.tar": "2"}, sums: sums, code: exitFound,
			says: "not as they were signed: b.tar"},
		"other folder": {sums: sum("one") + "  ../a.tar\n", code: exitFound, says: "no sum of a file beside it"},
		"changed sums": {files: map[string]string{"a.tar": "1"}, sums: sums, code: exitFound,
			says: "is not signed by releases.example",
			change: func(path, note string) error {
				return os.WriteFile(path, []byte(strings.Replace(note, sum("one"), sum("1"), 1)), 0o600)
			}},
		"other key": {files: map[string]string{"a.tar": "one"}, sums: sums, code: exitFound, says: "is not signed by",
			key: "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"},
		"no key": {files: map[string]string{"a.tar": "one"}, sums: sums, key: "none", code: exitUsage,
			says: "--verify needs --key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, c.files)
			path, key := signSums(t, dir, c.sums)
			if c.key != "" {
				key = c.key
			}
			if c.change != nil {
				signed, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.change(path, string(signed)); err != nil {
					t.Fatal(err)
				}
			}
			r := satchel(t, "", "version", "--verify", path, "--key", key)
			if r.code != c.code || !strings.Contains(r.out+r.err, c.says) {
				t.Errorf("exit code %d, not %d with %q\n%s%s", r.code, c.code, c.says, r.out, r.err)
			}
		})
	}
}
