package oparemote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"

	"satchel/schemas"
)

// The documents.
const (
	single   = "/v1/data/cmo/context"
	batched  = "/v1/data/cmo/context_batch"
	filtered = "/v1/data/cmo/context_filter"
)

// noRevision is the revision of a server that names none.
const noRevision = "unversioned"

// statusError is an answer with another status than 200.
type statusError struct{ code int }

func (e *statusError) Error() string { return fmt.Sprintf("status %d", e.code) }

// errUndefined is returned when the server has no such document.
var errUndefined = errors.New("no such document")

// client speaks the Data API. It is safe for concurrent use.
type client struct {
	base   string
	token  string
	limit  int64
	client *http.Client
	calls  atomic.Uint64
}

// reply is an answer with a defined result.
type reply struct {
	result   json.RawMessage
	revision string
}

// post asks for a document. Errors name the document and what was wrong with the answer,
// never what was asked or answered.
func (c *client) post(ctx context.Context, document string, input []byte) (reply, error) {
	c.calls.Add(1)
	r, err := c.send(ctx, document, input)
	if err != nil {
		return reply{}, fmt.Errorf("ask OPA for %q: %w", document, err)
	}
	return r, nil
}

func (c *client) send(ctx context.Context, document string, input []byte) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+document+"?provenance=true", bytes.NewReader(input))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return reply{}, err
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, c.limit+1))
	switch err = errors.Join(err, res.Body.Close()); {
	case res.StatusCode != http.StatusOK:
		return reply{}, &statusError{res.StatusCode}
	case err != nil:
		return reply{}, err
	case int64(len(raw)) > c.limit:
		return reply{}, fmt.Errorf("answer of more than %d bytes", c.limit)
	}
	m, err := members(raw)
	if err != nil {
		return reply{}, fmt.Errorf("answer is %w", err)
	}
	if err := schemas.CheckNames(raw); err != nil {
		return reply{}, fmt.Errorf("answer is ambiguous: %w", err)
	}
	result, ok := m["result"]
	if !ok {
		return reply{}, errUndefined
	}
	return reply{result, revisionOf(m["provenance"], result)}, nil
}

// has reports whether the server answers for the document. Undefined and refused with
// 4xx is no.
func (c *client) has(ctx context.Context, document string, input []byte) (reply, bool, error) {
	r, err := c.post(ctx, document, input)
	var status *statusError
	switch {
	case errors.Is(err, errUndefined):
		return r, false, nil
	case errors.As(err, &status) && status.code/100 == 4 && status.code != http.StatusTooManyRequests &&
		status.code != http.StatusRequestTimeout:
		return r, false, nil
	}
	return r, err == nil, err
}
