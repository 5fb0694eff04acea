// Package openai asks any endpoint that speaks OpenAI's chat completions: a hosted
// model, or vLLM, Ollama, llama.cpp and the like on a machine of one's own.
//
// A question is repeated after a failure that may pass, within one time limit. The
// optional fields that an endpoint refuses by name are left out from then on. What is
// asked and answered, and the key, never appear in an error.
package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"satchel/pipeline/chat"
)

// Model is a model behind an endpoint. It is safe for concurrent use.
type Model struct {
	cfg     Config
	address string
	dialect atomic.Pointer[dialect]
}

var _ chat.Model = (*Model)(nil)

// New checks the configuration; it does not reach for the endpoint.
func New(cfg Config) (*Model, error) {
	address, err := cfg.endpoint()
	if err != nil {
		return nil, err
	}
	cfg.setDefaults()
	m := &Model{cfg: cfg, address: address}
	m.dialect.Store(&dialect{})
	return m, nil
}

// Name is the configured model.
func (m *Model) Name() string { return m.cfg.Model }

// Complete asks the endpoint. See [chat.Model].
func (m *Model) Complete(ctx context.Context, req chat.Request) (chat.Answer, error) {
	if len(req.Messages) == 0 {
		return chat.Answer{}, fmt.Errorf("ask model %q: %w: no messages", m.cfg.Model, chat.ErrRefused)
	}
	if req.MaxTokens <= 0 {
		req.MaxTokens = m.cfg.MaxTokens
	}
	limited, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	answer, err := m.persist(limited, &req)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return chat.Answer{}, fmt.Errorf("ask model %q: %w", m.cfg.Model, ctx.Err())
	case errors.Is(err, chat.ErrRefused):
		return chat.Answer{}, fmt.Errorf("ask model %q: %w", m.cfg.Model, err)
	case limited.Err() != nil:
		err = fmt.Errorf("no answer within %v", m.cfg.Timeout)
	}
	return chat.Answer{}, fmt.Errorf("ask model %q: %w: %w", m.cfg.Model, chat.ErrUnavailable, err)
}

// persist asks until there is an answer, a refusal, or no try left.
func (m *Model) persist(ctx context.Context, req *chat.Request) (chat.Answer, error) {
	wait := m.cfg.Backoff
	for try := 0; ; {
		d := *m.dialect.Load()
		answer, err := m.ask(ctx, req, d)
		var fault *fault
		if err == nil || !errors.As(err, &fault) {
			return answer, err
		}
		if adapted, ok := d.without(fault.field); ok {
			m.dialect.Store(&adapted)
			continue
		}
		if !fault.passing() {
			return chat.Answer{}, fmt.Errorf("%w: %w", chat.ErrRefused, err)
		}
		if try++; try > m.cfg.Retries {
			return chat.Answer{}, err
		}
		if err := pause(ctx, max(wait, fault.after)); err != nil {
			return chat.Answer{}, err
		}
		wait *= 2
	}
}

// fault is a try without an answer.
type fault struct {
	status int           // 0 when there was no response
	field  string        // that the endpoint does not take
	after  time.Duration // what Retry-After asks for
	cause  error
}

func (f *fault) Error() string {
	if f.status != 0 {
		return "status " + strconv.Itoa(f.status)
	}
	return f.cause.Error()
}

func (f *fault) Unwrap() error { return f.cause }

func (f *fault) passing() bool {
	return f.status == 0 || f.status >= 500 || f.status == http.StatusTooManyRequests || f.status == http.StatusRequestTimeout
}

// ask asks once. Its error is a *fault, or one of making the request.
func (m *Model) ask(ctx context.Context, req *chat.Request, d dialect) (chat.Answer, error) {
	body, err := encode(m.cfg.Model, req, d)
	if err != nil {
		return chat.Answer{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.address, bytes.NewReader(body))
	if err != nil {
		return chat.Answer{}, fmt.Errorf("make request: not a URL")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if m.cfg.Key != "" {
		r.Header.Set("Authorization", "Bearer "+m.cfg.Key)
	}
	res, err := m.cfg.Client.Do(r)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // its text would repeat the address
		}
		return chat.Answer{}, &fault{cause: err}
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, m.cfg.MaxResponse+1))
	err = errors.Join(err, res.Body.Close())
	switch {
	case res.StatusCode != http.StatusOK:
		f := &fault{status: res.StatusCode, after: retryAfter(res.Header)}
		if res.StatusCode == http.StatusBadRequest {
			f.field = refusedField(raw)
		}
		return chat.Answer{}, f
	case err != nil:
		return chat.Answer{}, &fault{cause: err}
	case int64(len(raw)) > m.cfg.MaxResponse:
		return chat.Answer{}, &fault{cause: fmt.Errorf("answer of more than %d bytes", m.cfg.MaxResponse)}
	}
	answer, err := decode(raw)
	if err != nil {
		return chat.Answer{}, &fault{cause: err}
	}
	return answer, nil
}

// retryAfter reads the seconds an endpoint asks to be left alone for, at most a minute.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseFloat(h.Get("Retry-After"), 64)
	if err != nil || !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, 60) * float64(time.Second))
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
