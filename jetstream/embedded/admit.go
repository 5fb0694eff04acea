package embedded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// forgotten is how long a consumer of a client may go unused.
const forgotten = 30 * 24 * time.Hour

// brief is how long a consumer that does not stay may go unused. The ordered consumers of
// nats.go, with which satchel ledger reads, take 5 minutes.
const brief = 5 * time.Minute

// fetched is how long a reader of a large reply may go unused. Clients share the number of
// consumers, and each has to be able to fetch its reply.
const fetched = time.Minute

// splitAPI splits a subject of the API into the verb and its object.
func splitAPI(subject string) (verb, rest string) {
	subject = strings.TrimPrefix(subject, "$JS.API.")
	for _, verb := range []string{"STREAM.INFO", "STREAM.MSG.GET", "DIRECT.GET", "CONSUMER.CREATE", "CONSUMER.DURABLE.CREATE", "CONSUMER.INFO", "CONSUMER.DELETE", "CONSUMER.NAMES", "CONSUMER.LIST"} {
		if rest, ok := strings.CutPrefix(subject, verb+"."); ok {
			return verb, rest
		}
	}
	return subject, ""
}

func isReadableStream(stream string) bool { return stream == ledgerStream || stream == repliesStream }

// isLiteral reports whether subject is prefix and one more token that is no wildcard.
func isLiteral(subject, prefix string) bool {
	token, ok := strings.CutPrefix(subject, prefix)
	return ok && token != "" && !strings.ContainsAny(token, ".*> \t\r\n")
}

// intersectFilters returns the subjects that two filters both match, false for none.
func intersectFilters(a, b string) (string, bool) {
	x := strings.Split(a, ".")
	y := strings.Split(b, ".")
	var both []string
	for i := 0; ; i++ {
		switch {
		case i == len(x) || i == len(y):
			return strings.Join(both, "."), len(x) == len(y)
		case x[i] == ">":
			return strings.Join(append(both, y[i:]...), "."), true
		case y[i] == ">":
			return strings.Join(append(both, x[i:]...), "."), true
		case x[i] == "*":
			both = append(both, y[i])
		case y[i] == "*" || x[i] == y[i]:
			both = append(both, x[i])
		default:
			return "", false
		}
	}
}

// intersectFilterLists returns the subjects that match one filter of each list.
func intersectFilterLists(asked, allowed []string) []string {
	var all []string
	for _, a := range asked {
		for _, b := range allowed {
			if both, ok := intersectFilters(a, b); ok && !slices.Contains(all, both) {
				all = append(all, both)
			}
		}
	}
	return all
}

// streamsWanted makes a request for the list of streams anew: a client is told of the ledger,
// and of the bucket that has a large reply.
func streamsWanted(body []byte) ([]byte, error) {
	var req struct {
		Subject string `json:"subject"`
	}
	if len(bytes.TrimSpace(body)) > 0 {
		if err := json.Unmarshal(body, &req); err != nil {
			return nil, fmt.Errorf("%w: not a request for streams", errNotForClients)
		}
	}
	if req.Subject == "" {
		req.Subject = "prov.v1.>"
	}
	if !strings.HasPrefix(req.Subject, "prov.v1.") && !isLiteral(req.Subject, replyContents) { // by which nats-py finds a bucket
		return nil, fmt.Errorf("%w: other streams than that of prov.v1", errNotForClients)
	}
	return json.Marshal(req)
}

