package qdrant

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	client "github.com/qdrant/go-client/qdrant"
	"golang.org/x/sync/errgroup"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// found is a point with its score.
type found struct {
	id      string
	score   float64
	payload payload
	point   *client.PointId
}

// Search returns the best items and the moments of all or of a sample. See vector.Index.
func (x *Index) Search(ctx context.Context, s scope.Scope, q vector.Query) (vector.Result, error) {
	results, err := x.SearchEach(ctx, s, q, []schemas.Filter{q.Filter})
	if err != nil {
		return vector.Result{}, err
	}
	return results[0], nil
}

// SearchEach is Search under each of the filters, in one call. See vector.Batch.
func (x *Index) SearchEach(ctx context.Context, s scope.Scope, q vector.Query, filters []schemas.Filter) ([]vector.Result, error) {
	results := make([]vector.Result, len(filters))
	v, ok := normalizeVector(q.Vector)
	if !ok {
		return results, ctx.Err()
	}
	var requests []*client.QueryPoints
	var asked []int // filters that let something through
	var narrowed []*client.Filter
	for i := range filters {
		f, some := narrowFilter(s.Tenant(), filters[i], &q)
		if !some {
			continue
		}
		asked = append(asked, i)
		narrowed = append(narrowed, f)
		counted, some := narrowFilter(s.Tenant(), q.Counted(filters[i]), &q)
		if !some {
			counted = matchNothing(s.Tenant())
		}
		requests = append(requests, x.makeSampleQuery(counted, v))
		if q.Limit > 0 {
			requests = append(requests, x.makeNearestQuery(f, v, q.Limit+spare))
		}
	}
	if len(requests) == 0 {
		return results, ctx.Err()
	}
	answers, err := x.runQueries(ctx, requests)
	if err != nil {
		return nil, err
	}
	each := len(requests) / len(asked)
	all, ctx := errgroup.WithContext(ctx)
	for j, i := range asked {
		results[i] = estimateMoments(answers[j*each], x.cfg.Sample)
		if q.Limit > 0 {
			all.Go(func() (err error) {
				results[i].Hits, err = x.settleOrder(ctx, narrowed[j], v, q.Limit, answers[j*each+1])
				return err
			})
		}
	}
	if err := all.Wait(); err != nil { // the first one's: those it cancels come after it
		return nil, err
	}
	return results, nil
}

// spare is how many points are asked for beyond the limit, so that most ties at the limit
// are seen.
const spare = 16

// settleOrder puts the best points in order, equal scores by id: it asks for more of them while
// those at the limit and the last are equal.
func (x *Index) settleOrder(ctx context.Context, f *client.Filter, v []float32, limit int, best []found) ([]vector.Hit, error) {
	for more := limit + spare; len(best) == more && best[limit-1].score == best[more-1].score && more < maxTies; {
		more *= 4
		answers, err := x.runQueries(ctx, []*client.QueryPoints{x.makeNearestQuery(f, v, more)})
		if err != nil {
			return nil, err
		}
		best = answers[0]
	}
	slices.SortFunc(best, func(a, b found) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id)) })
	return x.makeHits(ctx, best[:min(len(best), limit)], v)
}

// narrowFilter is where for the points of a query's axis, without what the query excludes.
func narrowFilter(tenant string, f schemas.Filter, q *vector.Query) (*client.Filter, bool) {
	out, some := translateFilter(tenant, f)
	if some {
		out.Must = append(out.Must, client.NewMatchKeyword(fieldAxis, axisMark+q.Axis))
		if len(q.Exclude) > 0 {
			out.MustNot = append(out.MustNot, makeIDCondition(tenant, q.Axis, q.Exclude))
		}
	}
	return out, some
}

// makeIDCondition lets the points of items on an axis through.
func makeIDCondition(tenant, axis string, ids []string) *client.Condition {
	points := make([]*client.PointId, len(ids))
	for i, id := range ids {
		points[i] = client.NewIDUUID(pointOf(keyOf(tenant, id), axis).String())
	}
	return client.NewHasID(points...)
}

// matchNothing is a condition that no point meets. No condition at all would be met by every tenant's.
func matchNothing(tenant string) *client.Filter {
	is := []*client.Condition{client.NewMatchKeyword(fieldTenant, tenant)}
	return &client.Filter{Must: is, MustNot: is}
}

