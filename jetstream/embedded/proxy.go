package embedded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// apiProxy answers requests of clients to JetStream: reading the ledger, and reading a large
// reply whose name the client knows. JetStream follows the body of a request with the server's
// own rights, as to where a consumer sends. So the proxy makes each body anew.
//
// A consumer belongs to the account that made it. Clients of other accounts cannot see it,
// pull from it, acknowledge for it or delete it.
type apiProxy struct {
	nc        *nats.Conn
	ledger    map[string][]string // subjects of LEDGER that clients may read, by the account's name
	consumers int                 // of a stream, beyond which clients make no more
	log       *slog.Logger

	changing sync.Mutex // one consumer is made or deleted at a time

	mu      sync.Mutex
	owners  map[string]known     // of consumers, by stream and name
	replies map[string]time.Time // large replies that a client has found by name, and until when that counts
}

// known is the owner of a consumer, and until when it need not be looked up again.
type known struct {
	account string
	until   time.Time
}

// proxyWorkers is how many requests the proxy passes on at a time.
const proxyWorkers = 8

// apiLimit is how long JetStream may take to answer.
const apiLimit = 5 * time.Second

// Bounds of the waiting requests and of one request's body. Further requests get no answer,
// larger ones are refused.
const (
	waitingRequests = 256 // for each worker
	waitingBytes    = 1 << 20
	bodyBytes       = 16 << 10
)

// ownerKept is how long the owner of a consumer is kept for its acknowledgements, and
// ownersKept of how many consumers.
const (
	ownerKept  = 10 * time.Second
	ownersKept = 4096
)

// replyKept is how long a client may begin to read a large reply that it has found.
const replyKept = 5 * time.Minute

// Reasons for which the proxy refuses a request.
var (
	errNotForClients = errors.New("not for clients of this server")
	errManyConsumers = errors.New("maximum consumers limit reached")
	errNoConsumer    = errors.New("consumer not found")
	errNameTaken     = errors.New("consumer name already in use")
	errNoMessage     = errors.New("no message found")
)

// apiCodes are the status and the error code that JetStream itself has for a reason.
func apiCodes(cause error) (status, code int) {
	switch {
	case errors.Is(cause, errNotForClients):
		return 403, 0
	case errors.Is(cause, errManyConsumers):
		return 400, 10026
	case errors.Is(cause, errNoConsumer):
		return 404, 10014
	case errors.Is(cause, errNameTaken):
		return 400, 10013
	case errors.Is(cause, errNoMessage):
		return 404, 10037
	}
	return 503, 0
}

// openProxy answers on the proxy's connection, which is in Satchel's account, until that is closed.
func (p *apiProxy) openProxy() error {
	p.owners = map[string]known{}
	p.replies = map[string]time.Time{}
	var errs []error
	for range proxyWorkers {
		for subject, answer := range map[string]nats.MsgHandler{apiPrefix + ">": p.answerMessage, pullPrefix + "*." + nextPrefix + ">": p.passPullRequest} {
			sub, err := p.nc.QueueSubscribe(subject, "proxy", answer)
			if err == nil {
				err = sub.SetPendingLimits(waitingRequests, waitingBytes)
			}
			errs = append(errs, err)
		}
	}
	_, err := p.nc.Subscribe(pullPrefix+"*."+ackPrefix+">", p.passAcknowledgement)
	errs = append(errs, err, p.nc.FlushTimeout(apiLimit))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("open the proxy of JetStream: %w", err)
	}
	return nil
}

// request is one request to JetStream.
type request struct {
	from    string // account
	subject string
	verb    string // as CONSUMER.INFO
	stream  string
	rest    string // of the subject behind the stream
	body    []byte
}

func (p *apiProxy) answerMessage(m *nats.Msg) {
	if m.Reply == "" {
		return // nothing is done for a client that does not want to know of it
	}
	from, subject, _ := strings.Cut(strings.TrimPrefix(m.Subject, apiPrefix), ".")
	r := request{from: from, subject: subject, body: m.Data}
	var rest string
	r.verb, rest = splitAPI(subject)
	r.stream, r.rest, _ = strings.Cut(rest, ".")
	reply, err := p.serveRequest(&r)
	if err != nil {
		reply = makeRefusal(subject, err)
	}
	// A client knows the subject that a consumer sends to by its own name.
	data := bytes.ReplaceAll(reply.Data, []byte(`"deliver_subject":"`+pushPrefix+from+"."), []byte(`"deliver_subject":"`))
	if err := m.RespondMsg(&nats.Msg{Header: reply.Header, Data: data}); err != nil {
		p.log.Debug("answer a client", "subject", subject, "cause", err)
	}
}