// refuseDetails refuses a request for more than a stream's state: the list of its subjects names
// tenants and agents.
func refuseDetails(body []byte) error {
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

// listSettings are those of a consumer that a client may choose. The server takes names in any
// case; these are taken as they stand.
func listSettings() []string {
	return []string{"name", "durable_name", "description", "deliver_policy", "opt_start_seq", "opt_start_time", "ack_policy", "ack_wait",
		"max_deliver", "backoff", "filter_subject", "filter_subjects", "replay_policy", "max_waiting", "max_ack_pending", "headers_only",
		"max_batch", "max_expires", "max_bytes", "inactive_threshold", "num_replicas", "mem_storage", "metadata", "pause_until",
		"deliver_subject", "deliver_group", "flow_control", "idle_heartbeat", "rate_limit_bps"}
}

// consumerRequest is a request for a consumer, as far as the proxy reads it.
type consumerRequest struct {
	Stream   string                     `json:"stream_name"`
	Config   map[string]json.RawMessage `json:"config"`
	Action   string                     `json:"action,omitempty"`
	Pedantic bool                       `json:"pedantic,omitempty"`

	name, durable, deliver string
	filters                []string
}

// readConsumer reads a request for a consumer.
func readConsumer(body []byte) (*consumerRequest, error) {
	var req consumerRequest
	if err := json.Unmarshal(body, &req); err != nil || req.Config == nil {
		return nil, fmt.Errorf("%w: not a request for a consumer", errNotForClients)
	}
	for key := range req.Config {
		if !slices.Contains(listSettings(), key) {
			return nil, fmt.Errorf("%w: a consumer's %s", errNotForClients, key)
		}
	}
	var filter string
	for key, into := range map[string]any{"name": &req.name, "durable_name": &req.durable, "deliver_subject": &req.deliver, "filter_subject": &filter, "filter_subjects": &req.filters} {
		if raw, ok := req.Config[key]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return nil, fmt.Errorf("%w: a consumer's %s is of another type", errNotForClients, key)
			}
		}
	}
	if filter != "" {
		req.filters = append(req.filters, filter)
	}
	return &req, nil
}

// setConfigValue puts a value into the consumer's configuration.
func (c *consumerRequest) setConfigValue(key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode a consumer's %s: %w", key, err)
	}
	c.Config[key] = raw
	return nil
}

// limitSubjects has the consumer read subjects and no others.
func (c *consumerRequest) limitSubjects(subjects []string) error {
	delete(c.Config, "filter_subject")
	delete(c.Config, "filter_subjects")
	if len(subjects) == 1 {
		return c.setConfigValue("filter_subject", subjects[0])
	}
	return c.setConfigValue("filter_subjects", subjects)
}

// limitDelivery has a push consumer send to an inbox of the client and nowhere else.
func (c *consumerRequest) limitDelivery(account string) error {
	delete(c.Config, "deliver_subject")
	if c.deliver == "" {
		return nil
	}
	inbox := inboxOf(account, c.deliver)
	if inbox == "" {
		return fmt.Errorf("%w: a consumer that pushes elsewhere than into an inbox", errNotForClients)
	}
	return c.setConfigValue("deliver_subject", inbox)
}

// limitIdleTime sees to it that a consumer ends when nobody uses it for long. The server itself
// ends one that is not durable, after as long as it was told to wait.
func (c *consumerRequest) limitIdleTime(most time.Duration) error {
	var idle int64
	if raw, ok := c.Config["inactive_threshold"]; ok {
		if err := json.Unmarshal(raw, &idle); err != nil {
			return fmt.Errorf("%w: a consumer's inactive_threshold is no number", errNotForClients)
		}
	}
	if c.durable != "" && idle <= 0 || idle > int64(most) {
		c.Config["inactive_threshold"] = json.RawMessage(strconv.FormatInt(int64(most), 10))
	}
	return nil
}

// canStayUnused reports whether the consumer may go unused for long.
func (c *consumerRequest) canStayUnused() bool {
	var idle time.Duration
	if raw, ok := c.Config["inactive_threshold"]; ok && json.Unmarshal(raw, &idle) != nil {
		return true
	}
	return c.durable != "" || idle > brief
}

// markOwner marks the consumer as the account's.
func (c *consumerRequest) markOwner(account string) error {
	marks := map[string]string{}
	if raw, ok := c.Config["metadata"]; ok {
		if err := json.Unmarshal(raw, &marks); err != nil {
			return fmt.Errorf("%w: a consumer's metadata that are not texts by name", errNotForClients)
		}
	}
	if marks == nil { // null
		marks = map[string]string{}
	}
	marks[ownerMark] = account
	return c.setConfigValue("metadata", marks)
}
