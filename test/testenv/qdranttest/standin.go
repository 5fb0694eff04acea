package qdranttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"satchel/test/testenv"
)

// StandIn answers the methods of Qdrant's gRPC interface that the driver calls, from
// maps in memory, exactly and without an index. It is no Qdrant: it shows what the driver
// asks and does, not what Qdrant does. Its faults are for tests of the driver.
type StandIn struct {
	URL    string
	server *grpc.Server
	mu     sync.Mutex
	all    map[string]*standInCollection
	faults Faults
}

// Faults are what a stand-in does wrong.
type Faults struct {
	Before  func(method, key string) error // asked before each call, with the API key that came with it
	Version string                         // "" is 1.17.1
}

type standInCollection struct {
	vectors *qdrant.VectorsConfig
	points  map[string]*qdrant.PointStruct // never changed, only replaced
}

// The services, each apart as their methods share names.
type (
	standInHealth struct {
		qdrant.UnimplementedQdrantServer
		s *StandIn
	}
	standInCollections struct {
		qdrant.UnimplementedCollectionsServer
		s *StandIn
	}
	standInPoints struct {
		qdrant.UnimplementedPointsServer
		s *StandIn
	}
)

// StartStandIn starts a stand-in on loopback and stops it with the test.
func StartStandIn(t testing.TB) *StandIn {
	s := &StandIn{all: map[string]*standInCollection{}}
	var l net.Listener
	for tries := 0; l == nil; tries++ {
		port, err := testenv.FreePort() // Start takes it again
		if err == nil {
			l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		}
		if err != nil && tries == 9 { // another process may have taken the port meanwhile
			t.Fatal(err)
		}
	}
	s.serve(t, l)
	t.Cleanup(s.Stop)
	return s
}

func (s *StandIn) serve(t testing.TB, l net.Listener) {
	server := grpc.NewServer(grpc.UnaryInterceptor(s.intercept),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true})) // as Qdrant does
	s.URL, s.server = "http://"+l.Addr().String(), server
	qdrant.RegisterQdrantServer(server, &standInHealth{s: s})
	qdrant.RegisterCollectionsServer(server, &standInCollections{s: s})
	qdrant.RegisterPointsServer(server, &standInPoints{s: s})
	go func() {
		if err := server.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("serve the stand-in: %v", err)
		}
	}()
}

// Stop closes every connection at once.
func (s *StandIn) Stop() {
	s.server.Stop()
	syscall.ForkLock.Lock() // a process that is just being started holds a copy of the socket
	defer syscall.ForkLock.Unlock()
}

// Start answers again after a Stop, with what was written.
func (s *StandIn) Start(t testing.TB) {
	l, err := net.Listen("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	s.serve(t, l)
}

// Set changes what goes wrong from the next call on.
func (s *StandIn) Set(f Faults) { s.mu.Lock(); s.faults = f; s.mu.Unlock() }

// Backup returns what puts the collections back as they are now.
func (s *StandIn) Backup() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := copied(s.all)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = copied(kept)
	}
}

func copied(all map[string]*standInCollection) map[string]*standInCollection {
	out := map[string]*standInCollection{}
	for name, c := range all {
		out[name] = &standInCollection{c.vectors, maps.Clone(c.points)}
	}
	return out
}

func (s *StandIn) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	method := info.FullMethod[strings.LastIndexByte(info.FullMethod, '/')+1:]
	s.mu.Lock()
	f := s.faults
	s.mu.Unlock() // a fault may wait
	if md, _ := metadata.FromIncomingContext(ctx); f.Before != nil {
		if err := f.Before(method, strings.Join(md.Get("api-key"), ",")); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil { // stopped meanwhile: what comes later is another process
		return nil, err
	}
	if named, ok := req.(interface{ GetCollectionName() string }); ok && s.all[named.GetCollectionName()] == nil && method != "Create" && method != "CollectionExists" {
		return nil, status.Error(codes.NotFound, "no such collection")
	}
	return handle(ctx, req)
}

func (h *standInHealth) HealthCheck(context.Context, *qdrant.HealthCheckRequest) (*qdrant.HealthCheckReply, error) {
	return &qdrant.HealthCheckReply{Title: "stand-in", Version: cmp.Or(h.s.faults.Version, "1.17.1")}, nil
}

func (c *standInCollections) CollectionExists(_ context.Context, r *qdrant.CollectionExistsRequest) (*qdrant.CollectionExistsResponse, error) {
	return &qdrant.CollectionExistsResponse{Result: &qdrant.CollectionExists{Exists: c.s.all[r.CollectionName] != nil}}, nil
}

