package embedded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// door passes on what clients ask of JetStream, when it is in the list: reading the ledger,
// and reading a large reply whose name one knows. A request says in its body what the server
// is to do with the server's rights (where a push consumer sends, what is listed), so what is
// passed on is made anew of what the door knows, never the body itself, but for reading a
// message.
type door struct {
	nc        *nats.Conn
	consumers int // of a stream, beyond which clients make no more
	log       *slog.Logger
}

// keepers is how many requests the door passes on at a time.
const keepers = 8

// doorLimit is how long JetStream may take to answer what the door passed on.
const doorLimit = 5 * time.Second

// Bounds of what waits at the door and of one request's body: what is beyond them is not
// answered, or refused.
const (
	waitingRequests = 256 // for each keeper
	waitingBytes    = 1 << 20
	bodyBytes       = 16 << 10
)

// forgotten is how long a consumer of a client may go unused.
const forgotten = 30 * 24 * time.Hour

// brief is how long a consumer may go unused that does not stay: an ordered one of nats.go, with
// which satchel ledger reads, takes 5 minutes.
const brief = 5 * time.Minute

// fetched is how long one may that reads a large reply, which is done once: clients share the
// number of consumers, and each has to be able to fetch its reply.
const fetched = time.Minute

// errNotForClients is why the door passes a request not on.
var errNotForClients = errors.New("not for clients of this server")

// errManyConsumers is why a client gets no further consumer.
var errManyConsumers = errors.New("maximum consumers limit reached")

// openDoor answers on d's connection, which is in Satchel's account, until that is closed.
func openDoor(d *door) error {
	for range keepers {
		sub, err := d.nc.QueueSubscribe(doorPrefix+">", "door", d.answer)
		if err == nil {
			err = sub.SetPendingLimits(waitingRequests, waitingBytes)
		}
		if err != nil {
			return fmt.Errorf("open the door to JetStream: %w", err)
		}
	}
	if err := d.nc.FlushTimeout(doorLimit); err != nil {
		return fmt.Errorf("open the door to JetStream: %w", err)
	}
	return nil
}

func (d *door) answer(m *nats.Msg) {
	if m.Reply == "" {
		return // whoever does not want to know may not have anything done
	}
	subject := strings.TrimPrefix(m.Subject, doorPrefix)
	body, err := admit(subject, m.Data)
	if err == nil {
		err = d.room(subject, body)
	}
	var reply *nats.Msg
	if err == nil {
		reply, err = d.nc.Request(subject, body, doorLimit)
	}
	if err != nil {
		reply = refusal(subject, err)
	}
	// What pushes says where its consumer sends to, which the client knows by its own name.
	data := bytes.ReplaceAll(reply.Data, []byte(`"deliver_subject":"`+pushPrefix), []byte(`"deliver_subject":"`))
	if err := m.RespondMsg(&nats.Msg{Header: reply.Header, Data: data}); err != nil {
		d.log.Debug("answer a client", "subject", subject, "cause", err)
	}
}

// room refuses what would be a consumer too many: each keeps memory and a file for as long
// as a client may leave it unused. Those that stay get half of the places, so that who follows
// the ledger for a while always finds one. Of a consumer that is there the settings may be
// changed.
func (d *door) room(subject string, body []byte) error {
	verb, rest := splitAPI(subject)
	if verb != "CONSUMER.CREATE" && verb != "CONSUMER.DURABLE.CREATE" {
		return nil
	}
	stream, name, _ := strings.Cut(rest, ".")
	name, _, _ = strings.Cut(name, ".")
	var info struct {
		State struct {
			Consumers int `json:"consumer_count"`
		} `json:"state"`
		Error json.RawMessage `json:"error"`
	}
	most, what := d.consumers, ""
	if stays(body) {
		most, what = (d.consumers+1)/2, " of those that stay, which are durable or may go unused for more than "+brief.String()
	}
	if err := d.look("STREAM.INFO."+stream, &info); err != nil || info.State.Consumers < most {
		return err
	}
	if name != "" {
		if err := d.look("CONSUMER.INFO."+stream+"."+name, &info); err != nil || info.Error == nil {
			return err
		}
	}
	return fmt.Errorf("%w: %s has %d, and clients of this server may make %d%s: delete what is unused", errManyConsumers, stream, info.State.Consumers, most, what)
}

