package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"satchel/emitters"
	"satchel/schemas"
)

// route is one operation over HTTP.
type route struct {
	operation, method, path, scope string
	request, reply                 string // names of schemas; "" for none
	summary                        string
	serve                          func(ctx context.Context, c *emitters.Emitter, r *http.Request, body []byte) (any, error)
}

// routes is the table that the mux and the OpenAPI document are made of.
var routes = []route{
	{"remember", "POST", "/v1/memories", ScopeWrite, "memory-item", "receipt", "Store an item. Idempotency-Key is the event's id; wait is accepted, logged, indexed or proved.", remember},
	{"items", "GET", "/v1/memories", ScopeRead, "", "items-reply", "List items, newest first: by session, label and kind, each as often as wanted; limit, and after, the next of an earlier page.", list},
	{"item", "GET", "/v1/memories/{id}", ScopeRead, "", "items-reply", "Return one item.", item},
	{"context", "POST", "/v1/context", ScopeRead, "context-request", "context-result", "Ask for a context pack. Accept: text/plain returns the text alone.", ask},
	{"search", "POST", "/v1/search", ScopeRead, "search-request", "search-reply", "Find items, best first.", search},
	{"pack", "GET", "/v1/packs/{id}", ScopeRead, "", "context-result", "Return an earlier result as it was shown.", pack},
	{"explain", "GET", "/v1/packs/{id}/items/{item}", ScopeRead, "", "explain-reply", "Say why an item is, or is not, in a pack.", explain},
	{"recover", "POST", "/v1/packs/{id}/recover", ScopeRead, "recover-request", "recover-reply", "Return items whole that a pack left out. The body has item_ids.", restore},
	{"correct", "POST", "/v1/memories/{id}/correct", ScopeWrite, "", "receipt", "Replace an item by text, or by another item.", correct},
	{"forget", "POST", "/v1/forget", ScopeErase, "", "memory-erased", "Erase items for good. The reply is the erasure receipt; with dry_run it says what would go, and nothing is erased.", forget},
	{"status", "GET", "/v1/status", ScopeRead, "", "status-reply", "Return the size of the log, and up to which position each index has everything.", state},
	{"head", "GET", "/v1/log/head", ScopeRead, "", "head-reply", "Return the signed head of the tenant's log.", head},
}

func remember(ctx context.Context, c *emitters.Emitter, r *http.Request, body []byte) (any, error) {
	var item schemas.MemoryItem
	if err := decode(body, &item); err != nil {
		return nil, err
	}
	item.Scope.Tenant = "" // it is the token's
	wait := cmp.Or(schemas.ReceiptLevel(r.URL.Query().Get("wait")), schemas.ReceiptIndexed)
	levels := []schemas.ReceiptLevel{schemas.ReceiptAccepted, schemas.ReceiptLogged, schemas.ReceiptIndexed, schemas.ReceiptProved}
	if !slices.Contains(levels, wait) {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/wait", Message: "wait must be accepted, logged, indexed or proved"}
	}
	key := r.Header.Get("Idempotency-Key")
	if key != "" && item.CreatedAt.IsZero() {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/created_at", Message: "an Idempotency-Key needs created_at: sent again, the event would carry another time"}
	}
	item.ID = cmp.Or(item.ID, key, c.NewID())
	receipt, err := c.Remember(ctx, item, &emitters.Options{Wait: wait, EventID: key})
	return written{item.ID, receipt}, err
}

// written is a receipt with the id of the item.
type written struct {
	Item string `json:"item"`
	schemas.Receipt
}

func ask(ctx context.Context, c *emitters.Emitter, _ *http.Request, body []byte) (any, error) {
	var req schemas.ContextRequest
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	req.Meta.From, req.Payload.Tenant = nil, "" // they are the token's
	return c.Ask(ctx, req)
}

func search(ctx context.Context, c *emitters.Emitter, _ *http.Request, body []byte) (any, error) {
	var req schemas.SearchRequest
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	req.From = nil // it is the token's
	return c.Search(ctx, req)
}

func list(ctx context.Context, c *emitters.Emitter, r *http.Request, _ []byte) (any, error) {
	asked, req := r.URL.Query(), schemas.ItemsRequest{}
	for name, values := range asked {
		switch name {
		case "session":
			req.Session = values[0]
		case "after":
			req.After = values[0]
		case "purpose":
			req.Purpose = values[0]
		case "label":
			req.Labels = values
		case "kind":
			for _, v := range values {
				req.Kinds = append(req.Kinds, schemas.Kind(v))
			}
		case "limit":
			n, err := strconv.Atoi(values[0])
			if err != nil {
				return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/limit", Message: "limit must be a number"}
			}
			req.Limit = n
		default:
			return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/" + name, Message: "there is no such parameter: session, label, kind, purpose, limit and after are known"}
		}
	}
	return c.Items(ctx, req)
}

func state(ctx context.Context, c *emitters.Emitter, _ *http.Request, _ []byte) (any, error) {
	return c.Status(ctx)
}

func item(ctx context.Context, c *emitters.Emitter, r *http.Request, _ []byte) (any, error) {
	reply, err := c.Items(ctx, schemas.ItemsRequest{ItemIDs: []string{r.PathValue("id")}})
	if err == nil && len(reply.Items) == 0 {
		return nil, &schemas.Error{Code: schemas.CodeNotFound, Field: "/id", Message: "there is no such item that you may see"}
	}
	return reply, err
}

