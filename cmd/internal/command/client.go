package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/emitters"
	"satchel/jetstream"
	"satchel/jetstream/embedded"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Client talks to a running Satchel over NATS.
type Client struct {
	NC     *nats.Conn
	Tenant string
	keyed  bool // as a principal of the embedded server
}

// Dial connects as the principal whose key is given, else as the operator of the server that
// works on the data folder, else as a client without a key.
func Dial(ctx context.Context, a *app.App) (*Client, error) {
	if err := checkTenant(a); err != nil {
		return nil, err
	}
	if a.NATSURL != "" || a.NKey != "" || a.Creds != "" {
		return connect(ctx, a, nil)
	}
	user, err := embedded.Operator(a.Path("streams"))
	if err != nil {
		return nil, err
	}
	if a.DirGiven && !a.HasServer() {
		return nil, fmt.Errorf("no process serves the data folder %s; %w", a.Dir, app.ErrNobody)
	}
	if user != nil {
		conn, err := connect(ctx, a, user)
		if errors.Is(err, jetstream.ErrCredentials) {
			return nil, config.Usagef("the server at %s has another data folder than %s: name its folder with --dir, or its address with --nats-url", a.Address(), a.Dir)
		}
		return conn, explainFolder(a, err)
	}
	conn, err := connect(ctx, a, nil)
	if errors.Is(err, jetstream.ErrCredentials) {
		return nil, config.Usagef("the server at %s knows its principals by their keys: name yours with --nats-nkey, or its data folder with --dir", a.Address())
	}
	return conn, explainFolder(a, err)
}

// explainFolder says, where nothing answered, that the data folder names another address, or that there is no folder.
func explainFolder(a *app.App, err error) error {
	if other := a.OtherAddress(); other != "" && errors.Is(err, app.ErrNobody) {
		return config.Usagef("no NATS server at %s; the process that has the data folder %s says it listens at %s: leave out --nats-port", a.Address(), a.Dir, other)
	}
	if _, missing := os.Stat(a.Dir); !errors.Is(err, app.ErrNobody) || !errors.Is(missing, os.ErrNotExist) || a.HasServer() {
		return err
	}
	return fmt.Errorf("no NATS server at %s, and no data folder at %s: name the folder of a running Satchel with --dir, or %w", a.Address(), a.Dir, app.ErrNobody)
}

// DialOperator connects with the rights of who owns the data folder of the embedded
// server, which dead letters need, or to a NATS of one's own. The tenant may be the one of dead letters of no tenant.
func DialOperator(ctx context.Context, a *app.App) (*Client, error) {
	if err := checkTenant(a); err != nil && a.Tenant != jetstream.NoTenant {
		return nil, err
	}
	if a.NATSURL != "" {
		return connect(ctx, a, nil)
	}
	user, err := embedded.Operator(a.Path("streams"))
	if err != nil {
		return nil, err
	}
	if user == nil {
		return nil, config.Usagef("dead letters are for who has the data folder of satchel up, and %s is none; name it with --dir", a.Dir)
	}
	conn, err := connect(ctx, a, user)
	if errors.Is(err, jetstream.ErrCredentials) {
		return nil, config.Usagef("the server at this address has another data folder than %s; name its folder with --dir", a.Dir)
	}
	return conn, err
}

func checkTenant(a *app.App) error {
	if !scope.ValidTenant(a.Tenant) {
		return &config.UsageError{Err: scope.CheckTenant(a.Tenant)}
	}
	return nil
}

func connect(ctx context.Context, a *app.App, user nats.Option) (*Client, error) {
	url := a.NATSURL
	if url == "" {
		url = a.Address()
	}
	cfg := a.Connection(url, "satchel cli")
	cfg.User = user
	nc, err := jetstream.Connect(ctx, cfg, a.Logger(a.Err))
	if err != nil {
		return nil, app.ExplainNATS(url, err)
	}
	return &Client{NC: nc, Tenant: a.Tenant, keyed: a.NATSURL == "" && a.NKey != ""}, nil
}

// Close closes it.
func (c *Client) Close() { c.NC.Close() }

