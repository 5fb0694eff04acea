package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
	"go.opentelemetry.io/otel/propagation"

	"satchel/jetstream/cloudevent"
	"satchel/schemas"
)

// The headers of a reply that was too large to send. Its body is the JSON object
// {"dataref", "sha256", "size"}.
const (
	HeaderDataref = "Satchel-Dataref" // nats-object:<bucket>/<tenant>/<sha256>/<upload>
	HeaderSHA256  = "Satchel-Sha256"  // hex, of the whole reply
	HeaderSize    = "Satchel-Size"    // bytes of the whole reply
)

const datarefScheme = "nats-object:" + RepliesBucket + "/"

// ErrDataref is returned for a reply by reference that cannot be fetched or that is
// not what its hash says.
var ErrDataref = errors.New("bad reply by reference")

// ErrNoService is returned by Request when nobody serves the subject.
var ErrNoService = errors.New("nobody serves this subject")

// claimCheck is the body of a reply by reference.
type claimCheck struct {
	Dataref string `json:"dataref"`
	SHA256  string `json:"sha256"`
	Size    int    `json:"size"`
}

// publishReply publishes the reply, by reference when it is over the payload limit.
func (s *Service) publishReply(ctx context.Context, j job, reply Reply) error {
	if j.reply == "" {
		return nil
	}
	msg := &nats.Msg{Subject: j.reply, Header: reply.Header, Data: reply.Data}
	if int64(msg.Size()) > s.nc.MaxPayload() {
		check, err := s.replies.storeReply(ctx, j.request.Tenant, j.request.Payer, reply.Data, j.erasures)
		if err != nil {
			return err
		}
		if msg.Data, err = json.Marshal(check); err != nil {
			return fmt.Errorf("encode reply by reference: %w", err)
		}
		if msg.Header == nil {
			msg.Header = make(nats.Header, 3)
		}
		msg.Header[HeaderDataref] = []string{check.Dataref}
		msg.Header[HeaderSHA256] = []string{check.SHA256}
		msg.Header[HeaderSize] = []string{strconv.Itoa(check.Size)}
	}
	if err := s.nc.PublishMsg(msg); err != nil {
		return fmt.Errorf("send reply: %w", err)
	}
	return nil
}

// refuseRequest sends a typed error, as the service protocol (NATS ADR-32) says. A principal that has too
// much under way hears of it later.
func (s *Service) refuseRequest(j job, refusal *schemas.Error) {
	s.countAnswer(j, refusal)
	if j.reply == "" {
		return
	}
	j.request = Call{Tenant: j.request.Tenant, Payer: j.request.Payer} // the rest is let go while it waits
	if refusal.Code != schemas.CodeOverloaded || !s.refusals.holdRefusal(&j, time.Now(), func() { s.sendRefusal(j, refusal) }) {
		s.sendRefusal(j, refusal)
	}
}

func (s *Service) sendRefusal(j job, refusal *schemas.Error) {
	msg := s.refusalMessage(j, refusal)
	if int64(msg.Size()) > s.nc.MaxPayload() { // the details would keep the caller from hearing of it at all
		msg = s.refusalMessage(j, &schemas.Error{Code: refusal.Code, Undecided: refusal.Undecided, Message: "the request was refused; the reasons are larger than a message may be"})
	}
	if err := s.nc.PublishMsg(msg); err != nil {
		s.cfg.Log.Warn("send refusal", "endpoint", j.endpoint.Name, "tenant", j.request.Tenant, "cause", err)
	}
}

// refusalMessage is a refusal as it is sent.
func (s *Service) refusalMessage(j job, refusal *schemas.Error) *nats.Msg {
	body, err := json.Marshal(refusal)
	if err != nil {
		s.cfg.Log.Error("encode refusal", "endpoint", j.endpoint.Name, "cause", err)
	}
	return &nats.Msg{Subject: j.reply, Data: body, Header: nats.Header{
		micro.ErrorHeader:     {encodeText(refusal.Error())},
		micro.ErrorCodeHeader: {strconv.Itoa(refusal.Code.HTTPStatus())},
	}}
}

// Request sends a request and waits for the reply until ctx ends, 30 s when ctx has
// no end. A refusal is returned as *schemas.Error; a reply by reference is fetched
// and its hash checked; ErrNoService says that nobody listens.
func Request(ctx context.Context, nc *nats.Conn, subject string, body []byte) ([]byte, error) {
	reply, err := RequestWithHeader(ctx, nc, subject, nil, body)
	return reply.Data, err
}

// RequestWithHeader is Request with headers both ways. The span in ctx, if there is one, is the parent
// of what the service traces.
func RequestWithHeader(ctx context.Context, nc *nats.Conn, subject string, header nats.Header, body []byte) (Reply, error) {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		const limit = 30 * time.Second
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
		deadline = time.Now().Add(limit)
	}
	msg := &nats.Msg{Subject: subject, Header: make(nats.Header, len(header)+1), Data: body}
	for name, values := range header {
		msg.Header[name] = values
	}
	propagation.TraceContext{}.Inject(ctx, HeaderCarrier(msg.Header))
	msg.Header[HeaderDeadline] = []string{strconv.FormatInt(max(time.Until(deadline).Milliseconds(), 1), 10)}
	reply, err := nc.RequestMsgWithContext(ctx, msg)
	if errors.Is(err, nats.ErrNoResponders) {
		return Reply{}, fmt.Errorf("request %q: %w", subject, ErrNoService)
	}
	if err != nil {
		return Reply{}, fmt.Errorf("request %q: %w", subject, err)
	}
	if refusal := refusalOf(reply); refusal != nil {
		return Reply{}, refusal
	}
	if ref := reply.Header.Get(HeaderDataref); ref != "" {
		data, err := fetchReply(ctx, nc, ref, reply.Header.Get(HeaderSHA256))
		return Reply{Data: data, Header: reply.Header}, err
	}
	return Reply{Data: reply.Data, Header: reply.Header}, nil
}

// refusalOf returns the typed error of a reply, nil for none.
func refusalOf(reply *nats.Msg) *schemas.Error {
	number := reply.Header.Get(micro.ErrorCodeHeader)
	text := reply.Header.Get(micro.ErrorHeader)
	if number == "" && text == "" {
		return nil
	}
	var typed schemas.Error
	if json.Unmarshal(reply.Data, &typed) == nil && typed.Code != "" {
		return &typed
	}
	return &schemas.Error{Code: schemas.Code("service_error_" + number), Message: decodeText(text)}
}

func fetchReply(ctx context.Context, nc *nats.Conn, ref, sum string) ([]byte, error) {
	name, ok := strings.CutPrefix(ref, datarefScheme)
	if !ok {
		return nil, fmt.Errorf("fetch reply %q: %w: not in %q", cloudevent.Clip(ref), ErrDataref, RepliesBucket)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("fetch reply: %w", err)
	}
	store, err := js.ObjectStore(ctx, RepliesBucket)
	if err != nil {
		return nil, fmt.Errorf("fetch reply: %w: %w", ErrDataref, err)
	}
	data, err := store.GetBytes(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("fetch reply: %w: %w", ErrDataref, err)
	}
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
		return nil, fmt.Errorf("fetch reply: %w: its hash is another", ErrDataref)
	}
	return data, nil
}
