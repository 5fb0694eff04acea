// A reranker is the port to a cross-encoder: a model that reads a question and a
// text together and says how well the text answers it.
//
// Nothing needs one. Whoever asks has an order already and keeps it when there is no
// answer. The texts leave the process, so they are what policy allowed and redaction
// left.

package model

import (
	"context"
	"errors"
)

// ErrRerankerUnavailable is returned when there is no whole answer in time. It wraps no text of
// what was asked or answered.
var ErrRerankerUnavailable = errors.New("reranker is unavailable")

// Reranker scores texts. It MUST be safe for concurrent use.
type Reranker interface {
	// Name is the model, for evidence.
	Name() string
	// Rerank returns one score within 0 and 1 for each text, in their order. Its errors
	// are ErrUnavailable, or ctx's.
	Rerank(ctx context.Context, query string, texts []string) ([]float64, error)
}
