package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"satchel/jetstream"
	"satchel/schemas"
	"satchel/test/testenv"
	"satchel/worker/transport"
)

func serve(t *testing.T, b *bundle, cfg jetstream.ServiceConfig, endpoints ...jetstream.Endpoint) *jetstream.Service {
	t.Helper()
	s, err := jetstream.Serve(within(t, time.Minute), b.nc, b.js, cfg, endpoints)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(within(t, time.Minute)); err != nil {
			t.Error(err)
		}
	})
	return s
}

func search(handler jetstream.Handler) jetstream.Endpoint {
	return jetstream.Endpoint{Name: "search", Subject: "ctx.v1.*.search", Handler: handler}
}

func TestServiceReplies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := serve(t, b, jetstream.ServiceConfig{Version: "1.2.3", Stats: func() any { return 42 }}, search(
		func(ctx context.Context, c jetstream.Call) (jetstream.Reply, error) {
			if _, bounded := ctx.Deadline(); !bounded {
				return jetstream.Reply{}, errors.New("no deadline")
			}
			return jetstream.Reply{Data: append([]byte(c.Tenant+" "), c.Data...), Header: nats.Header{"X": {"1"}}}, nil
		}))
	ctx := within(t, time.Minute)
	reply, err := jetstream.RequestWithHeader(ctx, b.nc, "ctx.v1.acme.search", nats.Header{"Y": {"2"}}, []byte("hello"))
	if err != nil || string(reply.Data) != "acme hello" || reply.Header.Get("X") != "1" {
		t.Fatalf("reply = %q %v, %v", reply.Data, reply.Header, err)
	}
	if _, err := jetstream.Request(ctx, b.nc, "ctx.v1.acme.build", nil); !errors.Is(err, jetstream.ErrNoService) {
		t.Errorf("error = %v, want ErrNoService", err)
	}
	var refusal *schemas.Error
	if _, err := jetstream.Request(ctx, b.nc, "ctx.v1.a%b.search", nil); !errors.As(err, &refusal) || refusal.Code != schemas.CodeValidation {
		t.Errorf("error = %v, want a validation error", err)
	}
	if got := s.Stats()["search"]; got.Requests != 2 || got.Errors != 1 || got.P95MS <= 0 {
		t.Errorf("stats = %+v", got)
	}
	msg, err := b.nc.RequestWithContext(ctx, "$SRV.STATS.satchel", nil)
	if err != nil {
		t.Fatal(err)
	}
	var stats micro.Stats
	if err := json.Unmarshal(msg.Data, &stats); err != nil || stats.Version != "1.2.3" || len(stats.Endpoints) != 1 ||
		!strings.Contains(string(stats.Endpoints[0].Data), `"service":42`) {
		t.Errorf("discovery says %s, %v", msg.Data, err)
	}
}

func TestServiceErrors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	outcomes := map[string]func(context.Context) error{
		"typed": func(context.Context) error {
			return &schemas.Error{Code: schemas.CodeTemplateNotFound, Message: "no template é", Field: "/payload/template", Available: []string{"a"}}
		},
		"plain": func(context.Context) error { return errors.New("secret path /x") },
		"panic": func(context.Context) error { panic("secret") },
		"late":  func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
	}
	serve(t, b, jetstream.ServiceConfig{}, search(func(ctx context.Context, c jetstream.Call) (jetstream.Reply, error) {
		return jetstream.Reply{}, outcomes[string(c.Data)](ctx)
	}))
	ctx := within(t, time.Minute)
	want := map[string]schemas.Error{
		"typed": {Code: schemas.CodeTemplateNotFound, Message: "no template é", Field: "/payload/template", Available: []string{"a"}},
		"plain": {Code: jetstream.CodeInternal, Message: "the request failed"},
		"panic": {Code: jetstream.CodeInternal, Message: "the request failed"},
		"late":  {Code: schemas.CodeDeadlineExceeded, Message: "the deadline has passed"},
	}
	for name, want := range want {
		msg, err := b.nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: "ctx.v1.acme.search", Data: []byte(name),
			Header: nats.Header{jetstream.HeaderDeadline: {"100"}}})
		if err != nil {
			t.Fatal(err)
		}
		var got schemas.Error
		if err := json.Unmarshal(msg.Data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if msg.Header.Get(micro.ErrorHeader) == "" || strings.Contains(msg.Header.Get(micro.ErrorHeader), "secret") {
			t.Errorf("%s: error header = %q", name, msg.Header.Get(micro.ErrorHeader))
		}
	}
	if _, err := jetstream.Request(ctx, b.nc, "ctx.v1.acme.search", []byte("typed")); err == nil || err.Error() != "template_not_found: /payload/template: no template é" {
		t.Errorf("error = %v", err)
	}
}

