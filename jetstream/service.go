package jetstream

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"satchel/schemas"
)

// HeaderDeadline tells a service how many milliseconds the caller will wait.
const HeaderDeadline = "Satchel-Deadline-Ms"

// CodeInternal is the code of a failure that has no name of its own.
const CodeInternal schemas.Code = "internal_error"

// Call is one request to an endpoint.
type Call struct {
	Subject   string
	Tenant    string // a token of the subject, which the transport vouches for
	Principal string // id that the transport vouches for; "" when it knows none
	Payer     string // that the work counts against: Principal or, without, the principal that is claimed; "" for none
	Header    nats.Header
	Data      []byte
	Silent    bool // the caller gave no reply subject
}

// Reply is what a handler answers. Header may be nil.
type Reply struct {
	Data   []byte
	Header nats.Header
	// Later makes the reply when the handler has to wait for others. It runs beside the pool,
	// which does other work meanwhile, and keeps the call's deadline; how many of them wait at
	// a time is the handler's to bound. nil: the reply is here.
	Later func(ctx context.Context) (Reply, error)
}

// Handler answers a request. A *schemas.Error is sent as it is, the end of ctx as
// deadline_exceeded; any other error is logged and sent as internal_error. ctx ends
// at the caller's deadline.
type Handler func(ctx context.Context, c Call) (Reply, error)

// Endpoint is one subject of the service.
type Endpoint struct {
	Name     string // [A-Za-z0-9_-]+
	Subject  string // with "*" for the tenant
	Handler  Handler
	Workers  int               // > 0: a pool of its own, for calls that wait; 0: the service's pool
	Queue    int               // requests waiting in its own pool, one for each 64 KiB or part of them; 0: as many as in the service's
	Metadata map[string]string // shown by discovery
}

// ServiceConfig describes the service. The zero value works.
type ServiceConfig struct {
	Name        string                                                           // default "satchel"
	Version     string                                                           // SemVer, default "0.0.0"
	Description string                                                           // shown by discovery
	Metadata    map[string]string                                                // shown by discovery
	Workers     int                                                              // requests handled at a time, default 4 × GOMAXPROCS
	Queue       int                                                              // requests waiting per pool, of all tenants, default 4 × Workers
	Identified  bool                                                             // answer principals that the transport knows, under IdentifiedPrefix, too
	Vouched     bool                                                             // who asks otherwise may claim to be any principal: only operators can
	Share       int                                                              // requests of one principal handled at a time while others ask, default half of the processors
	Deadline    time.Duration                                                    // for callers that give none, default 30 s
	MaxDeadline time.Duration                                                    // most a caller can ask for, default 60 s
	Extract     func(ctx context.Context, carrier HeaderCarrier) context.Context // of the trace, default none
	// Answered is told of every reply and refusal, and must not block: the tenant of its subject, whom it
	// counts against, how long
	// it took since the request arrived, and the refusal, nil for a reply. Default none.
	Answered func(endpoint, tenant, payer string, took time.Duration, refusal *schemas.Error)
	Stats    func() any   // added to every endpoint's statistics, default none
	Replies  *Replies     // where large ones are kept, default those of a server alone
	Log      *slog.Logger // default: discard
}

