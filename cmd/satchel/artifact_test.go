package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"satchel/cmd/internal/command"
	"satchel/schemas"
	"satchel/test/testenv"
)

const toolLog = "2026-03-03T10:00:00Z INFO boiler pressure is steady\n"

// heavyLog is a log over the size of an event, with an address and a key in it.
func heavyLog() string {
	return strings.Repeat(toolLog, 20_000) + "2026-03-03T10:05:00Z ERROR boiler valve stuck, page ada.king@example.org\n" + strings.Repeat(toolLog, 200)
}

// handleOf asks as somebody and returns the handle of the item's artifact.
func handleOf(t *testing.T, n *testNode, item string, args ...string) string {
	t.Helper()
	res := mustJSON[schemas.ContextResult](t, n, append([]string{"ask", "why is the boiler valve stuck?"}, args...)...)
	for _, r := range res.Payload.Results {
		if r.ID == item && r.Metadata.Artifact != nil {
			return r.Metadata.Artifact.Handle
		}
	}
	t.Fatalf("no artifact of %s in %+v", item, res.Payload.Results)
	return ""
}

func (n *testNode) get(t *testing.T, handle string) (int, http.Header, []byte) {
	t.Helper()
	return n.ask(t, "/artifacts/"+handle)
}

// ask reads a page of the node.
func (n *testNode) ask(t *testing.T, path string) (int, http.Header, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.http+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, body
}

// TestMaskedNote: what came as it was stored was not masked, whatever looked at it.
func TestMaskedNote(t *testing.T) {
	t.Parallel()
	for sum, want := range map[string]string{"aa": "", "bb": ", masking applied"} {
		if got := command.MaskedNote(&schemas.OpenReply{Masked: true, SHA256: "aa"}, sum); got != want {
			t.Errorf("%s of aa: %q", sum, got)
		}
	}
}

