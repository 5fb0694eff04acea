package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"time"

	"satchel/pipeline/infra/httpclient"
	"satchel/schemas"
)

// maxAnswer bounds the body of an answer, in bytes.
const maxAnswer = 64 << 20

// failure is why an endpoint gave no vectors.
type failure struct {
	message string
	cause   error
	passing bool          // it may succeed later
	refused bool          // the endpoint does not take the texts
	after   time.Duration // not before; 0: unsaid
}

// Error is the message; causes may hold a URL and stay inside.
func (f *failure) Error() string { return string(schemas.CodeEmbedding) + ": " + f.message }

// Unwrap gives the typed error and the cause.
func (f *failure) Unwrap() []error {
	typed := &schemas.Error{Code: schemas.CodeEmbedding, Message: f.message}
	if f.cause == nil {
		return []error{typed}
	}
	return []error{typed, f.cause}
}

type question struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Dimensions int      `json:"dimensions,omitempty"`
}

type answer struct {
	Data []struct {
		Index     *int      `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
}

// postTexts sends one request and returns unit vectors in the order of texts.
func (e *Embedder) postTexts(ctx context.Context, texts []string) ([][]float32, error) {
	q := question{Model: e.cfg.Model, Input: texts}
	if e.cfg.Shorten {
		q.Dimensions = e.cfg.Dimensions
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, &failure{message: "the request could not be encoded", cause: err}
	}
	e.requests.Add(1)
	raw, err := e.client.Post(ctx, e.endpoint, body)
	if err != nil {
		return nil, e.makeFailure(err)
	}
	return e.readVectors(raw, len(texts))
}

// readVectors takes the vectors out of an answer.
func (e *Embedder) readVectors(raw []byte, n int) ([][]float32, error) {
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, &failure{message: "the endpoint's answer is not the JSON of an embeddings API"}
	}
	if len(a.Data) != n {
		return nil, &failure{message: fmt.Sprintf("the endpoint answered %d texts with %d vectors", n, len(a.Data))}
	}
	out := make([][]float32, n)
	for i := range a.Data {
		at := i
		if a.Data[i].Index != nil {
			at = *a.Data[i].Index
		}
		v := a.Data[i].Embedding
		switch {
		case at < 0 || at >= n || out[at] != nil:
			return nil, &failure{message: "the endpoint's vectors are numbered wrongly"}
		case len(v) == 0:
			return nil, &failure{message: "the endpoint's answer holds an empty vector"}
		case e.model.Dimensions > 0 && len(v) != e.model.Dimensions:
			return nil, e.wrongLength(len(v), e.model.Dimensions)
		case !normalizeVector(v):
			return nil, &failure{message: "the endpoint's answer holds a vector that is not finite"}
		}
		out[at] = v
	}
	return out, nil
}

func (e *Embedder) wrongLength(have, want int) *failure {
	return &failure{message: fmt.Sprintf("model %q gives vectors of %d numbers, EMBEDDINGS_DIMENSIONS says %d: set it to %d, or name another model",
		e.cfg.Model, have, want, have)}
}

// normalizeVector scales v to length one; the zero vector stays. False when v is not finite.
func normalizeVector(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return false
	}
	if sum == 0 {
		return true
	}
	scale := 1 / math.Sqrt(sum)
	for i := range v {
		v[i] = float32(float64(v[i]) * scale)
	}
	return true
}

// makeFailure says why a request got no answer. Of a refusal's body only a code like
// "insufficient_quota" is repeated.
func (e *Embedder) makeFailure(err error) *failure {
	var h *httpclient.Error
	if !errors.As(err, &h) {
		return &failure{message: "the embedding endpoint cannot be asked", cause: err}
	}
	f := &failure{cause: h.Err, passing: h.Transient(), after: h.After}
	switch h.Kind {
	case httpclient.Unreachable:
		f.message = "the embedding endpoint cannot be reached"
		return f
	case httpclient.BrokenOff:
		f.message = "the embedding endpoint's answer broke off"
		return f
	case httpclient.TooLong:
		f.message = fmt.Sprintf("the embedding endpoint's answer is longer than %d MiB", maxAnswer>>20)
		return f
	}
	f.message = fmt.Sprintf("the embedding endpoint answered %d", h.Status)
	if code := errorCode(h.Body); code != "" {
		f.message += " (" + code + ")"
	}
	switch s := h.Status; {
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		f.message += ": it does not accept the key; set EMBEDDINGS_KEY"
	case s == http.StatusNotFound:
		f.message += fmt.Sprintf(": it has no such path, or no model %q; see EMBEDDINGS_URL and EMBEDDINGS_MODEL", e.cfg.Model)
	case s >= 300 && s < 400:
		f.message += ": it redirects; set EMBEDDINGS_URL to where it leads"
	case s == http.StatusBadRequest || s == http.StatusRequestEntityTooLarge || s == http.StatusUnprocessableEntity:
		f.refused = true
	}
	return f
}

// errorCode returns the code or type of an error body, "" for none that is a plain word.
func errorCode(raw []byte) string {
	var body struct {
		Error struct {
			Code any    `json:"code"`
			Type string `json:"type"`
		} `json:"error"`
	}
	if json.Unmarshal(raw, &body) != nil {
		return ""
	}
	word := regexp.MustCompile(`^[a-z][a-z0-9_]{2,63}$`)
	if code, ok := body.Error.Code.(string); ok && word.MatchString(code) {
		return code
	}
	if word.MatchString(body.Error.Type) {
		return body.Error.Type
	}
	return ""
}