func (c *standInCollections) Create(_ context.Context, r *qdrant.CreateCollection) (*qdrant.CollectionOperationResponse, error) {
	if c.s.all[r.CollectionName] != nil {
		return nil, status.Error(codes.AlreadyExists, "there is one")
	}
	c.s.all[r.CollectionName] = &standInCollection{r.VectorsConfig, map[string]*qdrant.PointStruct{}}
	return &qdrant.CollectionOperationResponse{Result: true}, nil
}

func (c *standInCollections) Get(_ context.Context, r *qdrant.GetCollectionInfoRequest) (*qdrant.GetCollectionInfoResponse, error) {
	return &qdrant.GetCollectionInfoResponse{Result: &qdrant.CollectionInfo{Config: &qdrant.CollectionConfig{
		Params: &qdrant.CollectionParams{VectorsConfig: c.s.all[r.CollectionName].vectors}}}}, nil
}

func (c *standInCollections) Delete(_ context.Context, r *qdrant.DeleteCollection) (*qdrant.CollectionOperationResponse, error) {
	delete(c.s.all, r.CollectionName)
	return &qdrant.CollectionOperationResponse{Result: true}, nil
}

func (p *standInPoints) CreateFieldIndex(context.Context, *qdrant.CreateFieldIndexCollection) (*qdrant.PointsOperationResponse, error) {
	return &qdrant.PointsOperationResponse{}, nil
}

func (p *standInPoints) Upsert(_ context.Context, r *qdrant.UpsertPoints) (*qdrant.PointsOperationResponse, error) {
	c := p.s.all[r.CollectionName]
	for _, point := range r.Points {
		if old, there := c.points[point.Id.GetUuid()]; !there || passes(r.UpdateFilter, old) {
			c.points[point.Id.GetUuid()] = point
		}
	}
	return &qdrant.PointsOperationResponse{}, nil
}

func (p *standInPoints) Delete(_ context.Context, r *qdrant.DeletePoints) (*qdrant.PointsOperationResponse, error) {
	maps.DeleteFunc(p.s.all[r.CollectionName].points, func(_ string, point *qdrant.PointStruct) bool { return passes(r.Points.GetFilter(), point) })
	return &qdrant.PointsOperationResponse{}, nil
}

func (p *standInPoints) SetPayload(_ context.Context, r *qdrant.SetPayloadPoints) (*qdrant.PointsOperationResponse, error) {
	c := p.s.all[r.CollectionName]
	for _, old := range c.matching(r.PointsSelector.GetFilter()) {
		point := &qdrant.PointStruct{Id: old.Id, Vectors: old.Vectors, Payload: maps.Clone(old.Payload)}
		maps.Copy(point.Payload, r.Payload)
		c.points[old.Id.GetUuid()] = point
	}
	return &qdrant.PointsOperationResponse{}, nil
}

func (p *standInPoints) Get(_ context.Context, r *qdrant.GetPoints) (*qdrant.GetResponse, error) {
	out := &qdrant.GetResponse{}
	ids := &qdrant.Filter{Must: []*qdrant.Condition{qdrant.NewHasID(r.Ids...)}}
	for _, point := range p.s.all[r.CollectionName].matching(ids) {
		out.Result = append(out.Result, retrieved(point))
	}
	return out, nil
}

func (p *standInPoints) Scroll(_ context.Context, r *qdrant.ScrollPoints) (*qdrant.ScrollResponse, error) {
	out := &qdrant.ScrollResponse{}
	before := func(p *qdrant.PointStruct) bool { return p.Id.GetUuid() < r.Offset.GetUuid() }
	for _, point := range slices.DeleteFunc(p.s.all[r.CollectionName].matching(r.Filter), before) {
		if len(out.Result) == int(r.GetLimit()) {
			out.NextPageOffset = point.Id
			break
		}
		out.Result = append(out.Result, retrieved(point))
	}
	return out, nil
}

func (p *standInPoints) Count(_ context.Context, r *qdrant.CountPoints) (*qdrant.CountResponse, error) {
	return &qdrant.CountResponse{Result: &qdrant.CountResult{Count: uint64(len(p.s.all[r.CollectionName].matching(r.Filter)))}}, nil
}

func (p *standInPoints) QueryBatch(_ context.Context, r *qdrant.QueryBatchPoints) (*qdrant.QueryBatchResponse, error) {
	out := &qdrant.QueryBatchResponse{}
	for _, q := range r.QueryPoints {
		out.Result = append(out.Result, &qdrant.BatchResult{Result: p.s.all[r.CollectionName].query(q)})
	}
	return out, nil
}

