package jetstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// The headers of an offered content.
const (
	headerOffset = "Satchel-Offset" // of the part asked for, and of the part that is sent
	headerEnd    = "Satchel-End"    // "true" on the last part
	headerFailed = "Satchel-Failed" // the content broke off
)

// partBytes is the size of a part: large enough to be few, small enough for any server.
const partBytes = 256 << 10

// inboxes begin every subject that a content may be fetched from, those of clients and
// those of Satchel's own connections: a service must not be made to ask other services in
// somebody's name.
const inboxes, ownInboxes = "_INBOX", "_SATCHEL."

// chunkTimeout is how long a part may take to arrive: who offers a content has it at hand.
const chunkTimeout = 10 * time.Second

// ErrUpload is returned when an offered content does not arrive whole.
var ErrUpload = errors.New("the offered content broke off")

// ServeUpload serves the parts of r, in order and once, on a subject of its own, which it
// returns. The caller must call stop.
func ServeUpload(nc *nats.Conn, r io.Reader) (subject string, stop func() error, err error) {
	o := &offer{r: r, part: make([]byte, min(partBytes, int(nc.MaxPayload())-1024))}
	subject = nc.NewInbox()
	sub, err := nc.Subscribe(subject, o.sendChunk)
	if err != nil {
		return "", nil, fmt.Errorf("offer content: %w", err)
	}
	return subject, sub.Unsubscribe, nil
}

type offer struct {
	r    io.Reader
	part []byte

	mu   sync.Mutex
	at   int64
	last *nats.Msg // what was sent last, for who asks again
	from int64     // its offset
}

func (o *offer) sendChunk(m *nats.Msg) {
	o.mu.Lock()
	defer o.mu.Unlock()
	offset, err := strconv.ParseInt(m.Header.Get(headerOffset), 10, 64)
	reply := &nats.Msg{Header: nats.Header{headerOffset: {strconv.FormatInt(offset, 10)}}}
	switch {
	case err == nil && o.last != nil && offset == o.from:
		reply = o.last
	case err != nil || offset != o.at:
		reply.Header.Set(headerFailed, "true")
	default:
		n, err := io.ReadFull(o.r, o.part)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			reply.Header.Set(headerEnd, "true")
		} else if err != nil {
			reply.Header.Set(headerFailed, "true")
		}
		reply.Data = append([]byte(nil), o.part[:n]...)
		o.from = o.at
		o.at = o.at + int64(n)
		o.last = reply
	}
	// A part that cannot be sent is asked for again, or the one who asks gives up.
	if err := m.RespondMsg(&nats.Msg{Header: reply.Header, Data: reply.Data}); err != nil {
		o.last = reply
	}
}

// Fetch reads a content that the caller of from offers on an inbox, until ctx ends or a part
// does not come within ten seconds. Errors wrap ErrUpload.
func Fetch(ctx context.Context, nc *nats.Conn, from Call, inbox string) io.Reader {
	subject, err := from.offerSubject(inbox)
	return &fetch{ctx: ctx, nc: nc, subject: subject, refused: err}
}

// fetch holds ctx because io.Reader has no place for it; it lives as long as the call
// that made it.
type fetch struct {
	ctx     context.Context
	nc      *nats.Conn
	subject string
	refused error
	at      int64
	part    []byte
	done    bool
}

func (f *fetch) askForChunk() (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(f.ctx, chunkTimeout)
	defer cancel()
	return f.nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: f.subject, Header: nats.Header{headerOffset: {strconv.FormatInt(f.at, 10)}}})
}

// Read asks for the next part when the one before is used up.
func (f *fetch) Read(p []byte) (int, error) {
	if f.refused != nil {
		return 0, f.refused
	}
	for len(f.part) == 0 {
		if f.done {
			return 0, io.EOF
		}
		m, err := f.askForChunk()
		if err != nil {
			return 0, fmt.Errorf("fetch content: %w: %w", ErrUpload, err)
		}
		if m.Header.Get(headerFailed) != "" || m.Header.Get(headerOffset) != strconv.FormatInt(f.at, 10) {
			return 0, fmt.Errorf("fetch content: %w", ErrUpload)
		}
		f.part, f.done = m.Data, m.Header.Get(headerEnd) != ""
		f.at += int64(len(m.Data))
		if len(f.part) == 0 && !f.done {
			return 0, fmt.Errorf("fetch content: %w: an empty part", ErrUpload)
		}
	}
	n := copy(p, f.part)
	f.part = f.part[n:]
	return n, nil
}
