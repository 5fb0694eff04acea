package jetstream

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// errFeedEnded says that the feed stopped and has to be started again.
var errFeedEnded = errors.New("feed ended")

// feed moves messages from a pull subscription into a channel, so that a reader can
// take what is there without waiting.
type feed struct {
	messages chan jetstream.Msg
	known    uint64 // messages the stream held behind the last one
	source   jetstream.MessagesContext
	quit     chan struct{}
	done     chan struct{}
}

func startFeed(source jetstream.MessagesContext, size int) *feed {
	f := &feed{
		messages: make(chan jetstream.Msg, size),
		source:   source,
		quit:     make(chan struct{}),
		done:     make(chan struct{}),
	}
	go f.run()
	return f
}

func (f *feed) run() {
	defer close(f.done)
	defer close(f.messages)
	for {
		msg, err := f.source.Next()
		if err != nil {
			return
		}
		select {
		case f.messages <- msg:
		case <-f.quit:
			return
		}
	}
}

// result turns what was received from the channel into a message or errFeedEnded.
func (f *feed) result(msg jetstream.Msg, open bool) (jetstream.Msg, error) {
	if !open {
		return nil, errFeedEnded
	}
	return msg, nil
}

// stop ends the subscription and waits for the goroutine.
func (f *feed) stop() {
	close(f.quit)
	f.source.Stop()
	<-f.done
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

// flatHeader joins the values of a repeated header by ", ".
func flatHeader(header nats.Header) map[string]string {
	flat := make(map[string]string, len(header))
	for name, values := range header {
		if len(values) == 1 {
			flat[name] = values[0]
		} else {
			flat[name] = strings.Join(values, ", ")
		}
	}
	return flat
}
