package projection

import (
	"context"
	"fmt"
	"slices"
	"time"

	"satchel/pipeline/model"
	"satchel/worker/follow"
)

// pacedEmbedder embeds in the background: a text for each core at a time, hardly any while it is busy here, and resting
// after each for as long as its share of a core asks.
type pacedEmbedder struct {
	model.Embedder
	percent int // of a core
	busy    func() bool

	turn chan struct{} // capacity 1: the share is that of all tenants together
}

// patience is how long a text waits for a calm moment.
const patience = 250 * time.Millisecond

// Embed implements [embed.Embedder].
func (p *pacedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for some := range slices.Chunk(texts, max(1, p.percent/100)) {
		made, err := p.embedInTurn(ctx, some)
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, made...)
	}
	return vectors, nil
}

func (p *pacedEmbedder) embedInTurn(ctx context.Context, texts []string) ([][]float32, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for since := time.Now(); p.busy() && time.Since(since) < patience; {
		if err := follow.Pause(ctx, follow.GiveWay); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	vectors, err := p.Embedder.Embed(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embed in the background: %w", err)
	}
	if rest := time.Since(began) * time.Duration(100-p.percent) / time.Duration(p.percent); rest > 0 {
		return vectors, follow.Pause(ctx, rest)
	}
	return vectors, nil
}
