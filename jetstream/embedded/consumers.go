package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// ownerMark is the name in a consumer's metadata under which the account stands that made it.
const ownerMark = "satchel.client"

// consumerInfo is the state of a consumer, as far as the proxy reads it.
type consumerInfo struct {
	Name   string `json:"name"`
	Config struct {
		Metadata map[string]string `json:"metadata"`
	} `json:"config"`
	Error *struct {
		Code int `json:"code"`
	} `json:"error"`
}

// handleConsumer makes, shows, lists or deletes consumers of the client.
func (p *apiProxy) handleConsumer(r *request) (*nats.Msg, error) {
	switch {
	case r.verb == "CONSUMER.CREATE", r.verb == "CONSUMER.DURABLE.CREATE" && isLiteral(r.rest, ""): // others JetStream does not answer
		return p.makeConsumer(r)
	case r.verb == "CONSUMER.INFO" && isLiteral(r.rest, ""):
		m, err := p.askJetStream(r.subject, nil)
		if err != nil {
			return nil, err
		}
		if owner, err := ownerIn(m.Data); err != nil || owner != r.from {
			return nil, errors.Join(err, errNoConsumer)
		}
		return m, nil
	case r.verb == "CONSUMER.DELETE" && isLiteral(r.rest, ""):
		p.changing.Lock()
		defer p.changing.Unlock()
		owner, err := p.findOwner(r.stream, r.rest)
		if err != nil {
			return nil, err
		}
		if owner != r.from {
			return nil, errNoConsumer
		}
		p.forgetOwner(r.stream, r.rest)
		return p.askJetStream(r.subject, nil)
	case (r.verb == "CONSUMER.NAMES" || r.verb == "CONSUMER.LIST") && r.rest == "" && r.stream == ledgerStream:
		return p.listConsumers(r)
	}
	return nil, fmt.Errorf("%w: %s", errNotForClients, r.verb)
}

// makeConsumer makes a consumer of the client, or changes one.
func (p *apiProxy) makeConsumer(r *request) (*nats.Msg, error) {
	req, err := readConsumer(r.body)
	if err != nil {
		return nil, err
	}
	if err := p.admitConsumer(r, req); err != nil {
		return nil, err
	}
	name, filter, _ := strings.Cut(r.rest, ".") // the filter stands in the body as well
	if name == "" {
		name = req.name
		if name == "" {
			name = req.durable
		}
	}
	if name != "" && !isLiteral(name, "") || strings.Contains(filter, " ") {
		return nil, fmt.Errorf("%w: a consumer of this name", errNotForClients)
	}
	subject := "$JS.API." + r.verb + "." + r.stream
	p.changing.Lock()
	defer p.changing.Unlock()
	there := false
	if name != "" {
		subject += "." + name
		owner, err := p.findOwner(r.stream, name)
		switch {
		case err == nil && owner != r.from:
			return nil, errNameTaken
		case err != nil && !errors.Is(err, errNoConsumer):
			return nil, err
		}
		there = err == nil
		p.forgetOwner(r.stream, name)
	}
	if !there {
		if err := p.checkConsumerRoom(r, req.canStayUnused()); err != nil {
			return nil, err
		}
	}
	body, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return p.askJetStream(subject, body)
}

// admitConsumer makes the configuration of a consumer one that the client may have.
func (p *apiProxy) admitConsumer(r *request, req *consumerRequest) error {
	req.Stream = r.stream
	most := forgotten
	if r.stream == repliesStream {
		most = fetched
		content := strings.TrimPrefix(strings.Join(req.filters, " "), replyContents)
		switch {
		case len(req.filters) != 1 || !isLiteral(req.filters[0], replyContents):
			return fmt.Errorf("%w: more than one reply", errNotForClients)
		case req.durable != "":
			return fmt.Errorf("%w: a durable consumer of a reply", errNotForClients)
		case !p.hasFoundReply(r.from, content):
			return fmt.Errorf("%w: a reply that the client has not found by its name", errNotForClients)
		}
	} else {
		asked := req.filters
		if len(asked) == 0 {
			asked = []string{">"}
		}
		subjects := intersectFilterLists(asked, p.ledger[r.from])
		if len(subjects) == 0 {
			return fmt.Errorf("%w: subjects of the ledger that this client may not read", errNotForClients)
		}
		if err := req.limitSubjects(subjects); err != nil {
			return err
		}
	}
	return errors.Join(req.limitIdleTime(most), req.limitDelivery(r.from), req.markOwner(r.from))
}

