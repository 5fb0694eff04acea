package qdrant

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"
	client "github.com/qdrant/go-client/qdrant"

	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// ErrCorrupt is returned for a point that cannot be what was written.
var ErrCorrupt = errors.New("vector collection is damaged")

// Payload fields beside those of the facets.
const (
	fieldTenant     = "tenant"
	fieldKey        = "key"
	fieldItem       = "item"
	fieldAxis       = "axis"
	fieldSpans      = "spans"
	fieldPosition   = "position"
	fieldAt         = "at"
	fieldDraw       = "draw"
	fieldCheckpoint = "checkpoint"
	fieldExact      = "exact"
)

// axisMark is before the name of an axis, as an empty value would not be indexed.
const axisMark = ":"

// What a UUID is of; each kind its own, so that no two collide.
func keyOf(tenant, item string) uuid.UUID { return pointID("item", tenant, item) }

func checkpointOf(tenant string) uuid.UUID { return pointID("checkpoint", tenant) }

func pointOf(key uuid.UUID, axis string) uuid.UUID { return pointID("point", key.String(), axis) }

// bareOf is the point of an item without chunks.
func bareOf(key uuid.UUID) uuid.UUID { return pointID("bare", key.String()) }

// pointID makes a UUID of parts, none of which holds a zero byte.
func pointID(parts ...string) uuid.UUID {
	var b []byte
	for _, p := range parts {
		b = append(append(b, p...), 0)
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, b)
}

func makeTextValue(s string) *client.Value {
	return &client.Value{Kind: &client.Value_StringValue{StringValue: s}}
}
func makeWholeValue(n int64) *client.Value {
	return &client.Value{Kind: &client.Value_IntegerValue{IntegerValue: n}}
}
func makeRealValue(x float64) *client.Value {
	return &client.Value{Kind: &client.Value_DoubleValue{DoubleValue: x}}
}
func makeListValue(values ...*client.Value) *client.Value {
	return &client.Value{Kind: &client.Value_ListValue{ListValue: &client.ListValue{Values: values}}}
}

type payload = map[string]*client.Value

