package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// stored is a message as a stream holds it. Header is nil when it cannot be read. Data is nil in a
// scan of headers only.
type stored struct {
	seq     uint64
	subject string
	header  nats.Header
	data    []byte
	at      time.Time // when the stream took it
}

// isStored reports whether a message that came to a pull subscription is one of the stream's. The
// server alone sets its reply subject; a publisher sets its headers, Status among them. The library
// decides by headers, so messages of streams MUST NOT be read through its iterators.
func isStored(msg *nats.Msg) bool { return strings.HasPrefix(msg.Reply, "$JS.ACK.") }

// lookup names a message of a stream.
type lookup struct {
	Seq  uint64 `json:"seq,omitempty"`
	Next string `json:"next_by_subj,omitempty"` // the first one of this filter from Seq on
	Last string `json:"last_by_subj,omitempty"` // the last one of this filter
}

// readStored asks the stream's leader for a message, jetstream.ErrMsgNotFound when there is none.
// Unlike the library it returns a message whose headers cannot be read.
func readStored(ctx context.Context, nc *nats.Conn, stream string, want lookup) (stored, error) {
	body, err := json.Marshal(want)
	if err != nil {
		return stored{}, err
	}
	ctx, cancel := answerWithin(ctx, 5*time.Second)
	defer cancel()
	reply, err := nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, body)
	if err != nil {
		return stored{}, err
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message *struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Header  []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
			At      time.Time `json:"time"`
		} `json:"message"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return stored{}, fmt.Errorf("decode message of %q: %w", stream, err)
	}
	switch m := answer.Message; {
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return stored{}, jetstream.ErrMsgNotFound
	case answer.Error != nil:
		return stored{}, answer.Error
	case m == nil:
		return stored{}, fmt.Errorf("decode message of %q: %w", stream, jetstream.ErrInvalidJetStreamResponse)
	default:
		header, err := nats.DecodeHeadersMsg(m.Header)
		if err != nil { // a consumer delivers it without headers
			header = nil
		}
		return stored{seq: m.Seq, subject: m.Subject, header: header, data: m.Data, at: m.At}, nil
	}
}