func (c ServiceConfig) withDefaults() ServiceConfig {
	if c.Name == "" {
		c.Name = "satchel"
	}
	if c.Version == "" {
		c.Version = "0.0.0"
	}
	if c.Workers <= 0 {
		c.Workers = 4 * runtime.GOMAXPROCS(0)
	}
	if c.Queue <= 0 {
		c.Queue = 4 * c.Workers
	}
	if c.Share <= 0 {
		c.Share = max(1, runtime.NumCPU()/2)
	}
	if c.Deadline <= 0 {
		c.Deadline = 30 * time.Second
	}
	if c.MaxDeadline <= 0 {
		c.MaxDeadline = time.Minute
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Service answers requests on NATS micro, in the queue group of its name's default.
// A pool is shared fairly by tenants, and by the principals of each: one that asks for more than
// the others is answered in what they leave, and a full pool refuses its newest requests with
// 429: the first at once, those of one that goes on late. It is safe for concurrent use.
type Service struct {
	cfg     ServiceConfig
	seed    maphash.Seed // of claimed names
	nc      *nats.Conn
	replies *Replies
	micro   micro.Service
	subs    []*nats.Subscription // of identified principals
	cancel  context.CancelCauseFunc
	workers sync.WaitGroup

	endpoints []*endpoint

	mu       sync.RWMutex // guards stopping; dispatch holds it for reading
	stopping bool
	pools    []*queue

	refusals refusals
}

// job is a request that waits for a worker.
type job struct {
	endpoint *endpoint
	request  Call
	reply    string
	arrived  time.Time
	deadline time.Time
	erasures uint64    // of the tenant, before the request was answered
	places   int       // that it takes in the queue
	taken    time.Time // by a worker
}

type endpoint struct {
	Endpoint
	pool  *queue
	stats endpointStats
}

// Serve starts the service. Handlers get ctx's values, not its end: the caller MUST
// call Stop.
func Serve(ctx context.Context, nc *nats.Conn, js jetstream.JetStream, cfg ServiceConfig, endpoints []Endpoint) (*Service, error) {
	if cfg.Replies == nil {
		cfg.Replies = NewReplies(js, Config{})
	}
	s := &Service{cfg: cfg.withDefaults(), seed: maphash.MakeSeed(), nc: nc, replies: cfg.Replies}
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	s.cancel = cancel
	byName := make(map[string]*endpoint, len(endpoints))
	common := newQueue(s.cfg.Workers + s.cfg.Queue)
	common.most = s.cfg.Share
	common.rest = true
	shared := s.startPool(base, s.cfg.Workers, common)
	list := make([]*endpoint, len(endpoints))
	s.endpoints = list
	for i, e := range endpoints {
		list[i] = &endpoint{Endpoint: e, pool: shared}
		if e.Workers > 0 {
			pool := newQueue(e.Workers + s.cfg.Queue)
			if e.Queue > 0 {
				pool = newQueue(e.Workers + e.Queue)
				pool.unit = placeBytes
			}
			pool.most = max(1, e.Workers/ownShare)
			pool.beside = common
			list[i].pool = s.startPool(base, e.Workers, pool)
		}
		byName[e.Name] = list[i]
	}
	var err error
	s.micro, err = micro.AddService(nc, micro.Config{
		Name: s.cfg.Name, Version: s.cfg.Version, Description: s.cfg.Description, Metadata: s.cfg.Metadata,
		StatsHandler: func(e *micro.Endpoint) any { return s.statsOf(byName[e.Name]) },
		ErrorHandler: func(_ micro.Service, err *micro.NATSError) {
			s.cfg.Log.Warn("service subscription", "subject", err.Subject, "cause", err.Description)
		},
	})
	for i := 0; err == nil && i < len(list); i++ {
		e := list[i]
		err = s.micro.AddEndpoint(e.Name, micro.HandlerFunc(func(r micro.Request) {
			s.dispatchRequest(e, r.Subject(), r.Reply(), nats.Header(r.Headers()), r.Data())
		}),
			micro.WithEndpointSubject(e.Subject), micro.WithEndpointMetadata(e.Metadata))
		if err == nil && s.cfg.Identified {
			err = s.subscribeIdentified(e)
		}
	}
	if err == nil {
		err = flushConnection(ctx, nc)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("serve %q: %w", s.cfg.Name, err), s.Stop(ctx))
	}
	return s, nil
}

// subscribeIdentified answers an endpoint's requests of principals that the transport knows.
func (s *Service) subscribeIdentified(e *endpoint) error {
	sub, err := s.nc.QueueSubscribe(IdentifiedPrefix+"*."+e.Subject, micro.DefaultQueueGroup, func(m *nats.Msg) {
		s.dispatchRequest(e, m.Subject, m.Reply, m.Header, m.Data)
	})
	if err != nil {
		return fmt.Errorf("subscribe for identified principals: %w", err)
	}
	s.subs = append(s.subs, sub)
	return nil
}

// Stop takes no more requests, lets those that run or wait finish, and returns when
// they have. When ctx ends first the handlers' contexts end, too.
func (s *Service) Stop(ctx context.Context) error {
	var err error
	if s.micro != nil {
		err = ignoreClosed(s.micro.Stop())
		for _, sub := range s.subs {
			err = errors.Join(err, ignoreClosed(sub.Drain()))
		}
		err = errors.Join(err, ignoreClosed(flushConnection(ctx, s.nc)))
	}
	s.mu.Lock()
	if !s.stopping {
		s.stopping = true
		for _, pool := range s.pools {
			pool.closeQueue()
		}
	}
	s.mu.Unlock()
	s.refusals.closeRefusals()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.workers.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.cancel(context.Cause(ctx))
		<-done
	}
	s.cancel(nil)
	if err != nil {
		return fmt.Errorf("stop service %q: %w", s.cfg.Name, err)
	}
	return nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, nats.ErrConnectionClosed) {
		return nil
	}
	return err
}

// ownShare is which part of a pool of its own one principal may hold while others ask.
const ownShare = 8

// placeBytes is how much of a request takes one place of a long queue.
const placeBytes = 64 << 10

func (s *Service) startPool(ctx context.Context, workers int, pool *queue) *queue {
	s.pools = append(s.pools, pool)
	for range workers {
		s.workers.Add(1)
		go func() {
			defer s.workers.Done()
			for j, ok := pool.takeRequest(); ok; j, ok = pool.takeRequest() {
				s.runRequest(ctx, j)
				pool.releaseWorker(j)
			}
		}()
	}
	return pool
}

// replySubject returns where an answer may go, "" for nowhere: not into a stream or a
// service, where it would be taken for something that Satchel says.
func replySubject(reply string) string {
	for _, own := range []string{"mem.v1.", "prov.v1.", "dlq.v1.", "ctx.v1.", "log.v1.", "art.v1.", "wrk.v1.", InternalPrefix, "p.", "$"} {
		if strings.HasPrefix(reply, own) {
			return ""
		}
	}
	return reply
}

