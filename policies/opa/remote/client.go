package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"satchel/pipeline/infra/httpclient"
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

// errUndefined is returned when the server has no such document.
var errUndefined = errors.New("no such document")

// client speaks the Data API. It is safe for concurrent use.
type client struct {
	base  string
	http  *httpclient.Client
	calls atomic.Uint64
}

// reply is an answer with a defined result.
type reply struct {
	result   json.RawMessage
	revision string
}

// askForDocument asks for a document. Errors name the document and what was wrong with the answer,
// never what was asked or answered.
func (c *client) askForDocument(ctx context.Context, document string, input []byte) (reply, error) {
	c.calls.Add(1)
	r, err := c.sendRequest(ctx, document, input)
	if err != nil {
		return reply{}, fmt.Errorf("ask OPA for %q: %w", document, err)
	}
	return r, nil
}

func (c *client) sendRequest(ctx context.Context, document string, input []byte) (reply, error) {
	raw, err := c.http.Post(ctx, c.base+document+"?provenance=true", input)
	if err != nil {
		return reply{}, err
	}
	m, err := readMembers(raw)
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

// hasDocument reports whether the server answers for the document. Undefined and refused with
// 4xx is no.
func (c *client) hasDocument(ctx context.Context, document string, input []byte) (reply, bool, error) {
	r, err := c.askForDocument(ctx, document, input)
	var refused *httpclient.Error
	switch {
	case errors.Is(err, errUndefined):
		return r, false, nil
	case errors.As(err, &refused) && refused.Status/100 == 4 && !refused.Transient():
		return r, false, nil
	}
	return r, err == nil, err
}
