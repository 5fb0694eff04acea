package service

import (
	"context"
	"fmt"

	"satchel/schemas"
)

type callerKey struct{}

// WithCaller returns the context of a call whose principal the transport vouches for: it may
// act as no other. An empty id is a caller that the transport does not know.
func WithCaller(ctx context.Context, id string) context.Context {
	if id == "" {
		return ctx
	}
	return context.WithValue(ctx, callerKey{}, id)
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
