package gateway

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"satchel/schemas"
)

type object = map[string]any

// makeSchemaReference is a schema that the gateway serves, or a part of it: "receipt", "items-request#/properties/limit".
func makeSchemaReference(name string) object { return object{"$ref": "/v1/schemas/" + name} }

func orEmpty(pattern string) object { return object{"type": "string", "pattern": "^$|" + pattern} }

const (
	idPattern = `^[A-Za-z0-9._:-]{1,128}$`
	notBlank  = `[^ \t\r\n\v\f]`
)

// pathParameters are the schemas of the segments of paths.
var pathParameters = object{
	"id": makeSchemaReference("explain-request#/properties/pack_id"), "item": makeSchemaReference("explain-request#/properties/item_id"),
}

// parameter is what may stand in a query or in a header.
type parameter struct {
	in, name, description string
	schema                object
}

// listParameters are those of the operations, but for their paths.
func listParameters(operation string) []parameter {
	switch operation {
	case "remember":
		return []parameter{
			{"query", "wait", "how far the item has come when the reply is sent; default indexed",
				object{"type": "string", "enum": []string{"", "accepted", "logged", "indexed", "proved"}}},
			{"header", "Idempotency-Key", "the id of the event: the same request again stores nothing; created_at is required then",
				orEmpty(idPattern)},
		}
	case "items":
		var all []parameter
		for name, member := range map[string]string{"session": "session", "label": "labels", "kind": "kinds",
			"limit": "limit", "after": "after", "purpose": "purpose"} {
			all = append(all, parameter{"query", name, "", makeSchemaReference("items-request#/properties/" + member)})
		}
		slices.SortFunc(all, func(a, b parameter) int { return strings.Compare(a.name, b.name) })
		return all
	case "ledger":
		position := object{"type": "integer", "minimum": 0}
		return []parameter{
			{"query", "after", "position in the log behind which the stream begins; default its end", position},
			{"query", "kind", "kinds of entries; default all",
				object{"type": "array", "items": makeSchemaReference("ledger-reference#/properties/kind")}},
			{"header", "Last-Event-ID", "the position that the client had last; it stands for after", position},
		}
	}
	return nil
}

