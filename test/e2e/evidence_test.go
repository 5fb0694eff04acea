package e2e

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	little "encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"satchel/test/parts"
	"satchel/test/testenv"
)

// bundle is an evidence file, taken apart.
type bundle map[string]string

func readBundle(t *testing.T, path string) bundle {
	t.Helper()
	r, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b := bundle{}
	for _, f := range r.File {
		part, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		b[f.Name] = string(raw)
	}
	return b
}

// write writes the file as Satchel does.
func (b bundle) write(t *testing.T, path string) {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(b)) {
		data := []byte(b[name])
		part, err := w.CreateRaw(&zip.FileHeader{Name: name, ModifiedDate: 1<<5 | 1, CRC32: crc32.ChecksumIEEE(data), CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data))})
		if err == nil {
			_, err = part.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sign lists the members anew and signs the manifest.
func (b bundle) sign(t *testing.T, signer note.Signer) {
	t.Helper()
	text, _, _ := strings.Cut(b["manifest"], "\n\n")
	text = regexp.MustCompile(`(?m)^file .*\n?`).ReplaceAllString(text+"\n", "")
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if name != "manifest" {
			text += fmt.Sprintf("file %x %d %s\n", sha256.Sum256([]byte(b[name])), len(b[name]), name)
		}
	}
	raw, err := note.Sign(&note.Note{Text: text}, signer)
	if err != nil {
		t.Fatal(err)
	}
	b["manifest"] = string(raw)
}

// replace replaces text in a member, which must hold it.
func (b bundle) replace(t *testing.T, name, old, by string) {
	t.Helper()
	if !strings.Contains(b[name], old) {
		t.Fatalf("%s does not hold %q", name, old)
	}
	b[name] = strings.Replace(b[name], old, by, 1)
}

// forged are changes that who has the log's key signs over, so that they do not show in the hashes.
func forged(t *testing.T, pack, item int) map[string]func(b bundle) {
	at := func(position int, kind string) string { return fmt.Sprintf("entries/%d.%s", position, kind) }
	result, text := fmt.Sprintf("packs/%d/result.json", pack), fmt.Sprintf("packs/%d/text.txt", pack)
	drop, decision := pack+1, pack+2
	return map[string]func(b bundle){
		"another text":             func(b bundle) { b.replace(t, text, "red", "tan") },
		"another result":           func(b bundle) { b.replace(t, result, "red", "tan") },
		"no result":                func(b bundle) { delete(b, result); delete(b, text) },
		"no text":                  func(b bundle) { delete(b, text) },
		"no drop report":           func(b bundle) { delete(b, at(drop, "data")) },
		"no entry of the drops":    func(b bundle) { delete(b, at(drop, "preimage")) },
		"no decision":              func(b bundle) { delete(b, at(decision, "data")) },
		"fewer drops":              func(b bundle) { b.replace(t, at(drop, "data"), `"drops":[{`, `"drops":[],"x":[{`) },
		"another verdict":          func(b bundle) { b.replace(t, at(decision, "data"), `"allow":true`, `"allow":false`) },
		"another item in the pack": func(b bundle) { b.replace(t, at(pack, "data"), `"n1"`, `"n9"`) },
		"another agent":            func(b bundle) { b.replace(t, at(item, "preimage"), "agent ", "agenT ") },
		"no proof":                 func(b bundle) { delete(b, at(item, "tlog-proof")) },
		"no item":                  func(b bundle) { delete(b, at(item, "tlog-proof")); delete(b, at(item, "preimage")) },
		"swapped proofs": func(b bundle) {
			b[at(item, "tlog-proof")], b[at(pack, "tlog-proof")] = b[at(pack, "tlog-proof")], b[at(item, "tlog-proof")]
		},
		"swapped entries": func(b bundle) {
			for _, kind := range []string{"tlog-proof", "preimage", "data", "opening"} {
				b[at(drop, kind)], b[at(decision, kind)] = b[at(decision, kind)], b[at(drop, kind)]
			}
		},
		"another position in the list": func(b bundle) { b.replace(t, "manifest", fmt.Sprintf("pack %d ", pack), fmt.Sprintf("pack %d ", drop)) },
		"another tenant":               func(b bundle) { b.replace(t, "manifest", "tenant main", "tenant acme") },
		"another head":                 func(b bundle) { b.replace(t, "manifest", "head ", "head 1") },
		"another salt":                 func(b bundle) { b.replace(t, at(decision, "opening"), `"salt":"`, `"salt":"00`) },
		"an entry without a proof":     func(b bundle) { b["entries/1000.data"] = "{}" },
		"another checkpoint":           func(b bundle) { b.replace(t, "checkpoint", "\n\n", "\nmore\n\n") },
	}
}