// TestArtifact is the life of an artifact as its people see it: stored, found by its
// extract, opened by handle over NATS and HTTP, refused alike, revoked, erased.
func TestArtifact(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	text := heavyLog()
	file := filepath.Join(folder(t, map[string]string{"boiler.log": text}), "boiler.log")
	out := n.must(t, "artifact", "put", file, "--id", "log1")
	contains(t, "put", out, "stored   ", "indexed  item log1", "boiler.log, log of", "valve stuck", "[email]")
	if strings.Contains(out, "ada.king") {
		t.Errorf("the extract shows an address:\n%s", out)
	}

	saved := filepath.Join(t.TempDir(), "out.log")
	handle := handleOf(t, n, "log1")
	contains(t, "ask", n.must(t, "ask", "why is the boiler valve stuck?"), "artifact log1: ", "satchel artifact open sah1.")
	contains(t, "open", n.must(t, "artifact", "open", handle, "--out", saved), "masking applied")
	masked := strings.Replace(text, "ada.king@example.org", "[email]", 1)
	if got, err := os.ReadFile(saved); err != nil || string(got) != masked {
		t.Errorf("opened %d bytes, want %d: %v", len(got), len(masked), err)
	}
	if err := os.WriteFile(saved, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := n.run(t, "artifact", "open", handle, "--out", saved); r.code != exitUsage || !strings.Contains(r.err, "is there already; --force writes over it") {
		t.Errorf("open over a file: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if got, err := os.ReadFile(saved); err != nil || string(got) != "mine" {
		t.Errorf("a file that is there has %d bytes now, %v", len(got), err)
	}
	n.must(t, "artifact", "open", handle, "--out", saved, "--force")
	if got, err := os.ReadFile(saved); err != nil || string(got) != masked {
		t.Errorf("opened by force: %d bytes, %v", len(got), err)
	}
	if code, head, body := n.get(t, handle); code != http.StatusOK || string(body) != masked || head.Get("Satchel-Masked") != "true" ||
		head.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(head.Get("Content-Disposition"), "attachment") {
		t.Errorf("over HTTP: %d %v, %d bytes", code, head, len(body))
	}
	reader := handleOf(t, n, "log1", "--role", "pii_reader", "--role", "credentials_reader")
	if code, head, body := n.get(t, reader); code != http.StatusOK || string(body) != text || head.Get("Satchel-Sha256") == "" {
		t.Errorf("a reader of personal data: %d, %d bytes", code, len(body))
	}
	contains(t, "ledger", n.must(t, "ledger", "--kind", "artifact"), "artifact.stored", "artifact.opened")

	refuseAlike(t, n, handle, reader)
	contains(t, "forget", n.must(t, "forget", "log1"), "artifacts", "removed 1, nothing left")
	contains(t, "the ledger of an erasure", n.must(t, "ledger", "--kind", "erasure"), "request: log1\n", "receipt: log1\n")
	if code, _, body := n.get(t, reader); code != http.StatusForbidden {
		t.Errorf("after the erasure: %d %s", code, body)
	}
	if left := testenv.Holding(t, n.dir, "boiler valve stuck, page"); len(left) > 0 {
		t.Errorf("%s still holds the content", left)
	}
}

// refuseAlike tries handles that open nothing; every answer is the same.
func refuseAlike(t *testing.T, n *testNode, handle, reader string) {
	t.Helper()
	const refusal = "policy_denied: the handle opens nothing"
	flipped := []byte(handle)
	flipped[len(flipped)/2] ^= 1
	n.must(t, "artifact", "revoke", handle)
	for name, args := range map[string][]string{
		"revoked": {handle}, "one bit": {string(flipped)}, "garbage": {"garbage"}, "another principal": {reader, "--as", "other"}, "another tenant": {reader, "--tenant", "other"},
	} {
		if r := n.run(t, append([]string{"artifact", "open"}, args...)...); r.code == 0 || strings.TrimSpace(r.err) != "satchel: "+refusal {
			t.Errorf("%s: exit code %d\n%s", name, r.code, r.err)
		}
	}
	for name, h := range map[string]string{"revoked": handle, "one bit": string(flipped)} {
		if code, _, body := n.get(t, h); code != http.StatusForbidden || strings.TrimSpace(string(body)) != "the handle opens nothing" {
			t.Errorf("%s over HTTP: %d %s", name, code, body)
		}
	}
	if r := n.run(t, "artifact", "revoke", "--item", "log1"); r.code == 0 {
		t.Error("whoever may not erase an item revokes its handles")
	}
}

// While policy gives no verdict, what is asked of an item is refused in the words in which it is
// of one that there is not.
func TestWithoutAVerdictNothingIsTold(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--opa-url", "http://127.0.0.1:1")
	n.must(t, "emit", "--id", "n1", "--text", "The kiln is fired on Mondays.")
	for _, args := range [][]string{{"forget"}, {"artifact", "revoke", "--item"}, {"exception", "revoke"}} {
		one, none := n.run(t, append(slices.Clone(args), "n1")...), n.run(t, append(slices.Clone(args), "nowhere")...)
		if one.code == 0 || one.code != none.code || one.err != none.err || !strings.Contains(one.err, "policy") {
			t.Errorf("%v: exit code %d\n%sof what is not there: exit code %d\n%s", args, one.code, one.err, none.code, none.err)
		}
	}
}

// Two items with one content: it stays until the last of them is erased. Binary content
// is kept as it is.
func TestArtifactsShareContent(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	content := "boiler valve stuck " + string([]byte{0, 1, 2, 255}) + strings.Repeat("\x00", 5000)
	file := filepath.Join(folder(t, map[string]string{"boiler valve stuck.bin": content}), "boiler valve stuck.bin")
	n.must(t, "artifact", "put", file, "--id", "a")
	n.must(t, "artifact", "put", file, "--id", "b", "--name", "why is the boiler valve stuck")
	contains(t, "forget of one", n.must(t, "forget", "a"), "artifacts       removed 0, kept 1: other items have the same content")
	if code, head, body := n.get(t, handleOf(t, n, "b")); code != http.StatusOK || string(body) != content || head.Get("Satchel-Masked") != "false" {
		t.Errorf("the other: %d, %d bytes", code, len(body))
	}
	contains(t, "forget of the other", n.must(t, "forget", "b"), "artifacts       removed 1, nothing left")
	// A version that an item had before, and that the log still holds, has its content.
	n.must(t, "artifact", "put", file, "--id", "c")
	n.must(t, "emit", "--id", "c", "--text", "the boiler valve is mended")
	n.must(t, "artifact", "put", file, "--id", "d")
	contains(t, "forget of the later", n.must(t, "forget", "d"), "artifacts       removed 0, kept 1: other items have the same content")
	contains(t, "forget of both versions", n.must(t, "forget", "c"), "artifacts       removed 1, nothing left")
	if r := n.runIn(t, "", "artifact", "put", "-"); r.code != exitUsage || !strings.Contains(r.err, "there is no content") {
		t.Errorf("nothing is stored: %d %s", r.code, r.err)
	}
}

// A memory that is too large for an event becomes an artifact by itself, and what may not
// be remembered is refused.
func TestHeavyMemory(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--pii-on-write", "refuse")
	contains(t, "emit", n.must(t, "emit", "--id", "log1", "--text", strings.Repeat(toolLog, 12_000)+"why is the boiler valve stuck?"), "indexed: item log1")
	if code, _, body := n.get(t, handleOf(t, n, "log1")); code != http.StatusOK || len(body) < 600_000 {
		t.Errorf("%d, %d bytes", code, len(body))
	}
	if r := n.run(t, "emit", "--text", heavyLog()); r.code != exitUsage || !strings.Contains(r.err, "may not be remembered here: email") {
		t.Errorf("heavy: %d %s", r.code, r.err)
	}
	if r := n.run(t, "emit", "--text", "mail ada.king@example.org"); r.code != exitUsage || !strings.Contains(r.err, "personal_data") || strings.Contains(r.err, "ada.king") {
		t.Errorf("light: %d %s", r.code, r.err)
	}
}

// What was found at write is masked when it is shown, named by a pseudonym or shown
// whole, as the role has it; the ledger says which.
func TestDetectedPersonalData(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.must(t, "emit", "--id", "n1", "--text", "the glazier is ada.king@example.org", "--speaker", "Ida")
	ask := func(args ...string) string {
		return n.must(t, append([]string{"ask", "--text", "who is the glazier?"}, args...)...)
	}
	contains(t, "ask", ask(), "the glazier is [email]")
	contains(t, "as pii_reader", ask("--role", "pii_reader"), "ada.king@example.org")
	name := ask("--role", "pseudonym_reader")
	contains(t, "as pseudonym_reader", name, "the glazier is [email:")
	if name != ask("--role", "pseudonym_reader") {
		t.Error("the pseudonym is not stable")
	}
	res := mustJSON[schemas.ContextResult](t, n, "ask", "who is the glazier?")
	if got := res.Payload.Pack.Sections; len(res.Payload.Results) != 1 || !strings.Contains(string(mustMarshal(t, got)), `"obligations":{"pii":"redact","types":["email"]}`) {
		t.Errorf("sections %+v", got)
	}
}

func mustMarshal(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Whoever knows the hash of a content, and even has its attribute from the item that is
// hidden from them, opens nothing through an item of their own.
func TestArtifactOfAnother(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	file := filepath.Join(folder(t, map[string]string{"boiler.log": "why is the boiler valve stuck?\n" + strings.Repeat(toolLog, 500)}), "boiler.log")
	put := mustJSON[struct{ Item schemas.MemoryItem }](t, n, "artifact", "put", file, "--id", "theirs", "--agent", "officer", "--label", "level:restricted")
	stored, _ := put.Item.Artifact()
	if stored.Proof == "" {
		t.Fatalf("stored without a proof: %+v", stored)
	}
	forge := func(id, agent, proof string) {
		a := stored
		a.Proof = proof
		item := string(mustMarshal(t, map[string]any{"id": id, "content": "why is the boiler valve stuck?", "security_label": []string{"level:public"}, "scope": map[string]any{"tenant": "main"},
			"attributes": map[string]any{"artifact": a}}))
		n.must(t, "emit", "--agent", agent, "--item", item)
	}
	for id, proof := range map[string]string{"bare": "", "copied": stored.Proof, "made": strings.Repeat("0", 64)} {
		forge(id, "low", proof)
		handle := handleOf(t, n, id, "--as", "low", "--level", "public")
		if code, _, body := n.get(t, handle); code != http.StatusForbidden || strings.TrimSpace(string(body)) != "the handle opens nothing" {
			t.Errorf("%s over HTTP: %d, %d bytes", id, code, len(body))
		}
		if r := n.run(t, "artifact", "open", handle, "--as", "low"); r.code == 0 || !strings.Contains(r.err, "the handle opens nothing") {
			t.Errorf("%s over NATS: %d %s", id, r.code, r.err)
		}
		n.must(t, "forget", id)
	}
	forge("shared", "officer", stored.Proof)
	if code, _, body := n.get(t, handleOf(t, n, "shared", "--as", "low", "--level", "public")); code != http.StatusOK || len(body) != stored.Size {
		t.Errorf("shared by who stored it: %d, %d bytes", code, len(body))
	}
}

// The files of the stores are for their owner alone.
func TestStoresAreTheOwners(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.must(t, "emit", "--id", "n1", "--text", "the glazier comes on Monday")
	files, err := filepath.Glob(filepath.Join(n.dir, "*.db*"))
	if err != nil || len(files) < 3 {
		t.Fatalf("files %v: %v", files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
}
