package jetstream

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// FollowConfig says what a Follower reads.
type FollowConfig struct {
	Stream  string
	Filters []string
	New     bool // only what comes from now on
}

// Delivered is a message of a stream.
type Delivered struct {
	Seq     uint64
	Subject string
	Header  nats.Header // nil when it cannot be read
	Data    []byte
	Left    uint64 // messages behind it at that moment
}

// Follower reads a stream in order, each message once, whatever headers the messages have. What got
// lost on the way is read again. It is not safe for concurrent use.
type Follower struct {
	cfg     FollowConfig
	nc      *nats.Conn
	js      jetstream.JetStream
	status  chan nats.Status // reconnects
	filters []string         // of the consumer, which the server may have narrowed
	pending uint64           // messages there were at the start
	feed    *feed            // nil: to be started
	next    uint64           // stream sequence wanted next, 0 for none
	order   uint64           // consumer sequence of the last message
}

// Follow begins to read a stream. The caller MUST call Close.
func Follow(ctx context.Context, js jetstream.JetStream, cfg FollowConfig) (*Follower, error) {
	nc := js.Conn()
	f := &Follower{cfg: cfg, nc: nc, js: js, status: nc.StatusChanged(nats.CONNECTED, nats.CLOSED)}
	if err := f.startConsumer(ctx); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Filters returns the subjects that the server lets the follower read.
func (f *Follower) Filters() []string { return f.filters }

// Pending returns how many messages there were at the start.
func (f *Follower) Pending() uint64 { return f.pending }

// Close ends the following. The server removes the consumer when nobody has used it for a while.
func (f *Follower) Close() {
	f.stopFollowing()
	f.nc.RemoveStatusListener(f.status)
}

// Next waits for the next message until ctx ends.
func (f *Follower) Next(ctx context.Context) (Delivered, error) {
	for {
		if f.feed == nil {
			if err := f.resumeFollowing(ctx); err != nil {
				return Delivered{}, err
			}
		}
		msg, err := f.feed.takeMessage(ctx, pullExpires+5*time.Second, f.status)
		switch {
		case ctx.Err() != nil:
			return Delivered{}, context.Cause(ctx)
		case err != nil || msg == nil: // a pull request that is alive ends with a status
			f.stopFollowing()
			continue
		}
		meta, err := msg.Metadata()
		if err != nil {
			return Delivered{}, fmt.Errorf("follow stream %q: %w", f.cfg.Stream, err)
		}
		f.order++
		if meta.Sequence.Consumer != f.order { // something was lost on the way
			f.stopFollowing()
			continue
		}
		f.next = meta.Sequence.Stream + 1
		return Delivered{meta.Sequence.Stream, msg.Subject, msg.Header, msg.Data, meta.NumPending}, nil
	}
}

// resumeFollowing starts again and again while the server is away.
func (f *Follower) resumeFollowing(ctx context.Context) error {
	const pause = 250 * time.Millisecond
	for {
		err := f.startConsumer(ctx)
		if err == nil || f.nc.IsClosed() || !isAway(err) {
			return err
		}
		select {
		case <-f.status:
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// startConsumer makes a consumer that begins where the last one has ended.
func (f *Follower) startConsumer(ctx context.Context) error {
	if f.nc.IsClosed() {
		return fmt.Errorf("follow stream %q: %w", f.cfg.Stream, nats.ErrConnectionClosed)
	}
	cfg := jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: 5 * time.Minute}
	cfg.FilterSubjects = f.cfg.Filters
	if len(f.cfg.Filters) == 1 {
		cfg.FilterSubject = f.cfg.Filters[0]
		cfg.FilterSubjects = nil
	}
	switch {
	case f.next > 0:
		cfg.DeliverPolicy = jetstream.DeliverByStartSequencePolicy
		cfg.OptStartSeq = f.next
	case f.cfg.New:
		cfg.DeliverPolicy = jetstream.DeliverNewPolicy
	}
	attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	consumer, err := f.js.CreateConsumer(attempt, f.cfg.Stream, cfg)
	if err != nil {
		return fmt.Errorf("follow stream %q: %w", f.cfg.Stream, err)
	}
	made := consumer.CachedInfo()
	if f.next == 0 {
		f.pending = made.NumPending
		f.filters = made.Config.FilterSubjects
		if made.Config.FilterSubject != "" {
			f.filters = []string{made.Config.FilterSubject}
		}
		if f.cfg.New {
			f.next = made.Delivered.Stream + 1
		}
	}
	f.order = 0
	f.feed, err = startFeed(f.nc, f.cfg.Stream, made.Name, scanAhead, int(max(8<<20, 2*f.nc.MaxPayload())))
	return err
}

func (f *Follower) stopFollowing() {
	if f.feed != nil {
		f.feed.unsubscribeFeed()
		f.feed = nil
	}
}