// maxTies bounds how many equal scores are put in order of id.
const maxTies = 20_000

// normalizeVector returns v at length 1; false for the zero vector.
func normalizeVector(v []float32) ([]float32, bool) {
	sum := 0.0
	for _, n := range v {
		sum += float64(n) * float64(n)
	}
	if sum == 0 {
		return nil, false
	}
	if math.Abs(sum-1) < 1e-6 {
		return v, true
	}
	out := make([]float32, len(v))
	length := math.Sqrt(sum)
	for i, n := range v {
		out[i] = float32(float64(n) / length)
	}
	return out, true
}

// makeNearestQuery asks for the best points, scored by their whole vectors.
func (x *Index) makeNearestQuery(f *client.Filter, v []float32, limit int) *client.QueryPoints {
	return &client.QueryPoints{CollectionName: x.name, Query: client.NewQueryMulti([][]float32{v}), Using: client.PtrOf(vectorName), Filter: f,
		Limit: client.PtrOf(uint64(limit)), WithPayload: client.NewWithPayloadInclude(fieldItem, fieldSpans), Params: makeSearchParameters()}
}

// makeSearchParameters is how a search is done: twice as many by 8 bits as are asked for, then exactly.
func makeSearchParameters() *client.SearchParams {
	return &client.SearchParams{HnswEf: client.PtrOf(uint64(256)),
		Quantization: &client.QuantizationSearchParams{Rescore: client.PtrOf(true), Oversampling: client.PtrOf(2.0)}}
}

// makeSampleQuery asks for the scores of the points with the least draw.
func (x *Index) makeSampleQuery(f *client.Filter, v []float32) *client.QueryPoints {
	limit := client.PtrOf(uint64(x.cfg.Sample))
	return &client.QueryPoints{CollectionName: x.name, Query: client.NewQueryMulti([][]float32{v}), Using: client.PtrOf(vectorName), Limit: limit,
		Prefetch: []*client.PrefetchQuery{{Filter: f, Limit: limit,
			Query: client.NewQueryOrderBy(&client.OrderBy{Key: fieldDraw, Direction: client.Direction_Asc.Enum()})}},
		WithPayload: client.NewWithPayloadInclude(fieldItem, fieldDraw)}
}

