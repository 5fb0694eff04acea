// Chat asks any endpoint that speaks OpenAI's chat completions: a hosted
// model, or vLLM, Ollama, llama.cpp and the like on a machine of one's own.
//
// A question is repeated after a failure that may pass, within one time limit. The
// optional fields that an endpoint refuses by name are left out from then on. What is
// asked and answered, and the key, never appear in an error.

package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"satchel/pipeline/infra/httpclient"
	"satchel/pipeline/model"
)

// Chat is a model behind an endpoint. It is safe for concurrent use.
type Chat struct {
	cfg     ChatConfig
	address string
	client  *httpclient.Client
	dialect atomic.Pointer[dialect]
}

var _ model.Chat = (*Chat)(nil)

// NewChat checks the configuration; it does not reach for the endpoint.
func NewChat(cfg ChatConfig) (*Chat, error) {
	address, err := cfg.makeChatEndpoint()
	if err != nil {
		return nil, err
	}
	cfg.setDefaults()
	client, err := httpclient.New(httpclient.Config{Key: cfg.Key, MaxAnswer: cfg.MaxResponse})
	if err != nil {
		return nil, err
	}
	m := &Chat{cfg: cfg, address: address, client: client}
	m.dialect.Store(&dialect{})
	return m, nil
}

// Name is the configured model.
func (m *Chat) Name() string { return m.cfg.Model }

// Complete asks the endpoint. See [chat.Model].
func (m *Chat) Complete(ctx context.Context, req model.ChatRequest) (model.ChatAnswer, error) {
	if len(req.Messages) == 0 {
		return model.ChatAnswer{}, fmt.Errorf("ask model %q: %w: no messages", m.cfg.Model, model.ErrRefused)
	}
	if req.MaxTokens <= 0 {
		req.MaxTokens = m.cfg.MaxTokens
	}
	limited, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	answer, err := m.askWithRetries(limited, &req)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return model.ChatAnswer{}, fmt.Errorf("ask model %q: %w", m.cfg.Model, ctx.Err())
	case errors.Is(err, model.ErrRefused):
		return model.ChatAnswer{}, fmt.Errorf("ask model %q: %w", m.cfg.Model, err)
	case limited.Err() != nil:
		err = fmt.Errorf("no answer within %v", m.cfg.Timeout)
	}
	return model.ChatAnswer{}, fmt.Errorf("ask model %q: %w: %w", m.cfg.Model, model.ErrChatUnavailable, err)
}

// askWithRetries asks until there is an answer, a refusal, or no try left.
func (m *Chat) askWithRetries(ctx context.Context, req *model.ChatRequest) (answer model.ChatAnswer, err error) {
	err = httpclient.Retry{Max: m.cfg.Retries, Pause: m.cfg.Backoff}.Do(ctx, func() (err error) {
		answer, err = m.askAdaptingDialect(ctx, req)
		return err
	}, func(err error) (time.Duration, bool) {
		var h *httpclient.Error
		if errors.As(err, &h) {
			return h.After, !errors.Is(err, model.ErrRefused)
		}
		return 0, true // an answer that cannot be read
	})
	return answer, err
}

// askAdaptingDialect asks, again for each field that the endpoint does not take.
func (m *Chat) askAdaptingDialect(ctx context.Context, req *model.ChatRequest) (model.ChatAnswer, error) {
	for {
		d := *m.dialect.Load()
		answer, err := m.askEndpoint(ctx, req, d)
		var refused *httpclient.Error
		if !errors.As(err, &refused) || refused.Kind != httpclient.Refused {
			return answer, err
		}
		adapted, ok := d.dropRefusedField(refusedField(refused.Body))
		switch {
		case ok && refused.Status == http.StatusBadRequest:
			m.dialect.Store(&adapted)
		case refused.Transient():
			return answer, err
		default:
			return answer, fmt.Errorf("%w: %w", model.ErrRefused, err)
		}
	}
}

// askEndpoint asks once.
func (m *Chat) askEndpoint(ctx context.Context, req *model.ChatRequest, d dialect) (model.ChatAnswer, error) {
	body, err := encodeRequest(m.cfg.Model, req, d)
	if err != nil {
		return model.ChatAnswer{}, err
	}
	raw, err := m.client.Post(ctx, m.address, body)
	if err != nil {
		return model.ChatAnswer{}, err
	}
	return decodeAnswer(raw)
}
