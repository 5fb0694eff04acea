package pipeline_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
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
	t.Parallel()
	clock := func() time.Time { return day }
	together := openWorld(t, func(c *pipeline.Config) { c.Clock = clock })
	alone := openWorld(t, func(c *pipeline.Config) {
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
