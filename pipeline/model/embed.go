// An embedder is the port through which text becomes vectors.
//
// It owns the names of what makes vectors and the contract of an [Embedder];
// drivers live in its subfolders and pass the suite in embedtest. Vectors of
// different models MUST NOT be compared, so every stored vector carries the
// [Model] that made it, and a changed model is a changed revision.

package model

import "context"

// EmbeddingModel names what made a vector; it is part of every stored vector.
type EmbeddingModel struct {
	// Name is the model's name, without "@".
	Name string
	// Revision changes whenever the same text may get another vector.
	Revision string
	// Dimensions is the length of every vector.
	Dimensions int
}

// String returns "name@revision", the form in which a model is part of a key.
func (m EmbeddingModel) String() string { return m.Name + "@" + m.Revision }

// Embedder turns text into unit-length vectors. An implementation MUST be safe
// for concurrent use and MUST give the same text the same vector for as long
// as its Model stays the same.
type Embedder interface {
	// Model names what makes the vectors; it MUST NOT change between calls.
	Model() EmbeddingModel
	// Embed returns one vector of Model().Dimensions numbers per text, in the
	// order of texts. A vector has length one, or is zero when the text is
	// empty or holds nothing the model knows. A vector MUST NOT depend on the
	// other texts of the call. No text is refused for what it holds: NUL,
	// invalid UTF-8 and any length are allowed, and what a model cannot read
	// it leaves out. An error is for the whole call, which then has no vectors;
	// a cancelled context gives an error that is ctx.Err.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// QuestionForm embeds questions for the vectors that a tenant's searches compare at present.
type QuestionForm struct {
	Embedder // its model is that of the items' vectors
	// Here embeds any text for the same vectors in this process and at once. It is nil where an endpoint makes the
	// vectors: what one principal alone is shown is sent nowhere, and relevance, which nobody has calibrated on their
	// cosines, goes by words.
	Here Embedder
}
