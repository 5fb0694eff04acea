package projection

import (
	"context"
	"time"

	"satchel/pipeline/embed"
	"satchel/worker/follow"
)

// pacedEmbedder embeds in the background: a few texts at a time, none while requests are answered, and resting
// between them for as long as its share of a core asks.
type pacedEmbedder struct {
	embed.Embedder
	percent int // of a core
	busy    func() bool

	turn chan struct{} // capacity 1: the share is that of all tenants together
}

// atATime is how many texts a request that comes may find under way.
const atATime = 4

// Embed implements [embed.Embedder].
func (p *pacedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n := min(atATime, len(texts))
		some, err := p.embed(ctx, texts[:n])
		if err != nil {
			return nil, err
		}
		vectors, texts = append(vectors, some...), texts[n:]
	}
	return vectors, nil
}

func (p *pacedEmbedder) embed(ctx context.Context, texts []string) ([][]float32, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for p.busy() {
		if err := follow.Pause(ctx, follow.GiveWay); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	vectors, err := p.Embedder.Embed(ctx, texts)
	if rest := time.Since(began) * time.Duration(100-p.percent) / time.Duration(p.percent); err == nil && rest > 0 {
		err = follow.Pause(ctx, rest)
	}
	return vectors, err
}