// addFacets writes facets; what is empty is left out, which a condition reads as empty.
func addFacets(p payload, f *schemas.Facets) {
	for name, s := range map[string]string{"kind": string(f.Kind), "type": string(f.Type), "category": f.Category, "session": f.Session, "signer": f.Signer} {
		if s != "" {
			p[name] = makeTextValue(s)
		}
	}
	for name, l := range map[string][]string{"labels": f.Labels, "groups": f.Groups, "purposes": f.Purposes} {
		if len(l) > 0 {
			values := make([]*client.Value, len(l))
			for i, s := range l {
				values[i] = makeTextValue(s)
			}
			p[name] = makeListValue(values...)
		}
	}
	p["level"], p["pii"], p["credentials"] = makeWholeValue(int64(f.Level)), makeWholeValue(oneIf(f.PII)), makeWholeValue(oneIf(f.Credentials))
	// The server may lose a number's last bit; conditions do not mind, a digest does.
	p["trust"], p["sensitivity"] = makeRealValue(f.Trust), makeRealValue(f.Sensitivity)
	p[fieldExact] = makeListValue(makeWholeValue(int64(math.Float64bits(f.Trust))), makeWholeValue(int64(math.Float64bits(f.Sensitivity))))
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// facetsOf reads what addFacets wrote.
func facetsOf(p payload) schemas.Facets {
	words := func(name string) (l []string) {
		for _, v := range p[name].GetListValue().GetValues() {
			l = append(l, v.GetStringValue())
		}
		return l
	}
	exact := func(i int) float64 {
		if bits := p[fieldExact].GetListValue().GetValues(); i < len(bits) {
			return math.Float64frombits(uint64(bits[i].GetIntegerValue()))
		}
		return 0
	}
	return schemas.Facets{
		Kind: schemas.Kind(p["kind"].GetStringValue()), Type: schemas.MemoryType(p["type"].GetStringValue()),
		Category: p["category"].GetStringValue(), Session: p["session"].GetStringValue(), Signer: p["signer"].GetStringValue(),
		Labels: words("labels"), Groups: words("groups"), Purposes: words("purposes"),
		Level: schemas.Level(p["level"].GetIntegerValue()), PII: p["pii"].GetIntegerValue() == 1, Credentials: p["credentials"].GetIntegerValue() == 1,
		Trust: exact(0), Sensitivity: exact(1),
	}
}

// makePoints returns what is stored of d, a point for each axis.
func makePoints(tenant string, at int64, d *vector.Doc) []*client.PointStruct {
	key := keyOf(tenant, d.ID)
	point := func(id uuid.UUID) *client.PointStruct {
		p := payload{fieldTenant: makeTextValue(tenant), fieldKey: makeTextValue(key.String()), fieldItem: makeTextValue(d.ID), fieldPosition: makeWholeValue(d.Position), fieldAt: makeWholeValue(at)}
		addFacets(p, &d.Facets)
		return &client.PointStruct{Id: client.NewIDUUID(id.String()), Payload: p, Vectors: client.NewVectorsMap(map[string]*client.Vector{})}
	}
	if len(d.Chunks) == 0 {
		return []*client.PointStruct{point(bareOf(key))}
	}
	type axis struct {
		vectors [][]float32
		spans   []*client.Value
	}
	axes := map[string]*axis{}
	var order []string
	for _, c := range d.Chunks {
		a, ok := axes[c.Axis]
		if !ok {
			a = &axis{}
			axes[c.Axis] = a
			order = append(order, c.Axis)
		}
		start, end := vector.SpanOf(c.Span)
		a.vectors = append(a.vectors, c.Vector)
		a.spans = append(a.spans, makeWholeValue(int64(start)), makeWholeValue(int64(end)))
	}
	all := make([]*client.PointStruct, 0, len(order))
	for _, name := range order {
		id := pointOf(key, name)
		p := point(id)
		p.Payload[fieldAxis], p.Payload[fieldSpans] = makeTextValue(axisMark+name), makeListValue(axes[name].spans...)
		p.Payload[fieldDraw] = makeWholeValue(int64(binary.BigEndian.Uint32(id[:4])))
		p.Vectors = client.NewVectorsMap(map[string]*client.Vector{vectorName: client.NewVectorMulti(axes[name].vectors)})
		all = append(all, p)
	}
	return all
}

// spansOf reads the spans of a point.
func spansOf(p payload) ([]schemas.Span, error) {
	values := p[fieldSpans].GetListValue().GetValues()
	if len(values)%2 != 0 || len(values) == 0 {
		return nil, fmt.Errorf("point with %d bounds of spans: %w", len(values), ErrCorrupt)
	}
	spans := make([]schemas.Span, 0, len(values)/2)
	for i := 0; i < len(values); i += 2 {
		spans = append(spans, schemas.Span{Start: int(values[i].GetIntegerValue()), End: int(values[i+1].GetIntegerValue())})
	}
	return spans, nil
}

// vectorsOf reads the vectors of a point.
func vectorsOf(v *client.VectorsOutput) [][]float32 {
	multi := v.GetVectors().GetVectors()[vectorName].GetMultiVector().GetVectors()
	all := make([][]float32, len(multi))
	for i, d := range multi {
		all[i] = d.GetData()
	}
	return all
}

// chunksOf reads the spans and the vectors of an item's point, which are in step.
func chunksOf(item string, p *client.RetrievedPoint) ([]schemas.Span, [][]float32, error) {
	spans, err := spansOf(p.GetPayload())
	if err != nil {
		return nil, nil, err
	}
	vectors := vectorsOf(p.GetVectors())
	if len(vectors) != len(spans) {
		return nil, nil, fmt.Errorf("item %q: %d vectors, %d spans: %w", item, len(vectors), len(spans), ErrCorrupt)
	}
	return spans, vectors, nil
}