func pack(ctx context.Context, c *emitters.Emitter, r *http.Request, _ []byte) (any, error) {
	return c.Pack(ctx, r.PathValue("id"))
}

func explain(ctx context.Context, c *emitters.Emitter, r *http.Request, _ []byte) (any, error) {
	return c.Explain(ctx, r.PathValue("id"), r.PathValue("item"))
}

func restore(ctx context.Context, c *emitters.Emitter, r *http.Request, body []byte) (any, error) {
	var in struct {
		ItemIDs []string `json:"item_ids"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	return c.Recover(ctx, r.PathValue("id"), in.ItemIDs)
}

func correct(ctx context.Context, c *emitters.Emitter, r *http.Request, body []byte) (any, error) {
	var in struct {
		Text   string `json:"text"`
		By     string `json:"by"`
		Reason string `json:"reason"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	by, receipt, err := c.Correct(ctx, r.PathValue("id"), emitters.Correction{Text: in.Text, By: in.By, Reason: in.Reason}, &emitters.Options{Wait: schemas.ReceiptIndexed})
	return written{by, receipt}, err
}

func forget(ctx context.Context, c *emitters.Emitter, _ *http.Request, body []byte) (any, error) {
	var in struct {
		Items  []string `json:"items"`
		Reason string   `json:"reason"`
		DryRun bool     `json:"dry_run"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if len(in.Items) == 0 {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/items", Message: "name at least one item"}
	}
	if in.DryRun {
		return c.Plan(ctx, in.Items)
	}
	return c.Forget(ctx, in.Items, in.Reason)
}

func head(ctx context.Context, c *emitters.Emitter, _ *http.Request, _ []byte) (any, error) {
	return c.Head(ctx)
}

// decode reads a body strictly: an unknown member is an error, and so is anything behind the value.
func decode(body []byte, v any) error {
	if !utf8.Valid(body) {
		return &schemas.Error{Code: schemas.CodeValidation, Message: "the body is not UTF-8"}
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field == "" {
		return &schemas.Error{Code: schemas.CodeValidation, Message: "the body must be a JSON object"}
	}
	if errors.As(err, &wrong) {
		return &schemas.Error{Code: schemas.CodeValidation, Field: "/" + strings.ReplaceAll(wrong.Field, ".", "/"), Message: fmt.Sprintf("the member %s cannot be a %s", wrong.Field, wrong.Value)}
	}
	if err == nil {
		err = repeated(body)
	}
	if err == nil && d.Decode(&struct{}{}) != io.EOF {
		err = errors.New("more than one JSON value")
	}
	if err != nil {
		return &schemas.Error{Code: schemas.CodeValidation, Message: "the body is not the request that is expected, see /openapi.json: " + strings.TrimPrefix(err.Error(), "json: ")}
	}
	return nil
}

// repeated reports a member of an object that stands twice, in whatever case: two readers
// would take two values.
func repeated(body []byte) error {
	d := json.NewDecoder(bytes.NewReader(body))
	if brace, err := d.Token(); err != nil || brace != json.Delim('{') {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		key := strings.ToLower(fmt.Sprint(name))
		if seen[key] {
			return fmt.Errorf("member %q stands twice", name)
		}
		seen[key] = true
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			return err
		}
	}
	return nil
}

// openAPI describes the routes. Requests and replies are the JSON Schemas that the gateway serves beside it.
func openAPI(version string) (json.RawMessage, error) {
	content := func(name string) map[string]any {
		return map[string]any{"application/json": map[string]any{"schema": map[string]any{"$ref": "/v1/schemas/" + name}}}
	}
	paths := map[string]map[string]any{}
	for _, r := range routes {
		op := map[string]any{"operationId": r.operation, "summary": r.summary, "security": []any{map[string]any{"token": []string{r.scope}}},
			"responses": map[string]any{"200": map[string]any{"description": "done", "content": content(r.reply)}, "default": map[string]any{"description": "refused", "content": content("error")}}}
		if r.request != "" {
			op["requestBody"] = map[string]any{"required": true, "content": content(r.request)}
		}
		if paths[r.path] == nil {
			paths[r.path] = map[string]any{}
		}
		paths[r.path][map[string]string{"GET": "get", "POST": "post"}[r.method]] = op
	}
	paths[LedgerPath] = map[string]any{"get": map[string]any{
		"operationId": "ledger", "summary": "Follow the ledger as it grows, from now on, or behind after or Last-Event-ID; kind as often as wanted.",
		"security": []any{map[string]any{"token": []string{ScopeAudit}}},
		"responses": map[string]any{
			"200":     map[string]any{"description": "events, each with a ledger entry", "content": map[string]any{"text/event-stream": map[string]any{"schema": map[string]any{"type": "string"}}}},
			"default": map[string]any{"description": "refused", "content": content("error")}},
	}}
	return json.Marshal(map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": "Satchel", "version": version}, "paths": paths,
		"components": map[string]any{"securitySchemes": map[string]any{"token": map[string]any{"type": "http", "scheme": "bearer"}}},
	})
}
