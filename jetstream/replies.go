package jetstream

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"satchel/schemas"
	"satchel/worker/transport"
)

// Replies keeps replies over the payload limit in an object store in memory. It does not know the
// items of a reply, so an erasure drops all replies of the tenant. It refuses to store the reply to
// a request that began before an erasure. A single server that restarts loses the bucket; Replies
// then makes it again. It is safe for concurrent use.
type Replies struct {
	js  jetstream.JetStream
	cfg Config

	mu    sync.Mutex
	store jetstream.ObjectStore

	gate     sync.Mutex
	erasures map[string]uint64 // by tenant, how many have dropped its replies
	storing  *sync.WaitGroup   // replies that are being stored since the last of them
}

// NewReplies returns the replies on js. cfg is as EnsureStreams was given it.
func NewReplies(js jetstream.JetStream, cfg Config) *Replies {
	return &Replies{js: js, cfg: cfg, erasures: map[string]uint64{}, storing: new(sync.WaitGroup)}
}

// open returns the bucket; it makes it when it is not there. The store that failed, if any,
// is not returned again.
func (r *Replies) open(ctx context.Context, failed jetstream.ObjectStore) (jetstream.ObjectStore, error) {
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

// erased returns how many erasures have dropped the tenant's replies.
func (r *Replies) erased(tenant string) uint64 {
	r.gate.Lock()
	defer r.gate.Unlock()
	return r.erasures[tenant]
}

// begin notes that a reply to a request that began after a number of erasures is stored, or
// reports that there were more of them since. The caller MUST call end when it is stored.
func (r *Replies) begin(tenant string, erasures uint64) (end func(), ok bool) {
	r.gate.Lock()
	defer r.gate.Unlock()
	if r.erasures[tenant] != erasures {
		return nil, false
	}
	r.storing.Add(1)
	return r.storing.Done, true
}

// erase refuses, from now on, replies to requests that began before, and waits for those that are
// being stored.
func (r *Replies) erase(tenant string) {
	r.gate.Lock()
	r.erasures[tenant]++
	storing := r.storing
	r.storing = new(sync.WaitGroup)
	r.gate.Unlock()
	storing.Wait()
}

// put stores a reply to a request that began after a number of erasures. It returns a
// *schemas.Error with CodeOverloaded when there were more erasures since.
func (r *Replies) put(ctx context.Context, tenant string, body []byte, erasures uint64) (claimCheck, error) {
	store, err := r.open(ctx, nil)
	if err != nil {
		return claimCheck{}, err
	}
	end, ok := r.begin(tenant, erasures)
	if !ok {
		return claimCheck{}, &schemas.Error{Code: schemas.CodeOverloaded, Message: "items were erased while the request was answered: ask again"}
	}
	defer end()
	sum := sha256.Sum256(body)
	check := claimCheck{SHA256: hex.EncodeToString(sum[:]), Size: len(body)}
	// Every upload has its own name: replacing one would cut off its readers.
	name := tenant + "/" + check.SHA256 + "/" + rand.Text()[:8]
	check.Dataref = datarefScheme + name
	_, err = store.PutBytes(ctx, name, body)
	if errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrStreamNotFound) {
		if store, err = r.open(ctx, store); err != nil {
			return claimCheck{}, err
		}
		_, err = store.PutBytes(ctx, name, body)
	}
	if err != nil {
		return claimCheck{}, fmt.Errorf("store reply: %w", err)
	}
	return check, nil
}

// drop removes the tenant's replies and looks whether any is left.
func (r *Replies) drop(ctx context.Context, tenant string) (transport.Scrubbed, error) {
	var out transport.Scrubbed
	r.erase(tenant)
	store, err := r.js.ObjectStore(ctx, RepliesBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) { // the server forgot it when it ended, and all that was in it
		return out, nil
	}
	if err != nil {
		return out, err
	}
	names, err := r.names(ctx, tenant)
	if err != nil {
		return out, err
	}
	for _, name := range names {
		if err := store.Delete(ctx, name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
			return out, err
		}
		out.Removed++
	}
	there, err := r.names(ctx, tenant)
	for _, name := range there { // replies that were stored since then show no erased item
		if slices.Contains(names, name) {
			out.Left++
		}
	}
	return out, err
}

// names lists the tenant's replies.
func (r *Replies) names(ctx context.Context, tenant string) (names []string, err error) {
	objects, err := objectsOf(ctx, r.js, RepliesBucket)
	for _, o := range objects {
		if strings.HasPrefix(o.name, tenant+"/") {
			names = append(names, o.name)
		}
	}
	return names, err
}
