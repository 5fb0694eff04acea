package vectortest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"satchel/pipeline/store/vector"
	"satchel/schemas"
	"satchel/test/must"
)

func drawChange(t *rapid.T, dims int, at int64) vector.Change {
	id := func() string { return fmt.Sprint("item-", rapid.IntRange(0, 12).Draw(t, "id")) }
	c := vector.Change{Position: at}
	if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
		c.Remove = []string{id()}
	}
	if rapid.IntRange(0, 4).Draw(t, "put") > 0 {
		c.Put = &vector.Doc{ID: id(), Position: at, Facets: schemas.Facets{
			Kind: schemas.KindMemory, Session: rapid.SampledFrom([]string{"", "s"}).Draw(t, "session"),
			Level: schemas.Level(rapid.IntRange(0, 3).Draw(t, "level")),
		}}
		for range rapid.IntRange(0, 3).Draw(t, "chunks") {
			number := rapid.Float64Range(-1, 1)
			start := rapid.IntRange(0, 70_000).Draw(t, "start")
			c.Put.Chunks = append(c.Put.Chunks, vector.Chunk{
				Axis:   rapid.SampledFrom([]string{"", "", "strategy"}).Draw(t, "axis"),
				Span:   schemas.Span{Start: start, End: start + rapid.IntRange(0, 70_000).Draw(t, "length")},
				Vector: unit(dims, number.Draw(t, "x"), number.Draw(t, "y"), .5),
			})
		}
	}
	return c
}

// history applies a random history in random batches, and what is left of it at once
// into another tenant: both have the same digest and the same answers, and the answers
// hold the items there are.
func history(t *suite) {
	run := 0
	rapid.Check(t.T, func(rt *rapid.T) {
		run++
		long, short := t.scope(fmt.Sprint("long-", run)), t.scope(fmt.Sprint("short-", run))
		ctx := rt.Context()
		n := rapid.IntRange(0, 30).Draw(rt, "changes")
		var all []vector.Change
		left := map[string]*vector.Doc{}
		for i := range n {
			c := drawChange(rt, t.dims, int64(i+1))
			for _, id := range c.Remove {
				delete(left, id)
			}
			if c.Put != nil {
				left[c.Put.ID] = c.Put
			}
			all = append(all, c)
		}
		for at := 0; at < n; {
			next := rapid.IntRange(at+1, n).Draw(rt, "batch")
			again := rapid.IntRange(0, at).Draw(rt, "from")
			must.Do(rt, t.x.Apply(ctx, long, all[again:next], int64(next)))
			at = next
		}
		var rest []vector.Change
		for i := range all {
			if c := all[i]; c.Put != nil && left[c.Put.ID] == c.Put {
				rest = append(rest, vector.Change{Position: c.Position, Put: c.Put})
			}
		}
		must.Do(rt, t.x.Apply(ctx, short, rest, int64(n)))
		a := must.Get(t.x.Digest(ctx, long))(rt)
		if b, err := t.x.Digest(ctx, short); err != nil || a != b {
			rt.Fatalf("the digest depends on the history; error %v", err)
		}
		q := vector.Query{Vector: unit(t.dims, 1, -.5, .1), Limit: rapid.IntRange(0, 14).Draw(rt, "limit"),
			Axis:   rapid.SampledFrom([]string{"", "strategy"}).Draw(rt, "axis"),
			Filter: schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: 2})}
		first := must.Get(t.x.Search(ctx, long, q))(rt)
		second := must.Get(t.x.Search(ctx, short, q))(rt)
		if !t.ExactMoments {
			first.Mean, first.SD, first.N, second.Mean, second.SD, second.N = 0, 0, 0, 0, 0, 0
		}
		if diff := cmp.Diff(first, second); diff != "" {
			rt.Fatalf("answers depend on the history: %s", diff)
		}
		there := 0
		for _, d := range left {
			if reaches(d, q) {
				there++
			}
		}
		if len(first.Hits) != min(there, q.Limit) || t.ExactMoments && first.N != there {
			rt.Fatalf("%d hits of %d, want %d of %d", len(first.Hits), first.N, min(there, q.Limit), there)
		}
	})
}

func reaches(d *vector.Doc, q vector.Query) bool {
	if !q.Filter.Match(&d.Facets) {
		return false
	}
	for _, c := range d.Chunks {
		if c.Axis == q.Axis {
			return true
		}
	}
	return false
}
