package jetstream

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"satchel/schemas"
	"satchel/worker/transport"
)

// Replies keeps replies over the payload limit in an object store in memory. A principal and a
// tenant have so much of it that others find room, and are refused beyond. It does not know the
// items of a reply, so an erasure drops all replies of the tenant. It refuses to store the reply to
// a request that began before an erasure. A single server that restarts loses the bucket; Replies
// then makes it again. It is safe for concurrent use.
type Replies struct {
	js  jetstream.JetStream
	cfg Config

	turn chan struct{} // one reply is stored at a time, so that what it counts still holds

	mu    sync.Mutex
	store jetstream.ObjectStore

	gate     sync.Mutex
	erasures map[string]uint64 // by tenant, how many have dropped its replies
	storing  *sync.WaitGroup   // replies that are being stored since the last of them
}

// NewReplies returns the replies on js. cfg is as EnsureStreams was given it.
func NewReplies(js jetstream.JetStream, cfg Config) *Replies {
	return &Replies{js: js, cfg: cfg, turn: make(chan struct{}, 1), erasures: map[string]uint64{}, storing: new(sync.WaitGroup)}
}

// openBucket returns the bucket; it makes it when it is not there. The store that failed, if any,
// is not returned again.
func (r *Replies) openBucket(ctx context.Context, failed jetstream.ObjectStore) (jetstream.ObjectStore, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.store != nil && r.store != failed {
		return r.store, nil
	}
	if err := ensureReplies(ctx, r.js, r.cfg.withDefaults()); err != nil {
		return nil, err
	}
	store, err := r.js.ObjectStore(ctx, RepliesBucket)
	if err != nil {
		return nil, fmt.Errorf("open bucket %q: %w", RepliesBucket, err)
	}
	r.store = store
	return store, nil
}

// countErasures returns how many erasures have dropped the tenant's replies.
func (r *Replies) countErasures(tenant string) uint64 {
	r.gate.Lock()
	defer r.gate.Unlock()
	return r.erasures[tenant]
}

// beginStoring notes that a reply to a request that began after a number of erasures is stored, or
// reports that there were more of them since. The caller MUST call end when it is stored.
func (r *Replies) beginStoring(tenant string, erasures uint64) (end func(), ok bool) {
	r.gate.Lock()
	defer r.gate.Unlock()
	if r.erasures[tenant] != erasures {
		return nil, false
	}
	r.storing.Add(1)
	return r.storing.Done, true
}

// beginErasure refuses, from now on, replies to requests that began before, and waits for those that are
// being stored.
func (r *Replies) beginErasure(tenant string) {
	r.gate.Lock()
	r.erasures[tenant]++
	storing := r.storing
	r.storing = new(sync.WaitGroup)
	r.gate.Unlock()
	storing.Wait()
}

// storeReply stores a principal's reply to a request that began after a number of erasures. It returns
// a *schemas.Error with CodeOverloaded when there were more erasures since, or no room is left for
// the principal or its tenant.
func (r *Replies) storeReply(ctx context.Context, tenant, payer string, body []byte, erasures uint64) (claimCheck, error) {
	store, err := r.openBucket(ctx, nil)
	if err != nil {
		return claimCheck{}, err
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return claimCheck{}, context.Cause(ctx)
	}
	if err := r.admitReply(ctx, tenant, payer, int64(len(body))); err != nil {
		return claimCheck{}, err
	}
	end, ok := r.beginStoring(tenant, erasures)
	if !ok {
		return claimCheck{}, &schemas.Error{Code: schemas.CodeOverloaded, Message: "items were erased while the request was answered: ask again"}
	}
	defer end()
	sum := sha256.Sum256(body)
	check := claimCheck{SHA256: hex.EncodeToString(sum[:]), Size: len(body)}
	// Every upload has its own name: replacing one would cut off its readers.
	name := tenant + "/" + check.SHA256 + "/" + rand.Text()[:8]
	check.Dataref = datarefScheme + name
	meta := jetstream.ObjectMeta{Name: name, Metadata: map[string]string{ownerMark: payer}}
	_, err = store.Put(ctx, meta, bytes.NewReader(body))
	if errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrStreamNotFound) {
		if store, err = r.openBucket(ctx, store); err != nil {
			return claimCheck{}, err
		}
		_, err = store.Put(ctx, meta, bytes.NewReader(body))
	}
	if isFull(err) { // by other workers, or the server is another's and has less room
		return claimCheck{}, &schemas.Error{Code: schemas.CodeOverloaded, Message: "large replies take all the room that there is", RetryAfter: r.countKeptSeconds()}
	}
	if err != nil {
		return claimCheck{}, fmt.Errorf("store reply: %w", err)
	}
	return check, nil
}

// isFull reports whether a bucket takes nothing because it has as much as it may.
func isFull(err error) bool {
	return err != nil && strings.Contains(err.Error(), "maximum bytes exceeded")
}

// countKeptSeconds is how long a reply is kept.
func (r *Replies) countKeptSeconds() int { return int(r.cfg.withDefaults().RepliesTTL / time.Second) }

// admitReply refuses a reply for which its principal or tenant has no room left, and says when the
// first of its replies ends.
func (r *Replies) admitReply(ctx context.Context, tenant, payer string, size int64) error {
	objects, err := objectsOf(ctx, r.js, RepliesBucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) { // the server began anew
		return nil
	}
	if err != nil {
		return fmt.Errorf("count replies: %w", err)
	}
	cfg := r.cfg.withDefaults()
	if size <= usageOf(objects, tenant, payer).computeRoom(cfg.RepliesBytes-cfg.RepliesBytes/16) { // chunks have headers
		return nil
	}
	after := r.countKeptSeconds()
	for _, o := range objects {
		if strings.HasPrefix(o.name, tenant+"/") {
			after = min(after, int(time.Until(o.at.Add(cfg.RepliesTTL))/time.Second)+1)
		}
	}
	return overQuota("large replies", after)
}

// dropReplies removes the tenant's replies and looks whether any is left.
func (r *Replies) dropReplies(ctx context.Context, tenant string) (transport.Scrubbed, error) {
	var out transport.Scrubbed
	r.beginErasure(tenant)
	store, err := r.js.ObjectStore(ctx, RepliesBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) { // the server forgot it when it ended, and all that was in it
		return out, nil
	}
	if err != nil {
		return out, err
	}
	names, err := r.listReplies(ctx, tenant)
	if err != nil {
		return out, err
	}
	for _, name := range names {
		if err := store.Delete(ctx, name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
			return out, err
		}
		out.Removed++
	}
	there, err := r.listReplies(ctx, tenant)
	for _, name := range there { // replies that were stored since then show no erased item
		if slices.Contains(names, name) {
			out.Left++
		}
	}
	return out, err
}

// listReplies lists the tenant's replies.
func (r *Replies) listReplies(ctx context.Context, tenant string) (names []string, err error) {
	objects, err := objectsOf(ctx, r.js, RepliesBucket)
	for _, o := range objects {
		if strings.HasPrefix(o.name, tenant+"/") {
			names = append(names, o.name)
		}
	}
	return names, err
}
