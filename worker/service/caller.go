package service

import (
	"context"
	"fmt"

	"satchel/schemas"
)

type (
	callerKey struct{}
	payerKey  struct{}
)

// WithCaller returns the context of a call whose principal the transport vouches for: it may
// act as no other. An empty id is a caller that the transport does not know.
func WithCaller(ctx context.Context, id string) context.Context {
	if id == "" {
		return ctx
	}
	return context.WithValue(ctx, callerKey{}, id)
}

// nobody is the id of a caller that neither the transport nor the request names.
const nobody = "nobody"

// callerOf returns the principal that the transport vouches for.
func callerOf(ctx context.Context) string {
	if caller, known := ctx.Value(callerKey{}).(string); known {
		return caller
	}
	return nobody
}

// WithPayer returns the context of a call whose work counts against a principal: the one that the
// transport vouches for, or the one that is claimed.
func WithPayer(ctx context.Context, name string) context.Context {
	if name == "" {
		return ctx
	}
	return context.WithValue(ctx, payerKey{}, name)
}

// payerOf returns the principal that a call's work counts against, "" for none.
func payerOf(ctx context.Context) string {
	name, _ := ctx.Value(payerKey{}).(string)
	return name
}

// mayActAs refuses the claim, in field of the request, to be another principal than the
// caller.
func mayActAs(ctx context.Context, id, field string) error {
	caller, known := ctx.Value(callerKey{}).(string)
	if !known || caller == id {
		return nil
	}
	return &schemas.Error{Code: schemas.CodePolicyDenied, Field: field, Message: fmt.Sprintf("the key of the connection is that of %q, which may not act as another principal", caller)}
}
