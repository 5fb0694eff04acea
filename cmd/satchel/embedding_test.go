package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"satchel/cmd/internal/app"
	"satchel/pipeline/model/encoder"
	"satchel/pipeline/model/static"
	"satchel/schemas"
	"satchel/test/parts"
)

// embeddingsServer answers the embeddings API with the table's vectors while it is up; those
// of model m2 are turned round, and wait for gate.
func embeddingsServer(t *testing.T, gate <-chan struct{}) (url string, up *atomic.Bool) {
	t.Helper()
	model, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	up = &atomic.Bool{}
	up.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model string
			Input []string
		}
		if !up.Load() || json.NewDecoder(r.Body).Decode(&q) != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		type datum struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		var answer struct {
			Data []datum `json:"data"`
		}
		for i, text := range q.Input {
			v := model.EmbedInto(nil, text)
			if q.Model == "m2" {
				slices.Reverse(v)
				if strings.Contains(text, "kiln") && gate != nil {
					select {
					case <-gate:
					case <-r.Context().Done():
						return
					}
				}
			}
			answer.Data = append(answer.Data, datum{i, v})
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil && r.Context().Err() == nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, up
}

func TestAnEmbeddingEndpoint(t *testing.T) {
	t.Parallel()
	url, up := embeddingsServer(t, nil)
	n := startNode(t, "--embeddings-url", url, "--embeddings-model", "m1", "--embeddings-dimensions", "256")
	n.must(t, "emit", "--id", "n1", "--text", "the kiln is fired on Mondays")
	ask := func() schemas.ContextResult {
		return mustJSON[schemas.ContextResult](t, n, "ask", "when is the kiln fired?")
	}
	ask()
	if res := ask(); len(res.Payload.Results) != 1 || !strings.HasPrefix(res.Payload.Pack.Embedding, "m1@") {
		t.Errorf("results %d, embedding %q", len(res.Payload.Results), res.Payload.Pack.Embedding)
	}
	contains(t, "doctor", n.must(t, "doctor"), "m1@", "256 dimensions", "cache holds 2, ", " texts were in it", "breaker closed")

	up.Store(false)
	res := mustJSON[schemas.ContextResult](t, n, "ask", "what was never asked before about the kiln?")
	if w := strings.Join(res.Payload.Explainability.Warnings, " "); len(res.Payload.Results) != 1 || !strings.Contains(w, "the query could not be embedded") {
		t.Errorf("without the endpoint: %d results, warnings %q", len(res.Payload.Results), w)
	}
	up.Store(true)

	contains(t, "forget", n.must(t, "forget", "n1"), "embedding cache ", "nothing left")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--embeddings-model", "m1", "--embeddings-dimensions", "8"}, `model "m1" gives vectors of 256 numbers, EMBEDDINGS_DIMENSIONS says 8`},
		{nil, "no model is named; set EMBEDDINGS_MODEL"},
	} {
		r := satchel(t, "", append([]string{"up", "--dir", t.TempDir(), "--nats-port", "0", "--http-addr", "", "--embeddings-url", url}, c.args...)...)
		if r.code != exitUsage || !strings.Contains(r.err, c.want) || strings.Count(strings.TrimSpace(r.err), "\n") > 0 {
			t.Errorf("satchel up %v: exit code %d\n%s", c.args, r.code, r.err)
		}
	}
}

// What a principal alone may see is not sent to the endpoint.
func TestAnEndpointSeesNoPersonalData(t *testing.T) {
	t.Parallel()
	target, _ := embeddingsServer(t, nil)
	var mu sync.Mutex
	var sent strings.Builder
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		sent.Write(body)
		mu.Unlock()
		res, err := http.Post(target, "application/json", bytes.NewReader(body))
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		defer res.Body.Close()
		if _, err := io.Copy(w, res.Body); err != nil && r.Context().Err() == nil {
			t.Error(err)
		}
	}))
	t.Cleanup(listener.Close)
	n := startNode(t, "--embeddings-url", listener.URL, "--embeddings-model", "m1")
	n.must(t, "emit", "--id", "n1", "--text", "The kiln is repaired by anna.berger@example.com on Mondays.")
	contains(t, "a reader of personal data", n.must(t, "ask", "--role", "pii_reader", "who repairs the kiln?"), "anna.berger@example.com")
	contains(t, "by meaning alone", n.must(t, "ask", "--role", "pii_reader", "--type", "semantic", "the kiln is repaired on Mondays"), "anna.berger@example.com")
	n.must(t, "emit", "--item", `{"id":"n2","kind":"knowledge","type":"semantic","security_label":["level:internal"],"pii_flags":["$.attributes.aliases"],`+
		`"attributes":{"entity":"Falcon","aliases":["Nightingale"]},"content":"Falcon (FLC) is the name of the second kiln."}`)
	n.must(t, "ask", "--role", "pii_reader", "what is Falcon?")
	mu.Lock()
	defer mu.Unlock()
	if got := sent.String(); strings.Contains(got, "anna.berger") || strings.Contains(got, "ightingale") || !strings.Contains(got, "kiln is repaired") {
		t.Errorf("the endpoint was sent %s", got)
	}
}

