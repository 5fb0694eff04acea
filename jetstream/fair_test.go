package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"satchel/jetstream"
	"satchel/schemas"
	"satchel/worker/transport"
)

// asBody is a request that claims to be somebody's.
func asBody(id string) []byte { return fmt.Appendf(nil, `{"from":{"id":%q}}`, id) }

// askAs asks for a reply, and returns its length or the refusal.
func askAs(t *testing.T, b *bundle, tenant, id string) (int, *schemas.Error) {
	t.Helper()
	reply, err := jetstream.Request(within(t, time.Minute), b.nc, "ctx.v1."+tenant+".search", asBody(id))
	var refusal *schemas.Error
	if err != nil && !errors.As(err, &refusal) {
		t.Fatal(err)
	}
	return len(reply), refusal
}

// TestLargeRepliesCountAgainstTheirPrincipal: one who asks for large replies without end is refused
// and told when to try again; another of its tenant and another tenant get theirs.
func TestLargeRepliesCountAgainstTheirPrincipal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const size = 1 << 21
	large := search(func(context.Context, jetstream.Call) (jetstream.Reply, error) {
		return jetstream.Reply{Data: make([]byte, size)}, nil
	})
	serve(t, b, jetstream.ServiceConfig{Vouched: true, Replies: jetstream.NewReplies(b.js, jetstream.Config{RepliesBytes: 32 << 20})}, large)
	for _, flood := range []string{"flood", "second"} {
		got := 0
		for {
			n, refusal := askAs(t, b, "acme", flood)
			if refusal == nil && n == size && got < 16 {
				got++
				continue
			}
			if refusal == nil || refusal.Code != schemas.CodeOverloaded || refusal.RetryAfter < 1 || refusal.RetryAfter > 301 {
				t.Fatalf("reply %d of %s: %d bytes, %+v", got, flood, n, refusal)
			}
			break
		}
		if got == 0 {
			t.Fatalf("%s got no reply", flood)
		}
	}
	for _, who := range [][2]string{{"acme", "agent"}, {"globex", "agent"}} {
		if n, refusal := askAs(t, b, who[0], who[1]); refusal != nil || n != size {
			t.Errorf("%s of %s: %d bytes, %v", who[1], who[0], n, refusal)
		}
	}
}

// TestFullBucketIsOverloaded: where the bucket itself is full, which others may have done, the
// refusal is typed.
func TestFullBucketIsOverloaded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	large := search(func(context.Context, jetstream.Call) (jetstream.Reply, error) {
		return jetstream.Reply{Data: make([]byte, 24<<20)}, nil
	})
	serve(t, b, jetstream.ServiceConfig{Vouched: true, Replies: jetstream.NewReplies(b.js, jetstream.Config{RepliesBytes: 1 << 30})}, large)
	for i := range 8 {
		_, refusal := askAs(t, b, "acme", fmt.Sprint("p", i))
		if refusal == nil {
			continue
		}
		if refusal.Code != schemas.CodeOverloaded || refusal.RetryAfter < 1 {
			t.Errorf("refused with %+v", refusal)
		}
		return
	}
	t.Error("the bucket of 128 MiB took 8 replies of 24 MiB")
}

// TestArtifactsCountAgainstTheirPrincipal: one who stores without end leaves room for others.
func TestArtifactsCountAgainstTheirPrincipal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := within(t, time.Minute)
	if err := b.js.DeleteObjectStore(ctx, jetstream.ArtifactsBucket); err != nil {
		t.Fatal(err)
	}
	if err := jetstream.EnsureArtifacts(ctx, b.js, jetstream.Config{ArtifactBytes: 16 << 20}); err != nil {
		t.Fatal(err)
	}
	a := jetstream.NewArtifacts(b.js)
	next := byte(0)
	store := func(tenant, owner string, size int64) error {
		next++
		_, _, err := a.Put(ctx, tenant, owner, io.LimitReader(repeated(next), size))
		return err
	}
	stored := 0
	for ; stored < 16; stored++ {
		if err := store("acme", "flood", 1<<20); errors.Is(err, transport.ErrArtifactQuota) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if stored < 6 || stored > 8 {
		t.Errorf("flood stored %d MiB of 16", stored)
	}
	if err := store("acme", "flood", 10<<20); !errors.Is(err, transport.ErrArtifactQuota) {
		t.Errorf("more than there is room for: %v", err)
	}
	for _, who := range [][2]string{{"acme", "agent"}, {"globex", "agent"}} {
		if err := store(who[0], who[1], 1<<20); err != nil {
			t.Errorf("%s of %s: %v", who[1], who[0], err)
		}
	}
	again := jetstream.NewArtifacts(b.js) // of another worker, or after a start
	if _, _, err := again.Put(ctx, "acme", "flood", io.LimitReader(repeated(99), 1<<20)); !errors.Is(err, transport.ErrArtifactQuota) {
		t.Errorf("what was stored is forgotten: %v", err)
	}
}

// repeated reads one byte without end.
type repeated byte

// Read fills p.
func (r repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

// TestHonestPrincipalIsServedBesideAFlood: while a principal has 400 requests under way, each
// request of another of its tenant, and of another tenant, is answered, and begins before
// all but a few of those that the flood has waiting.
func TestHonestPrincipalIsServedBesideAFlood(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var mu sync.Mutex
	var order []string
	gate := make(chan struct{})
	serve(t, b, jetstream.ServiceConfig{Vouched: true, Workers: 8, Queue: 64, Share: 2}, search(
		func(_ context.Context, c jetstream.Call) (jetstream.Reply, error) {
			mu.Lock()
			order = append(order, c.Payer)
			mu.Unlock()
			if c.Payer == "flood" {
				<-gate
			}
			return jetstream.Reply{}, nil
		}))
	if _, refusal := askAs(t, b, "acme", "agent"); refusal != nil { // it has asked lately
		t.Fatal(refusal)
	}
	var asking sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	refused := make(chan struct{}, 400)
	for range 400 {
		asking.Go(func() {
			_, err := jetstream.Request(ctx, b.nc, "ctx.v1.acme.search", asBody("flood"))
			var refusal *schemas.Error
			if errors.As(err, &refusal) && refusal.Code == schemas.CodeOverloaded {
				refused <- struct{}{}
			} else if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	<-refused // the pool is full
	for i := range 20 {
		for _, who := range [][2]string{{"acme", "agent"}, {"globex", "other"}} {
			if _, refusal := askAs(t, b, who[0], who[1]); refusal != nil {
				t.Fatalf("request %d of %s: %v", i, who[1], refusal)
			}
		}
	}
	counts := map[string]int{}
	mu.Lock()
	for _, who := range order {
		counts[who]++
	}
	mu.Unlock()
	if counts["flood"] > 2 || counts["agent"] != 21 || counts["other"] != 20 {
		t.Errorf("served %v while the flood held its workers", counts)
	}
	close(gate)
	cancel()
	asking.Wait()
}