// serveRequest does a request that clients may make, and refuses any other.
func (p *apiProxy) serveRequest(r *request) (*nats.Msg, error) {
	if len(r.body) > bodyBytes {
		return nil, fmt.Errorf("%w: a body of more than %d bytes", errNotForClients, bodyBytes)
	}
	switch {
	case r.verb == "INFO":
		return p.askJetStream(r.subject, nil)
	case r.verb == "STREAM.NAMES", r.verb == "STREAM.LIST":
		body, err := streamsWanted(r.body)
		if err != nil {
			return nil, err
		}
		return p.askJetStream(r.subject, body)
	case r.verb == "STREAM.INFO" && r.rest == "" && isReadableStream(r.stream):
		if err := refuseDetails(r.body); err != nil {
			return nil, err
		}
		return p.askJetStream(r.subject, nil)
	case r.verb == "STREAM.MSG.GET" && r.stream == ledgerStream && r.rest == "":
		return p.readLedgerMessage(r)
	case r.verb == "DIRECT.GET" && r.stream == repliesStream && isLiteral(r.rest, replyNames):
		r.body = nil
		return p.findReply(r)
	case r.verb == "STREAM.MSG.GET" && r.stream == repliesStream && r.rest == "":
		return p.findReply(r)
	case strings.HasPrefix(r.verb, "CONSUMER.") && isReadableStream(r.stream):
		return p.handleConsumer(r)
	}
	return nil, fmt.Errorf("%w: %s", errNotForClients, r.verb)
}

// askJetStream passes a request on to JetStream.
func (p *apiProxy) askJetStream(subject string, body []byte) (*nats.Msg, error) {
	return p.nc.Request(subject, body, apiLimit)
}