// stays reports whether the consumer that body, which the door has made, asks for may go
// unused for long.
func stays(body []byte) bool {
	var req struct {
		Config struct {
			Durable string        `json:"durable_name"`
			Idle    time.Duration `json:"inactive_threshold"`
		} `json:"config"`
	}
	err := json.Unmarshal(body, &req)
	return err != nil || req.Config.Durable != "" || req.Config.Idle > brief
}

// look asks JetStream for the state of something.
func (d *door) look(what string, into any) error {
	m, err := d.nc.Request("$JS.API."+what, nil, doorLimit)
	if err != nil {
		return err
	}
	return json.Unmarshal(m.Data, into)
}

// refusal is the answer to a request that was not passed on, in the form of the API.
func refusal(subject string, cause error) *nats.Msg {
	if strings.HasPrefix(subject, "$JS.API.DIRECT.GET.") {
		return &nats.Msg{Header: nats.Header{"Status": {"404"}, "Description": {"Message Not Found"}}}
	}
	code, number := 503, ""
	switch {
	case errors.Is(cause, errManyConsumers):
		code, number = 400, `"err_code":10026,` // as JetStream itself says it
	case errors.Is(cause, errNotForClients):
		code = 403
	}
	text, err := json.Marshal(cause.Error())
	if err != nil { // a string always has a form
		text = []byte(`"refused"`)
	}
	return &nats.Msg{Data: fmt.Appendf(nil, `{"error":{"code":%d,%s"description":%s}}`, code, number, text)}
}

// admit returns the body with which a client's request on subject may be passed on.
func admit(subject string, body []byte) ([]byte, error) {
	if len(body) > bodyBytes {
		return nil, fmt.Errorf("%w: a body of more than %d bytes", errNotForClients, bodyBytes)
	}
	verb, rest := splitAPI(subject)
	stream, name, _ := strings.Cut(rest, ".")
	switch {
	case verb == "INFO":
		return nil, nil
	case verb == "STREAM.NAMES":
		return names(body)
	case verb == "STREAM.INFO" && name == "" && readable(stream):
		return nil, plain(body)
	case verb == "STREAM.MSG.GET" && rest == ledgerStream:
		return body, nil
	case verb == "DIRECT.GET" && stream == repliesStream && literal(name, "$O."+repliesBucket+".M."):
		return nil, nil
	case (verb == "CONSUMER.INFO" || verb == "CONSUMER.DELETE") && readable(stream) && literal(name, ""):
		return nil, nil
	case verb == "CONSUMER.CREATE" && readable(stream) && (name == "" || named(name)),
		verb == "CONSUMER.DURABLE.CREATE" && readable(stream) && literal(name, ""): // others JetStream does not answer
		return consumer(stream, body)
	}
	return nil, fmt.Errorf("%w: %s", errNotForClients, verb)
}

// splitAPI splits a subject of the API into what is asked for and of what.
func splitAPI(subject string) (verb, rest string) {
	subject = strings.TrimPrefix(subject, "$JS.API.")
	for _, verb := range []string{"STREAM.INFO", "STREAM.MSG.GET", "DIRECT.GET", "CONSUMER.CREATE", "CONSUMER.DURABLE.CREATE", "CONSUMER.INFO", "CONSUMER.DELETE"} {
		if rest, ok := strings.CutPrefix(subject, verb+"."); ok {
			return verb, rest
		}
	}
	return subject, ""
}

func readable(stream string) bool { return stream == ledgerStream || stream == repliesStream }

// literal reports whether subject is prefix and one more token that is no wildcard.
func literal(subject, prefix string) bool {
	token, ok := strings.CutPrefix(subject, prefix)
	return ok && token != "" && !strings.ContainsAny(token, ".*> \t\r\n")
}

// named reports whether what follows a stream is a consumer's name, and a filter perhaps.
func named(rest string) bool {
	name, filter, filtered := strings.Cut(rest, ".")
	return literal(name, "") && (!filtered || filter != "" && !strings.HasPrefix(filter, ".") && !strings.HasSuffix(filter, ".") && !strings.Contains(filter, ".."))
}