// requestBody is the schema of an operation's body, nil for none.
func requestBody(r route) object {
	closed := func(properties object, required ...string) object {
		return object{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
	}
	switch r.operation {
	case "recover":
		ids := object{"allOf": []any{makeSchemaReference("recover-request#/properties/item_ids")}, "minItems": 1}
		return closed(object{"item_ids": ids}, "item_ids")
	case "correct":
		given := func(name string) object {
			return object{"required": []string{name}, "properties": object{name: object{"minLength": 1}}}
		}
		body := closed(object{"text": orEmpty(notBlank), "by": orEmpty(idPattern),
			"reason": makeSchemaReference("memory-superseded#/properties/reason")}, []string{}...)
		body["oneOf"] = []any{given("text"), given("by")}
		return body
	case "forget":
		body := closed(object{"items": makeSchemaReference("memory-erased#/properties/items"),
			"reason": makeSchemaReference("memory-erased#/properties/reason"), "dry_run": object{"type": "boolean"},
			"erasure": object{"type": "string", "pattern": idPattern, "description": "Instead of items: the id of an erasure that is under way, to wait for"}}, []string{}...)
		body["oneOf"] = []any{object{"required": []string{"items"}}, object{"required": []string{"erasure"}}}
		return body
	}
	if r.request == "" {
		return nil
	}
	return makeSchemaReference(r.request)
}

// examples are bodies, by operation.
var examples = map[string]json.RawMessage{
	"remember": json.RawMessage(`{"content":"The build turned green."}`),
	"context":  json.RawMessage(`{"payload":{"query":{"text":"how is the build?"},"token_budget":500}}`),
	"search":   json.RawMessage(`{"query":"build","limit":5}`),
	"correct":  json.RawMessage(`{"text":"The build turned red.","reason":"misread"}`),
	"recover":  json.RawMessage(`{"item_ids":["build"]}`),
	"forget":   json.RawMessage(`{"items":["build"],"reason":"asked for","dry_run":true}`),
}

// listLinks say which operations take an id of a reply.
func listLinks(operation string) object {
	to := func(where string, operations ...string) object {
		all := object{}
		for _, name := range operations {
			all[name] = object{"operationId": name, "parameters": object{"id": "$response.body#/" + where}}
		}
		return all
	}
	switch operation {
	case "remember", "correct":
		return to("item", "item", "correct")
	case "context":
		return to("payload/pack_id", "pack", "explain", "recover")
	}
	return object{}
}

// replySchema is the schema of an operation's reply.
func (r route) replySchema() object {
	if r.operation == "forget" {
		return object{"anyOf": []any{makeSchemaReference("memory-erased#/$defs/ErasureReceipt"), makeSchemaReference("plan-reply")}}
	}
	return makeSchemaReference(r.reply)
}

// newItemSchema is the schema of a body of remember: that of an item of which the gateway fills in the rest.
// Attributes are not told apart by kind, as an item without one has the default: memory-item does that.
func newItemSchema() (json.RawMessage, error) {
	raw, err := schemas.JSONSchema("memory-item")
	if err != nil {
		return nil, err
	}
	var item struct {
		Properties map[string]object `json:"properties"`
		Defs       map[string]object `json:"$defs"`
	}
	whole := object{}
	for _, into := range []any{&item, &whole} {
		if err := json.Unmarshal(raw, into); err != nil {
			return nil, fmt.Errorf("schema of an item: %w", err)
		}
	}
	item.Properties["id"]["pattern"] = "^$|" + idPattern
	for _, name := range []string{"kind", "type"} {
		values, _ := item.Properties[name]["enum"].([]any)
		item.Properties[name]["enum"] = append([]any{""}, values...)
	}
	delete(item.Properties["security_label"], "minItems")
	scope := item.Defs["MemoryScope"]
	delete(scope, "required")
	delete(whole, "allOf")
	maps.DeleteFunc(item.Defs, func(name string, _ object) bool { return strings.HasSuffix(name, "Attributes") })
	if properties, ok := scope["properties"].(object); ok {
		properties["tenant"] = object{"type": "string", "description": "It is the token's, whatever stands here"}
	}
	maps.Copy(whole, object{"$id": schemas.SchemaURI("new-item"), "required": []string{"content"}, "properties": item.Properties, "$defs": item.Defs})
	return json.Marshal(whole)
}

// listStatuses are the refusals of an operation, beside those that any has.
func listStatuses(r route) []int {
	all := []int{400, 401, 403, 429, 431, 500, 503, 504}
	if r.method != http.MethodGet {
		all = append(all, 413)
	}
	if strings.Contains(r.path, "{") || r.operation == "head" || r.operation == "forget" || r.operation == "context" {
		all = append(all, 404)
	}
	if r.scope == ScopeWrite || r.scope == ScopeErase {
		all = append(all, 409)
	}
	if r.operation == "forget" {
		all = append(all, 202)
	}
	return all
}

var segment = regexp.MustCompile(`\{(\w+)\}`)

// describeRoute is a route as an operation of OpenAPI, whose answer is content.
func describeRoute(r route, content object) object {
	responses := object{"200": object{"description": "done", "content": content, "links": listLinks(r.operation)}}
	for _, status := range listStatuses(r) {
		refused := object{"application/json": object{"schema": makeSchemaReference("error")}}
		if status == http.StatusRequestHeaderFieldsTooLarge { // the server answers itself
			refused = object{"text/plain": object{"schema": object{"type": "string"}}}
		}
		responses[strconv.Itoa(status)] = object{"description": http.StatusText(status), "content": refused}
	}
	op := object{"operationId": r.operation, "summary": r.summary, "responses": responses,
		"security": []any{object{"token": []string{r.scope}}}}
	var all []any
	for _, s := range segment.FindAllStringSubmatch(r.path, -1) {
		all = append(all, object{"in": "path", "name": s[1], "required": true, "schema": pathParameters[s[1]]})
	}
	for _, p := range listParameters(r.operation) {
		one := object{"in": p.in, "name": p.name, "schema": p.schema}
		if p.description != "" {
			one["description"] = p.description
		}
		all = append(all, one)
	}
	if len(all) > 0 {
		op["parameters"] = all
	}
	if body := requestBody(r); body != nil {
		op["requestBody"] = object{"required": true, "content": object{
			"application/json": object{"schema": body, "example": examples[r.operation]}}}
	}
	return op
}

const followSummary = "Follow the ledger as it grows, from now on, or behind after or Last-Event-ID."

// openAPI describes the routes. Requests and replies are the JSON Schemas that the gateway serves beside it.
func openAPI(version string) (json.RawMessage, error) {
	paths := map[string]object{}
	for _, r := range routes {
		content := object{"application/json": object{"schema": r.replySchema()}}
		if r.operation == "context" {
			content["text/plain"] = object{"schema": object{"type": "string"}}
		}
		if paths[r.path] == nil {
			paths[r.path] = object{}
		}
		paths[r.path][strings.ToLower(r.method)] = describeRoute(r, content)
	}
	follow := route{operation: "ledger", method: http.MethodGet, path: LedgerPath, scope: ScopeAudit,
		summary: followSummary}
	paths[LedgerPath] = object{"get": describeRoute(follow, object{"text/event-stream": object{"schema": object{"type": "string"}}})}
	return json.Marshal(object{
		"openapi": "3.1.0", "info": object{"title": "Satchel", "version": version}, "paths": paths,
		"components": object{"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}}},
	})
}
