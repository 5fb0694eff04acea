package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/jetstream"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// errNobody is returned when nothing answers at the NATS address.
var errNobody = errors.New("start Satchel with: satchel up")

// errAbsent is returned when the NATS that Satchel shall run on does not answer.
var errAbsent = errors.New("no server answers there: start it, or see NATS_URL")

// client talks to a running Satchel over NATS.
type client struct {
	nc     *nats.Conn
	tenant string
	agent  string
}

// dial connects as one of the command line's clients.
func (a *app) dial(ctx context.Context) (*client, error) {
	if !scope.ValidTenant(a.Tenant) {
		return nil, usagef("tenant %q: must match [A-Za-z0-9_-]{1,64}", a.Tenant)
	}
	url := a.NATSURL
	if url == "" {
		port := a.NATSPort
		if port <= 0 {
			port = 4222
		}
		url = fmt.Sprintf("nats://127.0.0.1:%d", port)
	}
	nc, err := jetstream.Connect(ctx, a.connection(url, "satchel cli"), a.logger(a.err))
	if err != nil {
		return nil, explainNATS(url, err)
	}
	return &client{nc: nc, tenant: a.Tenant, agent: "cli"}, nil
}

func (c *client) close() { c.nc.Close() }

// call sends a request as JSON and decodes the reply into reply.
func (c *client) call(ctx context.Context, subject string, request, reply any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	raw, err := jetstream.Request(ctx, c.nc, subject, body)
	if err != nil {
		if errors.Is(err, jetstream.ErrNoService) {
			return fmt.Errorf("NATS at %s answers, no Satchel on it (%s); %w", c.nc.ConnectedUrlRedacted(), subject, errNobody)
		}
		var typed *schemas.Error
		if errors.As(err, &typed) {
			return typed
		}
		return fmt.Errorf("request %s: %w", subject, err)
	}
	if err := json.Unmarshal(raw, reply); err != nil {
		return fmt.Errorf("decode reply of %s: %w", subject, err)
	}
	return nil
}

// ask sends a ContextRequest.
func (c *client) ask(ctx context.Context, req schemas.ContextRequest) (schemas.ContextResult, error) {
	var res schemas.ContextResult
	subject, err := jetstream.ContextSubject(c.tenant, "request")
	if err != nil {
		return res, &usageError{err}
	}
	err = c.call(ctx, subject, req, &res)
	return res, err
}

// logCall asks log.v1.<tenant>.<verb>.
func (c *client) logCall(ctx context.Context, verb string, request, reply any) error {
	subject, err := jetstream.LogSubject(c.tenant, verb)
	if err != nil {
		return &usageError{err}
	}
	return c.call(ctx, subject, request, reply)
}