// lookUpState asks JetStream for the state of something.
func (p *apiProxy) lookUpState(what string, body []byte, into any) error {
	m, err := p.askJetStream("$JS.API."+what, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(m.Data, into); err != nil {
		return fmt.Errorf("decode reply of JetStream: %w", err)
	}
	return nil
}

// Subjects of messages to consumers of the ledger, up to the consumer's name.
const (
	nextPrefix = "$JS.API.CONSUMER.MSG.NEXT." + ledgerStream + "."
	ackPrefix  = "$JS.ACK." + ledgerStream + "."
)

// passPullRequest passes on a request for the next messages of a consumer that the client owns. The
// messages go straight to the client's inbox.
func (p *apiProxy) passPullRequest(m *nats.Msg) {
	from, subject, _ := strings.Cut(strings.TrimPrefix(m.Subject, pullPrefix), ".")
	reply := inboxOf(from, m.Reply)
	if reply == "" {
		return
	}
	name := strings.TrimPrefix(subject, nextPrefix)
	next := &nats.Msg{Subject: subject, Reply: reply, Data: m.Data}
	if owner, err := p.findOwner(ledgerStream, name); err != nil || owner != from {
		next = &nats.Msg{Subject: reply, Header: nats.Header{"Status": {"503"}}} // nobody answers on the subject
	}
	p.publishMessage(next)
}

// passAcknowledgement passes on an acknowledgement for a consumer that the client owns.
func (p *apiProxy) passAcknowledgement(m *nats.Msg) {
	from, subject, _ := strings.Cut(strings.TrimPrefix(m.Subject, pullPrefix), ".")
	name, _, _ := strings.Cut(strings.TrimPrefix(subject, ackPrefix), ".")
	if owner, err := p.cachedOwner(ledgerStream, name); err == nil && owner == from {
		p.publishMessage(&nats.Msg{Subject: subject, Reply: inboxOf(from, m.Reply), Data: m.Data})
	}
}

func (p *apiProxy) publishMessage(m *nats.Msg) {
	if err := p.nc.PublishMsg(m); err != nil {
		p.log.Debug("pass on a client's message", "subject", m.Subject, "cause", err)
	}
}

// inboxOf returns where Satchel's account reaches an inbox of a client, "" for another
// subject.
func inboxOf(account, inbox string) string {
	if !isInbox(inbox) {
		return ""
	}
	return pushPrefix + account + "." + inbox
}

// isInbox reports whether consumers may send to a subject of a client's account.
func isInbox(subject string) bool {
	return strings.HasPrefix(subject, inboxes) && !strings.ContainsAny(subject, "*> \t\r\n\"\\")
}

// makeRefusal is the answer to a request that was not passed on, in the form of the API.
func makeRefusal(subject string, cause error) *nats.Msg {
	if strings.HasPrefix(subject, "$JS.API.DIRECT.GET.") {
		return &nats.Msg{Header: nats.Header{"Status": {"404"}, "Description": {"Message Not Found"}}}
	}
	status, code := apiCodes(cause)
	number := ""
	if code > 0 {
		number = fmt.Sprintf(`"err_code":%d,`, code)
	}
	text, err := json.Marshal(cause.Error())
	if err != nil { // a string always has a form
		text = []byte(`"refused"`)
	}
	return &nats.Msg{Data: fmt.Appendf(nil, `{"error":{"code":%d,%s"description":%s}}`, status, number, text)}
}

// wanted is a request for one message: the one at a sequence, or the last or next one of a
// subject.
type wanted struct {
	Seq  uint64 `json:"seq,omitempty"`
	Last string `json:"last_by_subj,omitempty"`
	Next string `json:"next_by_subj,omitempty"`
}

// readLedgerMessage reads one message of the ledger. A message that the client may not read counts as
// not there.
func (p *apiProxy) readLedgerMessage(r *request) (*nats.Msg, error) {
	var want wanted
	if err := json.Unmarshal(r.body, &want); err != nil || want.Last != "" && want.Next != "" {
		return nil, fmt.Errorf("%w: not a request for one message", errNotForClients)
	}
	allowed := p.ledger[r.from]
	each := []wanted{want}
	if asked := want.Last + want.Next; asked != "" {
		each = nil
		for _, subject := range intersectFilterLists([]string{asked}, allowed) {
			one := wanted{Seq: want.Seq, Last: subject}
			if want.Next != "" {
				one = wanted{Seq: want.Seq, Next: subject}
			}
			each = append(each, one)
		}
	}
	var best *nats.Msg
	var bestSeq uint64
	for _, one := range each {
		m, subject, seq, err := p.readMessage(r.subject, one)
		if err != nil {
			return nil, err
		}
		if len(intersectFilterLists([]string{subject}, allowed)) == 0 { // nor is one that is not there
			continue
		}
		if best == nil || (seq > bestSeq) == (want.Last != "") {
			best = m
			bestSeq = seq
		}
	}
	if best == nil {
		return nil, errNoMessage
	}
	return best, nil
}

// readMessage asks JetStream for one message, and returns the message's subject and sequence;
// "" when there is none.
func (p *apiProxy) readMessage(api string, want wanted) (m *nats.Msg, subject string, seq uint64, err error) {
	body, err := json.Marshal(want)
	if err != nil {
		return nil, "", 0, fmt.Errorf("encode request: %w", err)
	}
	if m, err = p.askJetStream(api, body); err != nil {
		return nil, "", 0, err
	}
	var got struct {
		Message struct {
			Subject string `json:"subject"`
			Seq     uint64 `json:"seq"`
		} `json:"message"`
	}
	if err := json.Unmarshal(m.Data, &got); err != nil {
		return nil, "", 0, fmt.Errorf("decode reply of JetStream: %w", err)
	}
	return m, got.Message.Subject, got.Message.Seq, nil
}

// findReply reads the description of a large reply by its name, and lets the client read the
// reply's content from then on: names cannot be guessed, but those of contents can.
func (p *apiProxy) findReply(r *request) (*nats.Msg, error) {
	direct := r.verb == "DIRECT.GET"
	if !direct {
		var want wanted
		if err := json.Unmarshal(r.body, &want); err != nil || want.Seq != 0 || want.Next != "" || !isLiteral(want.Last, replyNames) {
			return nil, fmt.Errorf("%w: a large reply but by its name", errNotForClients)
		}
	}
	m, err := p.askJetStream(r.subject, r.body)
	if err != nil {
		return nil, err
	}
	description := m.Data
	if !direct {
		var got struct {
			Message struct {
				Data []byte `json:"data"`
			} `json:"message"`
		}
		if err := json.Unmarshal(m.Data, &got); err != nil {
			return nil, fmt.Errorf("decode reply of JetStream: %w", err)
		}
		description = got.Message.Data
	}
	var reply struct {
		Content string `json:"nuid"`
	}
	if json.Unmarshal(description, &reply) == nil && reply.Content != "" {
		p.noteFound(r.from, reply.Content)
	}
	return m, nil
}

// noteFound keeps for a while that a client has found the large reply that has a content.
func (p *apiProxy) noteFound(account, content string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, until := range p.replies {
		if time.Now().After(until) {
			delete(p.replies, key)
		}
	}
	p.replies[account+" "+content] = time.Now().Add(replyKept)
}

// hasFoundReply reports whether a client has found the large reply that has a content.
func (p *apiProxy) hasFoundReply(account, content string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.replies[account+" "+content])
}