// runQueries runs requests in one call and decodes their answers.
func (x *Index) runQueries(ctx context.Context, requests []*client.QueryPoints) ([][]found, error) {
	var results []*client.BatchResult
	err := x.callForRead(ctx, func(ctx context.Context) (err error) {
		results, err = x.client.QueryBatch(ctx, &client.QueryBatchPoints{CollectionName: x.name, QueryPoints: requests})
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(results) != len(requests) {
		return nil, fmt.Errorf("%d answers to %d queries: %w", len(results), len(requests), ErrCorrupt)
	}
	answers := make([][]found, len(results))
	for i, r := range results {
		for _, p := range r.GetResult() {
			answers[i] = append(answers[i], found{p.GetPayload()[fieldItem].GetStringValue(), float64(p.GetScore()), p.GetPayload(), p.GetId()})
		}
	}
	return answers, nil
}

// estimateMoments are those of a sample; N is estimated from how much of the numbers drawn a full
// sample took.
func estimateMoments(sample []found, full int) vector.Result {
	slices.SortFunc(sample, func(a, b found) int { return cmp.Compare(a.id, b.id) }) // sums of the same terms in the same order
	n := float64(len(sample))
	sum := 0.0
	greatest := int64(0)
	for _, s := range sample {
		sum += s.score
		greatest = max(greatest, s.payload[fieldDraw].GetIntegerValue())
	}
	if n == 0 {
		return vector.Result{}
	}
	out := vector.Result{N: len(sample), Mean: sum / n}
	squares := 0.0
	for _, s := range sample {
		squares += (s.score - out.Mean) * (s.score - out.Mean)
	}
	out.SD = math.Sqrt(squares / n)
	if len(sample) >= full {
		out.N = int(n / (float64(greatest+1) / (1 << 32)))
	}
	return out
}

// makeHits turns points into hits, with the span of each one's best chunk.
func (x *Index) makeHits(ctx context.Context, best []found, v []float32) ([]vector.Hit, error) {
	hits := make([]vector.Hit, len(best))
	long := map[string]int{} // by point: hits of several chunks
	var ids []*client.PointId
	for i, b := range best {
		spans, err := spansOf(b.payload)
		if err != nil {
			return nil, err
		}
		hits[i] = vector.Hit{ID: b.id, Score: b.score, Span: spans[0]}
		if len(spans) > 1 {
			long[b.point.GetUuid()] = i
			ids = append(ids, b.point)
		}
	}
	if len(ids) == 0 {
		return hits, nil
	}
	var points []*client.RetrievedPoint
	err := x.callForRead(ctx, func(ctx context.Context) (err error) {
		points, err = x.client.Get(ctx, &client.GetPoints{CollectionName: x.name, Ids: ids, WithPayload: client.NewWithPayloadInclude(fieldSpans), WithVectors: client.NewWithVectorsInclude(vectorName)})
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, p := range points {
		spans, err := spansOf(p.GetPayload())
		if err != nil {
			return nil, err
		}
		if i, ok := long[p.GetId().GetUuid()]; ok {
			hits[i].Span = bestSpan(spans, vectorsOf(p.GetVectors()), v)
		}
	}
	return hits, nil
}

// bestSpan returns the span of the vector with the greatest product with v, the first of
// equal ones.
func bestSpan(spans []schemas.Span, vectors [][]float32, v []float32) schemas.Span {
	best := 0
	most := math.Inf(-1)
	for i, w := range vectors[:min(len(vectors), len(spans))] {
		if sum := computeDotProduct(w, v); sum > most {
			best = i
			most = sum
		}
	}
	return spans[best]
}

func computeDotProduct(v, w []float32) float64 {
	sum := 0.0
	for i := range min(len(v), len(w)) {
		sum += float64(v[i]) * float64(w[i])
	}
	return sum
}

// Score returns the query's score of each id. See vector.Index.
func (x *Index) Score(ctx context.Context, s scope.Scope, q vector.Query, ids []string) ([]float64, error) {
	scores := make([]float64, len(ids))
	v, ok := normalizeVector(q.Vector)
	f, some := narrowFilter(s.Tenant(), q.Filter, &q)
	if !ok || !some {
		return scores, ctx.Err()
	}
	f.Must = append(f.Must, makeIDCondition(s.Tenant(), q.Axis, ids))
	answers, err := x.runQueries(ctx, []*client.QueryPoints{x.makeNearestQuery(f, v, len(ids))})
	if err != nil {
		return nil, err
	}
	known := make(map[string]float64, len(answers[0]))
	for _, a := range answers[0] {
		known[a.id] = a.score
	}
	for i, id := range ids {
		scores[i] = known[id]
	}
	return scores, nil
}

// ScoreChunks returns the cosines of all chunks of each id. See vector.Index.
func (x *Index) ScoreChunks(ctx context.Context, s scope.Scope, q vector.Query, ids []string) ([][]vector.ChunkScore, error) {
	out := make([][]vector.ChunkScore, len(ids))
	v, ok := normalizeVector(q.Vector)
	f, some := narrowFilter(s.Tenant(), q.Filter, &q)
	if !ok || !some {
		return out, ctx.Err()
	}
	f.Must = append(f.Must, makeIDCondition(s.Tenant(), q.Axis, ids))
	var points []*client.RetrievedPoint
	err := x.callForRead(ctx, func(ctx context.Context) (err error) {
		points, err = x.client.Scroll(ctx, &client.ScrollPoints{CollectionName: x.name, Filter: f, Limit: client.PtrOf(uint32(len(ids))),
			WithPayload: client.NewWithPayloadInclude(fieldItem, fieldSpans), WithVectors: client.NewWithVectorsInclude(vectorName)})
		return err
	})
	if err != nil {
		return nil, err
	}
	known := make(map[string][]vector.ChunkScore, len(points))
	for _, p := range points {
		id := p.GetPayload()[fieldItem].GetStringValue()
		spans, vectors, err := chunksOf(id, p)
		if err != nil {
			return nil, err
		}
		for i, w := range vectors {
			known[id] = append(known[id], vector.ChunkScore{Span: spans[i], Score: computeDotProduct(w, v)})
		}
	}
	for i, id := range ids {
		out[i] = known[id]
	}
	return out, nil
}
