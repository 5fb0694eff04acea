package worker_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/relevance"
	"satchel/policies"
	"satchel/policies/opa"
	"satchel/policies/opa/remote"
	"satchel/schemas"
	"satchel/worker"
)

// TestBadRequests sends what makes no sense through the door of requests: each is refused
// by a typed error that names the field.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.put(t, recorded(t, "a", "the lake house has a red door"), "indexed")
	for name, tc := range map[string]struct {
		payload, field, says string
	}{
		"filter field that is nearly one": {`{"query":{"text":"q","filters":{"catgory":"x"}}}`, "/payload/query/filters/catgory", `"category"`},
		"filter field with a bad name":    {`{"query":{"text":"q","filters":{"a b":"x"}}}`, "/payload/query/filters/a b", "must be named"},
		"filter operator":                 {`{"query":{"text":"q","filters":{"trust":{"above":1}}}}`, "/payload/query/filters/trust/above", ""},
		"filter without operator":         {`{"query":{"text":"q","filters":{"trust":{}}}}`, "/payload/query/filters/trust", "operator"},
		"filter value":                    {`{"query":{"text":"q","filters":{"trust":{"gte":"high"}}}}`, "/payload/query/filters/trust", "number"},
		"dates upside down":               {`{"query":{"text":"q","filters":{"created_at":{"gte":"2026-03-01T00:00:00Z","lt":"2026-02-01T00:00:00Z"}}}}`, "/payload/query/filters/created_at/lt", "upside down"},
		"weights that do not sum": {`{"query":{"text":"q"},"weights":{"relevance":0.5,"recency":0.1,"frequency":0.1,"importance":0.1,"causality":0.1,"novelty_inverse":0.1,"trust":0.1,"sensitivity_inverse":0.1}}`,
			"/payload/weights", "sum to 1.2"},
		"weight of nothing":                {`{"query":{"text":"q"},"weights":{"shininess":0.5}}`, "/payload/weights/shininess", ""},
		"weight beyond one":                {`{"query":{"text":"q"},"weights":{"recency":2}}`, "/payload/weights/recency", "within 0 and 1"},
		"vector of wrong length":           {`{"query":{"type":"semantic","vector":[0.1,0.2,0.3]}}`, "/payload/query/vector", "256"},
		"vector of wrong length, and text": {`{"query":{"text":"q","vector":[0.1,0.2,0.3]}}`, "/payload/query/vector", "256"},
		"type of query":                    {`{"query":{"text":"q","type":"magic"}}`, "/payload/query/type", "must be keyword"},
		"profile":                          {`{"query":{"text":"q"},"profile":"shiny"}`, "/payload/profile", "shiny"},
		"past after present":               {`{"query":{"text":"q"},"as_of":1,"min_position":2}`, "/payload/min_position", "as_of"},
		"too many hops":                    {`{"query":{"text":"q","graph":{"hops":7}}}`, "/payload/query/graph/hops", "3"},
		"link of no kind":                  {`{"query":{"text":"q","graph":{"rels":["likes"]}}}`, "/payload/query/graph/rels/0", "caused_by"},
		"relevance without mode":           {`{"query":{"text":"q"},"relevance":{"mode":""}}`, "/payload/relevance/mode", "required"},
		"nothing asked":                    {`{}`, "/payload/query/text", "required"},
	} {
		raw := []byte(`{"meta":{"type":"ContextRequest","id":"r","from":{"id":"reader","securityLevel":"internal"}},"payload":` + tc.payload + `}`)
		_, err := w.worker.Service.Request(within(t), "acme", raw)
		var e *schemas.Error
		if !errors.As(err, &e) || e.Code != schemas.CodeValidation || e.Field != tc.field || !strings.Contains(e.Message, tc.says) {
			t.Errorf("%s: error %v (field %q), want one of %q with %q", name, err, fieldOf(e), tc.field, tc.says)
		}
	}
}

func fieldOf(e *schemas.Error) string {
	if e == nil {
		return ""
	}
	return e.Field
}

// TestBadFiles loads what cannot be: the error is typed and names the file and, where there
// is one, the line.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	_, err := relevance.Load(write("circle.json", `{"dependencies":{"a":["b"],"b":["c"],"c":["a"]}}`))
	if !errors.Is(err, relevance.ErrConfig) || !strings.Contains(err.Error(), "circle.json") || !strings.Contains(err.Error(), "a → b → c → a") {
		t.Errorf("a cycle in dependencies: %v", err)
	}
	write("bundle/mine.rego", "package cmo.context\n\nx := := 1\n")
	_, err = opa.Open(t.Context(), opa.Source{Path: filepath.Join(dir, "bundle")}, 0)
	var place *opa.BundleError
	if !errors.As(err, &place) || place.File != "mine.rego" || place.Line != 3 {
		t.Errorf("a bundle that does not compile: %v", err)
	}
}

// TestOPAThatDoesNotDecide asks while OPA is down, slow, talks nonsense or gives half an
// answer: nothing is shown, or the five rules decide where they may, and a warning says so.
func TestOPAThatDoesNotDecide(t *testing.T) {
	t.Parallel()
	answer := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
	}
	for name, handler := range map[string]http.HandlerFunc{
		"down": nil,
		"slow": func(_ http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			select {
			case <-r.Context().Done():
			case <-time.After(time.Minute):
			}
		},
		"nonsense":       answer(`<html>It works!</html>`),
		"half an answer": answer(`{"result": {"allow": true}}`),
	} {
		for _, standsIn := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, local rules %v", name, standsIn), func(t *testing.T) {
				t.Parallel()
				server := httptest.NewServer(handler)
				t.Cleanup(server.Close)
				if handler == nil {
					server.Close()
				}
				away, err := remote.New(remote.Config{URL: server.URL, Timeout: 50 * time.Millisecond})
				must(t, err)
				var pdp policies.PDP = away
				if standsIn {
					rules, err := pdpOnce()
					must(t, err)
					pdp = policies.NewLocalRules(away, rules)
				}
				w := prepare(t)
				w.change = func(c *worker.Config) { c.PDP = pdp }
				w.start(t)
				w.publish(t, "acme", recorded(t, "a", "the lake house has a red door"))
				w.entries(t, "acme", 1)
				must(t, w.worker.Projector.Await(within(t), system(t, "acme"), 1))
				out, err := w.worker.Service.Request(within(t), "acme", request(t, "reader", "internal", "which door has the lake house?", nil))
				if !standsIn && err != nil {
					if e := typed(t, err); e.Code != schemas.CodePolicyDenied {
						t.Errorf("error %v", e)
					}
					return
				}
				must(t, err)
				var res schemas.ContextResult
				must(t, json.Unmarshal(out.(json.RawMessage), &res))
				shown := len(res.Payload.Results)
				warned := len(res.Payload.Explainability.Warnings) > 0
				if !warned || standsIn != (shown == 1) {
					t.Errorf("%d items are shown, warnings %q", shown, res.Payload.Explainability.Warnings)
				}
			})
		}
	}
}
