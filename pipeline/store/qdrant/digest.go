package qdrant

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	client "github.com/qdrant/go-client/qdrant"

	"satchel/pipeline/infra/vecmath"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/vector"
)

// stored is an item as a digest takes it.
type stored struct {
	id       string
	position int64
	facets   []byte
	chunks   []chunk
}

type chunk struct {
	axis       string
	start, end uint32
	row        []int8
}

// scrollPoints is how many points a request of Digest reads.
const scrollPoints = 500

// Digest returns the hash of the tenant's items. See vector.Digester; it reads all of them.
func (x *Index) Digest(ctx context.Context, s scope.Scope) ([32]byte, error) {
	items := map[string]*stored{}
	f := &client.Filter{Must: []*client.Condition{client.NewMatchKeyword(fieldTenant, s.Tenant())}}
	var next *client.PointId
	for more := true; more; more = next != nil {
		var page []*client.RetrievedPoint
		from := next
		err := x.callForRead(ctx, func(ctx context.Context) (err error) {
			page, next, err = x.client.ScrollAndOffset(ctx, &client.ScrollPoints{CollectionName: x.name, Filter: f, Offset: from, Limit: client.PtrOf(uint32(scrollPoints)),
				WithPayload: client.NewWithPayload(true), WithVectors: client.NewWithVectorsInclude(vectorName)})
			return err
		})
		if err != nil {
			return [32]byte{}, fmt.Errorf("digest vectors: %w", err)
		}
		for _, p := range page {
			if err := x.collectPoint(items, p); err != nil {
				return [32]byte{}, fmt.Errorf("digest vectors: %w", err)
			}
		}
	}
	all := make([]*stored, 0, len(items))
	for _, it := range items {
		all = append(all, it)
	}
	slices.SortFunc(all, func(a, b *stored) int { return cmp.Compare(a.id, b.id) })
	d := vector.NewDigester()
	for _, it := range all {
		slices.SortStableFunc(it.chunks, func(a, b chunk) int { return cmp.Compare(a.axis, b.axis) })
		d.Item(it.id, it.position, it.facets, len(it.chunks))
		for _, c := range it.chunks {
			d.Chunk(c.axis, c.start, c.end, c.row)
		}
	}
	return d.Sum(), nil
}

// collectPoint takes a point into its item.
func (x *Index) collectPoint(items map[string]*stored, p *client.RetrievedPoint) error {
	fields := p.GetPayload()
	if _, is := fields[fieldCheckpoint]; is {
		return nil
	}
	id := fields[fieldItem].GetStringValue()
	it, ok := items[id]
	if !ok {
		facets := facetsOf(fields)
		encoded, err := vector.EncodeFacets(&facets)
		if err != nil {
			return err
		}
		it = &stored{id: id, position: fields[fieldPosition].GetIntegerValue(), facets: encoded}
		items[id] = it
	}
	axis := fields[fieldAxis].GetStringValue()
	if axis == "" {
		return nil
	}
	spans, vectors, err := chunksOf(id, p)
	if err != nil {
		return err
	}
	for i, v := range vectors {
		c := chunk{axis: axis[len(axisMark):], row: make([]int8, vector.Stride(x.cfg.Dimensions))}
		c.start, c.end = vector.SpanOf(spans[i])
		vecmath.Quantise(c.row, v)
		it.chunks = append(it.chunks, c)
	}
	return nil
}
