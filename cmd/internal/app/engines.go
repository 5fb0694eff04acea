package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"satchel/pipeline/model"
	"satchel/pipeline/model/encoder"
	"satchel/pipeline/model/static"
	"satchel/pipeline/selection"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/memory"
	"satchel/pipeline/store/sqlite"
	"satchel/pipeline/store/vector"
)

// Embedders make vectors in this process.
type Embedders struct {
	Table   model.Embedder
	Encoder model.Embedder // nil: there is none
}

// OpenEmbedders opens the table of words and, where encoded is set, the sentence encoder.
func OpenEmbedders(encoded bool) (Embedders, error) {
	table, err := static.New()
	if err != nil {
		return Embedders{}, err
	}
	out := Embedders{Table: table}
	if encoded {
		out.Encoder, err = encoder.Open(encoder.Config{Threads: 2})
	}
	return out, err
}

// Engines are the embedded indexes without log, streams and policy, for measurements on items of their own.
type Engines struct {
	selection.Config
	db  *sqlite.Items
	dir string
}

// OpenEngines opens empty indexes in a temporary folder. The caller MUST call Close, which removes it.
func OpenEngines(ctx context.Context, by Embedders) (*Engines, error) {
	dir, err := os.MkdirTemp("", "satchel-engines-")
	if err != nil {
		return nil, err
	}
	db, err := sqlite.OpenItems(ctx, sqlite.IndexConfig{Path: filepath.Join(dir, "items.db")})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	out := &Engines{Config: selection.Config{Items: items.New(db), Embedder: by.Table, Encoder: by.Encoder}, db: db, dir: dir}
	out.Keyword, err = memory.OpenKeyword(memory.KeywordConfig{})
	if err == nil {
		out.Vector, err = openVectors(by.Table)
	}
	if err == nil && by.Encoder != nil {
		out.Encoded, err = openVectors(by.Encoder)
	}
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

func openVectors(by model.Embedder) (*vector.Vectors, error) {
	x, err := memory.OpenVector(memory.VectorConfig{Model: by.Model().String(), Dimensions: by.Model().Dimensions})
	if err != nil {
		return nil, err
	}
	return vector.New(x), nil
}

// Close closes the indexes and removes their folder.
func (e *Engines) Close() error { return errors.Join(e.db.Close(), os.RemoveAll(e.dir)) }
