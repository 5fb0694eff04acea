package op_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"satchel/pipeline/model"
	"satchel/pipeline/model/static"
	"satchel/pipeline/op"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

var errDown = errors.New("SECRET of the store")

// deafKeyword and deafVector do not answer searches.
type deafKeyword struct{ keyword.Index }

func (deafKeyword) Search(context.Context, scope.Scope, keyword.Query) (keyword.Result, error) {
	return keyword.Result{}, errDown
}

type deafVector struct{ vector.Index }

func (deafVector) Search(context.Context, scope.Scope, vector.Query) (vector.Result, error) {
	return vector.Result{}, errDown
}

// lateVector answers only when the request is over.
type lateVector struct{ vector.Index }

func (lateVector) Search(ctx context.Context, _ scope.Scope, _ vector.Query) (vector.Result, error) {
	<-ctx.Done()
	return vector.Result{}, ctx.Err()
}

func TestRetrieversDegrade(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change  func(*op.Config)
		warning string
		sources []string
		code    schemas.Code
	}{
		"keyword down": {func(c *op.Config) { c.Keyword = deafKeyword{c.Keyword} }, "keyword: ", []string{"vector", "graph"}, ""},
		"vector down":  {func(c *op.Config) { c.Vector = deafVector{c.Vector} }, "vector: ", []string{"keyword", "graph"}, ""},
		"vector late": {func(c *op.Config) {
			c.Vector, c.Retrieval = lateVector{c.Vector}, 2*time.Second
		}, "vector: it was too late", []string{"keyword", "graph"}, ""},
		"no vector": {func(c *op.Config) { c.Vector = nil }, "", []string{"keyword", "graph"}, ""},
		"both down": {func(c *op.Config) {
			c.Keyword, c.Vector = deafKeyword{c.Keyword}, deafVector{c.Vector}
		}, "", nil, schemas.CodeSearch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := openWorld(t, tc.change)
			fill(t, w)
			res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), ask("Lantern release"))
			if tc.code != "" {
				var e *schemas.Error
				if !errors.As(err, &e) || e.Code != tc.code || strings.Contains(e.Error(), "SECRET") {
					t.Fatalf("error is %v, want %s without the store's words", err, tc.code)
				}
				return
			}
			must(t, err)
			p := &res.Payload
			if !slices.Equal(p.Sources, tc.sources) {
				t.Errorf("sources are %v, want %v", p.Sources, tc.sources)
			}
			all := strings.Join(p.Explainability.Warnings, "\n")
			if !strings.Contains(all, tc.warning) || strings.Contains(all, "SECRET") {
				t.Errorf("warnings are %q, want one with %q", all, tc.warning)
			}
			if !slices.Contains(ids(&res), "a1") {
				t.Errorf("the answer was not found: %v", ids(&res))
			}
		})
	}
}

func TestDeadlineOfTheRequest(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	fill(t, w)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := w.engine.Context(ctx, as(t, "acme", schemas.Internal), ask("Lantern release"))
	var e *schemas.Error
	if !errors.As(err, &e) || e.Code != schemas.CodeDeadlineExceeded {
		t.Errorf("error is %v, want deadline_exceeded", err)
	}
}

// apart embeds questions for vectors of another model than the one it has itself, each time it is asked for one more.
type apart struct {
	*static.Embedder
	mu     sync.Mutex
	asked  int // questions that it was to embed itself
	models int
}

func (a *apart) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked += len(texts)
	return a.Embedder.Embed(ctx, texts)
}

func (a *apart) Questions(context.Context, scope.Scope) model.QuestionForm {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.models++
	return model.QuestionForm{Embedder: renamed{a.Embedder, fmt.Sprint("another", a.models)}, Here: a.Embedder}
}

// renamed is the table under another name.
type renamed struct {
	*static.Embedder
	name string
}

func (r renamed) Model() model.EmbeddingModel {
	m := r.Embedder.Model()
	m.Name = r.name
	return m
}

// modelVector notes whose vectors are searched.
type modelVector struct {
	vector.Index
	mu     sync.Mutex
	models map[string]int
}

func (v *modelVector) Search(ctx context.Context, s scope.Scope, q vector.Query) (vector.Result, error) {
	v.mu.Lock()
	v.models[q.Model]++
	v.mu.Unlock()
	return v.Index.Search(ctx, s, q)
}

// A question is embedded by the model whose vectors are searched, the same throughout, whatever the operation.
func TestQuestionsAreForTheVectorsThatAreSearched(t *testing.T) {
	t.Parallel()
	var by *apart
	seen := &modelVector{models: map[string]int{}}
	w := openWorld(t, func(c *op.Config) {
		by = &apart{Embedder: c.Embedder.(*static.Embedder)}
		seen.Index = c.Vector
		c.Embedder, c.Vector = by, seen
	})
	study(t, w)
	for _, c := range calls(t, w, as(t, "acme", schemas.Internal)) {
		clear(seen.models)
		by.asked = 0
		_, err := c.run()
		must(t, err)
		want := 1
		if slices.Contains([]string{"compact", "items", "recover"}, c.operation) {
			want = 0
		}
		if by.asked > 0 || len(seen.models) != want || seen.models[w.embed.Model().String()]+seen.models[""] > 0 {
			t.Errorf("%s: %d questions were embedded for other vectors, searches by model: %v", c.operation, by.asked, seen.models)
		}
	}
}
