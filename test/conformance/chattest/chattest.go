// Package chattest serves chat completions to tests, over real HTTP, and holds the
// suite that every driver of the chat port passes.
package chattest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Call is one request as the endpoint received it.
type Call struct {
	Path   string
	Key    string // the bearer token
	Fields map[string]json.RawMessage
}

// Messages are the contents of the call's messages.
func (c *Call) Messages() []string {
	var list []struct {
		Content string `json:"content"`
	}
	if json.Unmarshal(c.Fields["messages"], &list) != nil {
		return nil
	}
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].Content
	}
	return out
}

// Reply is what the endpoint answers.
type Reply struct {
	Status int // 0 is 200
	Text   string
	Finish string // "" is "stop"
	Body   string // sent as it is, instead of a completion, when it is not ""
	Header map[string]string
	// Hold keeps the answer back until it is closed or the client goes away.
	Hold <-chan struct{}
}

// Endpoint is a chat endpoint that is up until the test ends.
type Endpoint struct {
	URL string // ends in /v1

	mu    sync.Mutex
	calls []Call
}

// Calls are the calls so far.
func (e *Endpoint) Calls() []Call {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Call(nil), e.calls...)
}

// Serve starts an endpoint that answers the n-th call, from 0, with answer(n, call).
func Serve(t testing.TB, answer func(n int, call Call) Reply) *Endpoint {
	t.Helper()
	e := &Endpoint{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call := Call{Path: r.URL.Path}
		if _, err := scan(r.Header.Get("Authorization"), &call.Key); err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&call.Fields); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		e.mu.Lock()
		n := len(e.calls)
		e.calls = append(e.calls, call)
		e.mu.Unlock()
		send(t, w, r, call, answer(n, call))
	}))
	t.Cleanup(server.Close)
	e.URL = server.URL + "/v1"
	return e
}

// scan reads the token of an Authorization header; none is no error.
func scan(header string, key *string) (bool, error) {
	const scheme = "Bearer "
	if header == "" {
		return false, nil
	}
	if len(header) <= len(scheme) || header[:len(scheme)] != scheme {
		return false, http.ErrNotSupported
	}
	*key = header[len(scheme):]
	return true, nil
}

func send(t testing.TB, w http.ResponseWriter, r *http.Request, call Call, reply Reply) {
	if reply.Hold != nil {
		select {
		case <-reply.Hold:
		case <-r.Context().Done():
			return
		}
	}
	for k, v := range reply.Header {
		w.Header().Set(k, v)
	}
	reply.Status = cmp.Or(reply.Status, http.StatusOK)
	body := []byte(reply.Body)
	if reply.Body == "" {
		reply.Finish = cmp.Or(reply.Finish, "stop")
		var err error
		body, err = json.Marshal(map[string]any{
			"model":   call.Fields["model"],
			"choices": []any{map[string]any{"index": 0, "message": map[string]string{"role": "assistant", "content": reply.Text}, "finish_reason": reply.Finish}},
			"usage":   map[string]int{"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
		})
		if err != nil {
			t.Errorf("encode reply: %v", err)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(reply.Status)
	if _, err := w.Write(body); err != nil && r.Context().Err() == nil {
		t.Errorf("write reply: %v", err)
	}
}
