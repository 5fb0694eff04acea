package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/policies/opa/remote"
	builtin "satchel/policies/rego"
	"satchel/schemas"
)

// dataAPI answers for the documents of the built-in bundle as an OPA server does.
type dataAPI struct {
	*httptest.Server
	documents map[string]rego.PreparedEvalQuery
	without   string // a document that it does not have
	calls     atomic.Int64
	items     atomic.Int64

	mu       sync.Mutex
	revision string
	// instead answers in place of the policy when it returns true.
	instead func(w http.ResponseWriter, r *http.Request) bool
}

// compiled holds the documents of the built-in bundle, prepared once.
var compiled = sync.OnceValues(func() (map[string]rego.PreparedEvalQuery, error) { return prepared() })

// prepared returns the documents of the built-in bundle and of more modules.
func prepared(more ...string) (map[string]rego.PreparedEvalQuery, error) {
	var options []func(*rego.Rego)
	for i, text := range more {
		options = append(options, rego.Module(fmt.Sprintf("more-%d.rego", i), text))
	}
	err := fs.WalkDir(builtin.Bundle(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(builtin.Bundle(), name)
		options = append(options, rego.Module(name, string(raw)))
		return err
	})
	if err != nil {
		return nil, err
	}
	documents := map[string]rego.PreparedEvalQuery{}
	for _, name := range []string{"context", "context_batch", "context_filter"} {
		q, err := rego.New(append(options, rego.Query("data.cmo."+name))...).PrepareForEval(context.Background())
		if err != nil {
			return nil, err
		}
		documents["/v1/data/cmo/"+name] = q
	}
	return documents, nil
}

func serve(t *testing.T, without string) *dataAPI {
	t.Helper()
	documents, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	d := &dataAPI{documents: documents, without: without}
	d.Server = httptest.NewServer(d)
	t.Cleanup(d.Close)
	return d
}

func (d *dataAPI) set(revision string, instead func(http.ResponseWriter, *http.Request) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.revision, d.instead = revision, instead
}

func (d *dataAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.calls.Add(1)
	asked, err := io.ReadAll(r.Body) // before anyone waits for the client to go away
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(asked))
	d.mu.Lock()
	revision, instead := d.revision, d.instead
	d.mu.Unlock()
	if instead != nil && instead(w, r) {
		return
	}
	answer, err := d.evaluate(r.Context(), r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if revision != "" {
		answer["provenance"] = map[string]any{"bundles": map[string]any{"policy": map[string]any{"revision": revision}}}
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		return // the client went away
	}
}

func (d *dataAPI) evaluate(ctx context.Context, r *http.Request) (map[string]any, error) {
	var asked struct {
		Input json.RawMessage `json:"input"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return nil, err
	}
	document, ok := d.documents[r.URL.Path]
	if !ok || d.without != "" && strings.HasSuffix(r.URL.Path, d.without) {
		return map[string]any{}, nil
	}
	input, err := ast.ValueFromReader(bytes.NewReader(asked.Input))
	if err != nil {
		return nil, err
	}
	if items := input.(ast.Object).Get(ast.StringTerm("items")); items != nil {
		d.items.Add(int64(items.Value.(*ast.Array).Len()))
	}
	results, err := document.Eval(ctx, rego.EvalParsedInput(input))
	if err != nil || len(results) == 0 {
		return map[string]any{}, err
	}
	return map[string]any{"result": results[0].Expressions[0].Value}, nil
}

func open(t *testing.T, c remote.Config) *remote.PDP {
	t.Helper()
	if c.Timeout == 0 {
		c.Timeout = time.Minute // a slow machine needs more than the default
	}
	p, err := remote.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// clock is time that moves when it is told to.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func somebody(t *testing.T) scope.Scope {
	t.Helper()
	s, err := scope.New("acme", scope.Principal{ID: "planner", Level: 3}, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ask(n int) policies.Request {
	r := policies.Request{Action: "read", Now: noon()}
	for i := range n {
		r.Resources = append(r.Resources, policies.Resource{ID: string(rune('a' + i)), Facets: schemas.Facets{Trust: 1}})
	}
	return r
}
