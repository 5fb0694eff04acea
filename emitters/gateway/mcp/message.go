package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"satchel/schemas"
)

// Refuse returns the JSON-RPC error for a message that the SDK would misread, or answer in words of
// Go, nil for any other. The SDK takes the last of two equal names, rounds ids, and ends a session at
// what it cannot read.
func Refuse(message []byte) []byte {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(message, &m) // without an id where that fails
	if issue := schemas.Invalid(schemas.ReadText(message)); issue != nil {
		code := jsonrpc.CodeInvalidRequest
		if !json.Valid(message) {
			code = jsonrpc.CodeParseError
		}
		return encodeRPCError(m.ID, code, cmp.Or(issue.Field, "the message")+" "+issue.Message)
	}
	if !isExactID(m.ID) {
		return encodeRPCError(m.ID, jsonrpc.CodeInvalidRequest, "the id is neither a string of characters nor a whole number from -(2^53-1) to 2^53-1: others may change on their way")
	}
	read, err := jsonrpc.DecodeMessage(message)
	if err != nil {
		return encodeRPCError(m.ID, jsonrpc.CodeInvalidRequest, "this is not a message of JSON-RPC 2.0")
	}
	if answer, ok := read.(*jsonrpc.Response); ok && answer.Result == nil && answer.Error == nil {
		return encodeRPCError(m.ID, jsonrpc.CodeInvalidRequest, "the message has an id, and no method, result or error")
	}
	call, ok := read.(*jsonrpc.Request)
	if !ok || len(call.Params) == 0 {
		return nil
	}
	if into := paramsOf(call.Method); into != nil {
		err = json.Unmarshal(call.Params, into)
	}
	if err == nil {
		return nil
	}
	say := "the params of " + call.Method + " are of another type than it takes"
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) && typed.Field != "" {
		say += ": " + typed.Field
	}
	return encodeRPCError(m.ID, jsonrpc.CodeInvalidParams, say)
}

// isExactID reports whether an id comes back as it was sent. The SDK keeps numbers as float64, and half a character as U+FFFD.
func isExactID(id json.RawMessage) bool {
	if len(id) == 0 || string(id) == "null" {
		return true
	}
	if id[0] == '"' {
		var text string
		err := json.Unmarshal(id, &text)
		whole := strings.Count(string(id), "\uFFFD") + strings.Count(strings.ToLower(string(id)), `\ufffd`)
		return err == nil && strings.Count(text, "\uFFFD") == whole
	}
	const beyond = 1 << 53
	n, err := strconv.ParseFloat(string(id), 64)
	return err == nil && n == math.Trunc(n) && math.Abs(n) < beyond
}

// encodeRPCError is a JSON-RPC error. An id that may not be one is left out.
func encodeRPCError(id json.RawMessage, code int, say string) []byte {
	if len(id) == 0 || id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f' {
		id = json.RawMessage("null")
	}
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": say}})
	if err != nil { // neither is anything but text
		return nil
	}
	return raw
}

// paramsOf returns what the params of a method are read into, nil for a method that the server has not.
func paramsOf(method string) any {
	switch method {
	case "initialize":
		return &sdk.InitializeParams{}
	case "notifications/initialized":
		return &sdk.InitializedParams{}
	case "notifications/cancelled":
		return &sdk.CancelledParams{}
	case "notifications/progress":
		return &sdk.ProgressNotificationParams{}
	case "notifications/roots/list_changed":
		//lint:ignore SA1019 clients still send it
		return &sdk.RootsListChangedParams{}
	case "ping":
		return &sdk.PingParams{}
	case "server/discover":
		return &sdk.DiscoverParams{}
	case "tools/list":
		return &sdk.ListToolsParams{}
	case "tools/call":
		return &sdk.CallToolParamsRaw{}
	case "prompts/list":
		return &sdk.ListPromptsParams{}
	case "prompts/get":
		return &sdk.GetPromptParams{}
	case "resources/list":
		return &sdk.ListResourcesParams{}
	case "resources/templates/list":
		return &sdk.ListResourceTemplatesParams{}
	case "resources/read":
		return &sdk.ReadResourceParams{}
	case "resources/subscribe":
		return &sdk.SubscribeParams{}
	case "resources/unsubscribe":
		return &sdk.UnsubscribeParams{}
	case "subscriptions/listen":
		return &sdk.SubscriptionsListenParams{}
	case "completion/complete":
		return &sdk.CompleteParams{}
	case "logging/setLevel":
		//lint:ignore SA1019 clients still send it
		return &sdk.SetLoggingLevelParams{}
	}
	return nil
}
