package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"satchel/worker/transport"
)

// The subjects on which workers speak to each other. They are plain messages: nothing
// depends on one arriving.
const (
	HeartbeatSubject = "wrk.v1.beat"
	GrowthSubject    = "wrk.v1.grown"
)

// MembershipConfig says how workers know of each other. The zero value works.
type MembershipConfig struct {
	ID       string        // of this worker, another one each start; default random
	Beat     time.Duration // between signs of life, default 300 ms
	Patience time.Duration // without a sign before a worker counts as gone, default 2 s
	Listen   time.Duration // for the others before the first share is taken, default 300 ms
	Log      *slog.Logger  // default: discard
}

// Membership shares the partitions among the workers that give signs of life. Every worker
// computes the same shares from the same members: each at most one partition more than
// another, and few move when one joins or leaves. It is safe for concurrent use.
//
// It is a hint and no lock: after a partition of the network two may own the same. The
// log's fences make that harmless.
type Membership struct {
	cfg   MembershipConfig
	nc    *nats.Conn
	beats *nats.Subscription
	grown *nats.Subscription
	inbox chan *nats.Msg

	mu      sync.Mutex
	seen    map[string]time.Time // by member
	owned   []bool
	changed chan struct{}
	begun   time.Time // of Run
	shared  bool      // the first share is taken
	left    bool
}

var _ transport.Membership = (*Membership)(nil)

type heartbeat struct {
	ID   string `json:"id"`
	Kind string `json:"kind"` // hello, beat or bye
}

type growth struct {
	ID      string   `json:"id"`
	Tenants []string `json:"tenants"`
}

// Join says hello and listens for the others. Nothing is owned before Run. The caller
// MUST call Run.
func Join(ctx context.Context, nc *nats.Conn, cfg MembershipConfig) (*Membership, error) {
	if cfg.ID == "" {
		cfg.ID = nuid.Next()
	}
	if cfg.Beat <= 0 {
		cfg.Beat = 300 * time.Millisecond
	}
	if cfg.Patience <= 0 {
		cfg.Patience = 2 * time.Second
	}
	if cfg.Listen <= 0 {
		cfg.Listen = 300 * time.Millisecond
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Patience < 2*cfg.Beat {
		return nil, fmt.Errorf("join the other workers: patience %s is under two beats of %s", cfg.Patience, cfg.Beat)
	}
	c := &Membership{cfg: cfg, nc: nc, inbox: make(chan *nats.Msg, 1024), seen: map[string]time.Time{},
		owned: make([]bool, Partitions), changed: make(chan struct{})}
	var err error
	if c.beats, err = nc.ChanSubscribe(HeartbeatSubject, c.inbox); err == nil {
		c.grown, err = nc.ChanSubscribe(GrowthSubject, c.inbox)
	}
	if err == nil {
		err = errors.Join(c.sendHeartbeat("hello"), flushConnection(ctx, nc))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("join the other workers: %w", err), c.endSubscriptions())
	}
	return c, nil
}

func (c *Membership) endSubscriptions() error {
	var errs []error
	for _, sub := range []*nats.Subscription{c.beats, c.grown} {
		if sub != nil {
			errs = append(errs, ignoreClosed(sub.Unsubscribe()))
		}
	}
	return errors.Join(errs...)
}

func (c *Membership) sendHeartbeat(kind string) error {
	data, err := json.Marshal(heartbeat{ID: c.cfg.ID, Kind: kind})
	if err != nil {
		return err
	}
	return c.nc.Publish(HeartbeatSubject, data)
}

// Run gives signs of life and takes those of others until ctx is done, and then says
// goodbye: the others take this worker's share at once. It tells the others which logs
// own made grow, and calls grown for those that they did.
func (c *Membership) Run(ctx context.Context, own <-chan string, grown func(tenant string)) error {
	beat := time.NewTicker(c.cfg.Beat)
	defer beat.Stop()
	listen := time.NewTimer(c.cfg.Listen)
	defer listen.Stop()
	listening := true
	c.mu.Lock()
	c.begun = time.Now()
	c.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return c.leaveMembership(context.WithoutCancel(ctx))
		case <-listen.C:
			listening = false
			c.computeShare(time.Now())
		case <-beat.C:
			if err := c.sendHeartbeat("beat"); err != nil {
				c.cfg.Log.Debug("sign of life", "cause", err)
			}
			if !listening {
				c.computeShare(time.Now())
			}
		case tenant, ok := <-own:
			if !ok {
				own = nil
				continue
			}
			c.announceGrowth(tenant, own)
		case msg := <-c.inbox:
			if msg.Subject == GrowthSubject {
				c.receiveGrowth(msg.Data, grown)
			} else if c.noteHeartbeat(msg.Data, time.Now()) && !listening {
				c.computeShare(time.Now())
			}
		}
	}
}

// announceGrowth says which logs have grown: tenant, and those that wait behind it.
func (c *Membership) announceGrowth(tenant string, own <-chan string) {
	const most = 256
	message := growth{ID: c.cfg.ID, Tenants: []string{tenant}}
	for more := true; more && len(message.Tenants) < most; {
		select {
		case t, ok := <-own:
			more = ok
			if ok {
				message.Tenants = append(message.Tenants, t)
			}
		default:
			more = false
		}
	}
	data, err := json.Marshal(message)
	if err == nil {
		err = c.nc.Publish(GrowthSubject, data)
	}
	if err != nil {
		c.cfg.Log.Debug("tell of growth", "cause", err)
	}
}