// Call sends a request as JSON and decodes the reply into reply.
func (c *Client) Call(ctx context.Context, subject string, request, reply any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	raw, err := jetstream.Request(ctx, c.NC, subject, body)
	if err != nil {
		if errors.Is(err, jetstream.ErrNoService) && c.keyed {
			return config.Usagef("NATS at %s answers, nobody on %s: the key's principal is not registered in tenant %q, or no Satchel runs", c.NC.ConnectedUrlRedacted(), subject, c.Tenant)
		}
		if errors.Is(err, jetstream.ErrNoService) {
			return fmt.Errorf("NATS at %s answers, no Satchel on it (%s); %w", c.NC.ConnectedUrlRedacted(), subject, app.ErrNobody)
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

// Context sends a request to ctx.v1.<tenant>.<verb>.
func (c *Client) Context(ctx context.Context, verb string, request, reply any) error {
	subject, err := jetstream.ContextSubject(c.Tenant, verb)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	return c.Call(ctx, subject, request, reply)
}

// Operation dials, sends one request and hangs up. Where the reply is empty it warns of a tenant without memories.
func Operation(ctx context.Context, a *app.App, verb string, request, reply any) error {
	if _, err := a.Zone(); err != nil {
		return err
	}
	conn, err := Dial(ctx, a)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Used(ctx); err != nil {
		return err
	}
	if err := conn.Context(ctx, verb, request, reply); err != nil || !isEmpty(reply) {
		return err
	}
	return warnUnused(ctx, a)
}

// isEmpty reports whether a reply shows nothing, nor says that something was left out of it.
func isEmpty(reply any) bool {
	switch r := reply.(type) {
	case *schemas.ContextResult:
		return len(r.Payload.Results)+len(r.Payload.Drop.Drops)+len(r.Payload.Drop.Denied) == 0
	case *schemas.CompactReply:
		return len(r.Results)+len(r.Drop.Drops)+len(r.Drop.Denied) == 0
	case *schemas.SearchReply:
		return len(r.Results) == 0
	case *schemas.ItemsReply:
		return len(r.Items) == 0
	case *schemas.FormattedContext:
		return len(r.Items) == 0
	case *schemas.RunReply:
		return r.Answer == nil || len(r.Answer.Sentences) == 0
	}
	return false
}

// dialEmitter dials, and returns an emitter for the settings' tenant as well. The caller MUST close the connection.
func dialEmitter(ctx context.Context, a *app.App, as emitters.Config) (*Client, *emitters.Emitter, error) {
	conn, err := Dial(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	as.Tenant = a.Tenant
	e, err := emitters.New(conn.NC, as)
	if err != nil {
		conn.Close()
		return nil, nil, &config.UsageError{Err: err}
	}
	return conn, e, nil
}

// Used refuses to ask a tenant that has no log: the answer would be the first entry of one,
// and the tenant is misspelt or has nothing to tell.
func (c *Client) Used(ctx context.Context) error {
	var head schemas.HeadReply
	if err := c.LogCall(ctx, "head", struct{}{}, &head); err != nil || head.Size > 0 {
		return nil // what is wrong, the question meets as well
	}
	return config.Usagef("tenant %q is empty: nothing was ever recorded there", c.Tenant)
}

// Ask sends a ContextRequest.
func (c *Client) Ask(ctx context.Context, req schemas.ContextRequest) (res schemas.ContextResult, err error) {
	err = c.Context(ctx, "request", req, &res)
	return res, err
}

// LogCall asks log.v1.<tenant>.<verb>.
func (c *Client) LogCall(ctx context.Context, verb string, request, reply any) error {
	subject, err := jetstream.LogSubject(c.Tenant, verb)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	return c.Call(ctx, subject, request, reply)
}

// LedgerEnd is where the ledger stream of a tenant ends.
type LedgerEnd struct {
	At     int64 // log position of its last entry, 0 for none
	Logged int64 // entries of the log before that was read
	Passed bool  // all that it had of the tenant made way for others
}

// LedgerCatchesUp waits until the ledger stream has what the log had when it was called:
// an entry reaches it a moment after it is logged. It does not wait for long; what comes
// later is simply not there yet.
func (c *Client) LedgerCatchesUp(ctx context.Context) (end LedgerEnd, err error) {
	var head schemas.HeadReply
	if err := c.LogCall(ctx, "head", struct{}{}, &head); err != nil {
		return end, ctx.Err() // nobody is there to say: what the stream has is read
	}
	end.Logged = head.Size
	js, err := jetstream.Open(ctx, c.NC)
	if err != nil {
		return end, err
	}
	ledger, err := jetstream.OpenLedger(ctx, c.NC, js, jetstream.LedgerConfig{})
	if err != nil {
		return end, err
	}
	if end.Passed, err = ledger.Passed(ctx, c.Tenant); end.Passed || err != nil {
		return end, err
	}
	patience := 3 * time.Second
	if c.keyed { // it may not see the last entries
		patience = 500 * time.Millisecond
	}
	for deadline := time.Now().Add(patience); ; {
		if end.At, err = ledger.LastPosition(ctx, c.Tenant); err != nil || end.At >= end.Logged || time.Now().After(deadline) {
			return end, err
		}
		select {
		case <-ctx.Done():
			return end, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
