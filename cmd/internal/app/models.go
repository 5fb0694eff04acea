package app

import (
	"context"
	"fmt"

	"satchel/pipeline/model"
	"satchel/pipeline/model/static"
	"satchel/pipeline/store/memory"
	"satchel/pipeline/store/vector"
)

// OpenModels opens the model that the settings name, and before it, when that is asked for, the one that serves.
// The caller must call the function it returns.
func (a *App) OpenModels(ctx context.Context, serving bool) (models []*Maker, closeAll func(), err error) {
	closeAll = func() {
		for _, m := range models {
			m.close()
		}
	}
	words, err := OpenWords()
	if err != nil {
		return nil, nil, err
	}
	made, err := a.openMaker(ctx, words, nil, a.Logger(a.Err))
	if err != nil {
		return nil, nil, err
	}
	models = []*Maker{made}
	if !serving {
		return models, closeAll, nil
	}
	was, err := a.readServing()
	if err == nil && was == nil {
		was = &servingModel{Model: words.Model().String()}
	}
	if err == nil {
		var old *Maker
		if old, err = a.openMaker(ctx, words, was, a.Logger(a.Err)); err != nil {
			err = fmt.Errorf("open the model that serves (%s): %w", was.Model, err)
		}
		models = append([]*Maker{old}, models...)
	}
	if err != nil {
		made.close()
		return nil, nil, err
	}
	return models, closeAll, nil
}

// NewVectors returns an empty vector index in memory for a model's vectors.
func NewVectors(model model.EmbeddingModel) (*vector.Vectors, error) {
	x, err := memory.OpenVector(memory.VectorConfig{Model: model.String(), Dimensions: model.Dimensions})
	if err != nil {
		return nil, fmt.Errorf("open vector index: %w", err)
	}
	return vector.New(x), nil
}

// OpenWords opens the embedding table in the binary.
func OpenWords() (*static.Embedder, error) {
	words, err := static.New()
	if err != nil {
		return nil, fmt.Errorf("open embedding table: %w", err)
	}
	return words, nil
}