func (c *Membership) receiveGrowth(data []byte, grown func(tenant string)) {
	var message growth
	if json.Unmarshal(data, &message) != nil || message.ID == c.cfg.ID {
		return
	}
	for _, tenant := range message.Tenants {
		if ValidToken(tenant) {
			grown(tenant)
		}
	}
}

// noteHeartbeat takes a sign of life and reports whether the members have changed.
func (c *Membership) noteHeartbeat(data []byte, now time.Time) bool {
	var b heartbeat
	if json.Unmarshal(data, &b) != nil || b.ID == "" || len(b.ID) > MaxToken || !slices.Contains([]string{"hello", "beat", "bye"}, b.Kind) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.seen[b.ID]
	if b.Kind == "bye" {
		delete(c.seen, b.ID)
		return known
	}
	c.seen[b.ID] = now
	if b.Kind == "hello" && b.ID != c.cfg.ID {
		if err := c.sendHeartbeat("beat"); err != nil {
			c.cfg.Log.Debug("answer a new worker", "cause", err)
		}
	}
	return !known
}

// computeShare forgets who is gone and computes this worker's share. A worker that does not
// hear itself is cut off, and owns nothing.
func (c *Membership) computeShare(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, at := range c.seen {
		if now.Sub(at) > c.cfg.Patience {
			delete(c.seen, id)
		}
	}
	owned := make([]bool, Partitions)
	if _, alive := c.seen[c.cfg.ID]; alive && !c.left {
		c.shared = true
		for partition, member := range assignPartitions(c.listMembers(), Partitions) {
			owned[partition] = member == c.cfg.ID
		}
	}
	c.setShare(owned)
}

// setShare replaces the share and tells who waits. The caller holds the lock.
func (c *Membership) setShare(owned []bool) {
	if slices.Equal(owned, c.owned) {
		return
	}
	c.owned = owned
	close(c.changed)
	c.changed = make(chan struct{})
	mine := 0
	for _, o := range owned {
		if o {
			mine++
		}
	}
	c.cfg.Log.Info("share of the work", "partitions", mine, "workers", len(c.seen))
}

func (c *Membership) leaveMembership(ctx context.Context) error {
	c.mu.Lock()
	c.left = true
	c.setShare(make([]bool, Partitions))
	c.mu.Unlock()
	err := errors.Join(c.endSubscriptions(), ignoreClosed(c.sendHeartbeat("bye")))
	if c.nc.IsConnected() {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		err = errors.Join(err, ignoreClosed(flushConnection(ctx, c.nc)))
	}
	if err != nil {
		return fmt.Errorf("leave the other workers: %w", err)
	}
	return nil
}

// Owned implements transport.Membership.
func (c *Membership) Owned() (owned []bool, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.owned), c.changed
}

// Partition implements transport.Membership.
func (c *Membership) Partition(tenant string) int { return PartitionOf(tenant) }

// Ready implements transport.Membership: a worker that has not heard its own signs of life for as
// long as others would wait for them is cut off. It owns nothing, and others may leave to it
// what nobody does then.
func (c *Membership) Ready() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, heard := c.seen[c.cfg.ID]
	if !heard {
		last = c.begun
	}
	switch {
	case !last.IsZero() && time.Since(last) > c.cfg.Patience:
		return fmt.Errorf("this worker does not hear its own signs of life on %s and owns no partition; if that lasts, its NATS user needs wrk.v1.> to publish and to subscribe", HeartbeatSubject)
	case !c.shared:
		return fmt.Errorf("join the other workers: %w", transport.ErrStarting)
	}
	return nil
}

// ID is this worker's.
func (c *Membership) ID() string { return c.cfg.ID }

// Members returns the workers that give signs of life, sorted.
func (c *Membership) Members() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listMembers()
}

func (c *Membership) listMembers() []string {
	list := make([]string, 0, len(c.seen))
	for id := range c.seen {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

// assignPartitions gives each of n partitions a member: the one of the highest weight for it
// (rendezvous hashing) whose share is not full yet. It depends on its arguments alone.
func assignPartitions(members []string, n int) []string {
	owners := make([]string, n)
	if len(members) == 0 {
		return owners
	}
	full := n / len(members)
	extra := n % len(members) // so many members have one more
	load := make(map[string]int, len(members))
	for p := range owners {
		var best string
		var most uint64
		for _, m := range members {
			if load[m] > full || load[m] == full && extra == 0 {
				continue
			}
			h := fnv.New64a()
			fmt.Fprintf(h, "%s/%d", m, p)
			w := h.Sum64()
			w ^= w >> 33
			w *= 0xff51afd7ed558ccd // the finish of MurmurHash3: FNV's last bytes hardly mix
			w ^= w >> 33
			if best == "" || w > most {
				best = m
				most = w
			}
		}
		owners[p] = best
		load[best]++
		if load[best] > full {
			extra--
		}
	}
	return owners
}