// checkConsumerRoom refuses a consumer too many: each keeps memory and a file for as long as a client may
// leave it unused. Those that stay get half of the places, so that there is always one for a
// client that follows the ledger for a while. A principal gets a quarter of them.
func (p *apiProxy) checkConsumerRoom(r *request, stays bool) error {
	var info struct {
		State struct {
			Consumers int `json:"consumer_count"`
		} `json:"state"`
	}
	if err := p.lookUpState("STREAM.INFO."+r.stream, nil, &info); err != nil {
		return err
	}
	most := p.consumers
	what := ""
	if stays {
		most = (p.consumers + 1) / 2
		what = " of those that stay, which are durable or may go unused for more than " + brief.String()
	}
	if info.State.Consumers >= most {
		return fmt.Errorf("%w: %s has %d, and clients of this server may make %d%s: delete what is unused", errManyConsumers, r.stream, info.State.Consumers, most, what)
	}
	share := (p.consumers + 3) / 4
	if r.from == anyone || info.State.Consumers < share {
		return nil
	}
	own, err := p.ownConsumers(r)
	if err == nil && len(own) >= share {
		err = fmt.Errorf("%w: of %s a principal of this server may have %d: delete what is unused", errManyConsumers, r.stream, share)
	}
	return err
}

// findOwner returns the account that made a consumer, "" for one that no client has made. It
// returns errNoConsumer when there is no such consumer.
func (p *apiProxy) findOwner(stream, name string) (string, error) {
	if !isLiteral(name, "") {
		return "", errNoConsumer
	}
	m, err := p.askJetStream("$JS.API.CONSUMER.INFO."+stream+"."+name, nil)
	if err != nil {
		return "", err
	}
	return ownerIn(m.Data)
}

// ownerIn reads the account that made a consumer from the consumer's state.
func ownerIn(reply []byte) (string, error) {
	var info consumerInfo
	if err := json.Unmarshal(reply, &info); err != nil {
		return "", fmt.Errorf("decode reply of JetStream: %w", err)
	}
	if info.Error != nil && info.Error.Code == 404 {
		return "", errNoConsumer
	}
	if info.Error != nil {
		return "", fmt.Errorf("look at a consumer: JetStream answers %d", info.Error.Code)
	}
	return info.Config.Metadata[ownerMark], nil
}

// cachedOwner is owner, from memory for a while, and "" for a consumer that is not there.
func (p *apiProxy) cachedOwner(stream, name string) (string, error) {
	key := stream + " " + name
	p.mu.Lock()
	kept, ok := p.owners[key]
	p.mu.Unlock()
	if ok && time.Now().Before(kept.until) {
		return kept.account, nil
	}
	account, err := p.findOwner(stream, name)
	if err != nil && !errors.Is(err, errNoConsumer) {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.owners) >= ownersKept {
		clear(p.owners)
	}
	p.owners[key] = known{account, time.Now().Add(ownerKept)}
	return account, nil
}

// forgetOwner has the owner of a consumer looked up again.
func (p *apiProxy) forgetOwner(stream, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.owners, stream+" "+name)
}

// listConsumers lists the client's consumers, or their names.
func (p *apiProxy) listConsumers(r *request) (*nats.Msg, error) {
	var asked struct {
		Offset int `json:"offset"`
	}
	if len(r.body) > 0 && json.Unmarshal(r.body, &asked) != nil || asked.Offset < 0 {
		return nil, fmt.Errorf("%w: not a request for consumers", errNotForClients)
	}
	own, err := p.ownConsumers(r)
	if err != nil {
		return nil, err
	}
	const page = 256
	total := len(own)
	own = own[min(asked.Offset, total):min(asked.Offset+page, total)]
	reply := map[string]any{"type": "io.nats.jetstream.api.v1.consumer_list_response", "total": total, "offset": asked.Offset, "limit": page, "consumers": own}
	if r.verb == "CONSUMER.NAMES" {
		names := make([]string, len(own))
		for i, raw := range own {
			var info consumerInfo
			if err := json.Unmarshal(raw, &info); err != nil {
				return nil, fmt.Errorf("decode reply of JetStream: %w", err)
			}
			names[i] = info.Name
		}
		reply["type"] = "io.nats.jetstream.api.v1.consumer_names_response"
		reply["consumers"] = names
	}
	data, err := json.Marshal(reply)
	return &nats.Msg{Data: data}, err
}

// ownConsumers returns the state of every consumer of the client.
func (p *apiProxy) ownConsumers(r *request) ([]json.RawMessage, error) {
	own := []json.RawMessage{}
	for offset := 0; ; {
		var page struct {
			Total     int               `json:"total"`
			Consumers []json.RawMessage `json:"consumers"`
		}
		if err := p.lookUpState("CONSUMER.LIST."+r.stream, fmt.Appendf(nil, `{"offset":%d}`, offset), &page); err != nil {
			return nil, err
		}
		own = append(own, slices.DeleteFunc(page.Consumers, func(raw json.RawMessage) bool {
			owner, err := ownerIn(raw)
			return err != nil || owner != r.from
		})...)
		offset += len(page.Consumers)
		if len(page.Consumers) == 0 || offset >= page.Total {
			return own, nil
		}
	}
}
