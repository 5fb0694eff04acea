package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// errFeedEnded says that the feed stopped and has to be started again.
var errFeedEnded = errors.New("feed ended")

// pullExpires is how long the server keeps a pull request.
const pullExpires = 30 * time.Second

// feed is a pull subscription of its own, not nats.go's iterator: ending it is
// known to the server before anything sent afterwards, so a consumer that is reset
// next delivers nothing to it any more.
type feed struct {
	nc       *nats.Conn
	sub      *nats.Subscription
	messages chan *nats.Msg
	next     string // subject of pull requests
	size     int    // messages to hold ready
	bytes    int    // bytes a pull request may bring
	asked    int    // messages asked for and not here yet
	known    uint64 // messages the stream held behind the last one
}

func startFeed(nc *nats.Conn, stream, consumer string, size, bytes int) (*feed, error) {
	f := &feed{
		nc:       nc,
		messages: make(chan *nats.Msg, 2*size+64),
		next:     "$JS.API.CONSUMER.MSG.NEXT." + stream + "." + consumer,
		size:     size,
		bytes:    bytes,
	}
	var err error
	if f.sub, err = nc.ChanSubscribe(nc.NewInbox(), f.messages); err != nil {
		return nil, fmt.Errorf("subscribe to %q: %w", consumer, err)
	}
	if err := f.pullMessages(); err != nil {
		f.unsubscribeFeed()
		return nil, err
	}
	return f, nil
}

// pullMessages asks for more when less than half of the size is on its way.
func (f *feed) pullMessages() error {
	if f.asked > f.size/2 {
		return nil
	}
	batch := f.size - f.asked
	request := fmt.Sprintf(`{"batch":%d,"max_bytes":%d,"expires":%d}`, batch, f.bytes, pullExpires)
	if err := f.nc.PublishRequest(f.next, f.sub.Subject, []byte(request)); err != nil {
		return fmt.Errorf("pull messages: %w", err)
	}
	f.asked += batch
	return nil
}

// acceptMessage tells a message of the stream from a status of the server. It returns nil for a
// status that says only that a request has ended, errFeedEnded for every other.
func (f *feed) acceptMessage(msg *nats.Msg) (*nats.Msg, error) {
	if isStored(msg) {
		f.asked--
		return msg, f.pullMessages()
	}
	status := msg.Header.Get("Status")
	switch status {
	case "": // neither
		return nil, nil
	case "408": // the request has expired
	case "409":
		text := strings.ToLower(msg.Header.Get("Description"))
		if !strings.Contains(text, "batch completed") && !strings.Contains(text, "maxbytes") {
			return nil, fmt.Errorf("%w: %s", errFeedEnded, text)
		}
	default:
		return nil, fmt.Errorf("%w: status %s", errFeedEnded, status)
	}
	left, err := strconv.Atoi(msg.Header.Get("Nats-Pending-Messages"))
	if err != nil {
		return nil, fmt.Errorf("%w: status %s tells no pending messages", errFeedEnded, status)
	}
	f.asked -= left
	return nil, f.pullMessages()
}

// takeMessage waits for a message of the stream, and returns nil when none comes within a time.
func (f *feed) takeMessage(ctx context.Context, within time.Duration, status <-chan nats.Status) (*nats.Msg, error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		select {
		case msg := <-f.messages:
			if msg, err := f.acceptMessage(msg); msg != nil || err != nil {
				return msg, err
			}
		case <-status:
			return nil, errFeedEnded
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timer.C:
			return nil, nil
		}
	}
}

// unsubscribeFeed ends the subscription. The connection sends this before what follows.
func (f *feed) unsubscribeFeed() {
	if err := f.sub.Unsubscribe(); err != nil {
		return // the connection is closed, and with it the subscription
	}
}

// hashMessage is SHA-256 over subject, headers in the order of their names, and data,
// each with its length before it (big-endian uint32).
func hashMessage(subject string, header nats.Header, data []byte) [32]byte {
	size := 8 + len(subject) + len(data)
	names := make([]string, 0, len(header))
	for name, values := range header {
		names = append(names, name)
		for _, value := range values {
			size += 8 + len(name) + len(value)
		}
	}
	slices.Sort(names)
	b := make([]byte, 0, size)
	part := func(s string) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	part(subject)
	for _, name := range names {
		for _, value := range header[name] {
			part(name)
			part(value)
		}
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	b = append(b, data...)
	return sha256.Sum256(b)
}
