package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream/cloudevent"
	"satchel/worker/transport"
)

// ErrNotDelivered is returned by Ack when no message up to the sequence has been
// fetched since the last Seek.
var ErrNotDelivered = errors.New("nothing up to this sequence was delivered")

// InboxConfig sizes one partition's inbox.
type InboxConfig struct {
	Partition     int           // 0 to Partitions−1
	MaxAckPending int           // messages delivered and not acknowledged, default 2048
	Prefetch      int           // messages held ready, default 512
	PrefetchBytes int           // bytes held ready, default 8 MiB
	AckWait       time.Duration // before the server delivers again, default 30 s
	Linger        time.Duration // how long Fetch waits for messages it knows of, default 2 ms
	Watch         time.Duration // how often an idle Fetch looks for lost deliveries, default 2 s
}

func (c InboxConfig) withDefaults() InboxConfig {
	if c.MaxAckPending == 0 {
		c.MaxAckPending = 2048
	}
	if c.Prefetch == 0 {
		c.Prefetch = 512
	}
	if c.PrefetchBytes == 0 {
		c.PrefetchBytes = 8 << 20
	}
	if c.AckWait == 0 {
		c.AckWait = 30 * time.Second
	}
	if c.Linger == 0 {
		c.Linger = 2 * time.Millisecond
	}
	if c.Watch == 0 {
		c.Watch = 2 * time.Second
	}
	return c
}

// PartitionName returns "p07" for 7.
func PartitionName(partition int) string { return fmt.Sprintf("p%02d", partition) }

// Inbox is one partition of MEMORY with a single owner. Between two Seeks Fetch
// returns every message of the partition once, in stream order: what the server
// delivers again is dropped, and a delivery that got lost on the way makes the Inbox
// go back to where it was. Fetch and Seek MUST NOT run at the same time; Ack, State
// and Purge may run beside them.
type Inbox struct {
	cfg    InboxConfig
	nc     *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream
	epoch  string
	status chan nats.Status // reconnects
	feed   *feed            // nil until the first Fetch
	next   uint64           // stream sequence wanted next
	order  uint64           // consumer sequence wanted next

	mu      sync.Mutex
	pending []delivery // returned by Fetch, not acknowledged, ascending
}

// delivery is where to acknowledge a sequence.
type delivery struct {
	seq   uint64
	reply string
}

var _ transport.Inbox = (*Inbox)(nil)

// OpenInbox makes the partition's durable consumer if it is missing. Without a Seek
// the first Fetch starts behind what was acknowledged. The caller MUST call Close.
func OpenInbox(ctx context.Context, nc *nats.Conn, js jetstream.JetStream, cfg InboxConfig) (*Inbox, error) {
	if cfg.Partition < 0 || cfg.Partition >= Partitions {
		return nil, fmt.Errorf("open inbox %d: no such partition", cfg.Partition)
	}
	i := &Inbox{cfg: cfg.withDefaults(), nc: nc, js: js}
	stream, err := openStream(ctx, js, MemoryStream)
	if err != nil {
		return nil, fmt.Errorf("open inbox %q: %w", i.Name(), err)
	}
	i.stream, i.epoch = stream, epochOf(stream.CachedInfo())
	var consumer jetstream.Consumer
	if err := whileAway(ctx, nc, func(ctx context.Context) (err error) {
		consumer, err = i.ensureConsumer(ctx, 0)
		return err
	}); err != nil {
		return nil, err
	}
	i.next = consumer.CachedInfo().AckFloor.Stream + 1
	i.status = nc.StatusChanged(nats.CONNECTED)
	return i, nil
}

// Name returns "p07" for partition 7.
func (i *Inbox) Name() string { return PartitionName(i.cfg.Partition) }

func (i *Inbox) makeDurableName() string { return "append-" + i.Name() }

// ensureConsumer creates the durable when it is missing, or reads another partition; start is
// used by servers that cannot reset a consumer, 0 for all. Where the server cannot read the
// state it kept of the durable, the new one is kept in memory: the log's checkpoint decides.
func (i *Inbox) ensureConsumer(ctx context.Context, start uint64) (jetstream.Consumer, error) {
	cfg := jetstream.ConsumerConfig{
		Durable:       i.makeDurableName(),
		Description:   "the appender of one partition; the log's checkpoint decides, acks are a hint",
		FilterSubject: partitionFilter(i.cfg.Partition),
		AckPolicy:     jetstream.AckAllPolicy,
		AckWait:       i.cfg.AckWait,
		MaxDeliver:    -1,
		MaxAckPending: i.cfg.MaxAckPending,
	}
	if start > 0 {
		cfg.DeliverPolicy = jetstream.DeliverByStartSequencePolicy
		cfg.OptStartSeq = start
	}
	consumer, err := i.stream.Consumer(ctx, i.makeDurableName())
	if err == nil && consumer.CachedInfo().Config.FilterSubject != cfg.FilterSubject {
		if err = i.stream.DeleteConsumer(ctx, i.makeDurableName()); err == nil {
			err = jetstream.ErrConsumerNotFound
		}
	}
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		if consumer, err = i.stream.CreateConsumer(ctx, cfg); isTorn(err) {
			cfg.MemoryStorage = true
			consumer, err = i.stream.CreateConsumer(ctx, cfg)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("ensure consumer %q: %w", i.makeDurableName(), err)
	}
	return consumer, nil
}

