package op_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/model"
	"satchel/pipeline/op"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
	"satchel/test/parts"
)

// keywordAlone and vectorAlone search under one filter at a time.
type (
	keywordAlone struct{ keyword.Index }
	vectorAlone  struct{ vector.Index }
)

// TestAssembleTogetherIsAssembleAlone compares an assembly whose sources are searched in one
// pass with one whose sources are searched one by one: the same text, items, scores and
// drops, whatever is asked.
func TestAssembleTogetherIsAssembleAlone(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	clock := func() time.Time { return day }
	together := openWorld(t, func(c *op.Config) { c.Clock = clock })
	alone := openWorld(t, func(c *op.Config) {
		c.Clock, c.Keyword, c.Vector = clock, keywordAlone{c.Keyword}, vectorAlone{c.Vector}
	})
	list := corpusOfFive(150)
	together.learn(t, "acme", list...)
	alone.learn(t, "acme", list...)
	r := rand.New(rand.NewPCG(11, 12))
	types := schemas.ContextTypes()
	for i := range 80 {
		words := strings.Fields(list[r.IntN(len(list))].Content.Text())
		from := r.IntN(max(1, len(words)-6))
		req := schemas.AssembleRequest{
			Query: strings.Join(words[from:min(len(words), from+1+r.IntN(6))], " "), MaxTokens: 100 + r.IntN(4000), Limit: 1 + r.IntN(40),
		}
		if i%3 == 0 {
			r.Shuffle(len(types), func(i, j int) { types[i], types[j] = types[j], types[i] })
			req.ContextTypes = types[:1+r.IntN(len(types))]
		}
		if i%5 == 0 {
			req.MinScore = new(float64)
		}
		s := as(t, "acme", schemas.Level(r.IntN(4)))
		one, err := together.engine.Assemble(context.Background(), s, req)
		must(t, err)
		other, err := alone.engine.Assemble(context.Background(), s, req)
		must(t, err)
		if i > 0 && one.Markdown == "" && req.ContextTypes == nil {
			t.Errorf("%+v finds nothing", req)
		}
		one.PackID, other.PackID = "", ""
		if diff := cmp.Diff(other, one); diff != "" {
			t.Fatalf("%+v (-alone +together):\n%s", req, diff)
		}
	}
}

// counted is an embedder that fails, and how often it was asked.
type counted struct {
	model.Embedder
	asked *atomic.Int32
}

func (c counted) Embed(context.Context, []string) ([][]float32, error) {
	c.asked.Add(1)
	return nil, errors.New("no embedder")
}

// An embedder that is down is waited for once, not by each source.
func TestAssembleWithoutEmbedder(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	w := openWorld(t, func(c *op.Config) { c.Embedder = counted{c.Embedder, &asked} })
	five := corpusOfFive(50)
	w.learn(t, "acme", five...)
	asked.Store(0)
	reply, err := w.engine.Assemble(t.Context(), as(t, "acme", 3), schemas.AssembleRequest{Query: five[0].Content.Text()})
	must(t, err)
	if reply.Markdown == "" || asked.Load() != 1 {
		t.Errorf("the embedder was asked %d times for %d bytes", asked.Load(), len(reply.Markdown))
	}
}

// partly is an index that does not answer for one kind, as a server may.
type partly struct {
	vector.Index
	kind schemas.Kind
}

func (p partly) fails(f schemas.Filter) bool { return strings.Contains(fmt.Sprint(f), string(p.kind)) }

func (p partly) Search(ctx context.Context, s scope.Scope, q vector.Query) (vector.Result, error) {
	if p.fails(q.Filter) {
		return vector.Result{}, errors.New("no answer")
	}
	return p.Index.Search(ctx, s, q)
}

func (p partly) SearchEach(ctx context.Context, s scope.Scope, q vector.Query, filters []schemas.Filter) ([]vector.Result, error) {
	if slices.ContainsFunc(filters, p.fails) {
		return nil, errors.New("no answer")
	}
	return p.Index.(vector.Batch).SearchEach(ctx, s, q, filters)
}

// What an index does not answer for one source it answers for the others.
func TestAssembleWithoutOneSourcesVectors(t *testing.T) {
	t.Parallel()
	w := openWorld(t, func(c *op.Config) { c.Vector = partly{c.Vector, schemas.KindCommit} })
	five := corpusOfFive(50)
	w.learn(t, "acme", five...)
	reply, err := w.engine.Assemble(t.Context(), as(t, "acme", 3), schemas.AssembleRequest{Query: five[0].Content.Text()})
	must(t, err)
	without := slices.DeleteFunc(slices.Clone(reply.Warnings), func(w string) bool { return !strings.Contains(w, "vector") })
	if len(without) != 1 || !strings.Contains(strings.ToLower(without[0]), "commit") {
		t.Errorf("without vectors: %q", without)
	}
}
