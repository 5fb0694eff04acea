package remote_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/model"
	"satchel/pipeline/model/remote"
	"satchel/test/conformance/chattest"
)

func openChat(t *testing.T, url string, o chattest.Options) model.Chat {
	t.Helper()
	m, err := remote.NewChat(remote.ChatConfig{URL: url, Model: "small", Key: o.Key, Timeout: o.Timeout, Retries: o.Retries, Backoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestModel(t *testing.T) {
	t.Parallel()
	chattest.Run(t, openChat)
}

func question(text string) model.ChatRequest {
	return model.ChatRequest{Messages: []model.ChatMessage{{Role: model.User, Content: text}}, Stop: []string{"END"}, JSON: true}
}

// TestDialect sends what an endpoint takes: fields it refuses by name are left out,
// and stay left out.
func TestDialect(t *testing.T) {
	t.Parallel()
	e := chattest.Serve(t, func(_ int, c chattest.Call) chattest.Reply {
		for _, field := range []string{"max_tokens", "temperature", "stop", "response_format"} {
			if _, there := c.Fields[field]; there {
				return chattest.Reply{Status: 400, Body: `{"error":{"param":"` + field + `","code":"unsupported_parameter"}}`}
			}
		}
		return chattest.Reply{Text: "{}"}
	})
	m := openChat(t, e.URL, chattest.Options{Retries: -1})
	for range 2 {
		if _, err := m.Complete(t.Context(), question("a")); err != nil {
			t.Fatal(err)
		}
	}
	calls := e.Calls()
	if len(calls) != 6 {
		t.Fatalf("asked %d times, want four refusals and two answers", len(calls))
	}
	if got := string(calls[5].Fields["max_completion_tokens"]); got != "1024" {
		t.Errorf("max_completion_tokens is %s, want the default", got)
	}
}

func TestRequestFields(t *testing.T) {
	t.Parallel()
	e := chattest.Serve(t, func(int, chattest.Call) chattest.Reply { return chattest.Reply{Text: "{}"} })
	if _, err := openChat(t, e.URL+"/chat/completions/", chattest.Options{}).Complete(t.Context(), question("bad \xff byte")); err != nil {
		t.Fatal(err)
	}
	call := e.Calls()[0]
	for field, want := range map[string]string{
		"model": `"small"`, "max_tokens": "1024", "temperature": "0", "stop": `["END"]`, "stream": "false",
		"response_format": `{"type":"json_object"}`, "messages": `[{"role":"user","content":"bad ` + "\ufffd" + ` byte"}]`,
	} {
		if got := string(call.Fields[field]); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}
	if call.Path != "/v1/chat/completions" || call.Key != "" {
		t.Errorf("asked %s with key %q", call.Path, call.Key)
	}
}

func TestRetryAfterIsHeeded(t *testing.T) {
	t.Parallel()
	e := chattest.Serve(t, func(int, chattest.Call) chattest.Reply {
		return chattest.Reply{Status: 429, Header: map[string]string{"Retry-After": "30"}}
	})
	_, err := openChat(t, e.URL, chattest.Options{Retries: 3, Timeout: 2 * time.Second}).Complete(t.Context(), question("a"))
	if !errors.Is(err, model.ErrChatUnavailable) || len(e.Calls()) != 1 {
		t.Errorf("asked %d times, %v: want once, and to wait", len(e.Calls()), err)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	_, err := openChat(t, "http://127.0.0.1:1/v1", chattest.Options{Retries: -1}).Complete(t.Context(), question("a"))
	if !errors.Is(err, model.ErrChatUnavailable) {
		t.Errorf("got %v, want %v", err, model.ErrChatUnavailable)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, model, key, want string }{
		{"", "m", "", "want http"},
		{"ftp://host/v1", "m", "", "want http"},
		{"http://user:pw@host/v1", "m", "", "names a user"},
		{"http://host/v1#x", "m", "", "fragment"},
		{"http://host/v1", "m", "sk", "needs https"},
		{"https://host/v1", "m", "a\nb", "more than one line"},
		{"https://host/v1", " ", "", "no name"},
		{"http://[::1", "m", "", "not a URL"},
	} {
		_, err := remote.NewChat(remote.ChatConfig{URL: c.url, Model: c.model, Key: c.key})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: got %v, want %q", c.url, err, c.want)
		}
	}
	for _, url := range []string{"http://localhost:11434/v1", "http://127.0.0.1/v1", "https://host/openai/deployments/x/chat/completions?api-version=1"} {
		if _, err := remote.NewChat(remote.ChatConfig{URL: url, Model: "m", Key: "sk"}); err != nil {
			t.Errorf("%q: %v", url, err)
		}
	}
}
