package gateway

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"

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
	{"remember", "POST", "/v1/memories", ScopeWrite, "new-item", "receipt", "Store an item. Idempotency-Key is the event's id; wait is accepted, logged, indexed or proved.", rememberItem},
	{"items", "GET", "/v1/memories", ScopeRead, "", "items-reply", "List items, newest first: by session, label and kind, each as often as wanted; limit, and after, the next of an earlier page.", listItems},
	{"item", "GET", "/v1/memories/{id}", ScopeRead, "", "items-reply", "Return one item.", readItem},
	{"context", "POST", "/v1/context", ScopeRead, "context-request", "context-result", "Ask for a context pack. Accept: text/plain returns the text alone.", askContext},
	{"search", "POST", "/v1/search", ScopeRead, "search-request", "search-reply", "Find items, best first.", searchItems},
	{"pack", "GET", "/v1/packs/{id}", ScopeRead, "", "context-result", "Return an earlier result as it was shown.", readPack},
	{"explain", "GET", "/v1/packs/{id}/items/{item}", ScopeRead, "", "explain-reply", "Say why an item is, or is not, in a pack.", explainItem},
	{"recover", "POST", "/v1/packs/{id}/recover", ScopeRead, "recover-request", "recover-reply", "Return items whole that a pack left out. The body has item_ids.", restoreItems},
	{"correct", "POST", "/v1/memories/{id}/correct", ScopeWrite, "", "receipt", "Replace an item by text, or by another item.", correctItem},
	{"forget", "POST", "/v1/forget", ScopeErase, "", "memory-erased", "Erase items for good. The reply is the erasure receipt; with dry_run it says what would go, and nothing is erased.", forgetItems},
	{"status", "GET", "/v1/status", ScopeRead, "", "status-reply", "Return the size of the log, and up to which position each index has everything.", readState},
	{"head", "GET", "/v1/log/head", ScopeRead, "", "head-reply", "Return the signed head of the tenant's log.", readHead},
}

func rememberItem(ctx context.Context, c *emitters.Emitter, r *http.Request, body []byte) (any, error) {
	read, err := decodeBody(body, schemas.Decode[newItem])
	if err != nil {
		return nil, err
	}
	item := schemas.MemoryItem(read)
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

func askContext(ctx context.Context, c *emitters.Emitter, _ *http.Request, body []byte) (any, error) {
	req, err := decodeBody(body, schemas.DecodeContextRequest)
	if err != nil {
		return nil, err
	}
	req.Meta.From = nil
	req.Payload.Tenant = "" // they are the token's
	return c.Ask(ctx, req)
}

func searchItems(ctx context.Context, c *emitters.Emitter, _ *http.Request, body []byte) (any, error) {
	req, err := decodeBody(body, schemas.Decode[schemas.SearchRequest])
	if err != nil {
		return nil, err
	}
	req.From = nil // it is the token's
	return c.Search(ctx, req)
}

func listItems(ctx context.Context, c *emitters.Emitter, r *http.Request, _ []byte) (any, error) {
	asked := r.URL.Query()
	req := schemas.ItemsRequest{}
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

func readState(ctx context.Context, c *emitters.Emitter, _ *http.Request, _ []byte) (any, error) {
	return c.Status(ctx)
}

func readItem(ctx context.Context, c *emitters.Emitter, r *http.Request, _ []byte) (any, error) {
	reply, err := c.Items(ctx, schemas.ItemsRequest{ItemIDs: []string{r.PathValue("id")}})
	if err == nil && len(reply.Items) == 0 {
		return nil, &schemas.Error{Code: schemas.CodeNotFound, Field: "/id", Message: "there is no such item that you may see"}
	}
	return reply, err
}

func readPack(ctx context.Context, c *emitters.Emitter, r *http.Request, _ []byte) (any, error) {
	return c.Pack(ctx, r.PathValue("id"))
}

func explainItem(ctx context.Context, c *emitters.Emitter, r *http.Request, _ []byte) (any, error) {
	return c.Explain(ctx, r.PathValue("id"), r.PathValue("item"))
}

func restoreItems(ctx context.Context, c *emitters.Emitter, r *http.Request, body []byte) (any, error) {
	in, err := decodeBody(body, schemas.Decode[recovery])
	if err != nil {
		return nil, err
	}
	return c.Recover(ctx, r.PathValue("id"), in.ItemIDs)
}

func correctItem(ctx context.Context, c *emitters.Emitter, r *http.Request, body []byte) (any, error) {
	in, err := decodeBody(body, schemas.Decode[correction])
	if err != nil {
		return nil, err
	}
	by, receipt, err := c.Correct(ctx, r.PathValue("id"), emitters.Correction{Text: in.Text, By: in.By, Reason: in.Reason}, &emitters.Options{Wait: schemas.ReceiptIndexed})
	return written{by, receipt}, err
}

func forgetItems(ctx context.Context, c *emitters.Emitter, _ *http.Request, body []byte) (any, error) {
	in, err := decodeBody(body, schemas.Decode[erasure])
	if err != nil {
		return nil, err
	}
	if in.DryRun {
		return c.Plan(ctx, in.Items)
	}
	if len(in.Items) == 0 {
		return c.Erasure(ctx, in.Erasure)
	}
	return c.Forget(ctx, in.Items, in.Reason)
}

func readHead(ctx context.Context, c *emitters.Emitter, _ *http.Request, _ []byte) (any, error) {
	return c.Head(ctx)
}