// dispatchRequest hands a request to the pool without waiting: NATS calls it for one request
// of an endpoint after the other.
func (s *Service) dispatchRequest(e *endpoint, subject, reply string, header nats.Header, data []byte) {
	now := time.Now()
	reply = replySubject(reply)
	j := job{
		endpoint: e,
		request:  Call{Header: header, Data: data, Silent: reply == ""},
		reply:    reply,
		arrived:  now,
		deadline: now.Add(s.parseDeadline(header.Get(HeaderDeadline))),
	}
	j.request.Principal, j.request.Subject = principalOf(subject)
	tenant, err := TenantOf(j.request.Subject)
	if err != nil {
		s.refuseRequest(j, &schemas.Error{Code: schemas.CodeValidation, Message: "the subject names no valid tenant"})
		return
	}
	j.request.Tenant = tenant
	j.request.Payer = s.payerOf(&j.request)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.stopping {
		s.refuseRequest(j, &schemas.Error{Code: schemas.CodeOverloaded, Message: "the service is stopping"})
		return
	}
	e.stats.waiting.Add(1)
	for _, lost := range e.pool.enqueueJob(j) {
		lost.endpoint.stats.waiting.Add(-1)
		s.refuseRequest(lost, &schemas.Error{Code: schemas.CodeOverloaded, Message: "too many requests at a time"})
	}
}

func (s *Service) parseDeadline(header string) time.Duration {
	ms, err := strconv.ParseInt(header, 10, 64)
	if err != nil || ms <= 0 {
		return s.cfg.Deadline
	}
	return min(time.Duration(min(ms, int64(s.cfg.MaxDeadline/time.Millisecond)))*time.Millisecond, s.cfg.MaxDeadline)
}

func (s *Service) runRequest(base context.Context, j job) {
	j.endpoint.stats.waiting.Add(-1)
	ctx, cancel := context.WithDeadline(base, j.deadline)
	if s.cfg.Extract != nil {
		ctx = s.cfg.Extract(ctx, HeaderCarrier(j.request.Header))
	}
	j.erasures = s.replies.countErasures(j.request.Tenant)
	reply, err := s.callHandler(ctx, j, func(ctx context.Context) (Reply, error) { return j.endpoint.Handler(ctx, j.request) })
	if err != nil || reply.Later == nil {
		defer cancel()
		s.answerRequest(ctx, j, reply, err)
		return
	}
	j.request = Call{Subject: j.request.Subject, Tenant: j.request.Tenant, Payer: j.request.Payer} // the rest is let go while it waits
	s.workers.Go(func() {
		defer cancel()
		reply, err := s.callHandler(ctx, j, reply.Later)
		s.answerRequest(ctx, j, reply, err)
	})
}

// answerRequest sends the reply or the refusal, and counts it.
func (s *Service) answerRequest(ctx context.Context, j job, reply Reply, err error) {
	if err != nil {
		s.refuseRequest(j, s.makeRefusal(ctx, j, err))
		return
	}
	if err := s.publishReply(ctx, j, reply); err != nil {
		s.refuseRequest(j, s.makeRefusal(ctx, j, err))
		return
	}
	s.countAnswer(j, nil)
}

// countAnswer counts a reply, or a refusal.
func (s *Service) countAnswer(j job, refusal *schemas.Error) {
	took := time.Since(j.arrived)
	j.endpoint.stats.observeRequest(took, refusal)
	if s.cfg.Answered != nil {
		s.cfg.Answered(j.endpoint.Name, j.request.Tenant, j.request.Payer, took, refusal)
	}
}

func (s *Service) callHandler(ctx context.Context, j job, handle func(ctx context.Context) (Reply, error)) (reply Reply, err error) {
	if ctx.Err() != nil {
		return Reply{}, context.Cause(ctx)
	}
	defer func() {
		if cause := recover(); cause != nil {
			s.cfg.Log.Error("handler panicked", "endpoint", j.endpoint.Name, "tenant", j.request.Tenant,
				"type", fmt.Sprintf("%T", cause), "stack", string(debug.Stack()))
			err = &schemas.Error{Code: CodeInternal, Message: "the request failed"}
		}
	}()
	return handle(ctx)
}

// makeRefusal is the typed error that the caller gets for err.
func (s *Service) makeRefusal(ctx context.Context, j job, err error) *schemas.Error {
	var typed *schemas.Error
	if errors.As(err, &typed) {
		return typed
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &schemas.Error{Code: schemas.CodeDeadlineExceeded, Message: "the deadline has passed"}
	}
	if ctx.Err() != nil {
		return &schemas.Error{Code: schemas.CodeOverloaded, Message: "the service is stopping"}
	}
	s.cfg.Log.Error("request failed", "endpoint", j.endpoint.Name, "tenant", j.request.Tenant, "cause", err)
	return &schemas.Error{Code: CodeInternal, Message: "the request failed"}
}