// query scores the points of the filter, or of the prefetch, which is by order of a field.
func (c *standInCollection) query(q *qdrant.QueryPoints) []*qdrant.ScoredPoint {
	list := c.matching(q.Filter)
	if len(q.Prefetch) > 0 {
		first, key := q.Prefetch[0], q.Prefetch[0].Query.GetOrderBy().GetKey()
		list = slices.DeleteFunc(c.matching(first.Filter), func(p *qdrant.PointStruct) bool { return p.Payload[key] == nil })
		slices.SortFunc(list, func(a, b *qdrant.PointStruct) int {
			return cmp.Compare(a.Payload[key].GetIntegerValue(), b.Payload[key].GetIntegerValue())
		})
		list = list[:min(len(list), int(first.GetLimit()))]
	}
	v := q.Query.GetNearest().GetMultiDense().GetVectors()[0].GetData()
	var out []*qdrant.ScoredPoint
	for _, p := range list {
		best := float32(math.Inf(-1))
		for _, w := range p.GetVectors().GetVectors().GetVectors()[q.GetUsing()].GetMultiDense().GetVectors() {
			sum := float32(0)
			for i, x := range w.Data {
				sum += x * v[i]
			}
			best = max(best, sum)
		}
		out = append(out, &qdrant.ScoredPoint{Id: p.Id, Payload: p.Payload, Score: best})
	}
	slices.SortStableFunc(out, func(a, b *qdrant.ScoredPoint) int { return cmp.Compare(b.Score, a.Score) })
	return out[:min(len(out), int(q.GetLimit()))]
}

func retrieved(p *qdrant.PointStruct) *qdrant.RetrievedPoint {
	named := map[string]*qdrant.VectorOutput{}
	for name, v := range p.GetVectors().GetVectors().GetVectors() {
		named[name] = &qdrant.VectorOutput{Vector: &qdrant.VectorOutput_MultiDense{MultiDense: v.GetMultiDense()}}
	}
	return &qdrant.RetrievedPoint{Id: p.Id, Payload: p.Payload,
		Vectors: &qdrant.VectorsOutput{VectorsOptions: &qdrant.VectorsOutput_Vectors{Vectors: &qdrant.NamedVectorsOutput{Vectors: named}}}}
}

// matching returns the points that pass a filter, in order of id.
func (c *standInCollection) matching(f *qdrant.Filter) []*qdrant.PointStruct {
	all := slices.SortedFunc(maps.Values(c.points), func(a, b *qdrant.PointStruct) int { return cmp.Compare(a.Id.GetUuid(), b.Id.GetUuid()) })
	return slices.DeleteFunc(all, func(p *qdrant.PointStruct) bool { return !passes(f, p) })
}

// passes reports whether a point meets a filter; none is met by all.
func passes(f *qdrant.Filter, p *qdrant.PointStruct) bool {
	holds := func(c *qdrant.Condition) bool { return meets(c, p) }
	return !slices.ContainsFunc(f.GetMust(), func(c *qdrant.Condition) bool { return !holds(c) }) &&
		!slices.ContainsFunc(f.GetMustNot(), holds) &&
		(len(f.GetShould()) == 0 || slices.ContainsFunc(f.GetShould(), holds))
}

func meets(c *qdrant.Condition, p *qdrant.PointStruct) bool {
	switch {
	case c.GetFilter() != nil:
		return passes(c.GetFilter(), p)
	case c.GetHasId() != nil:
		return slices.ContainsFunc(c.GetHasId().HasId, func(id *qdrant.PointId) bool { return id.GetUuid() == p.Id.GetUuid() })
	case c.GetIsEmpty() != nil:
		return len(values(p.Payload[c.GetIsEmpty().Key])) == 0
	}
	field := c.GetField()
	return slices.ContainsFunc(values(p.Payload[field.GetKey()]), func(v *qdrant.Value) bool {
		if r := field.GetRange(); r != nil {
			n := v.GetDoubleValue() + float64(v.GetIntegerValue())
			return (r.Lte == nil || n <= *r.Lte) && (r.Gte == nil || n >= *r.Gte)
		}
		words := append(field.GetMatch().GetKeywords().GetStrings(), field.GetMatch().GetKeyword())
		return v.GetStringValue() != "" && slices.Contains(words, v.GetStringValue())
	})
}

// values are a field's value, or the elements of its list.
func values(v *qdrant.Value) []*qdrant.Value {
	if v == nil || v.GetListValue() != nil {
		return v.GetListValue().GetValues()
	}
	return []*qdrant.Value{v}
}
