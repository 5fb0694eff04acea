package attack

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// No hash on the ledger, and none in evidence without content, is that of what was shown: who guesses
// the text finds no confirmation, neither while policy hides it nor after it was erased. Who has the
// answer can still tell that it is the one in the log.
func TestNoHashConfirmsAGuess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "main")
	const secret = "The yearly salary of Ines Vogel is 48213 EUR."
	writer := &principals[0]
	send := func(kind string, n int, data map[string]any) {
		t.Helper()
		if text := ask(w.conns["main/writer"], "mem.v1.main.put", put("writer", kind, data, n)); !strings.Contains(text, `"level"`) {
			t.Fatalf("%s: %.600s", kind, text)
		}
	}
	send("recorded", 1, map[string]any{"id": "salary", "type": "semantic", "kind": "memory", "scope": map[string]any{"tenant": "main"},
		"created_at": "2026-03-03T10:00:00Z", "security_label": []string{"level:restricted"}, "content": secret})
	from := func(what map[string]any) map[string]any { what["from"] = writer.from(); return what }
	var shown struct {
		Payload struct {
			Text   string
			PackID string `json:"pack_id"`
			Pack   struct {
				Salt     string
				Rendered string `json:"rendered_sha256"`
				Result   string `json:"result_sha256"`
			}
		}
	}
	decode(t, ask(w.conns["main/writer"], "ctx.v1.main.request", map[string]any{
		"meta":    from(map[string]any{"type": "ContextRequest"}),
		"payload": map[string]any{"query": map[string]any{"text": "yearly salary of Ines Vogel"}, "token_budget": 2000}}), &shown)
	var run struct {
		Answer struct {
			Text       string
			Invocation struct {
				Salt    string
				Payload string `json:"payload_sha256"`
				Answer  string `json:"answer_sha256"`
			}
		}
		Handovers []struct {
			Invocation *struct {
				Answer string `json:"answer_sha256"`
			}
		}
	}
	decode(t, ask(w.conns["main/writer"], "ctx.v1.main.run", from(map[string]any{"task": "What is the yearly salary of Ines Vogel?"})), &run)
	pack, invocation := &shown.Payload.Pack, &run.Answer.Invocation
	if !strings.Contains(shown.Payload.Text, secret) || !strings.Contains(run.Answer.Text, "48213") {
		t.Fatalf("nobody is shown the secret: %s, %s", shown.Payload.Text, run.Answer.Text)
	}
	if pack.Salt == invocation.Salt || strings.Trim(pack.Salt, "0") == "" {
		t.Errorf("salts that can be guessed: %s, %s", pack.Salt, invocation.Salt)
	}
	if pack.Rendered != salted(t, pack.Salt, []byte(shown.Payload.Text)) {
		t.Error("who has the answer cannot tell that the log has its text")
	}
	said := ""
	for _, h := range run.Handovers {
		if h.Invocation != nil {
			said = h.Invocation.Answer
		}
	}
	if plain, err := hex.DecodeString(invocation.Answer); err != nil || said != salted(t, invocation.Salt, plain) {
		t.Error("who has the answer of a run cannot tell that the log has it")
	}
	guesses := []string{hexSum(secret), hexSum(shown.Payload.Text), hexSum(run.Answer.Text), invocation.Answer, invocation.Payload, pack.Salt, invocation.Salt}
	search := func(moment string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "e.zip")
		w.Must(t, "evidence", "--since", "1", "--no-content", "-o", file)
		for place, text := range map[string]string{"the ledger": w.ledgerUpTo(t, pack.Result, said), "evidence without content": unzipped(t, file)} {
			if !strings.Contains(text, pack.Rendered) || !strings.Contains(text, pack.Result) || !strings.Contains(text, said) {
				t.Errorf("%s: %s does not name the pack and the answer: the test shows nothing", moment, place)
			}
			for i, guess := range guesses {
				if strings.Contains(text, guess) {
					t.Errorf("%s: %s has guess %d, as in %s", moment, place, i, around(text, guess))
				}
			}
		}
	}
	search("while policy hides it")
	send("erased", 2, map[string]any{"scope": map[string]any{"tenant": "main"}, "items": []string{"salary"}})
	w.Must(t, "verify", "--tenant", "main")
	search("after the erasure")
	if text := ask(w.conns["main/writer"], "log.v1.main.pack", from(map[string]any{"pack_id": shown.Payload.PackID})); text == "" || strings.Contains(text, pack.Salt) {
		t.Errorf("the salt did not go with the content: %.600s", text)
	}
}

func hexSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// salted is the hash that the docs describe.
func salted(t *testing.T, salt string, data []byte) string {
	t.Helper()
	raw, err := hex.DecodeString(salt)
	must(t, err)
	if len(raw) != 32 {
		t.Errorf("salt %q", salt)
	}
	return hexSum(string(raw) + string(data))
}

// decode decodes the body that ask returned.
func decode(t *testing.T, text string, to any) {
	t.Helper()
	_, body, _ := strings.Cut(text, "\n")
	if err := json.Unmarshal([]byte(body), to); err != nil {
		t.Fatalf("%v: %.600s", err, text)
	}
}

// ledgerUpTo returns every message of the ledger, once it holds the words.
func (w *world) ledgerUpTo(t *testing.T, words ...string) string {
	t.Helper()
	js, err := jetstream.New(w.conns[""])
	must(t, err)
	c, err := js.OrderedConsumer(patient(t), "LEDGER", jetstream.OrderedConsumerConfig{})
	must(t, err)
	var all strings.Builder
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		batch, err := c.Fetch(500, jetstream.FetchMaxWait(time.Second))
		must(t, err)
		for m := range batch.Messages() {
			all.Write(m.Data())
			all.WriteByte('\n')
		}
		missing := 0
		for _, word := range words {
			if !strings.Contains(all.String(), word) {
				missing++
			}
		}
		if missing == 0 {
			break
		}
	}
	return all.String()
}

// unzipped returns the members of a zip, one behind the other.
func unzipped(t *testing.T, path string) string {
	t.Helper()
	r, err := zip.OpenReader(path)
	must(t, err)
	defer r.Close()
	var all strings.Builder
	for _, f := range r.File {
		part, err := f.Open()
		must(t, err)
		_, err = io.Copy(&all, part)
		must(t, err)
	}
	return all.String()
}
