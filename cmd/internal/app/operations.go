package app

import (
	"context"
	"strings"

	"satchel/pipeline/op"
	"satchel/pipeline/scope"
	"satchel/schemas"
	"satchel/worker/service"
)

// handler is how an endpoint answers.
type handler = func(ctx context.Context, tenant string, body []byte) (any, error)

// validated is a request that says what is wrong with it.
type validated[T any] interface {
	*T
	Validate() []schemas.Issue
}

// handlerOf decodes an operation's request and runs it for the principal. A context type that is
// not there is left to the engine, which has a code of its own for it.
func handlerOf[R any, P validated[R], O any](v *service.Service, who func(*R) (*schemas.Agent, string), run func(context.Context, scope.Scope, R) (O, error)) handler {
	return func(ctx context.Context, tenant string, body []byte) (any, error) {
		req, issues := schemas.Decode[R, P](body)
		if err := schemas.Invalid(issues); err != nil && !strings.HasPrefix(err.Field, "/context_types/") {
			return nil, err
		}
		from, purpose := who(&req)
		return v.Serve(ctx, tenant, from, purpose, func(s scope.Scope) (any, error) {
			out, err := run(ctx, s, req)
			if err != nil {
				return nil, err
			}
			return out, nil
		})
	}
}

// operations are the engine's answers by the verb of ctx.v1.<tenant>.<verb>.
func operations(v *service.Service, e *op.Operations) map[string]handler {
	return map[string]handler{
		"search":    handlerOf(v, func(r *schemas.SearchRequest) (*schemas.Agent, string) { return r.From, r.Purpose }, e.Search),
		"build":     handlerOf(v, func(r *schemas.BuildRequest) (*schemas.Agent, string) { return r.From, r.Purpose }, e.Build),
		"preview":   handlerOf(v, func(r *schemas.BuildRequest) (*schemas.Agent, string) { return r.From, r.Purpose }, e.Preview),
		"assemble":  handlerOf(v, func(r *schemas.AssembleRequest) (*schemas.Agent, string) { return r.From, r.Purpose }, e.Assemble),
		"premortem": handlerOf(v, func(r *schemas.PremortemRequest) (*schemas.Agent, string) { return r.From, r.Purpose }, e.Premortem),
		"items":     handlerOf(v, func(r *schemas.ItemsRequest) (*schemas.Agent, string) { return r.From, r.Purpose }, e.Items),
		"status":    handlerOf(v, func(r *schemas.StatusRequest) (*schemas.Agent, string) { return r.From, "" }, e.Status),
		"compact": handlerOf(v, func(r *schemas.CompactRequest) (*schemas.Agent, string) { return r.From, r.Purpose }, func(ctx context.Context, s scope.Scope, r schemas.CompactRequest) (schemas.CompactReply, error) {
			if r.PackID == "" {
				return e.Compact(ctx, s, r, nil)
			}
			stored, err := v.OpenPack(ctx, s, r.PackID)
			if err != nil {
				return schemas.CompactReply{}, err
			}
			return e.Compact(ctx, s, r, &stored)
		}),
		"recover": handlerOf(v, func(r *schemas.RecoverRequest) (*schemas.Agent, string) { return r.From, r.Purpose }, func(ctx context.Context, s scope.Scope, r schemas.RecoverRequest) (schemas.RecoverReply, error) {
			stored, err := v.OpenPack(ctx, s, r.PackID)
			if err != nil {
				return schemas.RecoverReply{}, err
			}
			return e.Recover(ctx, s, r, &stored)
		}),
		"template": handlerOf(v, func(r *schemas.TemplateRequest) (*schemas.Agent, string) { return r.From, "" }, e.Templates),
	}
}
