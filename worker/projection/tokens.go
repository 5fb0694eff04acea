package projection

import (
	"context"
	"fmt"
	"slices"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// countTokens gives items their exact token counts while there is nothing to project.
func (p *Projector) countTokens(ctx context.Context, tenant string) error {
	if p.cfg.Stores.Tokens == nil || p.cfg.Counter == nil || p.cfg.Stores.Shared.Items && !p.cfg.Share.OwnsTenant(tenant) {
		return nil
	}
	s, err := scope.System(tenant)
	if err != nil {
		return err
	}
	const slice = 64 // items between two looks at the log: about 4 ms, unless they are long
	for ctx.Err() == nil {
		n, err := p.countSome(ctx, s, slice)
		if err != nil || n == 0 {
			return err
		}
		head, err := p.cfg.Log.Head(ctx, s)
		if err != nil {
			return err
		}
		if head.Size > p.Position(tenant) {
			return nil // new entries first; the next run goes on counting
		}
	}
	return ctx.Err()
}

// mostCounted is how many bytes are counted while nothing is projected, the last item apart.
const mostCounted = 256 << 10

// countSome counts some items, and has them learnt, while no change is applied: what is
// erased next is then forgotten by whoever has learnt it.
func (p *Projector) countSome(ctx context.Context, s scope.Scope, most int) (int, error) {
	t := p.obtainProgress(s.Tenant())
	if err := t.acquireRun(ctx); err != nil {
		return 0, err
	}
	defer t.releaseRun()
	bytes := 0
	records, err := p.cfg.Stores.Tokens.CountTokens(ctx, s, most, func(r *schemas.Record) int {
		if bytes > mostCounted {
			return 0
		}
		text := shownText(r)
		bytes += len(text)
		return p.cfg.Counter.Count(text)
	})
	if err != nil {
		return 0, fmt.Errorf("count tokens: %w", err)
	}
	if bytes > mostCounted {
		records = slices.DeleteFunc(slices.Clone(records), func(r schemas.Record) bool { return r.Tokens == 0 })
	}
	if learn := p.learn.Load(); learn != nil {
		(*learn)(s, records)
	}
	return len(records), nil
}

// shownText is what an item's stored token count is of: "speaker: text" and a newline.
func shownText(r *schemas.Record) string {
	if r.Speaker == "" {
		return r.Content.Text() + "\n"
	}
	return r.Speaker + ": " + r.Content.Text() + "\n"
}