// names lets one ask which stream has the ledger.
func names(body []byte) ([]byte, error) {
	var req struct {
		Subject string `json:"subject"`
	}
	if err := json.Unmarshal(body, &req); err != nil || !strings.HasPrefix(req.Subject, "prov.v1.") {
		return nil, fmt.Errorf("%w: names of other streams than that of prov.v1", errNotForClients)
	}
	return json.Marshal(req)
}

// plain refuses a request for more than a stream's state: the list of its subjects names
// tenants and agents.
func plain(body []byte) error {
	var req map[string]json.RawMessage
	if len(bytes.TrimSpace(body)) > 0 {
		if err := json.Unmarshal(body, &req); err != nil {
			return fmt.Errorf("%w: not a request for a stream's state", errNotForClients)
		}
	}
	for key, value := range req {
		if key != "offset" && string(value) != "false" && string(value) != `""` {
			return fmt.Errorf("%w: a list of a stream's subjects", errNotForClients)
		}
	}
	return nil
}

// settings are those of a consumer that a client may choose. The server takes names in any
// case; these are taken as they stand.
func settings() []string {
	return []string{"name", "durable_name", "description", "deliver_policy", "opt_start_seq", "opt_start_time", "ack_policy", "ack_wait",
		"max_deliver", "backoff", "filter_subject", "filter_subjects", "replay_policy", "max_waiting", "max_ack_pending", "headers_only",
		"max_batch", "max_expires", "max_bytes", "inactive_threshold", "num_replicas", "mem_storage", "metadata",
		"deliver_subject", "deliver_group", "flow_control", "idle_heartbeat", "rate_limit_bps"}
}

// consumer makes the request for a consumer of stream anew. What it pushes comes to the
// client's inbox and nowhere else; of the replies it reads one.
func consumer(stream string, body []byte) ([]byte, error) {
	var req struct {
		Stream   string                     `json:"stream_name"`
		Config   map[string]json.RawMessage `json:"config"`
		Action   string                     `json:"action,omitempty"`
		Pedantic bool                       `json:"pedantic,omitempty"`
	}
	if err := json.Unmarshal(body, &req); err != nil || req.Config == nil {
		return nil, fmt.Errorf("%w: not a request for a consumer", errNotForClients)
	}
	req.Stream = stream
	for key := range req.Config {
		if !slices.Contains(settings(), key) {
			return nil, fmt.Errorf("%w: a consumer's %s", errNotForClients, key)
		}
	}
	var deliver, filter string
	for key, into := range map[string]*string{"deliver_subject": &deliver, "filter_subject": &filter} {
		if raw, ok := req.Config[key]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return nil, fmt.Errorf("%w: a consumer's %s is no text", errNotForClients, key)
			}
		}
	}
	if _, several := req.Config["filter_subjects"]; stream == repliesStream && (several || !literal(filter, "$O."+repliesBucket+".C.")) {
		return nil, fmt.Errorf("%w: more than one reply", errNotForClients)
	}
	if _, durable := req.Config["durable_name"]; durable && stream == repliesStream {
		return nil, fmt.Errorf("%w: a durable consumer of a reply", errNotForClients)
	}
	most := forgotten
	if stream == repliesStream {
		most = fetched
	}
	if err := forget(req.Config, most); err != nil {
		return nil, err
	}
	delete(req.Config, "deliver_subject")
	if deliver != "" {
		if !strings.HasPrefix(deliver, inboxes) || strings.ContainsAny(deliver, "*> \t\r\n\"\\") {
			return nil, fmt.Errorf("%w: a consumer that pushes elsewhere than into an inbox", errNotForClients)
		}
		req.Config["deliver_subject"] = json.RawMessage(`"` + pushPrefix + deliver + `"`)
	}
	return json.Marshal(req)
}

// forget sees to it that a consumer ends when nobody uses it for long. The server itself
// ends one that is not durable, after as long as it was told to wait.
func forget(config map[string]json.RawMessage, most time.Duration) error {
	var idle int64
	if raw, ok := config["inactive_threshold"]; ok {
		if err := json.Unmarshal(raw, &idle); err != nil {
			return fmt.Errorf("%w: a consumer's inactive_threshold is no number", errNotForClients)
		}
	}
	if _, durable := config["durable_name"]; durable && idle <= 0 || idle > int64(most) {
		config["inactive_threshold"] = json.RawMessage(strconv.FormatInt(int64(most), 10))
	}
	return nil
}