// changedOver waits until a model serves: searches by vector are refused for a moment.
func changedOver(t *testing.T, model string, search func() (model, warnings string)) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		serving, warnings := search()
		if strings.HasPrefix(serving, model+"@") && !strings.Contains(warnings, "vector") {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s serves: %s", serving, warnings)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestAnotherModelTakesOver(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	gate := make(chan struct{})
	url, _ := embeddingsServer(t, gate)
	first := startNode(t, "--embeddings-url", url, "--embeddings-model", "m1")
	for id, text := range map[string]string{"n1": "the kiln is fired on Mondays", "n2": "my grandmother plays the violin", "n3": "she is allergic to peanuts"} {
		first.must(t, "emit", "--id", id, "--text", text)
	}
	if first.down(t) != 0 {
		t.Fatal("the first process did not stop well")
	}
	second := startNode(t, "--dir", first.dir, "--embeddings-url", url, "--embeddings-model", "m2")
	second.dir = first.dir
	search := func() (model, warnings string) {
		t.Helper()
		res := mustJSON[schemas.ContextResult](t, second, "ask", "a grandparent and her fiddle")
		return res.Payload.Pack.Embedding, strings.Join(res.Payload.Explainability.Warnings, " ")
	}
	if model, warnings := search(); !strings.HasPrefix(model, "m1@") || strings.Contains(warnings, "vector") {
		t.Errorf("while everything is embedded anew %s serves: %s", model, warnings)
	}
	contains(t, "doctor", second.must(t, "doctor"), "m1@", "; m2@", " is to serve, 0 of 3")
	second.must(t, "emit", "--id", "n4", "--text", "the violin of a grandmother is old") // while it goes on
	second.must(t, "forget", "n3")                                                       // empties what is being filled
	close(gate)
	out := second.must(t, "reembed")
	contains(t, "reembed", out, "m2@", " serves, nothing is left to embed anew")
	changedOver(t, "m2", search)
	second.must(t, "emit", "--id", "n5", "--text", "the kiln cracked", "--wait", "indexed")
	again := mustJSON[app.RebuildProgress](t, second, "rebuild")
	if again.Digest == "" {
		t.Error("rebuild after the change failed")
	}
	if second.down(t) != 0 {
		t.Fatal("the second process did not stop well")
	}
	third := startNode(t, "--dir", first.dir, "--embeddings-url", url, "--embeddings-model", "m2")
	third.dir = first.dir
	if rebuilt := mustJSON[app.RebuildProgress](t, third, "rebuild"); rebuilt.Digest != again.Digest {
		t.Errorf("after a restart the digest is %s, was %s", rebuilt.Digest, again.Digest)
	}
	third.down(t)
	r := satchel(t, "", "reembed", "--shadow", "--compare", "--dir", first.dir, "--embeddings-url", url, "--embeddings-model", "m1")
	if r.code != 0 {
		t.Fatalf("reembed --shadow --compare: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	contains(t, "reembed --shadow --compare", r.out, "the model that serves: m2@", "the configured model: m1@", "of the first ten are the same, the best is in 100 %")
}

// Without a setting the sentence encoder is on where the processor is quick with it, and "table" turns it off.
func TestTheEncoderIsOnByDefault(t *testing.T) {
	t.Parallel()
	const model = "all-MiniLM-L6-v2"
	for setting, on := range map[string]bool{"": encoder.Quick(), "table": false, model: true} {
		n := startNode(t, "--embeddings-model", setting)
		n.must(t, "emit", "--id", "n1", "--text", "My grandmother plays the violin.", "--wait", "indexed")
		if out := n.must(t, "doctor", "--embeddings-model", setting); strings.Contains(out, model) != on {
			t.Errorf("%q: %s", setting, out)
		}
		n.down(t)
		if out := satchel(t, "", "doctor", "--dir", n.dir, "--embeddings-model", setting).out; strings.Contains(out, model) != on {
			t.Errorf("%q, of a folder: %s", setting, out)
		}
	}
}

func TestTheEncoderInTheBinary(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	first := startNode(t)
	for id, text := range map[string]string{"n1": "The pottery kiln is fired on Mondays.", "n2": "My grandmother plays the violin.", "n3": "She is allergic to peanuts."} {
		first.must(t, "emit", "--id", id, "--text", text)
	}
	if first.down(t) != 0 {
		t.Fatal("the first process did not stop well")
	}
	const model = "all-MiniLM-L6-v2"
	second := startNode(t, "--dir", first.dir, "--embeddings-model", model)
	second.dir = first.dir
	contains(t, "reembed", second.must(t, "reembed"), "every item has its vector of "+model+"@")
	second.must(t, "emit", "--id", "n4", "--text", "Her uncle builds guitars.", "--wait", "indexed")
	second.must(t, "forget", "n3")
	contains(t, "reembed after a write", second.must(t, "reembed"), "every item has its vector of "+model+"@")
	found := mustJSON[schemas.SearchReply](t, second, "search", "--min-score", "0", "musical instruments")
	var first2 []string
	for _, r := range found.Results[:min(2, len(found.Results))] {
		first2 = append(first2, r.Memory.ID)
	}
	if slices.Sort(first2); !slices.Equal(first2, []string{"n2", "n4"}) {
		t.Errorf("found %v first, want the violin and the guitars", first2)
	}
	eachItemHasItsVector(t, second, model)
	contains(t, "doctor", second.must(t, "doctor"), "every item has its vector of "+model+"@", "256 dimensions")
	second.must(t, "rebuild")
	contains(t, "reembed after a rebuild", second.must(t, "reembed"), "every item has its vector of "+model+"@")
	if second.down(t) != 0 {
		t.Fatal("the second process did not stop well")
	}
	damageVectors(t, first.dir)
	third := startNode(t, "--dir", first.dir, "--embeddings-model", model)
	third.dir = first.dir
	if res := mustJSON[schemas.ContextResult](t, third, "ask", "--type", "semantic", "musical instruments in the family"); len(res.Payload.Results) == 0 {
		t.Errorf("with damaged vectors of the encoder nothing is found: %v", res.Payload.Explainability.Warnings)
	}
	contains(t, "reembed after damage", third.must(t, "reembed"), "every item has its vector of "+model+"@")
	before := mustJSON[app.RebuildProgress](t, third, "rebuild")
	if third.down(t) != 0 {
		t.Fatal("the third process did not stop well")
	}
	contains(t, "doctor of a folder", satchel(t, "", "doctor", "--dir", first.dir, "--embeddings-model", model).out, model+" in the binary")
	back := startNode(t, "--dir", first.dir)
	back.dir = first.dir
	contains(t, "reembed", back.must(t, "reembed"), " serves, nothing is left to embed anew")
	if again := mustJSON[app.RebuildProgress](t, back, "rebuild"); again.Digest != before.Digest {
		t.Error("the table's vectors are others than beside the encoder's")
	}
	if left, err := filepath.Glob(filepath.Join(first.dir, "index", "vector-*")); err != nil || len(left) > 0 {
		t.Errorf("of the encoder's vectors there is left %v (%v)", left, err)
	}
	r := satchel(t, "", "up", "--dir", t.TempDir(), "--nats-port", "0", "--http-addr", "", "--embeddings-model", "nomic-embed-text")
	if r.code != exitUsage || !strings.Contains(r.err, "EMBEDDINGS_URL") || !strings.Contains(r.err, model) {
		t.Errorf("another model without an endpoint: exit code %d\n%s", r.code, r.err)
	}
}

// eachItemHasItsVector: an item is found before it has its vector, and by it after; one that changed or is erased has no
// former one.
func eachItemHasItsVector(t *testing.T, n *testNode, model string) {
	t.Helper()
	encoded := func(question, id string) bool {
		t.Helper()
		r := mustJSON[schemas.ContextResult](t, n, "ask", question)
		for _, s := range r.Payload.Pack.Sections {
			for _, item := range s.Items {
				if item.ID == id {
					return item.Evidence.Channels["encoder"].Rank > 0
				}
			}
		}
		t.Errorf("%s: %s is not found", question, id)
		return false
	}
	const question = "brass and percussion of the cousin"
	n.must(t, "emit", "--id", "drum", "--text", "The cousin plays the drums and the tuba.", "--wait", "indexed")
	encoded(question, "drum")
	n.must(t, "reembed")
	if !encoded(question, "drum") {
		t.Error("what was encoded is not found by its vector")
	}
	n.must(t, "emit", "--id", "drum", "--text", "The cousin sold the percussion and keeps the brass polish.", "--wait", "indexed")
	n.must(t, "reembed")
	if !encoded(question, "drum") {
		t.Error("what changed is not found by its new vector")
	}
	n.must(t, "forget", "drum")
	r := mustJSON[schemas.ContextResult](t, n, "ask", question)
	for _, s := range r.Payload.Results {
		if s.ID == "drum" {
			t.Error("an erased item is found")
		}
	}
}

// damageVectors writes zeros into the middle of the encoder's snapshots in a data folder.
func damageVectors(t *testing.T, dir string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "index", "vector-*", "*.vec"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("the encoder's snapshots: %v, %v", paths, err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		clear(raw[len(raw)/2:][:min(64, len(raw)/4)])
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