// driver runs verify.py on every file of a folder, in one process.
const driver = `
import os, sys
code = compile(open(sys.argv[1]).read(), "verify.py", "exec")
for name in sorted(os.listdir(sys.argv[2])):
    m = {"__name__": "verify"}
    exec(code, m)
    try:
        m["main"](os.path.join(sys.argv[2], name), sys.argv[3])
        print("ACCEPTED", name)
    except Exception as e:
        print("refused", name, repr(e)[:150])
`

// pageDriver runs the script of verify.html on every file of a folder, in one process of Node.
const pageDriver = `
const fs = require("fs"), path = require("path");
const script = /<script>([^]*)<\/script>/.exec(fs.readFileSync(process.argv[1], "utf8"))[1];
const verify = new Function(script + "\nreturn verify;")();
(async () => {
  for (const name of fs.readdirSync(process.argv[2]).sort()) {
    try {
      console.log("ACCEPTED", name, await verify(new Uint8Array(fs.readFileSync(path.join(process.argv[2], name))), process.argv[3]));
    } catch (e) {
      console.log(e.constructor.name === "Bad" ? "refused" : "BROKEN", name, String(e));
    }
  }
})();
`

// TestEvidence takes the evidence of a pack from a running worker. Satchel and Python accept it; every
// change is refused by both, also those that the log's own key signs over.
func TestEvidence(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("python3", "-I", "-c", "import hashlib").CombinedOutput(); err != nil {
		parts.Missing(t, "python", string(out))
	}
	data, work := t.TempDir(), t.TempDir()
	i := testenv.Up(t, binary("satchel"), data)
	i.Must(t, "emit", "--id", "n1", "--text", "the lake house has a red door", "--speaker", "Ann")
	i.Must(t, "emit", "--id", "n2", "--text", "the lake house has a red door, says the brochure", "--speaker", "Bob")
	i.Must(t, "emit", "--id", "n3", "--text", "the kiln is cold on Sundays")
	i.Must(t, "emit", "--item", `{"id":"n4","content":"the kiln is Cora's","pii_flags":["$"]}`)
	pack := ask(t, i, "what colour is the door of the lake house?")
	file, again := filepath.Join(work, "e.zip"), filepath.Join(work, "again.zip")
	i.Must(t, "evidence", pack.id, "-o", file)
	checkpoint := filepath.Join(work, "checkpoint")
	whole := readBundle(t, file)
	if err := os.WriteFile(checkpoint, []byte(whole["checkpoint"]), 0o600); err != nil {
		t.Fatal(err)
	}
	ask(t, i, "is the kiln cold today?") // the log goes on, with a pack that n4 was found for, of which nothing may be shown
	i.Must(t, "evidence", pack.id, "-o", again, "--checkpoint", checkpoint)
	one, err := os.ReadFile(file)
	two, err2 := os.ReadFile(again)
	if err != nil || err2 != nil || !bytes.Equal(one, two) {
		t.Errorf("an equal pack and checkpoint give other bytes: %v %v", err, err2)
	}
	key := filepath.Join(data, "keys", "log.pub")
	if out := i.Must(t, "evidence", "--verify", file, "--key", key); !strings.Contains(out, "holds: 1 pack") {
		t.Errorf("verify: %s", out)
	}
	script := filepath.Join(work, "verify.py")
	if err := os.WriteFile(script, []byte(whole["verify.py"]), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := offline("python3", "-I", script, file, key).CombinedOutput(); err != nil || !strings.Contains(string(out), "ok: 1 packs") {
		t.Errorf("verify.py: %v\n%s", err, out)
	}
	if strings.Count(whole["verify.py"], "\n") > 150 || whole[fmt.Sprintf("packs/%d/text.txt", pack.position)] == "" || !strings.Contains(whole["settings.json"], "SATCHEL_DIR") {
		t.Errorf("members %v", slices.Sorted(maps.Keys(whole)))
	}
	page := filepath.Join(work, "verify.html")
	mutations := filepath.Join(work, "mutations")
	if err := errors.Join(os.WriteFile(page, []byte(whole["verify.html"]), 0o600), os.Mkdir(mutations, 0o700)); err != nil {
		t.Fatal(err)
	}
	n := mutate(t, whole, pack, data, mutations) + smuggle(t, one, mutations)
	t.Logf("%d mutations", n)
	refuseAll(t, i, script, mutations, key, n)
	judgeByPage(t, page, mutations, key, "refused", n)

	since := filepath.Join(work, "since.zip")
	i.Must(t, "forget", "n1")
	i.Must(t, "evidence", "--since", "1", "-o", since, "--report", script)
	if out := i.Must(t, "evidence", "--verify", since); !strings.Contains(out, "holds: 2 packs") {
		t.Errorf("verify: %s", out)
	}
	if out, err := exec.Command("python3", "-I", script, since).CombinedOutput(); err != nil || !strings.Contains(string(out), "ok: 2 packs") {
		t.Errorf("verify.py: %v\n%s", err, out)
	}
	both := filepath.Join(work, "both")
	if err := errors.Join(os.Mkdir(both, 0o700), os.Rename(file, filepath.Join(both, "e.zip"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(since, filepath.Join(both, "since.zip")); err != nil {
		t.Fatal(err)
	}
	judgeByPage(t, page, both, key, "ACCEPTED", 2)
	for name, content := range readBundle(t, since) {
		if strings.Contains(content, "red door") {
			t.Errorf("%s has what was erased", name)
		}
	}
	if out, code := i.Run(t, "evidence", "nobody", "-o", since); code != 2 || !strings.Contains(out, "there is no such pack") {
		t.Errorf("of no pack: %d %s", code, out)
	}
}

// TestEvidenceIsAcceptedByTorchwood has the proofs checked by a verifier of others, which wants that the key has
// the name of the origin.
func TestEvidenceIsAcceptedByTorchwood(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	verifier, file := filepath.Join(work, "torchwood"), filepath.Join(work, "e.zip")
	build := exec.Command("go", "build", "-o", verifier, ".")
	build.Dir, build.Env = "../evidence", append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly")
	if out, err := build.CombinedOutput(); err != nil {
		parts.Missing(t, "torchwood", string(out))
	}
	i := testenv.Up(t, binary("satchel"), t.TempDir(), "--origin", "log.example.org")
	i.Must(t, "emit", "--id", "n1", "--text", "the lake house has a red door", "--speaker", "Ann")
	i.Must(t, "evidence", ask(t, i, "what colour is the door?").id, "-o", file) // by the origin of the kept head
	whole := readBundle(t, file)
	if !strings.HasPrefix(whole["checkpoint"], "log.example.org/main\n") || !strings.HasPrefix(whole["keys/log.vkey"], "log.example.org/main+") {
		t.Errorf("checkpoint %s, key %s", whole["checkpoint"], whole["keys/log.vkey"])
	}
	if out, err := exec.Command(verifier, file).CombinedOutput(); err != nil || string(out) != "torchwood accepts 4 proofs\n" {
		t.Errorf("torchwood: %v\n%s", err, out)
	}
	whole.replace(t, "entries/1.preimage", "agent ", "agenT ")
	whole.write(t, file)
	if out, err := exec.Command(verifier, file).CombinedOutput(); err == nil {
		t.Errorf("torchwood accepts another entry: %s", out)
	}
}

// offline is a command without a network, where the system lets one be taken away.
func offline(name string, args ...string) *exec.Cmd {
	if exec.Command("unshare", "-n", "true").Run() == nil {
		return exec.Command("unshare", append([]string{"-n", name}, args...)...)
	}
	return exec.Command(name, args...)
}

type packOf struct {
	id             string
	position, item int // in the log, of the pack and of a shown item
}

func ask(t *testing.T, i *testenv.Satchel, question string) packOf {
	t.Helper()
	var reply struct {
		Payload struct {
			PackID    string `json:"pack_id"`
			Positions struct{ Pack int }
			Results   []struct{ Metadata struct{ Position int } }
		}
	}
	if err := json.Unmarshal([]byte(i.Must(t, "ask", "--json", "--limit", "1", question)), &reply); err != nil || len(reply.Payload.Results) == 0 {
		t.Fatal(err)
	}
	return packOf{reply.Payload.PackID, reply.Payload.Positions.Pack, reply.Payload.Results[0].Metadata.Position}
}

// mutate writes changed copies of a file and returns how many.
func mutate(t *testing.T, whole bundle, pack packOf, data, to string) (n int) {
	t.Helper()
	private, err := os.ReadFile(filepath.Join(data, "keys", "log.key"))
	if err != nil {
		t.Fatal(err)
	}
	public := strings.SplitN(whole["keys/log.vkey"], "+", 3) // the same key under the name of the origin
	own, err := note.NewSigner(fmt.Sprintf("PRIVATE+KEY+%s+%s+%s", public[0], public[1], strings.SplitN(string(private), "+", 5)[4]))
	if err != nil {
		t.Fatal(err)
	}
	same := maps.Clone(whole)
	if same.sign(t, own); same["manifest"] != whole["manifest"] {
		t.Errorf("signed again, the manifest is another:\n%s%s", same["manifest"], whole["manifest"])
	}
	for name, content := range whole { // a bit in each file
		b, at := maps.Clone(whole), (len(content)*7919+3)%len(content)
		b[name] = content[:at] + string([]byte{content[at] ^ 1}) + content[at+1:]
		b.write(t, filepath.Join(to, "bit "+strings.ReplaceAll(name, "/", " ")))
		n++
	}
	for name, change := range forged(t, pack.position, pack.item) {
		b := maps.Clone(whole)
		change(b)
		b.sign(t, own)
		b.write(t, filepath.Join(to, name))
		n++
	}
	otherPrivate, otherPublic, err := note.GenerateKey(nil, "satchel")
	if err != nil {
		t.Fatal(err)
	}
	other, err := note.NewSigner(otherPrivate)
	if err != nil {
		t.Fatal(err)
	}
	b := maps.Clone(whole)
	b["keys/log.vkey"] = otherPublic + "\n"
	b.sign(t, other)
	b.write(t, filepath.Join(to, "other key"))
	return n + 1
}

// smuggle writes copies of a file in which something stands that its directory does not name, and returns how many. Who
// reads a zip from its beginning would find it.
func smuggle(t *testing.T, raw []byte, to string) int {
	t.Helper()
	var extra bytes.Buffer
	w := zip.NewWriter(&extra)
	part, err := w.CreateRaw(&zip.FileHeader{Name: "packs/1/text.txt", Method: zip.Store, CompressedSize64: 6, UncompressedSize64: 6, CRC32: crc32.ChecksumIEEE([]byte("forged"))})
	if err == nil {
		_, err = part.Write([]byte("forged"))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	member := extra.Bytes()[:bytes.Index(extra.Bytes(), []byte("PK\x01\x02"))]
	end := bytes.LastIndex(raw, []byte("PK\x05\x06"))
	directory := int(little.LittleEndian.Uint32(raw[end+16:]))
	// moved has n bytes more before its directory, and before its members from the offset on.
	moved := func(b []byte, n, from int) []byte {
		b = bytes.Clone(b)
		end := bytes.LastIndex(b, []byte("PK\x05\x06"))
		little.LittleEndian.PutUint32(b[end+16:], uint32(directory+n))
		for at := directory + n; at < end; at += 46 + int(little.LittleEndian.Uint16(b[at+28:])) + int(little.LittleEndian.Uint16(b[at+30:])) {
			if local := int(little.LittleEndian.Uint32(b[at+42:])); local >= from {
				little.LittleEndian.PutUint32(b[at+42:], uint32(local+n))
			}
		}
		return b
	}
	n := len(member)
	files := map[string][]byte{
		"smuggled before the directory":    moved(slices.Concat(raw[:directory], member, raw[directory:]), n, directory),
		"smuggled in front":                moved(slices.Concat(member, raw), n, 0),
		"smuggled in front, offsets alone": slices.Concat(extra.Bytes(), raw),
		"smuggled behind":                  slices.Concat(raw, member),
		"smuggled behind the directory":    slices.Concat(raw[:end], member, raw[end:]),
		"smuggled comment":                 slices.Concat(raw[:len(raw)-2], []byte{byte(n), 0}, member),
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(to, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return len(files)
}

// judgeByPage has the verifier for browsers judge every file of a folder.
func judgeByPage(t *testing.T, page, folder, key, verdict string, n int) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Log("without Node verify.html is NOT run")
		return
	}
	public, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	out, err := offline("node", "-e", pageDriver, page, folder, strings.TrimSpace(string(public))).CombinedOutput()
	if err != nil || strings.Count(string(out), verdict+" ") != n {
		t.Errorf("verify.html, want %s of %d files: %v\n%s", verdict, n, err, out)
	}
}

// refuseAll has both verifiers refuse every file of a folder.
func refuseAll(t *testing.T, i *testenv.Satchel, script, mutations, key string, n int) {
	t.Helper()
	if n < 40 {
		t.Errorf("%d mutations, and 40 are wanted", n)
	}
	public, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("python3", "-I", "-c", driver, script, mutations, strings.TrimSpace(string(public))).CombinedOutput()
	if err != nil || strings.Contains(string(out), "ACCEPTED") || strings.Count(string(out), "refused") != n {
		t.Errorf("verify.py of %d mutations: %v\n%s", n, err, out)
	}
	t.Logf("%s", out)
	if strings.Contains(string(out), "SyntaxError") || strings.Contains(string(out), "NameError") {
		t.Errorf("verify.py breaks:\n%s", out)
	}
	files, err := os.ReadDir(mutations)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if out, code := i.Run(t, "evidence", "--verify", filepath.Join(mutations, f.Name()), "--key", key); code != 3 || !strings.Contains(out, "the evidence does not hold") {
			t.Errorf("%s: exit code %d\n%s", f.Name(), code, out)
		}
	}
}