// isTorn reports whether a consumer was not made because the server could not read what it
// had kept of it.
func isTorn(err error) bool {
	const notCreated = 10012
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == notCreated
}

// Fetch waits for at least one message and returns at most limit, in order. A
// message that is no event is returned with Err.
func (i *Inbox) Fetch(ctx context.Context, limit int) ([]transport.Message, error) {
	if limit < 1 {
		return nil, fmt.Errorf("fetch from %q: limit %d is not positive", i.Name(), limit)
	}
	var batch []transport.Message
	for {
		if i.feed == nil {
			if err := i.resumeReading(ctx); err != nil {
				return nil, err
			}
		}
		msg, err := i.receiveMessage(ctx, len(batch) > 0)
		switch {
		case err != nil && len(batch) == 0 && ctx.Err() != nil:
			return nil, fmt.Errorf("fetch from %q: %w", i.Name(), context.Cause(ctx))
		case err != nil && len(batch) == 0:
			i.stopFeed()
			continue
		case err != nil || msg == nil:
			return batch, nil
		}
		meta, err := msg.Metadata()
		if err != nil {
			return nil, fmt.Errorf("fetch from %q: %w", i.Name(), err)
		}
		if meta.Stream != MemoryStream || meta.Consumer != i.makeDurableName() { // somebody else's
			continue
		}
		if meta.Sequence.Consumer != i.order { // something was lost on the way
			i.stopFeed()
			if len(batch) > 0 {
				return batch, nil
			}
			continue
		}
		i.order++
		if meta.Sequence.Stream < i.next { // delivered again
			continue
		}
		i.next = meta.Sequence.Stream + 1
		batch = append(batch, i.makeMessage(msg, meta.Sequence.Stream, meta.Timestamp))
		i.rememberDelivery(meta.Sequence.Stream, msg.Reply)
		i.feed.known = meta.NumPending
		if len(batch) == limit {
			return batch, nil
		}
	}
}

// Waits reports whether the stream holds a message of the partition behind seq.
func (i *Inbox) Waits(ctx context.Context, seq uint64) (bool, error) {
	first, err := FirstWaiting(ctx, i.nc, i.cfg.Partition, seq)
	return first > 0, err
}

// receiveMessage takes one message. It waits without limit for the first of a batch; for
// the others only while the stream is known to hold more, and then nil means none.
func (i *Inbox) receiveMessage(ctx context.Context, more bool) (*nats.Msg, error) {
	wait := i.cfg.Watch
	if more {
		wait = i.cfg.Linger
	}
	var timer *time.Timer
	var timeout <-chan time.Time
	for {
		select {
		case msg := <-i.feed.messages:
			if msg, err := i.feed.acceptMessage(msg); msg != nil || err != nil {
				return msg, err
			}
			continue
		default:
		}
		if more && i.feed.known == 0 {
			return nil, nil
		}
		if timer == nil {
			timer = time.NewTimer(wait)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case msg := <-i.feed.messages:
			if msg, err := i.feed.acceptMessage(msg); msg != nil || err != nil {
				return msg, err
			}
		case <-i.status:
			return nil, errFeedEnded
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timeout:
			if more || i.hasLostMessages(ctx) {
				return nil, i.endOverdueWait(more)
			}
			timer.Reset(wait)
		}
	}
}

// endOverdueWait is what a wait ends with: nothing for a batch that has begun, a new feed
// for one that has not.
func (i *Inbox) endOverdueWait(more bool) error {
	if more {
		return nil
	}
	return errFeedEnded
}

// hasLostMessages reports whether the server delivered more than has arrived, or forgot that
// somebody waits.
func (i *Inbox) hasLostMessages(ctx context.Context) bool {
	consumer, err := i.stream.Consumer(ctx, i.makeDurableName())
	if err != nil {
		return errors.Is(err, jetstream.ErrConsumerNotFound)
	}
	info := consumer.CachedInfo()
	return len(i.feed.messages) == 0 && (info.Delivered.Consumer >= i.order || info.NumWaiting == 0)
}

