package client

import (
	"context"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/jetstream"
	"satchel/schemas"
)

// Context sends a request to ctx.v1.<tenant>.<verb>.
func (c *Client) Context(ctx context.Context, verb string, request, reply any) error {
	subject, err := jetstream.ContextSubject(c.Tenant, verb)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	return c.Call(ctx, subject, request, reply)
}

// Operation dials, sends one request and hangs up.
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
	return conn.Context(ctx, verb, request, reply)
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
