package chattest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"satchel/pipeline/model"
	"satchel/test/must"
)

const secret = "the vault opens at nine"

// Options of a model under test.
type Options struct {
	Key     string
	Timeout time.Duration
	Retries int
}

// Run is the suite: open returns a model that asks the endpoint at url.
func Run(t *testing.T, open func(t *testing.T, url string, o Options) model.Chat) {
	ask := model.ChatRequest{Messages: []model.ChatMessage{{Role: model.System, Content: "Be brief."}, {Role: model.User, Content: secret}}, MaxTokens: 20}
	t.Run("answers", func(t *testing.T) {
		t.Parallel()
		e := Serve(t, func(int, Call) Reply { return Reply{Text: " At nine.\n"} })
		m := open(t, e.URL, Options{Key: "sk-1"})
		got := must.Get(m.Complete(t.Context(), ask))(t)
		want := model.ChatAnswer{Text: "At nine.", Model: m.Name(), PromptTokens: 7, AnswerTokens: 3}
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		call := e.Calls()[0]
		if call.Key != "sk-1" || strings.Join(call.Messages(), "|") != "Be brief.|"+secret {
			t.Errorf("the endpoint got key %q, messages %q", call.Key, call.Messages())
		}
	})
	t.Run("truncated", func(t *testing.T) {
		t.Parallel()
		e := Serve(t, func(int, Call) Reply { return Reply{Text: "At", Finish: "length"} })
		if got, err := open(t, e.URL, Options{}).Complete(t.Context(), ask); err != nil || !got.Truncated {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("passing failures", func(t *testing.T) {
		t.Parallel()
		e := Serve(t, func(n int, _ Call) Reply {
			return []Reply{{Status: 503}, {Status: 429}, {Text: "yes"}}[n]
		})
		if got, err := open(t, e.URL, Options{Retries: 2}).Complete(t.Context(), ask); err != nil || got.Text != "yes" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("errors", func(t *testing.T) { errorsOf(t, open, ask) })
	t.Run("concurrent", func(t *testing.T) {
		t.Parallel()
		e := Serve(t, func(_ int, c Call) Reply { return Reply{Text: c.Messages()[0]} })
		m := open(t, e.URL, Options{})
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				text := strings.Repeat("a", i+1)
				got, err := m.Complete(t.Context(), model.ChatRequest{Messages: []model.ChatMessage{{Role: model.User, Content: text}}})
				if err != nil || got.Text != text {
					t.Errorf("got %q, %v, want %q", got.Text, err, text)
				}
			})
		}
		wg.Wait()
	})
}

func errorsOf(t *testing.T, open func(t *testing.T, url string, o Options) model.Chat, ask model.ChatRequest) {
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	for name, c := range map[string]struct {
		reply Reply
		want  error
	}{
		"unauthorised":   {Reply{Status: 401, Body: `{"error":{"message":"` + secret + `"}}`}, model.ErrRefused},
		"not found":      {Reply{Status: 404, Body: secret}, model.ErrRefused},
		"bad request":    {Reply{Status: 400, Body: `{"error":{"message":"` + secret + `","param":"messages"}}`}, model.ErrRefused},
		"redirect":       {Reply{Status: 307, Body: secret, Header: map[string]string{"Location": "http://127.0.0.1:1/"}}, model.ErrRefused},
		"always failing": {Reply{Status: 500, Body: secret}, model.ErrChatUnavailable},
		"no JSON":        {Reply{Body: secret}, model.ErrChatUnavailable},
		"no choices":     {Reply{Body: `{"choices":[]}`}, model.ErrChatUnavailable},
		"empty":          {Reply{Text: "  "}, model.ErrChatUnavailable},
		"too large":      {Reply{Text: strings.Repeat("x", 2<<20)}, model.ErrChatUnavailable},
		"too slow":       {Reply{Hold: hold}, model.ErrChatUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := Serve(t, func(int, Call) Reply { return c.reply })
			o := Options{Key: "sk-secret", Retries: 1}
			if c.reply.Hold != nil {
				o.Timeout = 50 * time.Millisecond
			}
			_, err := open(t, e.URL, o).Complete(t.Context(), ask)
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			for _, hidden := range []string{secret, "sk-secret", "127.0.0.1"} {
				if strings.Contains(err.Error(), hidden) {
					t.Errorf("error %q holds %q", err, hidden)
				}
			}
			if n := len(e.Calls()); errors.Is(c.want, model.ErrRefused) && n != 1 {
				t.Errorf("a refusal was asked for %d times", n)
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		e := Serve(t, func(int, Call) Reply { cancel(); return Reply{Hold: hold} })
		if _, err := open(t, e.URL, Options{}).Complete(ctx, ask); !errors.Is(err, context.Canceled) || errors.Is(err, model.ErrChatUnavailable) {
			t.Errorf("got %v, want %v alone", err, context.Canceled)
		}
	})
	t.Run("no messages", func(t *testing.T) {
		t.Parallel()
		e := Serve(t, func(int, Call) Reply { return Reply{Text: "yes"} })
		if _, err := open(t, e.URL, Options{}).Complete(t.Context(), model.ChatRequest{}); !errors.Is(err, model.ErrRefused) {
			t.Errorf("got %v, want %v", err, model.ErrRefused)
		}
	})
}