func (i *Inbox) makeMessage(msg *nats.Msg, seq uint64, published time.Time) transport.Message {
	subject := OriginalSubject(msg.Subject)
	m := transport.Message{
		Seq:       seq,
		Epoch:     i.epoch,
		Hash:      hashMessage(subject, msg.Header, msg.Data),
		Published: published,
		Subject:   subject,
		Data:      msg.Data,
		Header:    msg.Header,
	}
	m.Padding = isPadding(subject, msg.Header, msg.Data)
	if m.Padding {
		return m
	}
	var err error
	if m.Tenant, m.Agent, err = ParseMemory(subject); err != nil {
		m.Err = err
		return m
	}
	m.Event, m.Err = cloudevent.Decode(msg.Header, msg.Data)
	return m
}

func (i *Inbox) rememberDelivery(seq uint64, reply string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pending = append(i.pending, delivery{seq: seq, reply: reply})
}

// Seek makes the first message at or behind seq the next to be fetched.
func (i *Inbox) Seek(ctx context.Context, seq uint64) error {
	i.stopFeed()
	i.next = max(seq, 1)
	return i.resumeReading(ctx)
}

// resumeReading restarts, again and again while the server is away.
func (i *Inbox) resumeReading(ctx context.Context) error {
	const limit, pause = 2 * time.Second, 50 * time.Millisecond
	for {
		attempt, cancel := context.WithTimeout(ctx, limit)
		err := i.restartReading(attempt)
		cancel()
		if err == nil || ctx.Err() != nil || !isAway(err) {
			return err
		}
		select {
		case <-i.status:
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// isAway reports whether a request failed because no server answered, or none that
// could: a cluster elects a leader, or its servers have not all come up.
func isAway(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		const noPeers, noLeader, streamOffline, consumerOffline = 10005, 10008, 10118, 10119
		if api.ErrorCode == noPeers || api.ErrorCode == noLeader || api.ErrorCode == streamOffline || api.ErrorCode == consumerOffline {
			return true
		}
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) ||
		errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrReconnectBufExceeded)
}

// restartReading drops what is on its way and reads from i.next again.
func (i *Inbox) restartReading(ctx context.Context) error {
	i.stopFeed()
	i.mu.Lock()
	i.pending = nil
	i.mu.Unlock()
	info, err := i.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("seek %q to %d: %w", i.Name(), i.next, err)
	}
	if epochOf(info) != i.epoch {
		return fmt.Errorf("seek %q to %d: %w", i.Name(), i.next, transport.ErrRecreated)
	}
	if _, err := i.ensureConsumer(ctx, 0); err != nil {
		return err
	}
	if canReset(i.nc.ConnectedServerVersion()) {
		_, err = i.js.ResetConsumerToSequence(ctx, MemoryStream, i.makeDurableName(), i.next)
	}
	if !canReset(i.nc.ConnectedServerVersion()) || errors.Is(err, jetstream.ErrConsumerInvalidReset) {
		err = i.recreateConsumer(ctx)
	}
	if err != nil {
		return fmt.Errorf("seek %q to %d: %w", i.Name(), i.next, err)
	}
	i.order = 1
	for len(i.status) > 0 { // an older reconnect
		<-i.status
	}
	if i.feed, err = startFeed(i.nc, MemoryStream, i.makeDurableName(), i.cfg.Prefetch, i.cfg.PrefetchBytes); err != nil {
		return fmt.Errorf("seek %q to %d: %w", i.Name(), i.next, err)
	}
	return nil
}

// canReset reports whether a server of this version can reset a consumer.
func canReset(version string) bool { return atLeast(version, 2, 14) }

// atLeast reports whether a server's version is major.minor or later, or unknown.
func atLeast(version string, major, minor int) bool {
	var haveMajor, haveMinor int
	if _, err := fmt.Sscanf(version, "%d.%d", &haveMajor, &haveMinor); err != nil {
		return true
	}
	return haveMajor > major || haveMajor == major && haveMinor >= minor
}

// recreateConsumer replaces the durable by one that starts at i.next.
func (i *Inbox) recreateConsumer(ctx context.Context) error {
	err := i.stream.DeleteConsumer(ctx, i.makeDurableName())
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return err
	}
	_, err = i.ensureConsumer(ctx, i.next)
	return err
}

// Close stops reading. The durable stays.
func (i *Inbox) Close() {
	i.stopFeed()
	if i.status != nil {
		i.nc.RemoveStatusListener(i.status)
		i.status = nil
	}
}

func (i *Inbox) stopFeed() {
	if i.feed != nil {
		i.feed.unsubscribeFeed()
		i.feed = nil
	}
}