func TestServiceRefusesWhenFull(t *testing.T) {
	t.Parallel()
	b := setup(t)
	entered, leave := make(chan struct{}, 10), make(chan struct{})
	release := sync.OnceFunc(func() { close(leave) })
	s := serve(t, b, jetstream.ServiceConfig{Workers: 1, Queue: 1}, search(func(context.Context, jetstream.Call) (jetstream.Reply, error) {
		entered <- struct{}{}
		<-leave
		return jetstream.Reply{Data: []byte("ok")}, nil
	}))
	defer release()
	ctx := within(t, time.Minute)
	var wait sync.WaitGroup
	results := make(chan error, 2)
	ask := func() {
		_, err := jetstream.Request(ctx, b.nc, "ctx.v1.acme.search", nil)
		results <- err
	}
	wait.Go(ask)
	<-entered // the worker is busy
	wait.Go(ask)
	for s.Stats()["search"].Waiting == 0 { // the queue is full
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
	}
	var refusal *schemas.Error
	_, err := jetstream.Request(ctx, b.nc, "ctx.v1.acme.search", nil)
	if !errors.As(err, &refusal) || refusal.Code != schemas.CodeOverloaded {
		t.Fatalf("error = %v, want overloaded", err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(ctx) }() // a stop lets both finish
	release()
	wait.Wait()
	for range 2 {
		if err := <-results; err != nil {
			t.Errorf("accepted request: %v", err)
		}
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if got := s.Stats()["search"]; got.Refused != 1 || got.Requests != 3 {
		t.Errorf("stats = %+v", got)
	}
}

// TestServiceWaitsBesideThePool: calls that wait hold no worker, end at their own deadline, and
// are answered when the service stops.
func TestServiceWaitsBesideThePool(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const calls = 200
	begun, leave := make(chan struct{}, calls), make(chan struct{})
	s := serve(t, b, jetstream.ServiceConfig{Workers: 1, Queue: 1}, jetstream.Endpoint{Name: "put", Subject: "mem.v1.*.put", Workers: 1, Queue: calls,
		Handler: func(_ context.Context, c jetstream.Call) (jetstream.Reply, error) {
			name := string(c.Data)
			return jetstream.Reply{Later: func(ctx context.Context) (jetstream.Reply, error) {
				begun <- struct{}{}
				select {
				case <-leave:
					return jetstream.Reply{Data: []byte(name)}, nil
				case <-ctx.Done():
					return jetstream.Reply{}, ctx.Err()
				}
			}}, nil
		}})
	ctx := within(t, time.Minute)
	var wait sync.WaitGroup
	for i := range calls {
		wait.Go(func() {
			reply, err := jetstream.Request(ctx, b.nc, "mem.v1.acme.put", fmt.Append(nil, i))
			if err != nil || string(reply) != fmt.Sprint(i) {
				t.Errorf("call %d: %q, %v", i, reply, err)
			}
		})
	}
	for range calls {
		<-begun
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	var refusal *schemas.Error
	_, err := jetstream.Request(short, b.nc, "mem.v1.acme.put", nil)
	if !errors.As(err, &refusal) && !errors.Is(err, context.DeadlineExceeded) || refusal != nil && refusal.Code != schemas.CodeDeadlineExceeded {
		t.Errorf("error = %v, want the end of the deadline", err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(ctx) }()
	close(leave)
	wait.Wait()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestServiceIsSharedByTenants: one request of b beside a flood of a, before and after it,
// comes next but one, and what was accepted is answered when the service stops.
func TestServiceIsSharedByTenants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	entered, leave := make(chan string, 20), make(chan struct{})
	s := serve(t, b, jetstream.ServiceConfig{Workers: 1, Queue: 4}, search(func(_ context.Context, c jetstream.Call) (jetstream.Reply, error) {
		entered <- c.Tenant + string(c.Data)
		<-leave
		return jetstream.Reply{Data: []byte(c.Tenant + string(c.Data))}, nil
	}))
	release := sync.OnceFunc(func() { close(leave) })
	defer release()
	ctx := within(t, time.Minute)
	inbox := b.nc.NewInbox()
	replies, err := b.nc.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	ask := func(tenant string, n int) {
		for range n {
			if err := b.nc.PublishRequest("ctx.v1."+tenant+".search", inbox, fmt.Append(nil, next)); err != nil {
				t.Fatal(err)
			}
			next++
		}
	}
	ask("a", 1)
	order := []string{<-entered}
	ask("a", 10)
	ask("b", 1)
	ask("a", 3)
	for range 10 {
		msg, err := replies.NextMsgWithContext(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if msg.Header.Get(micro.ErrorCodeHeader) != "429" || !strings.Contains(string(msg.Data), "too many requests at a time") {
			t.Fatalf("answer %v %s, want a refusal", msg.Header, msg.Data)
		}
	}
	if got := s.Stats()["search"]; got.Refused != 10 || got.Waiting != 4 {
		t.Errorf("stats = %+v", got)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(ctx) }()
	release()
	var answers []string
	for range 5 {
		msg, err := replies.NextMsgWithContext(ctx)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, string(msg.Data))
	}
	for range 4 {
		order = append(order, <-entered)
	}
	want := []string{"a0", "a1", "b11", "a2", "a3"}
	if diff := cmp.Diff([][]string{want, want}, [][]string{order, answers}); diff != "" {
		t.Errorf("order and answers (-want +got):\n%s", diff)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if got := s.Stats()["search"]; got.Requests != 15 || got.Waiting != 0 {
		t.Errorf("stats = %+v", got)
	}
}

func TestServiceRunsConcurrently(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var meet sync.WaitGroup
	meet.Add(4)
	serve(t, b, jetstream.ServiceConfig{Workers: 4}, search(func(context.Context, jetstream.Call) (jetstream.Reply, error) {
		meet.Done()
		meet.Wait() // ends only when four run at a time
		return jetstream.Reply{}, nil
	}))
	ctx := within(t, time.Minute)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			if _, err := jetstream.Request(ctx, b.nc, "ctx.v1.acme.search", nil); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

func TestServiceStopEndsHandlers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	entered := make(chan struct{})
	s := serve(t, b, jetstream.ServiceConfig{}, search(func(ctx context.Context, _ jetstream.Call) (jetstream.Reply, error) {
		close(entered)
		<-ctx.Done()
		return jetstream.Reply{}, ctx.Err()
	}))
	ctx := within(t, time.Minute)
	result := make(chan error, 1)
	go func() {
		_, err := jetstream.Request(ctx, b.nc, "ctx.v1.acme.search", nil)
		result <- err
	}()
	<-entered
	now, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Stop(now); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	var refusal *schemas.Error
	if err := <-result; !errors.As(err, &refusal) || refusal.Code != schemas.CodeOverloaded {
		t.Errorf("error = %v, want overloaded", err)
	}
}

func TestServiceLargeReply(t *testing.T) {
	t.Parallel()
	b := setup(t)
	big := strings.Repeat("context ", 400_000)
	serve(t, b, jetstream.ServiceConfig{}, search(func(context.Context, jetstream.Call) (jetstream.Reply, error) {
		return jetstream.Reply{Data: []byte(big)}, nil
	}))
	ctx := within(t, time.Minute)
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			reply, err := jetstream.RequestWithHeader(ctx, b.nc, "ctx.v1.acme.search", nil, nil)
			if err != nil || string(reply.Data) != big || reply.Header.Get(jetstream.HeaderDataref) == "" {
				t.Errorf("reply of %d bytes, %v", len(reply.Data), err)
			}
		})
	}
	wait.Wait()
	if files := testenv.Holding(t, b.dir, "context context"); len(files) != 0 {
		t.Errorf("replies are on the disk: %v", files)
	}
	removed, err := jetstream.NewScrubber(b.js, nil).Scrub(ctx, "acme", nil)
	if err != nil || removed[jetstream.RepliesBucket] != (transport.Scrubbed{Removed: 3}) {
		t.Errorf("removed = %v, %v", removed, err)
	}
}

// TestServiceReplyOfWhatIsErased: a large reply that was made before an erasure and is stored
// after it would outlive it, so it is refused. Another tenant's goes on.
func TestServiceReplyOfWhatIsErased(t *testing.T) {
	t.Parallel()
	b := setup(t)
	big := strings.Repeat("context ", 400_000)
	made, send := make(chan struct{}, 2), make(chan struct{})
	replies := jetstream.NewReplies(b.js, jetstream.Config{})
	serve(t, b, jetstream.ServiceConfig{Replies: replies, Workers: 4}, search(func(context.Context, jetstream.Call) (jetstream.Reply, error) {
		made <- struct{}{}
		<-send
		return jetstream.Reply{Data: []byte(big)}, nil
	}))
	ctx := within(t, time.Minute)
	got := map[string]chan error{"acme": make(chan error, 1), "other": make(chan error, 1)}
	for tenant, result := range got {
		go func() {
			_, err := jetstream.Request(ctx, b.nc, "ctx.v1."+tenant+".search", nil)
			result <- err
		}()
	}
	<-made
	<-made
	scrubber := jetstream.NewScrubber(b.js, nil)
	scrubber.Replies = replies
	if _, err := scrubber.Scrub(ctx, "acme", nil); err != nil {
		t.Fatal(err)
	}
	close(send)
	var refusal *schemas.Error
	if err := <-got["acme"]; !errors.As(err, &refusal) || refusal.Code != schemas.CodeOverloaded || !strings.Contains(refusal.Message, "erased") {
		t.Errorf("error = %v, want overloaded", err)
	}
	if err := <-got["other"]; err != nil {
		t.Errorf("another tenant's: %v", err)
	}
	found, err := scrubber.Scrub(ctx, "acme", nil)
	if err != nil || found[jetstream.RepliesBucket].Removed != 0 {
		t.Errorf("found %v, %v", found, err)
	}
	if _, err := jetstream.Request(ctx, b.nc, "ctx.v1.acme.search", nil); err != nil {
		t.Errorf("a request that began afterwards: %v", err)
	}
}

// TestServiceRepliesForgotten takes the bucket away, as a server alone does that starts
// again: large replies go on, and an erasure has nothing to remove there.
func TestServiceRepliesForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	big := strings.Repeat("context ", 400_000)
	serve(t, b, jetstream.ServiceConfig{}, search(func(context.Context, jetstream.Call) (jetstream.Reply, error) {
		return jetstream.Reply{Data: []byte(big)}, nil
	}))
	ctx := within(t, time.Minute)
	for range 2 { // the second time there is a bucket that is known
		if err := b.js.DeleteObjectStore(ctx, jetstream.RepliesBucket); err != nil {
			t.Fatal(err)
		}
		removed, err := jetstream.NewScrubber(b.js, nil).Scrub(ctx, "acme", nil)
		if err != nil || removed[jetstream.RepliesBucket] != (transport.Scrubbed{}) {
			t.Errorf("without the bucket: removed %v, %v", removed, err)
		}
		reply, err := jetstream.RequestWithHeader(ctx, b.nc, "ctx.v1.acme.search", nil, nil)
		if err != nil || string(reply.Data) != big {
			t.Errorf("reply of %d bytes, %v", len(reply.Data), err)
		}
	}
}

func TestHeaderCarrier(t *testing.T) {
	t.Parallel()
	c := jetstream.HeaderCarrier{"TraceParent": {"a"}, "empty": {}}
	if c.Get("traceparent") != "a" || c.Get("empty") != "" || c.Get("none") != "" {
		t.Errorf("carrier = %v", c)
	}
	c.Set("Traceparent", "b")
	if diff := cmp.Diff(jetstream.HeaderCarrier{"traceparent": {"b"}, "empty": {}}, c); diff != "" {
		t.Errorf("carrier (-want +got):\n%s", diff)
	}
	if len(c.Keys()) != 2 {
		t.Errorf("keys = %v", c.Keys())
	}
}
