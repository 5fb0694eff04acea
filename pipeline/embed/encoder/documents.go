package encoder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"satchel/pipeline/embed"
)

// mixing changes whenever the same two vectors may give another sum.
const mixing = "1"

// Documents embeds items and questions. A vector is the sum of the encoder's, mapped to the table's
// space, and the table's own, with length one. The sum finds more than either alone: the encoder reads
// a sentence as a whole, the table all the words of a long text. What cannot wait for a pass of the
// encoder is embedded by the table alone, and compared with the others.
type Documents struct {
	encoder *Encoder
	table   embed.Embedder
	model   embed.Model
}

var _ embed.Embedder = (*Documents)(nil)

// OpenDocuments opens the encoder beside the table. It fails with ErrNotIncluded if the binary has
// no model, and if the map is not to vectors of the table's length.
func OpenDocuments(table embed.Embedder, threads int) (*Documents, error) {
	to, err := ToTable()
	if err != nil {
		return nil, err
	}
	e, err := Open(Config{Threads: threads, Projection: to})
	if err != nil {
		return nil, err
	}
	own := table.Model()
	if own.Dimensions != e.model.Dimensions {
		return nil, fmt.Errorf("the encoder's vectors are mapped to %d dimensions, the table has %d", e.model.Dimensions, own.Dimensions)
	}
	sum := sha256.Sum256([]byte(mixing + "\n" + e.model.String() + "\n" + own.String()))
	return &Documents{encoder: e, table: table, model: embed.Model{Name: Name, Revision: hex.EncodeToString(sum[:6]), Dimensions: own.Dimensions}}, nil
}

// Model names the sum. The revision stands for both models.
func (d *Documents) Model() embed.Model { return d.model }

// Embed implements [embed.Embedder].
func (d *Documents) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out, err := d.encoder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	words, err := d.table.Embed(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embed by the table: %w", err)
	}
	for i, v := range out {
		for j, w := range words[i] {
			v[j] += w
		}
		normalize(v)
	}
	return out, nil
}
