package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/jetstream"
	"satchel/jetstream/embedded"
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
func (a *app) dial(ctx context.Context) (*client, error) { return a.connect(ctx, nil) }

// dialOperator connects with the rights of who owns the data folder of the embedded
// server, which dead letters need, or to a NATS of one's own.
func (a *app) dialOperator(ctx context.Context) (*client, error) {
	if a.NATSURL != "" {
		return a.dial(ctx)
	}
	user, err := embedded.Operator(a.path("streams"))
	if err != nil {
		return nil, err
	}
	if user == nil {
		return nil, usagef("dead letters are for who has the data folder of satchel up, and %s is none; name it with --dir", a.Dir)
	}
	conn, err := a.connect(ctx, user)
	if errors.Is(err, nats.ErrAuthorization) {
		return nil, usagef("the server at this address has another data folder than %s; name its folder with --dir", a.Dir)
	}
	return conn, err
}

func (a *app) connect(ctx context.Context, user nats.Option) (*client, error) {
	if !scope.ValidTenant(a.Tenant) {
		return nil, &usageError{scope.CheckTenant(a.Tenant)}
	}
	url := a.NATSURL
	if url == "" {
		url = a.address()
	}
	cfg := a.connection(url, "satchel cli")
	cfg.User = user
	nc, err := jetstream.Connect(ctx, cfg, a.logger(a.err))
	if err != nil {
		return nil, explainNATS(url, err)
	}
	return &client{nc: nc, tenant: a.Tenant, agent: "cli"}, nil
}

// natsPort is the port of the server in the process, when none is given.
const natsPort = 4222

// addressFile holds, in the data folder, the address of the server in the process that
// has the folder open, so that commands find it on whatever port it listens.
const addressFile = "nats.url"

// address is where the server in a process listens: at the port that is given on the
// command line, be it the usual one, or otherwise than the usual one in the environment; or
// as the process wrote into the data folder; or at the usual port.
func (a *app) address() string {
	if a.NATSPort <= 0 || a.NATSPort == natsPort && !a.portGiven {
		if raw, err := os.ReadFile(a.path(addressFile)); err == nil {
			return strings.TrimSpace(string(raw))
		}
		return fmt.Sprintf("nats://127.0.0.1:%d", natsPort)
	}
	return fmt.Sprintf("nats://127.0.0.1:%d", a.NATSPort)
}

// showAddress writes the address into the data folder; the function it returns takes it
// away again.
func (a *app) showAddress(url string) (hide func() error, err error) {
	path := a.path(addressFile)
	if err := os.WriteFile(path, []byte(url+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write address: %w", err)
	}
	return func() error { return os.Remove(path) }, nil
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

// ledgerEnd is where the ledger stream of a tenant ends.
type ledgerEnd struct {
	at     int64 // log position of its last entry, 0 for none
	logged int64 // entries of the log before that was read
	passed bool  // all that it had of the tenant made way for others
}

// ledgerCatchesUp waits until the ledger stream has what the log had when it was called:
// an entry reaches it a moment after it is logged. It does not wait for long; what comes
// later is simply not there yet.
func (c *client) ledgerCatchesUp(ctx context.Context) (end ledgerEnd, err error) {
	var head schemas.HeadReply
	if err := c.logCall(ctx, "head", struct{}{}, &head); err != nil {
		return end, ctx.Err() // nobody is there to say: what the stream has is read
	}
	end.logged = head.Size
	js, err := jetstream.Open(ctx, c.nc)
	if err != nil {
		return end, err
	}
	ledger, err := jetstream.OpenLedger(ctx, c.nc, js, jetstream.LedgerConfig{})
	if err != nil {
		return end, err
	}
	if end.passed, err = ledger.Passed(ctx, c.tenant); end.passed || err != nil {
		return end, err
	}
	for deadline := time.Now().Add(3 * time.Second); ; {
		if end.at, err = ledger.LastPosition(ctx, c.tenant); err != nil || end.at >= end.logged || time.Now().After(deadline) {
			return end, err
		}
		select {
		case <-ctx.Done():
			return end, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
